# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference's float operators against exact fractions and longer floats."""

import math
from fractions import Fraction

import numpy as np
import octet_reference as reference
import pytest

f32 = np.float32
SPECIAL = np.array([0, -0.0, 1, -1, 2**-149, -(2**-149), 2**-126, 1.5 * 2**-126, 2**-127, 3.4028235e38, -3.4028235e38, 1 + 2**-23,
                    1 - 2**-24, 2**24 + 2, 2**-100, 2**100, 0.1, 3], f32)


def round_fraction(value: Fraction) -> np.float32:
    """The f32 nearest to an exact value, ties to even."""
    if value == 0:
        return f32(0)
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent  # floor of log2
    unit = Fraction(2) ** (max(exponent, -126) - 23)
    steps = round(magnitude / unit)  # Python rounds fractions half to even
    result = steps * unit
    if result >= Fraction(2) ** 128:
        return f32(np.inf) if value > 0 else f32(-np.inf)
    return f32(float(result) if value > 0 else -float(result))


def check_fma(a, b, c):
    got = reference.fma(a, b, c)
    for x, y, z, result in zip(a, b, c, got):
        exact = round_fraction(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)))
        assert result == exact, (x, y, z)


def test_fma_of_special_values():
    grid = np.array(np.meshgrid(SPECIAL, SPECIAL, SPECIAL)).reshape(3, -1)
    check_fma(*grid)


@pytest.mark.parametrize("spread", [0, 3, 30, 60])
def test_fma_of_random_values(spread):
    rng = np.random.default_rng(spread)
    a, b, c = (np.ldexp(rng.uniform(-2, 2, 3000), rng.integers(-spread, spread + 1, 3000)).astype(f32) for _ in range(3))
    check_fma(a, b, c)


def test_fma_near_ties():
    """Sums that lie a hair beside half-way between two f32: rounding twice would go wrong."""
    rng = np.random.default_rng(1)
    c = rng.uniform(1, 2, 2000).astype(f32)
    a = np.full(2000, 2.0**-12, f32) * rng.choice([-1, 1], 2000).astype(f32)
    b = (f32(2.0**-12) * (1 + rng.integers(-2, 3, 2000) * 2.0**-23)).astype(f32)
    check_fma(a, b, c)
    # Just above a tie by less than 53 bits show, and just below one.
    for hair in (2.0**-60, -(2.0**-60)):
        a, b = f32(2.0**-12 * (1 + 2.0**-20)), f32(2.0**-12 / (1 + 2.0**-20) + hair)
        check_fma([a], [b], [f32(1)])


def test_fma_rounds_once_where_f64_would_round_twice():
    # 1 + 2^-23 + (2^-24 + 2^-70) in 53 bits is the tie 1 + 2^-23 + 2^-24, which goes up to even; with -2^-70 it is below it.
    a, b = f32(1 + 2.0**-23), f32(2.0**-24 * (1 - 2.0**-23))
    product = Fraction(float(a)) * Fraction(float(b))
    assert product < Fraction(2) ** -24
    c = f32(1 + 2.0**-23)
    assert f32(float(a) * float(b) + float(c)) != reference.fma(a, b, c)
    assert reference.fma(a, b, c) == round_fraction(product + Fraction(float(c)))


def test_fma_of_subnormal_results():
    rng = np.random.default_rng(2)
    a = np.ldexp(rng.uniform(1, 2, 3000), -70).astype(f32)
    b = np.ldexp(rng.uniform(1, 2, 3000), rng.integers(-80, -50, 3000)).astype(f32)
    c = (rng.integers(-9, 9, 3000) * 2.0**-149).astype(f32)
    check_fma(a, b, c)


def test_fma_infinite_and_nan():
    inf, nan = f32(np.inf), f32(np.nan)
    assert reference.fma(inf, f32(1), f32(1)) == inf
    assert np.isnan(reference.fma(inf, f32(0), f32(1)))
    assert np.isnan(reference.fma(inf, f32(1), -inf))
    assert np.isnan(reference.fma(nan, f32(1), f32(1)))
    assert reference.fma(f32(3e38), f32(3e38), -inf) == -inf
    assert reference.fma(f32(3e38), f32(3e38), f32(0)) == inf


def every(step, low, high):
    """f32 between two numbers, every `step`-th by bits."""
    bits = np.arange(0, 0x7F800000, step, dtype=np.uint32)
    x = np.concatenate([bits.view(f32), -bits.view(f32)])
    return x[(x >= low) & (x <= high)]


def test_exp_is_within_one_ulp():
    x = every(1009, -86, 88.7228)
    exact = np.exp(x.astype(np.longdouble))
    exact_ulp = 2.0 ** (np.floor(np.log2(exact.astype(np.float64))) - 23)
    assert np.max(np.abs(reference.exp(x) - exact) / exact_ulp) < 1.01


