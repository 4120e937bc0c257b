# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantize and dequantize of graphs that PT2E converted. Scales and zero points are the graph's (docs/quantized-files.md)."""
from __future__ import annotations

from typing import Any, Union

import torch

from ..net import Net, Unsupported, Value
from ..table import ATEN, KEPT

_BYTES = (torch.uint8, torch.int8)


def _known(parameter: Union[Value, float, int], dtype: torch.dtype) -> torch.Tensor:
    """A scale or a zero point."""
    if isinstance(parameter, Value):
        if parameter.tensor is None:
            raise Unsupported("scales that the network computes; quantize statically")
        return parameter.tensor.detach().to(dtype)
    return torch.tensor(parameter, dtype=dtype)


def _parameters(net: Net, scale: Any, zero_point: Any, dtype: torch.dtype, is_constant: bool = False) -> Any:
    if dtype not in _BYTES and not (is_constant and dtype == torch.int32):  # biases
        raise Unsupported(f"integers of {dtype}; give int8 or uint8")
    zeros = torch.zeros_like(_known(scale, torch.float32)) if zero_point is None else _known(zero_point, torch.int64)
    return net.constant(_known(scale, torch.float32).reshape(zeros.shape)), net.constant(zeros.to(dtype))


def _quantize(net: Net, x: Value, scale: Any, zero_point: Any, low: int, high: int, dtype: torch.dtype, axis: int = 0) -> Value:
    scales, zeros = _parameters(net, scale, zero_point, dtype)
    result = net.compose("QuantizeLinear", x, scales, zeros, axis=axis)
    limits = torch.iinfo(dtype)
    if (low, high) == (limits.min, limits.max):
        return result
    return net.compose("Clip", result, *(net.constant(torch.tensor(bound, dtype=dtype)) for bound in (low, high)))


def _dequantize(net: Net, x: Value, scale: Any, zero_point: Any, dtype: torch.dtype, axis: int = 0) -> Value:
    return net.compose("DequantizeLinear", x, *_parameters(net, scale, zero_point, dtype, x.tensor is not None), axis=axis)


def quantize_per_tensor(net: Net, x: Value, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: torch.dtype) -> Value:
    return _quantize(net, x, scale, zero_point, quant_min, quant_max, dtype)


def dequantize_per_tensor(net: Net, x: Value, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: torch.dtype, **_: Any) -> Value:
    return _dequantize(net, x, scale, zero_point, dtype)


def quantize_per_channel(net: Net, x: Value, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int, dtype: torch.dtype) -> Value:
    return _quantize(net, x, scale, zero_point, quant_min, quant_max, dtype, x.axis(axis))


def dequantize_per_channel(net: Net, x: Value, scale: Any, zero_point: Any, axis: int, quant_min: int, quant_max: int, dtype: torch.dtype, **_: Any) -> Value:
    return _dequantize(net, x, scale, zero_point, dtype, x.axis(axis))


for _row in (quantize_per_tensor, dequantize_per_tensor, quantize_per_channel, dequantize_per_channel):
    ATEN[f"quantized_decomposed::{_row.__name__}"] = _row
    KEPT.add(_row)
