# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantized values and the ends of products (docs/numerics.md, sections 2 and 3)."""

from dataclasses import dataclass

import numpy as np

from .elementwise import fma

f32 = np.float32


@dataclass
class QParams:
    """Scales and zero points (arrays of one element, or of one per index of `axis`) and storage bounds."""

    scale: np.ndarray
    zero_point: np.ndarray
    low: int = 0
    high: int = 255
    axis: int | None = None

    def __post_init__(self):
        self.scale = np.atleast_1d(np.asarray(self.scale, f32))
        self.zero_point = np.broadcast_to(np.atleast_1d(np.asarray(self.zero_point, np.int64)), self.scale.shape)

    def along(self, values, rank):
        """Per-channel `values` shaped to broadcast against a tensor of `rank` dimensions."""
        if self.axis is None:
            return values.reshape(())
        return values.reshape([-1 if d == self.axis else 1 for d in range(rank)])


def _round_and_clamp(t, params: QParams):
    """clamp(rne(t) + z), clamped in f32 before the conversion to an integer."""
    z = params.along(params.zero_point, t.ndim)
    low, high = (params.low - z).astype(f32), (params.high - z).astype(f32)
    t = np.where(np.isnan(t), f32(0), t)
    t = np.where(t < low, low, np.where(t > high, high, t))
    return np.rint(t).astype(np.int64) + z


def quantize(x, params: QParams):
    """[N.quantize]; the storage values as int64."""
    x = np.asarray(x, f32)
    with np.errstate(all="ignore"):
        t = x / params.along(params.scale, x.ndim)
    return _round_and_clamp(np.asarray(t), params)


def quantize_weight(w, params: QParams):
    """[N.quantize_weight]; the storage values as int64."""
    w = np.asarray(w, f32)
    with np.errstate(all="ignore"):
        t = w * (f32(1) / params.along(params.scale, w.ndim))
    return _round_and_clamp(np.asarray(t), params)


def fake_quantize(x, params: QParams):
    """[N.fake_quantize]: the rounded numbers, and where a gradient passes."""
    x = np.asarray(x, f32)
    with np.errstate(all="ignore"):
        steps = np.rint(x * (f32(1) / params.along(params.scale, x.ndim))) + params.along(params.zero_point, x.ndim)
    stored = np.where(np.isnan(steps), params.low, np.clip(steps, params.low, params.high))
    return dequantize(stored, params), (steps >= params.low) & (steps <= params.high)


def quantize_stored(w, scale, zero_point, low, high):
    """[N.quantize_weight] with real zero points; scale and zero point broadcast to `w`."""
    with np.errstate(all="ignore"):
        t = np.asarray(w, f32) * (f32(1) / np.asarray(scale, f32)) + np.asarray(zero_point, f32)
    return np.rint(np.clip(np.where(np.isnan(t), f32(0), t), f32(low), f32(high))).astype(np.int64)


def dequantize_weights(q, scale, zero_point, block=None):
    """[N.dequantize_weights]; scales and zero points are one for each block of elements, or broadcast to `q`."""
    q = np.asarray(q)
    for axis, size in enumerate(block or ()):
        scale, zero_point = (np.repeat(p, size, axis).take(range(q.shape[axis]), axis) for p in (scale, zero_point))
    with np.errstate(all="ignore"):
        return (q.astype(f32) - np.asarray(zero_point, f32)) * np.asarray(scale, f32)


def narrow(params: QParams, interval):
    """[N.narrow]: storage bounds that do what a clamp to `interval` does, or nothing."""
    if not interval[0] < interval[1]:
        return None
    vector = QParams(params.scale, params.zero_point, params.low, params.high, axis=0)
    low, high = (np.unique(quantize(np.full(params.scale.size, bound, f32), vector)) for bound in interval)
    if low.size > 1 or high.size > 1 or low[0] >= high[0]:
        return None
    return int(low[0]), int(high[0])


def dequantize(q, params: QParams):
    """[N.dequantize]"""
    q = np.asarray(q).astype(np.int64)
    with np.errstate(all="ignore"):
        return (q - params.along(params.zero_point, q.ndim)).astype(f32) * params.along(params.scale, q.ndim)


def qparams(low, high, qmin=0, qmax=255, eps=2.0**-23, symmetric=False, custom_range=False):
    """[N.qparams]: (scale, zero point)."""
    n, p = min(f32(low), f32(0)), max(f32(high), f32(0))
    steps = f32(qmax - qmin)
    if symmetric:
        scale = max(max(-n, p) / (steps / f32(2)), f32(eps))
        return scale, 0 if qmin < 0 else (qmin + qmax) // 2 if custom_range else 128
    scale = max((p - n) / steps, f32(eps))
    return scale, int(np.clip(qmin - int(np.rint(n / scale)), qmin, qmax))


def float_qparams(low, high, qmin=0, qmax=255, eps=2.0**-23):
    """[N.qparams] with real zero points: (scale, zero point)."""
    scale = (f32(high) - f32(low)) / f32(qmax - qmin)
    scale = scale if scale > f32(eps) else f32(1)
    return scale, -f32(low) / scale


LEAST_DYNAMIC_SCALE = f32(6.1e-5)


