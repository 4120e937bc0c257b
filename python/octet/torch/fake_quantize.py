# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fake-quantize modules, as descriptions. PyTorch: `torch.ao.quantization.fake_quantize`.

Where a network is converted, the observer inside decides (docs/mappings.md), and it is all that a mapping has of them.
"""
from __future__ import annotations

from typing import Any, Optional

import torch

from ..errors import InputError
from .observer import (
    FixedQParamsObserver, HistogramObserver, MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver,
    _with_args, _with_callable_args, default_fixed_qparams_range_0to1_observer, default_fixed_qparams_range_neg1to1_observer,
)

__all__ = [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize",
    "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant", "default_embedding_fake_quant",
    "default_embedding_fake_quant_4bit", "default_fake_quant", "default_fixed_qparams_range_0to1_fake_quant",
    "default_fixed_qparams_range_neg1to1_fake_quant", "default_fused_act_fake_quant",
    "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant", "default_histogram_fake_quant",
    "default_per_channel_weight_fake_quant", "default_symmetric_fixed_qparams_fake_quant", "default_weight_fake_quant",
    "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer",
    "fused_per_channel_wt_fake_quant_range_neg_127_to_127", "fused_wt_fake_quant_range_neg_127_to_127",
]


class FakeQuantizeBase:
    """Describes a fake-quantize module. PyTorch: `FakeQuantizeBase`, a module, which these are not."""

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)

    def __call__(self, *_: Any) -> Any:
        raise InputError(f"{type(self).__name__} of octet.torch describes a module and sees no data; "
                         "train the model that prepare_qat_fx returns instead")

    calculate_qparams = forward = __call__


class FakeQuantize(FakeQuantizeBase):
    """An observer and rounding; further arguments are the observer's. PyTorch: `FakeQuantize`."""

    def __init__(self, observer: Any = MovingAverageMinMaxObserver, quant_min: Optional[int] = None,
                 quant_max: Optional[int] = None, is_dynamic: bool = False, **observer_kwargs: Any) -> None:
        self.observer, self.quant_min, self.quant_max, self.is_dynamic = observer, quant_min, quant_max, is_dynamic
        self.observer_kwargs = observer_kwargs


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """The same with moving averages; the range is 0 to 255 unless given. PyTorch: `FusedMovingAvgObsFakeQuantize`."""

    def __init__(self, observer: Any = MovingAverageMinMaxObserver, quant_min: int = 0, quant_max: int = 255,
                 **observer_kwargs: Any) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounding to a known scale and zero point. PyTorch: `FixedQParamsFakeQuantize`."""

    def __init__(self, observer: Any = FixedQParamsObserver) -> None:
        super().__init__(observer)


# ---- switches of modules that train, for torch.nn.Module.apply -----------------------------------------------------------
def _call(module: torch.nn.Module, switch: str) -> None:
    """Calls a switch if the module has it, as fake-quantize modules do."""
    getattr(module, switch, lambda: None)()


def disable_fake_quant(mod: torch.nn.Module) -> None:
    """`model.apply(disable_fake_quant)`: values are no longer rounded. PyTorch: the function of this name."""
    _call(mod, "disable_fake_quant")


def enable_fake_quant(mod: torch.nn.Module) -> None:
    """Values are rounded again. PyTorch: the function of this name."""
    _call(mod, "enable_fake_quant")


def disable_observer(mod: torch.nn.Module) -> None:
    """Ranges are no longer observed. PyTorch: the function of this name."""
    _call(mod, "disable_observer")


def enable_observer(mod: torch.nn.Module) -> None:
    """Ranges are observed again. PyTorch: the function of this name."""
    _call(mod, "enable_observer")


# ---- the names of common ones, as PyTorch defines them -------------------------------------------------------------------
_BYTE = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255, "dtype": torch.quint8}
_SIGNED = {"observer": MovingAverageMinMaxObserver, "dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}
_SIGNED_CHANNELS = {"observer": MovingAveragePerChannelMinMaxObserver, "dtype": torch.qint8, "qscheme": torch.per_channel_symmetric}
_FLOAT_CHANNELS = {"observer": MovingAveragePerChannelMinMaxObserver, "qscheme": torch.per_channel_affine_float_qparams,
                   "ch_axis": 0, "averaging_constant": 1}
_FULL = {"quant_min": -128, "quant_max": 127}
_NO_MINUS_128 = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_Fused = FusedMovingAvgObsFakeQuantize

default_fake_quant = FakeQuantize.with_args(**_BYTE, qscheme=torch.per_tensor_affine, reduce_range=True)
default_weight_fake_quant = FakeQuantize.with_args(**_SIGNED, **_FULL, reduce_range=False)
default_dynamic_fake_quant = FakeQuantize.with_args(**_BYTE, is_dynamic=True, averaging_constant=1)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(observer=default_fixed_qparams_range_neg1to1_observer)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(observer=default_fixed_qparams_range_0to1_observer)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_per_channel_weight_fake_quant = FakeQuantize.with_args(**_SIGNED_CHANNELS, **_FULL, reduce_range=False, ch_axis=0)
default_embedding_fake_quant = FakeQuantize.with_args(**_FLOAT_CHANNELS, dtype=torch.quint8, quant_min=0, quant_max=255)
default_embedding_fake_quant_4bit = FakeQuantize.with_args(**_FLOAT_CHANNELS, dtype=torch.quint4x2)
default_histogram_fake_quant = FakeQuantize.with_args(
    **{**_BYTE, "observer": HistogramObserver}, qscheme=torch.per_tensor_affine, reduce_range=True)
default_fused_act_fake_quant = _Fused.with_args(**_BYTE)
default_fused_wt_fake_quant = _Fused.with_args(**_SIGNED, **_FULL)
default_fused_per_channel_wt_fake_quant = _Fused.with_args(**_SIGNED_CHANNELS, **_FULL)
fused_wt_fake_quant_range_neg_127_to_127 = _Fused.with_args(**_SIGNED, **_NO_MINUS_128)
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = _Fused.with_args(**_SIGNED_CHANNELS, **_NO_MINUS_128)
