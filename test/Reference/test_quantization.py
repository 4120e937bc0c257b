# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference's quantized operators against loops over exact numbers."""

from fractions import Fraction

import numpy as np
import octet_reference as reference
import pytest
from octet_reference import QParams, Window

f32 = np.float32


def test_quantize_rounds_ties_to_even_before_the_zero_point():
    params = QParams(2.0, 3)
    x = np.array([1, 3, 5, -1, -3, 2.0001, 0.9999], f32)  # x / s = 0.5, 1.5, 2.5, ...
    np.testing.assert_array_equal(reference.quantize(x, params), [3, 5, 5, 3, 1, 4, 3])


def test_quantize_divides():
    """PyTorch multiplies by 1 / s and gets 128 here."""
    x, scale = f32(0.273939937), f32(0.00214854861)
    assert Fraction(float(x)) / Fraction(float(scale)) < Fraction(255, 2)
    assert reference.quantize(x, QParams(scale, 0)) == 127


def test_weights_are_multiplied_by_the_reciprocal():
    x, scale = f32(0.273939937), f32(0.00214854861)
    assert reference.quantize_weight(x, QParams(scale, 0)) == 128
    # An extreme weight of PyTorch's default range: -127.5 steps, a tie that the reciprocal takes either way.
    rng = np.random.default_rng(0)
    extremes = -rng.uniform(0.1, 1, 1000).astype(f32)
    params = QParams(-extremes / f32(127.5), 0, low=-128, high=127, axis=0)
    quotients, products = reference.quantize(extremes, params), reference.quantize_weight(extremes, params)
    assert set(products) == {-128, -127} and np.any(quotients != products)


def test_quantize_ends():
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 2**-149, -0.0], f32)
    np.testing.assert_array_equal(reference.quantize(x, QParams(0.5, 7)), [7, 255, 0, 255, 0, 7, 7])
    np.testing.assert_array_equal(reference.quantize(x, QParams(1e-30, 7, low=5, high=9)), [7, 9, 5, 9, 5, 7, 7])
    assert reference.quantize(f32(np.nan), QParams(0.5, 7, low=10, high=20)) == 10


def test_quantize_per_channel():
    params = QParams([1, 2], [0, 100], axis=1)
    got = reference.quantize(np.full((1, 2, 3), 10, f32), params)
    np.testing.assert_array_equal(got, [[[10] * 3, [105] * 3]])
    np.testing.assert_array_equal(reference.dequantize(got, params), np.full((1, 2, 3), 10, f32))


@pytest.mark.parametrize("low, high, scale, zero", [
    (0.5, 0.5, f32(0.5) / f32(255), 0), (0, 0, f32(2**-23), 0), (-0.75, -0.75, f32(0.75) / f32(255), 255),
    (-1, 3, f32(4) / f32(255), 64), (-1e-9, 1e-9, f32(2**-23), 0)])
def test_qparams_affine(low, high, scale, zero):
    assert reference.qparams(low, high) == (scale, zero)


def test_qparams_symmetric():
    assert reference.qparams(-1, 0.5, -127, 127, symmetric=True) == (f32(1) / f32(127), 0)
    assert reference.qparams(-1, 2, -128, 127, symmetric=True) == (f32(2) / f32(127.5), 0)
    assert reference.qparams(-1, 2, symmetric=True)[1] == 128


def test_bias():
    scale = f32(0.001)
    for value in (0.0004, 1.0, -3.25, 0.7777, 1e30, -1e30):
        exact = Fraction(float(f32(value))) / Fraction(float(scale))
        assert reference.quantize_bias(f32(value), scale) == max(-(2**31 - 1), min(2**31 - 1, round(exact)))
    np.testing.assert_array_equal(reference.quantize_bias(f32([0.5, 1.5, 2.5]), f32(1)), [0, 2, 2])
    assert reference.quantize_bias(f32(np.nan), scale) == 0


