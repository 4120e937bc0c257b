# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integers and truth values, casts and look-ups (docs/numerics.md, section 4).

Integers are computed in 64 bits and wrap to their type.
"""

import numpy as np

f32, i64 = np.float32, np.int64


def _of_integers(operation):
    """[N.integer]: in 64 bits, then in the type of the first operand."""
    def apply(*operands):
        with np.errstate(all="ignore"):
            return operation(*(np.asarray(x).astype(i64) for x in operands)).astype(np.asarray(operands[0]).dtype)
    return apply


def _divide(a, b):
    isolated = (b == 0) | (b == -1)
    divisor = np.where(isolated, 1, b)
    floor = a // divisor
    whole = floor + ((floor * divisor != a) & ((a < 0) != (divisor < 0)))
    return np.where(b == 0, 0, np.where(b == -1, -a, whole))


def _remainder(a, b):
    rest = a - _divide(a, b) * b
    rest = np.where((rest != 0) & ((rest < 0) != (b < 0)), rest + b, rest)
    return np.where(b == 0, 0, rest)


def _shift_left(a, count):
    return np.where((count >= 0) & (count < 64), a << (count & 63), 0)


def _shift_right(a, count):
    return a >> np.where((count >= 0) & (count < 64), count, 63)


add, sub, mul = (_of_integers(operation) for operation in (np.add, np.subtract, np.multiply))
div, mod = _of_integers(_divide), _of_integers(_remainder)
neg, magnitude, sign = (_of_integers(operation) for operation in (np.negative, np.abs, np.sign))
larger, lesser = _of_integers(np.maximum), _of_integers(np.minimum)
shift_left, shift_right = _of_integers(_shift_left), _of_integers(_shift_right)


# [N.compare]
def equal(a, b):
    return np.equal(a, b)


def less(a, b):
    return np.less(a, b)


def less_or_equal(a, b):
    return np.less_equal(a, b)


def _truncate(x):
    """[N.cast] of real numbers to 64 bits."""
    inside = np.abs(x) < 2.0**63
    whole = np.trunc(np.where(inside, x, f32(0))).astype(i64)
    ends = np.where(np.isnan(x), 0, np.where(x < 0, np.iinfo(i64).min, np.iinfo(i64).max))
    return np.where(inside, whole, ends)


def cast(x, dtype):
    """[N.cast], and [N.half] for floats of 16 bits."""
    x, dtype = np.asarray(x), np.dtype(dtype)
    from_real, to_real = (kind.kind == "f" or kind.name == "bfloat16" for kind in (x.dtype, dtype))
    with np.errstate(all="ignore"):
        if dtype == bool:
            return x != 0
        if from_real:
            x = x.astype(f32)
            return x.astype(dtype) if to_real else _truncate(x).astype(dtype)
        return x.astype(i64).astype(f32 if to_real else dtype).astype(dtype)


def cumulative_sum(x, axis, exclusive, reverse):
    """[N.cumulative_sum]"""
    x = np.flip(x, axis) if reverse else x
    with np.errstate(all="ignore"):
        sums = np.cumsum(x, axis, dtype=x.dtype)  # of floats, too: one after the other
    sums = np.moveaxis(sums, axis, 0)
    if exclusive:
        sums = np.concatenate([np.zeros_like(sums[:1]), sums[:-1]])
    sums = np.moveaxis(sums, 0, axis)
    return np.flip(sums, axis) if reverse else sums


def top_k(x, k, axis, largest):
    """[N.top_k]: (values, indices)."""
    ranks = np.where(np.isnan(x), np.inf, x) if x.dtype.kind == "f" else x.astype(i64)
    missing = np.isnan(x) if x.dtype.kind == "f" else np.zeros(x.shape, bool)
    position = np.broadcast_to(np.arange(x.shape[axis]).reshape([-1] + [1] * (x.ndim - 1 - axis % x.ndim)), x.shape)
    order = np.lexsort((position, -ranks if largest else ranks, ~missing), axis=axis)
    indices = np.take(order, np.arange(k), axis)
    return np.take_along_axis(x, indices, axis), indices.astype(i64)


def scatter(data, indices, updates, reduction):
    """[N.gather]: rows of `updates` put to `indices` of the first dimension."""
    combine = {"none": lambda a, b: b, "add": np.add, "mul": np.multiply,
               "max": lambda a, b: np.where(np.isnan(a) | (a > b), a, b), "min": lambda a, b: np.where(np.isnan(a) | (a < b), a, b)}[reduction]
    result = data.copy()
    with np.errstate(all="ignore"):
        for index, row in zip(indices, updates):
            if not -len(data) <= index < len(data):
                raise IndexError("an index lies outside")
            result[index] = combine(result[index], row)
    return result


def gather(data, indices, axis):
    """[N.gather]"""
    if np.any((indices < -data.shape[axis]) | (indices >= data.shape[axis])):
        raise IndexError("an index lies outside")
    return np.take(data, indices, axis)