def test_exp_ends():
    x = np.array([88.8, 1e30, np.inf, -104.5, -1e30, -np.inf, 0, -0.0, np.nan], f32)
    np.testing.assert_array_equal(reference.exp(x), np.array([np.inf, np.inf, np.inf, 0, 0, 0, 1, 1, np.nan], f32))
    ends = reference.exp(np.array([88.7228, -86, np.nextafter(f32(-86), f32(-87))], f32))
    assert np.isfinite(ends[0]) and ends[1] > 2.0**-126 and ends[2] == 0  # nothing is subnormal


@pytest.mark.parametrize("function, exact, bound", [
    (reference.sigmoid, lambda v: 1 / (1 + np.exp(-v)), 1e-7),
    (reference.silu, lambda v: v / (1 + np.exp(-v)), 2e-7),
    (lambda v: reference.elu(v, 0.5), lambda v: np.where(v < 0, 0.5 * np.expm1(v), v), 1e-7),
])
def test_functions_of_exp(function, exact, bound):
    x = every(4001, -1000, 1000)
    wanted = exact(x.astype(np.longdouble))
    assert np.max(np.abs(function(x) - wanted) / np.maximum(1, np.abs(wanted))) < bound


@pytest.mark.parametrize("name, function, near, far", [
    ("silu", lambda x: x / (1 + np.exp(-x)), (2.5e-4, 8.5), 1.9e-3),
    ("gelu", lambda x: x / 2 * (1 + np.array([math.erf(v) for v in x / np.sqrt(2)])), (1.2e-4, 3.8), 3.9e-4),
    ("gelu_tanh", lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), (1.2e-4, 3.8), 3.9e-4),
])
def test_coarse_activations(name, function, near, far):
    """The bounds of [N.coarse]."""
    x = every(4001, -12, 12)
    error = np.abs(reference.coarse(x, name).astype(np.float64) - function(x.astype(np.float64)))
    bound, limit = near
    assert np.max(error[np.abs(x) < limit]) < bound and np.max(error) < far
    ends = reference.coarse(np.array([0, np.inf, -np.inf, np.nan], f32), name)
    assert ends[0] == 0 and ends[1] == np.inf and -2e-3 < ends[2] < 0 and ends[3] == ends[2]


def test_coarse_exp():
    """The bound of [N.coarse]."""
    x = every(1009, -17, 88)
    exact = np.exp(x.astype(np.float64))
    assert np.max(np.abs(reference.coarse_exp(x) / exact - 1)) < 2.0**-13
    ends = reference.coarse_exp(np.array([0, np.inf, -np.inf, np.nan, 88, -17], f32))
    assert ends[0] == 1 and ends[1] == ends[4] < np.inf and ends[2] == ends[3] == ends[5] > 0


def test_erf_is_within_one_ulp():
    x = every(20011, -5, 5)
    exact = np.array([math.erf(v) for v in x.astype(np.float64)])
    ulp = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(np.abs(exact), 2.0**-126))), -126) - 23)
    assert np.max(np.abs(reference.erf(x) - exact) / ulp) < 0.95
    np.testing.assert_array_equal(reference.erf(np.array([np.inf, -np.inf, np.nan, 0], f32)), np.array([1, -1, np.nan, 0], f32))
    assert np.signbit(reference.erf(f32(-0.0)))


def test_softplus_is_within_two_ulps():
    x = every(4001, -86, 1000)
    exact = np.logaddexp(0, x.astype(np.longdouble))
    ulp = 2.0 ** (np.floor(np.log2(exact.astype(np.float64))) - 23)
    assert np.max(np.abs(reference.softplus(x) - exact) / ulp) < 2
    ends = reference.softplus(np.array([np.inf, 1e30, np.nan, -np.inf], f32))
    np.testing.assert_array_equal(ends[:3], np.array([np.inf, 1e30, np.nan], f32))
    assert 0 < ends[3] < 5e-38


def test_log_is_within_one_ulp():
    x = every(1009, 1e-45, 3.5e38)
    exact = np.log(x.astype(np.longdouble))
    ulp = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(np.abs(exact.astype(np.float64)), 1e-300))), -126) - 23)
    assert np.max(np.abs(reference.log(x) - exact) / ulp) < 1
    ends = np.array([0, -0.0, -1, np.inf, np.nan], f32)
    np.testing.assert_array_equal(reference.log(ends), np.array([-np.inf, -np.inf, np.nan, np.inf, np.nan], f32))


@pytest.mark.parametrize("function, exact, bound", [(reference.sin, np.sin, 2.5e-7), (reference.cos, np.cos, 2.5e-7), (reference.atan, np.arctan, 2e-7)])
def test_circular_functions(function, exact, bound):
    x = every(4001, -(2.0**20), 2.0**20)
    assert np.max(np.abs(function(x) - exact(x.astype(np.longdouble)))) < bound
    assert np.isnan(function(f32(np.nan)))


def test_sine_of_what_is_too_large():
    assert np.isnan(reference.sin(f32(np.inf))) and np.isnan(reference.cos(f32(-np.inf)))
    assert reference.sin(f32(1e30)) == reference.sin(f32(2.0**20))