def naive_conv(x, zero, w, window, groups):
    """Integers, one tap at a time."""
    n, _, height, width = x.shape
    outputs, depth = w.shape[:2]
    result = np.zeros((n, outputs, window.output(0, height), window.output(1, width)), object)
    for position in np.ndindex(*result.shape):
        b, o, oh, ow = position
        for c, kh, kw in np.ndindex(depth, *window.kernel):
            ih = oh * window.strides[0] - window.pads[0] + kh * window.dilations[0]
            iw = ow * window.strides[1] - window.pads[1] + kw * window.dilations[1]
            if 0 <= ih < height and 0 <= iw < width:
                channel = o // (outputs // groups) * depth + c
                result[position] += (int(x[b, channel, ih, iw]) - int(zero[channel % len(zero)])) * int(w[o, c, kh, kw])
    return result


WINDOWS = [Window((3, 3)), Window((3, 2), (2, 1), (1, 0, 2, 1)), Window((1, 1), (2, 2)), Window((2, 3), (1, 2), (2, 2, 1, 3), (2, 1)),
           Window((3, 3), (1, 1), (4, 4, 4, 4), (2, 2)), Window((3, 3), (4, 4), (1, 1, 0, 0))]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("groups, outputs", [(1, 3), (2, 4), (4, 4), (4, 8)])
