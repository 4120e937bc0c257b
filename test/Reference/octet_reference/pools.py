# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools and reductions (docs/numerics.md: [N.max_pool], [N.avg_pool], [N.mean], [N.lanes], [N.reduce])."""

import numpy as np

from .elementwise import fold_lanes
from .products import Window
from .quantization import QParams, _round_and_clamp

f32 = np.float32


def _pooled_shape(x, window):
    return x.shape[:-2] + (window.output(0, x.shape[-2]), window.output(1, x.shape[-1]))


def max_pool(x, window: Window):
    """[N.max_pool] of f32 (the values of quantized tensors are in the same order)."""
    best = np.full(_pooled_shape(x, window), -np.inf, f32)
    for _, _, (oh, ow), (ih, iw) in window.taps(x.shape):
        target, value = best[..., oh, ow], x[..., ih, iw]
        target[...] = np.where(value > target, value, target)
    return best


def _window_sum(x, window, kind):
    """Sum over the valid elements, row by row, and their number."""
    total, count = np.zeros(_pooled_shape(x, window), kind), np.zeros(_pooled_shape(x, window)[-2:], np.int64)
    with np.errstate(all="ignore"):
        for _, _, (oh, ow), (ih, iw) in window.taps(x.shape):
            total[..., oh, ow] += x[..., ih, iw]
            count[oh, ow] += 1
    return total, count


def _divisor(count, window, include_pad):
    return np.full_like(count, window.kernel[0] * window.kernel[1]) if include_pad else count


def average_pool(x, window: Window, include_pad=False):
    """[N.mean] over windows."""
    total, count = _window_sum(np.asarray(x, f32), window, f32)
    with np.errstate(all="ignore"):
        return total / _divisor(count, window, include_pad).astype(f32)


def average_pool_integer(q, params: QParams, result: QParams, window: Window, include_pad=False):
    """[N.avg_pool]"""
    total, count = _window_sum(q.astype(np.int64) - params.zero_point[0], window, np.int64)
    return _requantize_mean(total, _divisor(count, window, include_pad), params, result)


def _requantize_mean(total, count, params, result):
    with np.errstate(all="ignore"):
        multiplier = params.scale[0] / (result.scale[0] * np.asarray(count).astype(f32))
        return _round_and_clamp(total.astype(f32) * multiplier, result)


def _reduced_last(x, axes):
    """`x` with the reduced axes, row-major, as one last axis."""
    kept = [d for d in range(x.ndim) if d not in axes]
    return x.transpose(kept + list(axes)).reshape([x.shape[d] for d in kept] + [-1])


def _restore(values, shape, axes, keep_dims):
    return values.reshape([1 if d in axes else n for d, n in enumerate(shape)]) if keep_dims else values


REDUCTIONS = {
    "sum": (0, np.add), "mean": (0, np.add), "prod": (1, np.multiply),
    "max": (-np.inf, lambda acc, x: np.where(x > acc, x, acc)), "min": (np.inf, lambda acc, x: np.where(x < acc, x, acc)),
}


def reduce(x, kind, axes, keep_dims=True):
    """[N.reduce] over `axes` (ascending)."""
    x = np.asarray(x, f32)
    neutral, join = REDUCTIONS[kind]
    flat = _reduced_last(x, axes)
    if tuple(axes) == (x.ndim - 1,):
        result = fold_lanes(flat, neutral, join)
    else:
        result = np.full(flat.shape[:-1], neutral, f32)
        with np.errstate(all="ignore"):
            for i in range(flat.shape[-1]):
                result = join(result, flat[..., i])
    return _restore(result / f32(flat.shape[-1]) if kind == "mean" else result, x.shape, axes, keep_dims)


def mean_integer(q, params: QParams, result: QParams, axes=(2, 3), keep_dims=True):
    """[N.avg_pool] of a mean over H and W."""
    flat = _reduced_last(q.astype(np.int64) - params.zero_point[0], axes)
    values = _requantize_mean(flat.sum(axis=-1), flat.shape[-1], params, result)
    return _restore(values, q.shape, axes, keep_dims)
