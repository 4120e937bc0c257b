# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranges of input channels that go into the weights of a layer. PyTorch: `torch.ao.quantization.fx._equalize`.

The pass `octet-equalize-inputs` does it; what is here says which layers are meant.
"""
from __future__ import annotations

from typing import Any, Dict, Iterator, NamedTuple

import torch

from ...errors import InputError
from .._modules import CompiledModule
from ..ns.compare import compare_source
from ..observer import PerChannelMinMaxObserver

__all__ = ["EqualizationQConfig", "default_equalization_qconfig", "get_equalization_qconfig_dict", "get_layer_sqnr_dict"]


class EqualizationQConfig(NamedTuple):
    """Stands for the equalization of a layer, in the `_equalization_config` of `prepare_fx`. The extremes of each channel are observed."""

    input_activation: Any = torch.nn.Identity
    weight: Any = torch.nn.Identity


default_equalization_qconfig = EqualizationQConfig(PerChannelMinMaxObserver.with_args(dtype=torch.quint8, ch_axis=1),
                                                   PerChannelMinMaxObserver.with_args(dtype=torch.qint8, ch_axis=1))


def get_layer_sqnr_dict(model_a: Any, model_b: CompiledModule, x: Any) -> Dict[str, float]:
    """The signal-to-noise ratio, in decibels, of every quantized layer of what `convert_fx` returned.

    Args:
      model_a: the float model, which `model_b` knows.
      model_b: the converted one, with its source: not one that was pickled.
      x: not used; the ratios are those of the samples that the prepared module was called with.
    """
    if not isinstance(model_b, CompiledModule) or model_b._source is None:
        raise InputError(f"model_b: expected a module that convert_fx returned, with its source, but got {type(model_b).__name__}")
    return {layer.name: layer.output.sqnr for layer in compare_source(model_b._source)}


def get_equalization_qconfig_dict(layer_sqnr_dict: Dict[str, float], num_layers_to_equalize: int) -> Dict[str, Any]:
    """An `_equalization_config` of the layers with the least ratios."""
    layers = sorted(layer_sqnr_dict, key=layer_sqnr_dict.__getitem__)[:num_layers_to_equalize]
    return {"module_name": [(name, default_equalization_qconfig) for name in layers]}
