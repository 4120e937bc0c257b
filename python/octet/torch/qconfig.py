# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""QConfigs. PyTorch: `torch.ao.quantization.qconfig`."""
from __future__ import annotations

from collections import namedtuple
from typing import Any, Optional

import torch

from ..errors import InputError
from ._arguments import describe
from ._observers import KNOWN
from .fake_quantize import (
    FakeQuantize, FakeQuantizeBase, FusedMovingAvgObsFakeQuantize, default_dynamic_fake_quant, default_embedding_fake_quant,
    default_embedding_fake_quant_4bit, default_fake_quant, default_fused_act_fake_quant, default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant, default_per_channel_weight_fake_quant, default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127, fused_wt_fake_quant_range_neg_127_to_127,
)
from .observer import (
    HistogramObserver, MinMaxObserver, MovingAverageMinMaxObserver, NoopObserver, ObserverBase, PlaceholderObserver,
    default_debug_observer, default_dynamic_quant_observer, default_float_qparams_observer, default_float_qparams_observer_4bit,
    default_observer, default_per_channel_weight_observer, default_placeholder_observer, default_reuse_input_observer,
    default_weight_observer, per_channel_weight_observer_range_neg_127_to_127, weight_observer_range_neg_127_to_127,
)

__all__ = [
    "QConfig", "QConfigAny", "default_activation_only_qconfig", "default_debug_qconfig", "default_dynamic_qat_qconfig",
    "default_dynamic_qconfig", "default_embedding_qat_qconfig", "default_embedding_qat_qconfig_4bit",
    "default_per_channel_qconfig", "default_per_channel_symmetric_qnnpack_qat_qconfig",
    "default_per_channel_symmetric_qnnpack_qconfig", "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig",
    "default_quint8_weight_qconfig", "default_reuse_input_qconfig", "default_symmetric_qnnpack_qat_qconfig",
    "default_symmetric_qnnpack_qconfig", "default_weight_only_qconfig", "float16_dynamic_qconfig", "float16_static_qconfig",
    "float_qparams_weight_only_qconfig", "float_qparams_weight_only_qconfig_4bit", "get_default_qat_qconfig",
    "get_default_qconfig", "per_channel_dynamic_qconfig", "qconfig_equals",
]


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """What observes an operator's values and weights: classes of observers, or what their `with_args` returns.

    PyTorch: `QConfig`; Octet: `#octet.qconfig`.
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any) -> "QConfig":
        for role, observer in (("activation", activation), ("weight", weight)):
            if isinstance(observer, (torch.nn.Module, ObserverBase, FakeQuantizeBase)):
                raise InputError(f"QConfig: {role}: expected a class, but got an instance of {type(observer).__name__}; "
                                 f"give the class, with its arguments {type(observer).__name__}.with_args(...)")
        return super().__new__(cls, activation, weight)


QConfigAny = Optional[QConfig]


def qconfig_equals(q1: QConfigAny, q2: QConfigAny) -> bool:
    """Whether two QConfigs say the same. PyTorch: `qconfig_equals`."""
    if q1 is None or q2 is None:
        return q1 is q2
    members = [(getattr(q1, name), getattr(q2, name)) for name in ("activation", "weight")]
    return all(a is b or (a is not None and b is not None and describe(a, KNOWN) == describe(b, KNOWN)) for a, b in members)


default_qconfig = QConfig(default_observer, default_weight_observer)
default_debug_qconfig = QConfig(default_debug_observer, default_weight_observer)
default_per_channel_qconfig = QConfig(default_observer, default_per_channel_weight_observer)
default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)
default_reuse_input_qconfig = QConfig(default_reuse_input_observer, NoopObserver)
default_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_weight_observer)
per_channel_dynamic_qconfig = QConfig(default_dynamic_quant_observer, default_per_channel_weight_observer)
float16_dynamic_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True),
                                  PlaceholderObserver.with_args(dtype=torch.float16))
float16_static_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float16), PlaceholderObserver.with_args(dtype=torch.float16))
float_qparams_weight_only_qconfig = QConfig(default_placeholder_observer, default_float_qparams_observer)
float_qparams_weight_only_qconfig_4bit = QConfig(default_placeholder_observer, default_float_qparams_observer_4bit)

default_qat_qconfig = QConfig(default_fake_quant, default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(default_fused_act_fake_quant, default_fused_wt_fake_quant)
default_dynamic_qat_qconfig = QConfig(default_dynamic_fake_quant, default_weight_fake_quant)
default_weight_only_qconfig = QConfig(torch.nn.Identity, default_weight_fake_quant)
default_activation_only_qconfig = QConfig(default_fake_quant, torch.nn.Identity)
default_embedding_qat_qconfig = QConfig(NoopObserver.with_args(dtype=torch.float32), default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(NoopObserver.with_args(dtype=torch.float32), default_embedding_fake_quant_4bit)

_signed_values = HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2**-12)
_signed_trained_values = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=torch.qint8, reduce_range=False, eps=2**-12)
default_symmetric_qnnpack_qconfig = QConfig(_signed_values, weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(_signed_values, per_channel_weight_observer_range_neg_127_to_127)
default_symmetric_qnnpack_qat_qconfig = QConfig(_signed_trained_values, fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(_signed_trained_values, fused_per_channel_wt_fake_quant_range_neg_127_to_127)

#: By engine: whether it has activations of 7 bits, so that sums of two products fit 16, and a scale for each channel of weights.
ENGINES = {"x86": (True, True), "fbgemm": (True, True), "qnnpack": (False, False), "onednn": (False, True)}


def _get_engine(function: str, backend: str, version: int, versions: tuple) -> tuple:
    if backend not in ENGINES:
        raise InputError(f"{function}: backend: expected {', '.join(map(repr, ENGINES))}, but got {backend!r}")
    if version not in versions:
        raise InputError(f"{function}: version: expected {' or '.join(map(str, versions))}, but got {version!r}")
    return ENGINES[backend]


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The QConfig of an engine. PyTorch: `get_default_qconfig`."""
    is_reduced, is_per_channel = _get_engine("get_default_qconfig", backend, version, (0,))
    return QConfig(HistogramObserver.with_args(reduce_range=is_reduced),
                   default_per_channel_weight_observer if is_per_channel else default_weight_observer)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The QConfig of an engine for training. PyTorch: `get_default_qat_qconfig`, whose version 1 has the fused modules."""
    is_reduced, is_per_channel = _get_engine("get_default_qat_qconfig", backend, version, (0, 1))
    kind, weights = ((FusedMovingAvgObsFakeQuantize, (default_fused_wt_fake_quant, default_fused_per_channel_wt_fake_quant)) if version
                     else (FakeQuantize, (default_weight_fake_quant, default_per_channel_weight_fake_quant)))
    values = kind.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, reduce_range=is_reduced)
    return QConfig(values, weights[is_per_channel])