def choose_qparams(x, low=0, high=255, per_row=False):
    """[N.choose_qparams]: (scale as f32, zero point as int64), of shape () or, of rows, that of x with the last dimension 1."""
    x = np.asarray(x, f32)
    axes = (-1,) if per_row else tuple(range(x.ndim))
    # Where nothing is a number there are only zeros.
    p, n = (np.asarray(fold(np.where(np.isnan(x), f32(0), x), axis=axes, keepdims=per_row, initial=0), f32) for fold in (np.max, np.min))
    steps = high - low
    with np.errstate(all="ignore"):
        scale = (p.astype(np.float64) - n.astype(np.float64)) / steps
        scale = np.where((scale.astype(f32) == 0) | np.isinf(f32(1) / scale.astype(f32)), 0.1, scale)
        is_small = scale < np.float64(LEAST_DYNAMIC_SCALE)
        factor, reach = LEAST_DYNAMIC_SCALE / scale.astype(f32), LEAST_DYNAMIC_SCALE * f32(steps)
        wider_p = np.where(n == 0, reach, np.where(p == 0, p, p * factor))
        wider_n = np.where(n == 0, n, np.where(p == 0, -reach, n * factor))
        n, p = np.where(is_small, wider_n, n).astype(np.float64), np.where(is_small, wider_p, p).astype(np.float64)
        scale = np.where(is_small, np.float64(LEAST_DYNAMIC_SCALE), scale)
        is_n_nearer = abs(low) - np.abs(n / scale) < abs(high) - np.abs(p / scale)
        zero = np.where(is_n_nearer, low - n / scale, high - p / scale)
        zero = np.where(zero > low, zero, low)
        zero = np.where(zero < high, zero, high)
    return scale.astype(f32), np.rint(zero).astype(np.int64)


def choose_qparams_as_onnx(x):
    """[N.dynamic]: (scale as f32, zero point as int64) of DynamicQuantizeLinear."""
    x = np.asarray(x, f32)
    p, n = (f32(fold(np.where(np.isnan(x), f32(0), x), initial=0)) for fold in (np.max, np.min))
    with np.errstate(all="ignore"):
        scale = max((p - n) / f32(255), np.finfo(f32).tiny)
        zero = np.rint(np.fmin(np.fmax(f32(0) - n / scale, f32(0)), f32(255)))
    return scale, np.int64(zero)


def quantize_dynamic(x, scale, zero_point, low=0, high=255):
    """[N.quantize] with parameters that broadcast against x; the storage values as int64."""
    x, zero_point = np.asarray(x, f32), np.asarray(zero_point, np.int64)
    with np.errstate(all="ignore"):
        t = x / np.asarray(scale, f32)
        t = np.where(np.isnan(t), f32(0), t)
        t = np.minimum(np.maximum(t, (low - zero_point).astype(f32)), (high - zero_point).astype(f32))
    return np.rint(t).astype(np.int64) + zero_point


def accumulator_scale(input_scale, filter_scale):
    """S[c] of [N.bias]."""
    return np.asarray(input_scale, f32) * np.asarray(filter_scale, f32)


def quantize_bias(bias, scale):
    """[N.bias]"""
    with np.errstate(all="ignore"):
        q = np.rint(np.asarray(bias, f32).astype(np.float64) / np.asarray(scale, f32).astype(np.float64))
    limit = 2.0**31 - 1
    return np.clip(np.where(np.isnan(q), 0.0, q), -limit, limit).astype(np.int64)


def _per_output(values, rank, axis):
    return values.reshape([-1 if d == axis else 1 for d in range(rank)])


def _scale(acc, factor, addend, axis):
    """f32(acc) times its factor; [N.float_bias]: plus the addend, rounded once."""
    product = acc.astype(f32), _per_output(np.asarray(factor, f32), acc.ndim, axis)
    return product[0] * product[1] if addend is None else fma(*product, _per_output(addend, acc.ndim, axis))


def _in_steps(bias, result: QParams):
    """B[c] of [N.float_bias]."""
    return None if bias is None else bias / result.scale


def real_accumulator(acc, scale, axis, bias=None):
    """[N.epilogue]: f32(acc) * S[c]; `axis` holds the output channels. `bias`: of [N.float_bias]."""
    with np.errstate(all="ignore"):
        return _scale(acc, scale, bias, axis)


def requantize(acc, scale, result: QParams, axis, bias=None):
    """[N.requantize]"""
    with np.errstate(all="ignore"):
        return _round_and_clamp(_scale(acc, np.asarray(scale, f32) / result.scale, _in_steps(bias, result), axis), result)


def residual(acc, scale, other, other_params: QParams, result: QParams, axis, bias=None):
    """[N.residual]: `other` holds the storage values of the operand that is added."""
    with np.errstate(all="ignore"):
        multiplier = _per_output(np.asarray(scale, f32) / result.scale, acc.ndim, axis)
        factor = _per_output(other_params.scale / result.scale, acc.ndim, axis)
        centred = (np.asarray(other).astype(np.int64) - other_params.zero_point[0]).astype(f32)
        addend = centred * factor if bias is None else fma(centred, factor, _per_output(_in_steps(bias, result), acc.ndim, axis))
        return _round_and_clamp(fma(acc.astype(f32), multiplier, addend), result)
