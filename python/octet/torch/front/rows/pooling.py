# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools and resampling."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import modules, operators
from .products import Sizes, spread


def _batched(net: Net, x: Value, rank: int, make: Any) -> Any:
    """Of an image without a batch: that of a batch of one."""
    if x.rank == rank + 2:
        return make(x)
    y = make(net.reshape(x, (1, *x.shape)))
    return net.reshape(y, y.shape[1:])


def _max_pool(net: Net, rank: int, x: Value, kernel_size: Sizes, stride: Optional[Sizes] = None, padding: Sizes = 0, dilation: Sizes = 1,
              ceil_mode: bool = False, return_indices: bool = False) -> Value:
    if return_indices:
        raise Unsupported("return_indices is not supported")
    kernel = spread(kernel_size, rank)
    return _batched(net, x, rank, lambda x: net.compose(
        "MaxPool", x, kernel_shape=kernel, strides=spread(stride or kernel, rank), pads=spread(padding, rank) * 2,
        dilations=spread(dilation, rank), ceil_mode=int(ceil_mode)))


def _avg_pool(net: Net, rank: int, x: Value, kernel_size: Sizes, stride: Optional[Sizes] = None, padding: Sizes = 0, ceil_mode: bool = False,
              count_include_pad: bool = True, divisor_override: Optional[int] = None) -> Value:
    if divisor_override is not None:
        raise Unsupported("divisor_override is not supported")
    kernel = spread(kernel_size, rank)
    return _batched(net, x, rank, lambda x: net.compose(
        "AveragePool", x, kernel_shape=kernel, strides=spread(stride or kernel, rank), pads=spread(padding, rank) * 2,
        ceil_mode=int(ceil_mode), count_include_pad=int(count_include_pad)))


def _adaptive_pool(net: Net, rank: int, op: str, x: Value, output_size: Any, return_indices: bool = False) -> Value:
    sizes = x.shape[-rank:]
    wanted = [size if want is None else want for size, want in zip(sizes, spread(output_size, rank))]
    if any(size % want for size, want in zip(sizes, wanted)):
        raise Unsupported(f"from {sizes} to {tuple(wanted)}: only divisors of the input's sizes are supported")
    if wanted == [1] * rank:
        return _batched(net, x, rank, lambda x: net.compose(f"Global{op}", x))
    kernel = [size // want for size, want in zip(sizes, wanted)]
    return _batched(net, x, rank, lambda x: net.compose(op, x, kernel_shape=kernel, strides=kernel))


def _register() -> None:
    for rank in (1, 2, 3):
        max_pool = lambda net, x, *args, rank=rank, **kwargs: _max_pool(net, rank, x, *args, **kwargs)  # noqa: E731
        avg_pool = lambda net, x, *args, rank=rank, **kwargs: _avg_pool(net, rank, x, *args, **kwargs)  # noqa: E731
        adaptive_avg = lambda net, x, *args, rank=rank, **kwargs: _adaptive_pool(net, rank, "AveragePool", x, *args, **kwargs)  # noqa: E731
        adaptive_max = lambda net, x, *args, rank=rank, **kwargs: _adaptive_pool(net, rank, "MaxPool", x, *args, **kwargs)  # noqa: E731
        operators(f"max_pool{rank}d")(max_pool)
        operators(f"avg_pool{rank}d")(avg_pool)
        operators(f"adaptive_avg_pool{rank}d", f"_adaptive_avg_pool{rank}d")(adaptive_avg)
        operators(f"adaptive_max_pool{rank}d")(adaptive_max)
        operators(f"max_pool{rank}d_with_indices")(lambda net, x, *args, of=max_pool, **kwargs: (of(net, x, *args, **kwargs), None))
        modules(getattr(nn, f"MaxPool{rank}d"))(lambda net, m, x, rank=rank: _max_pool(
            net, rank, x, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode, m.return_indices))
        modules(getattr(nn, f"AvgPool{rank}d"))(lambda net, m, x, rank=rank: _avg_pool(
            net, rank, x, m.kernel_size, m.stride, m.padding, m.ceil_mode, m.count_include_pad, getattr(m, "divisor_override", None)))
        modules(getattr(nn, f"AdaptiveAvgPool{rank}d"))(lambda net, m, x, of=adaptive_avg: of(net, x, m.output_size))
        modules(getattr(nn, f"AdaptiveMaxPool{rank}d"))(lambda net, m, x, of=adaptive_max: of(net, x, m.output_size))


_MODES = {"nearest": "nearest", "bilinear": "linear", "linear": "linear", "trilinear": "linear", "bicubic": "cubic"}


@operators("interpolate")
def interpolate(net: Net, x: Value, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Value:
    if mode not in _MODES:
        raise Unsupported(f"mode={mode!r} is not supported")
    coordinates = "asymmetric" if mode == "nearest" else "align_corners" if align_corners else "pytorch_half_pixel"
    if size is None and not recompute_scale_factor:
        given = (None, net.constant(torch.tensor([1.0, 1.0, *map(float, spread(scale_factor, x.rank - 2))])))
    else:
        given = (None, None, net.constant(torch.tensor(list(net.result.shape))))
    return net.compose("Resize", x, *given, mode=_MODES[mode], coordinate_transformation_mode=coordinates, nearest_mode="floor",
                       cubic_coeff_a=-0.75, antialias=int(antialias))


@operators("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def upsample_nearest(net: Net, x: Value, output_size: Any, *_: Any, **__: Any) -> Value:
    return interpolate(net, x, size=output_size or True)


@operators("upsample_bilinear2d", "upsample_linear1d", "upsample_trilinear3d")
def upsample_linear(net: Net, x: Value, output_size: Any, align_corners: bool, *_: Any, **__: Any) -> Value:
    return interpolate(net, x, size=output_size or True, mode="bilinear", align_corners=align_corners)


modules(nn.Upsample, nn.UpsamplingNearest2d, nn.UpsamplingBilinear2d)(
    lambda net, m, x: interpolate(net, x, m.size, m.scale_factor, m.mode, m.align_corners, m.recompute_scale_factor))
_register()
