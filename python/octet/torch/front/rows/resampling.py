# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Images of other sizes, and values between their samples."""
from __future__ import annotations

from typing import Any, Optional

import torch
from torch import nn

from ..net import Net, Unsupported, Value
from ..table import modules, operators
from .pooling import adaptive_pool

_MODES = {"nearest": "nearest", "nearest-exact": "nearest", "bilinear": "linear", "linear": "linear", "trilinear": "linear", "bicubic": "cubic"}


def _factors(scale: Any, rank: int) -> list:
    return [float(scale)] * rank if isinstance(scale, (int, float)) else [float(factor) for factor in scale]


def _coordinates(mode: str, align_corners: Optional[bool]) -> str:
    if mode == "nearest":
        return "asymmetric"
    return "align_corners" if align_corners else "half_pixel" if mode == "nearest-exact" else "pytorch_half_pixel"


@operators("interpolate")
def interpolate(net: Net, x: Value, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Optional[bool] = None,
                recompute_scale_factor: Optional[bool] = None, antialias: bool = False) -> Value:
    rank = x.rank - 2
    if mode == "area":
        return adaptive_pool(net, rank, "AveragePool", x, list(net.result.shape[2:]))
    if mode not in _MODES:
        raise Unsupported(f"mode={mode!r} is not supported")
    if size is None and not recompute_scale_factor:
        given = (None, net.constant(torch.tensor([1.0, 1.0, *_factors(scale_factor, rank)])))
    else:
        given = (None, None, net.constant(torch.tensor(list(net.result.shape))))
    return net.compose("Resize", x, *given, mode=_MODES[mode], coordinate_transformation_mode=_coordinates(mode, align_corners),
                       nearest_mode="round_prefer_ceil" if mode == "nearest-exact" else "floor", cubic_coeff_a=-0.5 if antialias else -0.75,
                       antialias=int(antialias), exclude_outside=int(antialias))


def _aten(mode: str, has_corners: bool, antialias: bool = False) -> Any:
    """A row for ATen's form: sizes or factors, which come in a list or one by one."""
    def row(net: Net, x: Value, output_size: Any, *rest: Any) -> Value:
        align_corners, scales = (rest[0], rest[1:]) if has_corners else (None, rest)
        scales = scales[0] if len(scales) == 1 and isinstance(scales[0], (list, tuple)) else scales
        factors = [scale for scale in scales if scale is not None]
        sized = len(factors) != x.rank - 2 or output_size is not None and not factors
        return interpolate(net, x, size=output_size or True if sized else None, scale_factor=factors, mode=mode, align_corners=align_corners, antialias=antialias)
    return row


for _rank in (1, 2, 3):
    operators(f"upsample_nearest{_rank}d")(_aten("nearest", False))
    operators(f"_upsample_nearest_exact{_rank}d")(_aten("nearest-exact", False))
for _name in ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"):
    operators(_name)(_aten("bilinear", True))
operators("upsample_bicubic2d")(_aten("bicubic", True))
operators("_upsample_bilinear2d_aa")(_aten("bilinear", True, antialias=True))
operators("_upsample_bicubic2d_aa")(_aten("bicubic", True, antialias=True))
modules(nn.Upsample, nn.UpsamplingNearest2d, nn.UpsamplingBilinear2d)(
    lambda net, m, x: interpolate(net, x, m.size, m.scale_factor, m.mode, m.align_corners, m.recompute_scale_factor))

_GRID_MODES = ("linear", "nearest", "cubic")
_GRID_PADDINGS = ("zeros", "border", "reflection")


@operators("grid_sample")
def grid_sample(net: Net, x: Value, grid: Value, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: Optional[bool] = None) -> Value:
    name = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return net.compose("GridSample", x, grid, mode=name, padding_mode=padding_mode, align_corners=int(bool(align_corners)))


@operators("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(net: Net, x: Value, grid: Value, mode: int, padding_mode: int, align_corners: bool) -> Value:
    return grid_sample(net, x, grid, _GRID_MODES[mode], _GRID_PADDINGS[padding_mode], align_corners)


@operators("affine_grid", "affine_grid_generator")
def affine_grid(net: Net, theta: Value, size: Any, align_corners: Optional[bool] = None) -> Value:
    return net.compose("AffineGrid", theta, net.constant(torch.tensor(list(size))), align_corners=int(bool(align_corners)))
