# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Resampling (docs/numerics.md: [N.resize]); other movement is NumPy's."""

import numpy as np

from .elementwise import fma

f32 = np.float32


def _coordinates(size, count, factor, coordinates):
    o, factor, half = np.arange(count).astype(f32), f32(factor), f32(0.5)
    if coordinates == "asymmetric":
        return o / factor
    if coordinates == "align_corners":
        return np.zeros(count, f32) if count == 1 else o * f32(size - 1) / f32(count - 1)
    if coordinates == "pytorch_half_pixel" and count == 1:
        return np.zeros(count, f32)
    if coordinates not in ("half_pixel", "pytorch_half_pixel"):
        raise NotImplementedError(f"coordinate mode {coordinates}")
    return (o + half) / factor - half


def _resize_axis(x, axis, count, factor, mode, coordinates, nearest):
    size = x.shape[axis]
    u = _coordinates(size, count, factor, coordinates)
    if mode == "nearest":
        rounded = {"floor": lambda: np.floor(u), "ceil": lambda: np.ceil(u),
                   "round_prefer_floor": lambda: np.ceil(u - f32(0.5)),
                   "round_prefer_ceil": lambda: np.floor(u + f32(0.5))}[nearest]()
        return np.take(x, np.clip(rounded, 0, size - 1).astype(np.int64), axis=axis)
    if mode != "linear":
        raise NotImplementedError(f"resize mode {mode}")
    u = np.clip(u, f32(0), f32(size - 1))
    low = np.floor(u).astype(np.int64)
    high = np.minimum(low + 1, size - 1)
    part = (u - low.astype(f32)).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    first, second = np.take(x, low, axis=axis), np.take(x, high, axis=axis)
    return fma(part, second - first, first)


def resize(x, size, factors=None, mode="nearest", coordinates="half_pixel", nearest="round_prefer_floor"):
    """[N.resize] of the last two axes to `size`."""
    x = np.asarray(x, f32)
    for axis, index in ((x.ndim - 1, 1), (x.ndim - 2, 0)):
        factor = f32(size[index]) / f32(x.shape[axis]) if factors is None else factors[index]
        x = _resize_axis(x, axis, size[index], factor, mode, coordinates, nearest)
    return x