def test_integers_beside_a_number():
    x = np.array([0, 0.3, 0.5, 1.5, 2.5, 1e6, 2.0**22 + 0.5, 2.0**23 + 1, 1e30, np.inf], f32)
    x = np.concatenate([x, -x])
    for function, exact in ((reference.nearest, np.rint), (reference.floor, np.floor), (reference.ceil, np.ceil),
                            (reference.sign, np.sign), (reference.magnitude, np.abs)):
        np.testing.assert_array_equal(function(x), exact(x))
        assert np.isnan(function(f32(np.nan)))


def test_powers():
    x, y = np.meshgrid(np.array([-3, -1.5, -1, 0, 0.3, 1, 2.5, 7], f32), np.array([-3, -2, -0.5, 0, 0.5, 1, 2, 3, 4.5], f32))
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y)
    exact[np.isinf(exact)] = np.inf
    np.testing.assert_allclose(reference.power(x, y), exact, rtol=2e-6)
    inf, nan = f32(np.inf), f32(np.nan)
    assert reference.power(nan, f32(0)) == 1 and np.isnan(reference.power(f32(1), nan)) and np.isnan(reference.power(nan, f32(2)))
    assert reference.power(f32(-2), inf) == inf and reference.power(f32(-2), -inf) == 0


def test_larger_lesser_and_slopes():
    nan = f32(np.nan)
    assert reference.larger(f32(1), f32(2)) == 2 and reference.lesser(f32(1), f32(2)) == 1
    assert all(np.isnan(function(*pair)) for function in (reference.larger, reference.lesser) for pair in ((nan, f32(1)), (f32(1), nan)))
    np.testing.assert_array_equal(reference.prelu(f32([-2, -2, 3]), f32([0.5, -1, 7])), f32([-1, 2, 3]))
    np.testing.assert_array_equal(reference.thresholded_relu(f32([-2, 1, 3, np.nan]), 1), f32([0, 0, 3, 0]))


@pytest.mark.parametrize("form, exact", [
    ("none", lambda v: v / 2 * (1 + np.vectorize(math.erf)(v / math.sqrt(2)))),
    ("tanh", lambda v: v / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))),
])
def test_gelu(form, exact):
    x = every(20011, -1000, 1000)
    wanted = exact(x.astype(np.float64))
    assert np.max(np.abs(reference.gelu(x, form) - wanted) / np.maximum(1, np.abs(wanted))) < 2e-7
    assert np.isnan(reference.gelu(f32(np.nan), form)) and reference.gelu(f32(np.inf), form) == np.inf


@pytest.mark.parametrize("function, exact, least, most, bound", [(reference.tanh, np.tanh, -12, 12, 3.2), (lambda v: reference.elu(v, 1), np.expm1, -16, -1e-30, 1.3)], ids=["tanh", "elu"])
def test_what_is_small_is_precise(function, exact, least, most, bound):
    x = every(1009, least, most)
    x = x[x != 0]
    wanted = exact(x.astype(np.longdouble))
    ulp = 2.0 ** (np.floor(np.log2(np.abs(wanted).astype(np.float64))) - 23)
    assert np.max(np.abs(function(x) - wanted) / ulp) < bound


def test_functions_of_exp_at_the_ends():
    inf = f32(np.inf)
    assert reference.sigmoid(inf) == 1 and 0 < reference.sigmoid(-inf) < 2e-38
    assert reference.tanh(inf) == 1 and reference.tanh(-inf) == -1 and np.isnan(reference.tanh(f32(np.nan)))
    assert reference.silu(inf) == inf and -2e-36 < reference.silu(-inf) < 0
    assert np.isnan(reference.sigmoid(f32(np.nan))) and np.isnan(reference.silu(f32(np.nan)))


def test_comparisons_with_nan_and_zero():
    nan = f32(np.nan)
    assert reference.relu(nan) == 0 and reference.clip(nan, -2, 3) == -2
    assert not np.signbit(reference.relu(f32(-0.0)))
    assert np.isnan(reference.leaky_relu(nan, 0.1))
    assert reference.hard_sigmoid(nan, 0.2, 0.5) == 0


def test_hard_swish():
    x = np.linspace(-5, 5, 1001).astype(f32)
    exact = x * np.clip(x.astype(np.float64) / 6 + 0.5, 0, 1)
    np.testing.assert_allclose(reference.hard_swish(x), exact, atol=1e-6)


@pytest.mark.parametrize("length", [1, 5, 16, 17, 40])
def test_softmax_sums_in_sixteen_lanes(length):
    x = np.random.default_rng(length).normal(size=(3, length)).astype(f32) * 4
    got = reference.softmax(x, axis=1)
    for row, result in zip(x, got):
        e = reference.exp(row - row.max())
        lanes = [f32(0)] * 16
        for i, value in enumerate(e):
            lanes[i % 16] = lanes[i % 16] + value
        for half in (8, 4, 2, 1):
            for i in range(half):
                lanes[i] = lanes[i] + lanes[i + half]
        np.testing.assert_array_equal(result, e / lanes[0])
    np.testing.assert_array_equal(reference.softmax(x.T, axis=0), got.T)
