# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools and resampling."""
from __future__ import annotations

import math
from typing import Any, Optional, Sequence

from torch import nn

from ..net import Net, Unsupported, Value
from ..table import modules, operators
from .movement import slice_along
from .products import Sizes, spread


def _batched(net: Net, x: Value, rank: int, make: Any) -> Any:
    """Of an image without a batch: that of a batch of one."""
    if x.rank == rank + 2:
        return make(x)
    y = make(net.reshape(x, (1, *x.shape)))
    return net.reshape(y, y.shape[1:])


def _window(rank: int, kernel: Sequence[int], stride: Optional[Sizes], padding: Sizes, ceil_mode: bool) -> dict:
    return {"kernel_shape": kernel, "strides": spread(stride or kernel, rank), "pads": spread(padding, rank) * 2, "ceil_mode": int(ceil_mode)}


def _max_pool(net: Net, rank: int, x: Value, kernel_size: Sizes, stride: Optional[Sizes] = None, padding: Sizes = 0, dilation: Sizes = 1,
              ceil_mode: bool = False, return_indices: bool = False) -> Any:
    window = {**_window(rank, spread(kernel_size, rank), stride, padding, ceil_mode), "dilations": spread(dilation, rank)}
    if not return_indices:
        return _batched(net, x, rank, lambda x: net.compose("MaxPool", x, **window))
    batched = net.reshape(x, (*[1] * (rank + 2 - x.rank), *x.shape))
    values, places = net.compose_all("MaxPool", batched, results=2, **window)
    places = net.nn("mod", places, math.prod(x.shape[-rank:]))  # ONNX counts through the whole tensor, PyTorch through one channel
    return tuple(net.reshape(y, y.shape[batched.rank - x.rank:]) for y in (values, places))


def _max_pool_with_indices(net: Net, rank: int, x: Value, *args: Any, **kwargs: Any) -> tuple:
    """The function and the ATen operator return both."""
    return _max_pool(net, rank, x, *args, **{**kwargs, "return_indices": True})


def _avg_pool(net: Net, rank: int, x: Value, kernel_size: Sizes, stride: Optional[Sizes] = None, padding: Sizes = 0, ceil_mode: bool = False,
              count_include_pad: bool = True, divisor_override: Optional[int] = None) -> Value:
    kernel = spread(kernel_size, rank)
    if divisor_override is not None and ceil_mode:
        raise Unsupported("divisor_override together with ceil_mode")
    counts_pads = count_include_pad or divisor_override is not None
    pooled = _batched(net, x, rank, lambda x: net.compose("AveragePool", x, count_include_pad=int(counts_pads), **_window(rank, kernel, stride, padding, ceil_mode)))
    return pooled if divisor_override is None else net.nn("mul", pooled, math.prod(kernel) / divisor_override)


def adaptive_pool(net: Net, rank: int, op: str, x: Value, output_size: Any, return_indices: bool = False) -> Any:
    """The ATen operators of maxima return positions, too, which nothing may read."""
    if return_indices:
        raise Unsupported("positions of an adaptive pool; use max_pool with return_indices")
    if isinstance(net.result, tuple):
        return _adaptive_pool(net, rank, op, x, output_size), None
    return _adaptive_pool(net, rank, op, x, output_size)


def _adaptive_pool(net: Net, rank: int, op: str, x: Value, output_size: Any) -> Value:
    sizes = x.shape[-rank:]
    wanted = [size if want is None else want for size, want in zip(sizes, spread(output_size, rank))]
    if wanted == [1] * rank:
        return _batched(net, x, rank, lambda x: net.compose(f"Global{op}", x))
    if any(size % want for size, want in zip(sizes, wanted)):
        for axis, want in enumerate(wanted, x.rank - rank):
            x = _adapt(net, op, x, axis, want)
        return x
    kernel = [size // want for size, want in zip(sizes, wanted)]
    return _batched(net, x, rank, lambda x: net.compose(op, x, kernel_shape=kernel, strides=kernel))


def _adapt(net: Net, op: str, x: Value, axis: int, want: int) -> Value:
    """Windows of several sizes, which may overlap, along one dimension."""
    size, name = x.shape[axis], "reduce_mean" if op == "AveragePool" else "reduce_max"
    if size == want:
        return x
    edges = [(i * size // want, -(-(i + 1) * size // want)) for i in range(want)]
    windows = [slice_along(net, x, axis, start, end - start, is_move=True) for start, end in edges]
    return net.move("concat", *(net.nn(name, window, axes=[axis], keep_dims=True) for window in windows), axis=axis)


def _lp_pool(net: Net, rank: int, x: Value, norm_type: float, kernel_size: Sizes, stride: Optional[Sizes] = None, ceil_mode: bool = False) -> Value:
    """PyTorch sums powers without taking magnitudes; ONNX's sum of even ones is the same."""
    if norm_type == 1:
        pooled = _avg_pool(net, rank, x, kernel_size, stride, 0, ceil_mode)
        return net.nn("mul", pooled, float(math.prod(spread(kernel_size, rank))))
    if norm_type % 2:
        raise Unsupported(f"norm_type={norm_type}")
    return _batched(net, x, rank, lambda x: net.compose("LpPool", x, p=int(norm_type), **_window(rank, spread(kernel_size, rank), stride, 0, ceil_mode)))


def _register() -> None:
    """The same rows for one, two and three dimensions."""
    for rank in (1, 2, 3):
        max_pool = lambda net, x, *args, rank=rank, **kwargs: _max_pool(net, rank, x, *args, **kwargs)  # noqa: E731
        avg_pool = lambda net, x, *args, rank=rank, **kwargs: _avg_pool(net, rank, x, *args, **kwargs)  # noqa: E731
        max_pool_with_indices = lambda net, x, *args, rank=rank, **kwargs: _max_pool_with_indices(net, rank, x, *args, **kwargs)  # noqa: E731
        adaptive_avg = lambda net, x, *args, rank=rank, **kwargs: adaptive_pool(net, rank, "AveragePool", x, *args, **kwargs)  # noqa: E731
        adaptive_max = lambda net, x, *args, rank=rank, **kwargs: adaptive_pool(net, rank, "MaxPool", x, *args, **kwargs)  # noqa: E731
        operators(f"max_pool{rank}d")(max_pool)
        operators(f"avg_pool{rank}d")(avg_pool)
        operators(f"adaptive_avg_pool{rank}d", f"_adaptive_avg_pool{rank}d")(adaptive_avg)
        operators(f"adaptive_max_pool{rank}d")(adaptive_max)
        operators(f"max_pool{rank}d_with_indices")(max_pool_with_indices)
        operators(f"lp_pool{rank}d")(lambda net, x, *args, rank=rank, **kwargs: _lp_pool(net, rank, x, *args, **kwargs))
        modules(getattr(nn, f"LPPool{rank}d"))(lambda net, m, x, rank=rank: _lp_pool(net, rank, x, m.norm_type, m.kernel_size, m.stride, m.ceil_mode))
        modules(getattr(nn, f"MaxPool{rank}d"))(lambda net, m, x, rank=rank: _max_pool(
            net, rank, x, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices))
        modules(getattr(nn, f"AvgPool{rank}d"))(lambda net, m, x, rank=rank: _avg_pool(
            net, rank, x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, getattr(m, "divisor_override", None)))
        modules(getattr(nn, f"AdaptiveAvgPool{rank}d"))(lambda net, m, x, of=adaptive_avg: of(net, x, m.output_size))
        modules(getattr(nn, f"AdaptiveMaxPool{rank}d"))(lambda net, m, x, of=adaptive_max: of(net, x, m.output_size))


_register()
