# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions and matrix products, exact integers or f32 in the law's order (docs/numerics.md)."""

from dataclasses import dataclass

import numpy as np

from .elementwise import fma
from .quantization import QParams, choose_qparams, choose_qparams_as_onnx, quantize_dynamic

f32 = np.float32


@dataclass
class Window:
    """How a window of `kernel` moves over the last two axes; pads are top, left, bottom, right."""

    kernel: tuple
    strides: tuple = (1, 1)
    pads: tuple = (0, 0, 0, 0)
    dilations: tuple = (1, 1)

    def output(self, axis, size):
        span = self.dilations[axis] * (self.kernel[axis] - 1) + 1
        return (size + self.pads[axis] + self.pads[axis + 2] - span) // self.strides[axis] + 1

    def tap(self, axis, k, size):
        """Outputs [first, last) whose tap `k` lies inside the input, and the slice of the input that they read."""
        stride, start = self.strides[axis], k * self.dilations[axis] - self.pads[axis]
        first = max(0, -(start // stride))
        last = min(self.output(axis, size), (size - 1 - start) // stride + 1)
        if first >= last:
            return slice(0, 0), slice(0, 0)
        origin = first * stride + start
        return slice(first, last), slice(origin, origin + (last - first - 1) * stride + 1, stride)

    def taps(self, shape):
        """(kh, kw, output slices, input slices) in the law's order; taps without outputs are left out."""
        for kh in range(self.kernel[0]):
            oh, ih = self.tap(0, kh, shape[-2])
            for kw in range(self.kernel[1]):
                ow, iw = self.tap(1, kw, shape[-1])
                if oh.stop > oh.start and ow.stop > ow.start:
                    yield kh, kw, (oh, ow), (ih, iw)


def proves_no_overflow(weights, bias, params: QParams, outputs):
    """[N.overflow]; `weights` hold one row per output."""
    sums = np.abs(weights.reshape(outputs, -1).astype(np.int64)).sum(axis=1)
    distance = np.maximum(params.high - params.zero_point, params.zero_point - params.low)
    bounds = sums * np.repeat(distance, outputs // len(distance))
    if bias is not None:
        bounds = bounds + np.abs(np.asarray(bias).astype(np.int64))
    return bool((bounds <= 2**31 - 1).all())


def _exact_type(weights, outputs, largest=255):
    """A float type whose sums of these products are exact integers, in any order."""
    bound = np.abs(weights.reshape(outputs, -1).astype(np.int64)).sum(axis=1).max(initial=0) * largest
    return f32 if bound < 2**24 else np.float64


def conv_integer(x, zero_point, w, bias, window: Window, groups=1):
    """[N.accumulate] of a convolution: int64 of [N, O, H', W']; `zero_point` has one element or one per input channel."""
    n, channels, height, width = x.shape
    outputs, depth = w.shape[:2]
    kind = _exact_type(w, outputs)
    x = (x.astype(np.int64) - np.asarray(zero_point, np.int64).reshape(1, -1, 1, 1)).astype(kind)
    x = x.reshape(n, groups, depth, height, width)
    w = w.astype(kind).reshape(groups, outputs // groups, depth, *window.kernel)
    rows, columns = window.output(0, height), window.output(1, width)
    acc = np.zeros((n, groups, outputs // groups, rows, columns), kind)
    for kh, kw, out, inside in window.taps(x.shape):
        part = x[..., inside[0], inside[1]]
        if depth == 1:
            acc[..., out[0], out[1]] += part * w[None, :, :, 0, kh, kw, None, None]
        else:
            flat = np.ascontiguousarray(part).reshape(n, groups, depth, -1)
            acc[..., out[0], out[1]] += (w[None, :, :, :, kh, kw] @ flat).reshape(n, groups, -1, *part.shape[3:])
    result = acc.reshape(n, outputs, rows, columns).astype(np.int64)
    return result if bias is None else result + np.asarray(bias).astype(np.int64).reshape(1, -1, 1, 1)


def linear_integer(x, zero_point, w, bias):
    """[N.accumulate] of x [..., K] and w [N, K]."""
    kind = _exact_type(w, w.shape[0])
    acc = ((x.astype(np.int64) - int(np.asarray(zero_point).reshape(-1)[0])).astype(kind) @ w.astype(kind).T).astype(np.int64)
    return acc if bias is None else acc + np.asarray(bias).astype(np.int64)


def linear_dynamic(x, w, w_scale, bias=None, low=0, high=255, per_row=False, onnx=False):
    """[N.dynamic_product] of x [..., K] in float and integers w [N, K] with scales [N] or []; `onnx`: with scale and zero point of [N.dynamic]."""
    scale, zero = choose_qparams_as_onnx(x) if onnx else choose_qparams(x, low, high, per_row)
    distances = (quantize_dynamic(x, scale, zero) - zero).astype(np.float64)
    acc = (distances @ w.astype(np.float64).T).astype(f32)  # the sums are exact in f64
    with np.errstate(all="ignore"):
        y = acc * (scale * np.asarray(w_scale, f32))
    return y if bias is None else y + np.asarray(bias, f32)


def conv_dynamic(x, w, w_scale, bias, window: Window, groups=1):
    """[N.dynamic_product] of x [N, I, H, W] in float and integers w with scales [O] or []."""
    scale, zero = choose_qparams(x, 0, 255)
    acc = conv_integer(quantize_dynamic(x, scale, zero), zero, w, None, window, groups).astype(f32)
    y = acc * (scale * np.asarray(w_scale, f32)).reshape(-1, 1, 1)
    return y if bias is None else y + np.asarray(bias, f32).reshape(-1, 1, 1)


def matmul_integer(a, a_zero, b, b_zero):
    """[N.accumulate] of two activations: a [..., M, K] and b [..., K, N], each with one zero point."""
    a, b = (x.astype(np.int64) - int(np.asarray(zero).reshape(-1)[0]) for x, zero in ((a, a_zero), (b, b_zero)))
    kind = f32 if a.shape[-1] * 255 * 255 < 2**24 else np.float64
    return (a.astype(kind) @ b.astype(kind)).astype(np.int64)


def conv(x, w, bias, window: Window, groups=1):
    """[N.conv]"""
    n, channels, height, width = x.shape
    outputs, depth = w.shape[:2]
    x = x.reshape(n, groups, depth, 1, height, width)
    w = w.reshape(1, groups, outputs // groups, depth, *window.kernel)
    shape = (n, groups, outputs // groups, window.output(0, height), window.output(1, width))
    acc = np.zeros(shape, f32)
    for kh, kw, out, inside in window.taps((height, width)):
        target = acc[..., out[0], out[1]]
        for channel in range(depth):
            target[...] = fma(x[:, :, channel, :, inside[0], inside[1]], w[:, :, :, channel, kh, kw, None, None], target)
    acc = acc.reshape(n, outputs, *shape[3:])
    return acc if bias is None else acc + np.asarray(bias, f32).reshape(-1, 1, 1)


def linear(x, w, bias):
    """[N.linear]"""
    acc = np.zeros(x.shape[:-1] + (w.shape[0],), f32)
    for k in range(w.shape[1]):
        acc = fma(x[..., k, None], w[:, k], acc)
    return acc if bias is None else acc + np.asarray(bias, f32).reshape(-1)


def matmul(a, b):
    """[N.matmul]"""
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1])
    acc = np.zeros(shape, f32)
    for k in range(a.shape[-1]):
        acc = fma(a[..., :, k, None], b[..., None, k, :], acc)
    return acc


def fold_batch_norm(scale, shift, mean, variance, epsilon):
    """[N.batch_norm]: (k as f32, shift - mean * k in f64)."""
    scale, shift, mean, variance = (np.asarray(v, f32).astype(np.float64) for v in (scale, shift, mean, variance))
    k = (scale / np.sqrt(variance + np.float64(f32(epsilon)))).astype(f32)
    return k, shift - mean * k.astype(np.float64)


def batch_norm(x, scale, shift, mean, variance, epsilon):
    """[N.batch_norm]"""
    k, b = fold_batch_norm(scale, shift, mean, variance, epsilon)
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return fma(x, k.reshape(shape), b.astype(f32).reshape(shape))
