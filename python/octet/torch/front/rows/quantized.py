# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantize and dequantize of graphs that PT2E converted. Scales and zero points are the graph's (docs/quantized-files.md), or those of each run."""
from __future__ import annotations

from typing import Any, Tuple, Union

import torch

from ..net import InEachRun, Net, Unsupported, Value, Widened
from ..table import ATEN, KEPT

_BYTES = (torch.uint8, torch.int8)
_WIDE = (torch.uint16, torch.int16)


def _stored_as(dtype: torch.dtype, low: int, high: int) -> torch.dtype:
    """The type of integers that are computed; quantizers of mobile chips keep those of 16 bits in int32."""
    fits = (own for own in _BYTES + _WIDE if torch.iinfo(own).min <= low and high <= torch.iinfo(own).max)
    return next(fits, dtype) if dtype == torch.int32 else dtype


def _known(parameter: Union[Value, float, int], dtype: torch.dtype) -> torch.Tensor:
    """A scale or a zero point."""
    if isinstance(parameter, Value):
        if parameter.tensor is None:
            raise Unsupported("scales that the network computes; quantize statically")
        return parameter.tensor.detach().to(dtype)
    return torch.tensor(parameter, dtype=dtype)


def _parameters(net: Net, scale: Any, zero_point: Any, dtype: torch.dtype, is_constant: bool = False) -> Any:
    if dtype not in _BYTES + _WIDE and not (is_constant and dtype == torch.int32):  # biases
        raise Unsupported(f"integers of {dtype}; give those of 8 or 16 bits")
    zeros = torch.zeros_like(_known(scale, torch.float32)) if zero_point is None else _known(zero_point, torch.int64)
    return net.constant(_known(scale, torch.float32).reshape(zeros.shape)), net.constant(zeros.to(dtype))


def _quantize(net: Net, x: Value, scale: Any, zero_point: Any, low: int, high: int, dtype: torch.dtype, axis: int = 0) -> Value:
    declared, dtype = dtype, _stored_as(dtype, low, high)
    scales, zeros = _parameters(net, scale, zero_point, dtype)
    result = net.compose("QuantizeLinear", x, scales, zeros, axis=axis)
    limits = torch.iinfo(dtype)
    if (low, high) != (limits.min, limits.max):
        result = net.compose("Clip", result, *(net.constant(torch.tensor(bound, dtype=dtype)) for bound in (low, high)))
    return result if declared == dtype else Widened(result, declared)


def _dequantize(net: Net, x: Value, scale: Any, zero_point: Any, dtype: torch.dtype, axis: int = 0) -> Value:
    if isinstance(x, Widened):
        x, dtype = x.stored, x.stored.dtype
    return net.compose("DequantizeLinear", x, *_parameters(net, scale, zero_point, dtype, x.tensor is not None), axis=axis)


# ---- scales of each run ------------------------------------------------------------------------------------------------------
def choose_qparams(net: Net, x: Value, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype) -> Tuple[Value, Value]:
    """By [N.choose_qparams], which has a bound of its own for small scales."""
    if dtype not in _BYTES:
        raise Unsupported(f"integers of {dtype}; give int8 or uint8")
    scale, zero_point = (InEachRun(like, x, (quant_min, quant_max, dtype)) for like in net.result)
    return scale, zero_point


def _check_choice(choice: Any, *parameters: Any) -> None:
    """A value's parameters are those that were chosen for it."""
    if any(not isinstance(other, InEachRun) or other.source is not choice.source or other.bounds != choice.bounds for other in parameters):
        raise Unsupported("scales that the network computes of something else than the value; quantize statically")


def _quantize_in_each_run(net: Net, x: Value, scale: InEachRun, zero_point: Any, bounds: Tuple[int, int, torch.dtype]) -> Value:
    _check_choice(InEachRun(net.result, x, bounds), scale, zero_point)
    return InEachRun(net.result, x, bounds)


def _dequantize_in_each_run(net: Net, x: InEachRun, *parameters: Any) -> Value:
    """Signed bytes are unsigned ones less 128, and so are their zero points: their distances are the same."""
    _check_choice(x, *parameters)
    low, high, dtype = x.bounds
    lowest = torch.iinfo(dtype).min
    return net.round_in_each_run(x.source, low - lowest, high - lowest)


# ---- rows --------------------------------------------------------------------------------------------------------------------
def quantize_per_tensor(net: Net, x: Value, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: torch.dtype) -> Value:
    if isinstance(scale, InEachRun):
        return _quantize_in_each_run(net, x, scale, zero_point, (quant_min, quant_max, dtype))
    return _quantize(net, x, scale, zero_point, quant_min, quant_max, dtype)


def dequantize_per_tensor(net: Net, x: Value, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: torch.dtype, **_: Any) -> Value:
    if isinstance(x, InEachRun):
        return _dequantize_in_each_run(net, x, scale, zero_point)
    return _dequantize(net, x, scale, zero_point, dtype)


def quantize_per_channel(net: Net, x: Value, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int, dtype: torch.dtype) -> Value:
    return _quantize(net, x, scale, zero_point, quant_min, quant_max, dtype, x.axis(axis))


def dequantize_per_channel(net: Net, x: Value, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int, dtype: torch.dtype, **_: Any) -> Value:
    return _dequantize(net, x, scale, zero_point, dtype, x.axis(axis))


ATEN["quantized_decomposed::choose_qparams"] = choose_qparams
for _row in (quantize_per_tensor, dequantize_per_tensor, quantize_per_channel, dequantize_per_channel):
    ATEN[f"quantized_decomposed::{_row.__name__}"] = _row
    KEPT.add(_row)