def test_conv_integer(window, groups, outputs):
    rng = np.random.default_rng(outputs)
    x = rng.integers(0, 256, (2, 4, 6, 7)).astype(np.uint8)
    w = rng.integers(-127, 128, (outputs, 4 // groups, *window.kernel)).astype(np.int8)
    zero = rng.integers(0, 256, 4 if groups == 4 else 1)
    bias = rng.integers(-1000, 1000, outputs)
    got = reference.conv_integer(x, zero, w, bias, window, groups)
    np.testing.assert_array_equal(got, naive_conv(x, zero, w, window, groups) + bias.reshape(-1, 1, 1))


def test_conv_integer_beyond_what_f32_holds():
    """Sums of 2^25 and more are exact."""
    x, w = np.full((1, 4096, 1, 1), 255, np.uint8), np.full((1, 4096, 1, 1), 127, np.int8)
    w[0, 0] = 126
    assert reference.conv_integer(x, [0], w, [1], Window((1, 1)))[0, 0, 0, 0] == 255 * 127 * 4096 - 255 + 1


def test_overflow_proof():
    weights = np.full((2, 66312), 127, np.int8)
    assert not reference.proves_no_overflow(weights, None, QParams(1, 0), 2)  # 255 * 127 * 66312 > 2^31 - 1
    assert reference.proves_no_overflow(weights, None, QParams(1, 128), 2)
    assert reference.proves_no_overflow(weights, None, QParams(1, 0, 0, 254), 2)
    assert not reference.proves_no_overflow(weights[:, :66000], [2**31 - 1, 0], QParams(1, 0), 2)


def test_requantize_and_residual_step_by_step():
    rng = np.random.default_rng(0)
    acc = rng.integers(-(2**26), 2**26, (1, 3, 10, 10))
    scale, result = f32([1e-6, 3e-6, 7e-7]), QParams(0.11, 37, 37, 200)
    got = reference.requantize(acc, scale, result, 1)
    other, other_params = rng.integers(0, 256, acc.shape).astype(np.uint8), QParams(0.03, 111)
    added = reference.residual(acc, scale, other, other_params, result, 1)
    for position in np.ndindex(*acc.shape):
        multiplier = scale[position[1]] / f32(0.11)
        t = f32(int(acc[position])) * multiplier
        assert got[position] == min(200, max(37, int(np.rint(t)) + 37))
        t = reference.fma(f32(int(acc[position])), multiplier, f32(int(other[position]) - 111) * (f32(0.03) / f32(0.11)))
        assert added[position] == min(200, max(37, int(np.rint(t)) + 37))
    assert len(np.unique(got)) > 20 and len(np.unique(added)) > 20


def test_narrow():
    params = QParams(0.1, 20)
    assert reference.narrow(params, (f32(0), f32(np.inf))) == (20, 255)
    assert reference.narrow(params, (f32(0), f32(6))) == (20, 80)
    assert reference.narrow(params, (f32(6), f32(6))) is None
    assert reference.narrow(params, (f32(-9), f32(-8))) is None  # nothing between the bounds
    channels = QParams([0.1, 0.2], [0, 0], axis=1)
    assert reference.narrow(channels, (f32(0), f32(np.inf))) == (0, 255)
    assert reference.narrow(channels, (f32(0), f32(6))) is None  # 60 and 30


@pytest.mark.parametrize("window", WINDOWS[:5])
@pytest.mark.parametrize("include_pad", [False, True])
def test_pools(window, include_pad):
    rng = np.random.default_rng(3)
    q = rng.integers(0, 256, (1, 2, 6, 7)).astype(np.uint8)
    params, result = QParams(0.05, 9), QParams(0.031, 4)
    x = reference.dequantize(q, params)
    mean, got = reference.average_pool(x, window, include_pad), reference.average_pool_integer(q, params, result, window, include_pad)
    largest = reference.max_pool(x, window)
    for position in np.ndindex(*mean.shape):
        _, c, oh, ow = position
        taps = [(oh * window.strides[0] - window.pads[0] + kh * window.dilations[0], ow * window.strides[1] - window.pads[1] + kw * window.dilations[1])
                for kh, kw in np.ndindex(*window.kernel)]
        inside = [(h, w) for h, w in taps if 0 <= h < 6 and 0 <= w < 7]
        count = len(taps) if include_pad else len(inside)
        if not inside:
            continue
        total = f32(0)
        for h, w in inside:
            total = total + x[0, c, h, w]
        assert mean[position] == total / f32(count)
        exact = sum(int(q[0, c, h, w]) - 9 for h, w in inside)
        t = f32(exact) * (f32(0.05) / (f32(0.031) * f32(count)))
        assert got[position] == min(255, max(0, int(np.rint(t)) + 4))
        assert largest[position] == max(x[0, c, h, w] for h, w in inside)


def test_mean_integer_is_the_pool_over_everything():
    q = np.random.default_rng(4).integers(0, 256, (2, 3, 5, 4)).astype(np.uint8)
    params, result = QParams(0.05, 9), QParams(0.01, 4)
    pooled = reference.average_pool_integer(q, params, result, Window((5, 4)))
    np.testing.assert_array_equal(reference.mean_integer(q, params, result), pooled)
    np.testing.assert_array_equal(reference.mean_integer(q, params, result, keep_dims=False), pooled[:, :, 0, 0])


def test_float_products_add_in_order():
    rng = np.random.default_rng(5)
    x, w, b = (rng.normal(size=s).astype(f32) for s in ((1, 4, 5, 5), (6, 2, 3, 3), (6,)))
    window = Window((3, 3), (2, 1), (1, 1, 1, 1))
    got = reference.conv(x, w, b, window, groups=2)
    for position in np.ndindex(*got.shape):
        _, o, oh, ow = position
        acc = f32(0)
        for kh, kw, c in np.ndindex(3, 3, 2):
            ih, iw = oh * 2 - 1 + kh, ow - 1 + kw
            if 0 <= ih < 5 and 0 <= iw < 5:
                acc = reference.fma(x[0, o // 3 * 2 + c, ih, iw], w[o, c, kh, kw], acc)
        assert got[position] == acc + b[o]
    rows, matrix = rng.normal(size=(3, 7)).astype(f32), rng.normal(size=(4, 7)).astype(f32)
    product = reference.linear(rows, matrix, b[:4])
    for i, j in np.ndindex(3, 4):
        acc = f32(0)
        for k in range(7):
            acc = reference.fma(rows[i, k], matrix[j, k], acc)
        assert product[i, j] == acc + b[j]
    np.testing.assert_array_equal(reference.matmul(rows, matrix.T), reference.linear(rows, matrix, None))


def test_batch_norm_is_one_fma():
    rng = np.random.default_rng(6)
    x, scale, shift, mean = (rng.normal(size=s).astype(f32) for s in ((2, 3, 4, 4), 3, 3, 3))
    variance = rng.uniform(0.1, 2, 3).astype(f32)
    exact = (x.astype(np.float64) - mean.reshape(3, 1, 1)) / np.sqrt(variance.astype(np.float64) + 1e-5).reshape(3, 1, 1)
    exact = exact * scale.reshape(3, 1, 1) + shift.reshape(3, 1, 1)
    np.testing.assert_allclose(reference.batch_norm(x, scale, shift, mean, variance, 1e-5), exact, atol=2e-6)
