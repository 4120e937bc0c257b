# Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Float operators element by element, and softmax (docs/numerics.md, sections 1 and 4)."""

import numpy as np

f32 = np.float32


def from_bits(bits: int) -> np.float32:
    return np.uint32(bits).view(f32)


def _round_to_odd(total, error):
    """The f64 `total`, whose exact value is total + error, rounded to odd instead of to nearest."""
    bits = total.view(np.int64)
    away = (error > 0) == (total > 0)
    inexact_even = ((error > 0) | (error < 0)) & ((bits & 1) == 0)
    return np.where(inexact_even, np.where(away, bits + 1, bits - 1), bits).view(np.float64)


def fma(a, b, c):
    """a * b + c rounded once to f32.

    The product of two f32 is exact in f64. The sum is rounded to 53 bits and then to 24 or fewer, which goes wrong only where
    the f64 lies half-way between two f32: there the exact value decides, through a sum rounded to odd.
    """
    with np.errstate(all="ignore"):
        product = np.asarray(a, f32).astype(np.float64) * np.asarray(b, f32).astype(np.float64)
        addend = np.asarray(c, f32).astype(np.float64)
        total = np.atleast_1d(product + addend)
        # Half-way between normal f32, or so small that the f32 may be subnormal (fewer bits: another half-way).
        suspect = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000
        suspect |= (np.abs(total) < 2.0**-125) & (total != 0)
        if suspect.any():
            p, q = (np.broadcast_to(v, total.shape)[suspect] for v in (product, addend))
            s = total[suspect]
            back = s - p
            total[suspect] = _round_to_odd(s, (p - (s - back)) + (q - back))
        result = total.astype(f32)
    return result.reshape(np.broadcast_shapes(product.shape, addend.shape))


def _binary(operation):
    def apply(a, b):
        with np.errstate(all="ignore"):
            return operation(np.asarray(a, f32), np.asarray(b, f32))
    return apply


# [N.add] and its like
add, sub, mul, div = (_binary(operation) for operation in (np.add, np.subtract, np.multiply, np.divide))


def sqrt(x):
    """[N.sqrt]"""
    with np.errstate(all="ignore"):
        return np.sqrt(np.asarray(x, f32))


def relu(x):
    """[N.relu]"""
    x = np.asarray(x, f32)
    return np.where(x > 0, x, f32(0))


def magnitude(x):
    """[N.abs]"""
    return np.abs(np.asarray(x, f32))


def sign(x):
    """[N.sign]"""
    x = np.asarray(x, f32)
    return np.where(x < 0, f32(-1), np.where(x > 0, f32(1), x))


def nearest(x):
    """[N.round]"""
    x = np.asarray(x, f32)
    whole = np.rint(np.where(magnitude(x) < 2.0**23, magnitude(x), f32(0)))
    return np.where(magnitude(x) < 2.0**23, np.where(x < 0, -whole, whole), x)


def floor(x):
    """[N.round]: floor"""
    n = nearest(x)
    return np.where(n > x, sub(n, f32(1)), n)


def ceil(x):
    """[N.round]: ceil"""
    n = nearest(x)
    return np.where(n < x, add(n, f32(1)), n)


def _choose(is_first):
    def apply(a, b):
        a, b = np.broadcast_arrays(np.asarray(a, f32), np.asarray(b, f32))
        return np.where(np.isnan(a), a, np.where(is_first(a, b), a, b))
    return apply


# [N.max]
larger, lesser = _choose(np.greater), _choose(np.less)


def thresholded_relu(x, alpha):
    """[N.thresholded_relu]"""
    x = np.asarray(x, f32)
    return np.where(x > f32(alpha), x, f32(0))


def clip(x, low, high):
    """[N.clip]"""
    x, low, high = np.asarray(x, f32), f32(low), f32(high)
    t = np.where(x > low, x, low)
    return np.where(t < high, t, high)


def leaky_relu(x, alpha):
    """[N.leaky_relu]"""
    x = np.asarray(x, f32)
    return np.where(x < 0, mul(f32(alpha), x), x)


LARGEST_EXPONENT = from_bits(0x42B17217)  # log(2^128), rounded down


def _reduce_exponent(t):
    """n, r and (e^r - 1) / r of [N.exp]"""
    n = np.rint(t * from_bits(0x3FB8AA3B))
    r = fma(n, -from_bits(0x3F317200), t)
    r = fma(n, -from_bits(0x35BFBE8E), r)
    return np.asarray(n).astype(np.int32), r, _polynomial(r, 0x3AB511E8, 0x3C091D10, 0x3D2AAC79, 0x3E2AAA49, 0x3EFFFFFE, 0x3F800000)


def exp(x):
    """[N.exp]"""
    x = np.asarray(x, f32)
    with np.errstate(all="ignore"):
        n, r, y = _reduce_exponent(clip(x, -86, LARGEST_EXPONENT))
        y = np.ldexp(fma(y, r, f32(1)), n)
    y = np.where(x < -86, f32(0), np.where(x > LARGEST_EXPONENT, f32(np.inf), y))
    return np.where(np.isnan(x), x, y)


def expm1(x):
    """[N.expm1]"""
    n, r, y = _reduce_exponent(clip(x, -20, 20))
    power = np.ldexp(f32(1), n)
    return fma(power, mul(y, r), sub(power, f32(1)))


def elu(x, alpha):
    """[N.elu]"""
    x = np.asarray(x, f32)
    return np.where(x < 0, mul(f32(alpha), expm1(x)), x)


def _not_below_minus_87(x):
    x = np.asarray(x, f32)
    return np.where(x < f32(-87), f32(-87), x)


def sigmoid(x):
    """[N.sigmoid]"""
    t = _not_below_minus_87(x)
    return div(f32(1), add(f32(1), exp(-t)))


def silu(x):
    """[N.silu]"""
    t = _not_below_minus_87(x)
    return div(t, add(f32(1), exp(-t)))


def tanh(x):
    """[N.tanh]"""
    x = np.asarray(x, f32)
    e = expm1(mul(x, f32(2)))
    return np.where(np.isnan(x), x, div(e, add(e, f32(2))))


def _polynomial(x, *coefficients):
    y = from_bits(coefficients[0])
    for coefficient in coefficients[1:]:
        y = fma(y, x, from_bits(coefficient))
    return y


def erf(x):
    """[N.erf]"""
    x = np.asarray(x, f32)
    near = fma(x, _polynomial(mul(x, x), 0x38A7B3B0, 0xBA530517, 0x3BAA250D, 0xBCDC008D, 0x3DE716B2, 0xBEC093A0, 0x3E0375D4), x)
    u = np.where(np.abs(x) < 4, np.abs(x), f32(4))
    q = fma(_polynomial(u, 0xB960B4B7, 0x3B52DD36, 0xBCBB951C, 0x3DD79A51, 0x3F22BDCA, 0x3E039A09), u, u)
    far = sub(f32(1), exp(-q))
    return np.where(np.abs(x) > from_bits(0x3F6E147B), np.where(x < 0, -far, far), near)


def softplus(x):
    """[N.softplus]"""
    x = np.asarray(x, f32)
    e = exp(-np.where(np.abs(x) < 86, np.abs(x), f32(86)))
    p = _polynomial(e, 0xBB57A4E7, 0x3CA48BE7, 0xBD6B5846, 0x3DDA5704, 0xBE1D21AF, 0x3E49A5AA, 0xBE7F91F3, 0x3EAAA6E8, 0xBEFFFFE9)
    return np.where(np.isnan(x), x, add(relu(x), fma(mul(e, p), e, e)))


def log(x):
    """[N.log]"""
    x = np.asarray(x, f32)
    with np.errstate(all="ignore"):
        m, n = np.frexp(np.where((x > 0) & (x < np.inf), x, f32(1)).astype(np.float64))  # exact, of subnormal numbers, too
        isLow = m < np.float64(from_bits(0x3F3504F3))
        n, f = np.where(isLow, n - 1, n).astype(f32), (np.where(isLow, 2 * m, m) - 1).astype(f32)
        p = _polynomial(f, 0xBD9C182C, 0x3E04243F, 0xBE079BB3, 0x3E1138CC, 0xBE2A13B6, 0x3E4CD1FA, 0xBE800213, 0x3EAAAAA8, 0xBEFFFFFC)
        y = fma(n, from_bits(0x3F317200), add(f, fma(n, from_bits(0x35BFBE8E), mul(mul(f, f), p))))
        y = np.where(x < np.inf, y, x)
    return np.where(np.isnan(x), x, np.where(x > 0, y, np.where(x < 0, f32(np.nan), f32(-np.inf))))


def _sine(x, shift):
    x, shift = np.asarray(x, f32), f32(shift)
    t = clip(x, -(2.0**20), 2.0**20)
    n = nearest(fma(t, from_bits(0x3EA2F983), shift))
    turns = sub(n, shift)
    r = fma(turns, -from_bits(0x40490FDB), t)
    r = fma(turns, from_bits(0x33BBBD2E), r)
    r = fma(turns, from_bits(0x27772CED), r)
    square = mul(r, r)
    y = fma(mul(square, r), _polynomial(square, 0x362EDE74, 0xB94FB7F7, 0x3C08876A, 0xBE2AAAA6), r)
    y = np.where(n % 2 != 0, -y, y)
    return np.where(np.isfinite(x), y, f32(np.nan))


def sin(x):
    """[N.sin]"""
    return _sine(x, 0)


def cos(x):
    """[N.sin]: cos"""
    return _sine(x, 0.5)


def atan(x):
    """[N.atan]"""
    x = np.asarray(x, f32)
    size = magnitude(x)
    u = np.where(size > 1, div(f32(1), size), size)
    square = mul(u, u)
    p = _polynomial(square, 0xBAEB17F0, 0x3C32D32A, 0xBCFF68AD, 0x3D6D64F1, 0xBDAC1A48, 0x3DE04CFF, 0xBE1210DB, 0x3E4CC8FF, 0xBEAAAA9F)
    y = fma(mul(square, u), p, u)
    y = np.where(size > 1, sub(from_bits(0x3FC90FDB), y), y)
    return np.where(np.isnan(x), x, np.where(x < 0, -y, y))


def power(x, y):
    """[N.pow]"""
    x, y = np.broadcast_arrays(np.asarray(x, f32), np.asarray(y, f32))
    with np.errstate(all="ignore"):
        size = exp(mul(y, log(magnitude(x))))
        isInteger, isEven = nearest(y) == y, nearest(mul(y, f32(0.5))) == mul(y, f32(0.5))
    # What is infinite is an even integer here, though the difference to its own is not a number.
    isInteger, isEven = isInteger | np.isinf(y), isEven | np.isinf(y)
    result = np.where(x < 0, np.where(isInteger, np.where(isEven, size, -size), f32(np.nan)), size)
    return np.where(np.isnan(y), y, np.where(y == 0, f32(1), result))


def prelu(x, slope):
    """[N.leaky_relu] with slopes"""
    x = np.asarray(x, f32)
    return np.where(x < 0, mul(slope, x), x)


def gelu(x, form="none"):
    """[N.gelu] in the form that ONNX names."""
    x = np.asarray(x, f32)
    if form in ("none", b"none"):
        v = np.where(np.abs(x) < f32(5.8), -np.abs(x), f32(-5.8))
        q = _polynomial(v, 0x380ACBC8, 0x3A49A493, 0x3C0464C3, 0x3D5AC68B, 0xBEEAE40B, 0x3F935A93, 0xBF7FFF8C)
        n = np.rint(q)
        t = _polynomial(sub(q, n), 0x3AAE046E, 0x3C1E8629, 0x3D635B73, 0x3E75FC8C, 0x3F317214, 0x3F800001)
        tail = mul(t, np.exp2(n).astype(f32))
        return np.where(np.isnan(x), x, fma(v, tail, np.where(x > 0, x, f32(0))))
    t = np.where(x > -10, x, f32(-10))
    v = mul(t, fma(mul(t, t), from_bits(0x3D922279), from_bits(0x3FCC422A)))
    return np.where(np.isnan(x), x, div(t, add(f32(1), exp(-_not_below_minus_87(v)))))


#: Where tails of [N.coarse] end, and the bits of coefficients from the highest power on.
TAILS = {
    "silu": (8.5, 0x34C97775, 0xB787743E, 0x399978E1, 0xBB3C14FB, 0x3C82D8CD, 0xBD394A8D, 0x3C92FEAC, 0x3E7B2098, 0xBF00082D),
    "gelu": (3.8, 0x3A3F9CB0, 0xBC3534D9, 0x3D81B69B, 0xBE1E26D7, 0x3D7B6364, 0x3EC25EA8, 0xBEFF0C7A),
    "gelu_tanh": (3.8, 0x3A38A957, 0xBC2F18D8, 0x3D7B3201, 0xBE18E8DC, 0x3D62544C, 0x3EC3E677, 0xBEFF4D16),
}


def coarse(x, name):
    """[N.coarse]"""
    x = np.asarray(x, f32)
    limit, *coefficients = TAILS[name]
    u = np.where(np.abs(x) < f32(limit), np.abs(x), f32(limit))
    return fma(u, _polynomial(u, *coefficients), np.where(x > 0, x, f32(0)))


def coarse_exp(x):
    """[N.coarse]"""
    t = clip(np.asarray(x, f32), -17, 88)
    n = np.rint(t * from_bits(0x3FB8AA3B))
    r = fma(n, -from_bits(0x3F317218), t)
    return np.ldexp(_polynomial(r, 0x3E292480, 0x3F010EF5, 0x3F80066E, 0x3F800000), n.astype(np.int32))


def hard_sigmoid(x, alpha, beta):
    """[N.hard_sigmoid]"""
    return clip(fma(f32(alpha), x, f32(beta)), 0, 1)


def hard_swish(x):
    """[N.hard_swish]"""
    return mul(x, hard_sigmoid(x, from_bits(0x3E2AAAAB), 0.5))


def maximum(x, axis):
    """m = x > m ? x : m from minus infinity: the largest number along `axis`, which is kept."""
    x = np.asarray(x, f32)
    return np.max(np.where(np.isnan(x), f32(-np.inf), x), axis=axis, keepdims=True)


def fold_lanes(x, neutral, join):
    """[N.lanes] along the last axis."""
    lanes = np.full(x.shape[:-1] + (16,), neutral, f32)
    with np.errstate(all="ignore"):
        for start in range(0, x.shape[-1], 16):
            block = x[..., start : start + 16]
            count = block.shape[-1]
            lanes[..., :count] = join(lanes[..., :count], block)
        for half in (8, 4, 2, 1):
            lanes = join(lanes[..., :half], lanes[..., half : 2 * half])
    return lanes[..., 0]


def softmax(x, axis=-1):
    """[N.softmax]"""
    x = np.moveaxis(np.asarray(x, f32), axis, -1)
    e = exp(sub(x, maximum(x, -1)))
    return np.moveaxis(div(e, fold_lanes(e, 0, np.add)[..., None]), -1, axis)
