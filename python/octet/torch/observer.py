# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Observers, as descriptions of what Octet's passes put into a network. PyTorch: `torch.ao.quantization.observer`.

A description has a kind and arguments; it sees no data. `_observers.py` writes it as an attribute such as `#octet.min_max`.
"""
from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Dict, Optional

import torch

from ..errors import InputError
from ._arguments import bind

__all__ = [
    "FixedQParamsObserver", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver",
    "RecordingObserver", "ReuseInputObserver", "UniformQuantizationObserverBase", "default_affine_fixed_qparams_observer",
    "default_debug_observer", "default_dynamic_quant_observer", "default_fixed_qparams_range_0to1_observer",
    "default_fixed_qparams_range_neg1to1_observer", "default_float_qparams_observer", "default_float_qparams_observer_4bit",
    "default_histogram_observer", "default_observer", "default_per_channel_weight_observer", "default_placeholder_observer",
    "default_reuse_input_observer", "default_symmetric_fixed_qparams_observer", "default_weight_observer",
    "per_channel_weight_observer_range_neg_127_to_127", "weight_observer_range_neg_127_to_127",
]


class _PartialWrapper:
    """A kind with some of its arguments. PyTorch: the class of this name, whose attributes are the same."""

    def __init__(self, p: Callable[..., Any]) -> None:
        self.p = p
        self.callable_args: Dict[str, Callable[[], Any]] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        made = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **keywords, **made)

    def __repr__(self) -> str:
        return f"{self.p!r}{self.callable_args!r}"

    def with_args(self, **keywords: Any) -> "_PartialWrapper":
        """The same with further arguments, or other ones."""
        return _with_args(self, **keywords)

    def with_callable_args(self, **makers: Callable[[], Any]) -> "_PartialWrapper":
        """The same with arguments that functions give when the description is used."""
        bind(self, dict.fromkeys(makers))
        result = _PartialWrapper(self.p)
        result.callable_args = {**self.callable_args, **makers}
        return result


def _with_args(kind: Any, **keywords: Any) -> _PartialWrapper:
    """The kind with some of its arguments; refuses those that it does not have."""
    bind(kind, keywords)
    return _PartialWrapper(partial(kind, **keywords))


def _with_callable_args(kind: Any, **makers: Callable[[], Any]) -> _PartialWrapper:
    return _PartialWrapper(partial(kind)).with_callable_args(**makers)


@dataclass(kw_only=True, eq=False)
class ObserverBase:
    """Describes an observer. PyTorch: `ObserverBase`, a module, which these are not."""

    dtype: torch.dtype = torch.quint8
    is_dynamic: bool = False

    with_args = classmethod(_with_args)
    with_callable_args = classmethod(_with_callable_args)

    def __call__(self, *_: Any) -> Any:
        raise InputError(f"{type(self).__name__} of octet.torch describes an observer and sees no data; "
                         "call the model that prepare_fx returns on samples instead")

    calculate_qparams = forward = __call__


@dataclass(kw_only=True, eq=False)
class UniformQuantizationObserverBase(ObserverBase):
    """An observer that derives scale and zero point from a range. PyTorch: the class of this name."""

    qscheme: torch.qscheme = torch.per_tensor_affine
    reduce_range: bool = False
    quant_min: Optional[int] = None
    quant_max: Optional[int] = None
    factory_kwargs: Any = None
    eps: float = torch.finfo(torch.float32).eps


@dataclass(kw_only=True, eq=False)
class MinMaxObserver(UniformQuantizationObserverBase):
    """The smallest and the largest value. PyTorch: `MinMaxObserver`; Octet: `#octet.min_max`."""


@dataclass(kw_only=True, eq=False)
class MovingAverageMinMaxObserver(UniformQuantizationObserverBase):
    """Moving averages of them. PyTorch: `MovingAverageMinMaxObserver`; Octet: `#octet.moving_average_min_max`."""

    averaging_constant: float = 0.01


@dataclass(kw_only=True, eq=False)
class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Both of every channel. PyTorch: `PerChannelMinMaxObserver`; Octet: `#octet.per_channel_min_max`."""

    qscheme: torch.qscheme = torch.per_channel_affine
    ch_axis: int = 0


@dataclass(kw_only=True, eq=False)
class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Moving averages of every channel. PyTorch: the class of this name; Octet: `#octet.moving_average_per_channel_min_max`."""

    averaging_constant: float = 0.01


@dataclass(kw_only=True, eq=False)
class HistogramObserver(UniformQuantizationObserverBase):
    """The range with the least squared error. PyTorch: `HistogramObserver`; Octet: `#octet.histogram`."""

    bins: int = 2048


@dataclass(kw_only=True, eq=False)
class FixedQParamsObserver(ObserverBase):
    """A known scale and zero point. PyTorch: `FixedQParamsObserver`; Octet: `#octet.fixed_qparams`."""

    scale: float
    zero_point: int
    qscheme: torch.qscheme = torch.per_tensor_affine
    quant_min: int = 0
    quant_max: int = 255


@dataclass(kw_only=True, eq=False)
class PlaceholderObserver(ObserverBase):
    """Floats, or values that are quantized in each run. PyTorch: `PlaceholderObserver`; Octet: `#octet.placeholder`."""

    dtype: torch.dtype = torch.float32
    custom_op_name: str = ""
    compute_dtype: Optional[torch.dtype] = None
    quant_min: Optional[int] = None
    quant_max: Optional[int] = None
    qscheme: Optional[torch.qscheme] = None
    eps: Optional[float] = None


@dataclass(kw_only=True, eq=False)
class NoopObserver(ObserverBase):
    """Floats of half the width unless another type is given. PyTorch: `NoopObserver`; Octet: `#octet.placeholder`."""

    dtype: torch.dtype = torch.float16
    custom_op_name: str = ""


@dataclass(kw_only=True, eq=False)
class RecordingObserver(ObserverBase):
    """The values of the first runs. PyTorch: `RecordingObserver`; Octet: `#octet.recording`."""


@dataclass(kw_only=True, eq=False)
class ReuseInputObserver(ObserverBase):
    """The observer of the operator's input. PyTorch: `ReuseInputObserver`; Octet: `#octet.reuse_input`."""


# ---- the names of common ones, as PyTorch defines them -------------------------------------------------------------------
_SIGNED = {"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric}
_SIGNED_CHANNELS = {"dtype": torch.qint8, "qscheme": torch.per_channel_symmetric}
_FLOAT_CHANNELS = {"qscheme": torch.per_channel_affine_float_qparams, "ch_axis": 0}
_NO_MINUS_128 = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
_BYTE = {"dtype": torch.quint8, "quant_min": 0, "quant_max": 255}

default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(**_SIGNED)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(**_SIGNED, **_NO_MINUS_128)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(**_SIGNED_CHANNELS)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(**_SIGNED_CHANNELS, **_NO_MINUS_128)
default_dynamic_quant_observer = PlaceholderObserver.with_args(**_BYTE, is_dynamic=True)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(dtype=torch.quint8, **_FLOAT_CHANNELS)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(dtype=torch.quint4x2, **_FLOAT_CHANNELS)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(**_BYTE, scale=2 / 256, zero_point=128)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(**_BYTE, scale=1 / 256, zero_point=0)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver
