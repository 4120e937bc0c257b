//===- Formulas.h - formulas that laws share --------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_FORMULAS_H
#define OCTET_DIALECT_NN_FORMULAS_H

#include "octet/Dialect/NN/NN.h"
#include "octet/Numerics/Arithmetic.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <optional>
#include <tuple>

namespace octet::nn {

template <typename A> using Real = typename A::Real;
template <typename A> using Reals = llvm::ArrayRef<typename A::Real>;

/// [N.clip]
template <typename A> Real<A> clip(A &a, Real<A> x, float low, float high) {
  return a.min(a.max(x, a.real(low)), a.real(high));
}

/// The polynomial with `highest` and `others` as bits of its coefficients, from the highest power
/// on.
template <typename A>
Real<A> polynomial(A &a, Real<A> x, uint32_t highest, std::initializer_list<uint32_t> others) {
  Real<A> y = a.bits(highest);
  for (uint32_t coefficient : others)
    y = a.fma(y, x, a.bits(coefficient));
  return y;
}

/// 2^n, a normal number.
inline float powerOfTwo(int n) { return llvm::bit_cast<float>(uint32_t(n + 127) << 23); }

/// Of [N.exp]: t = n log(2) + r, and y = (exp(r) - 1) / r.
template <typename A> struct ReducedExponent {
  typename A::Integer n;
  Real<A> r, y;
};

/// Of t = `x`, or of t = -`x`, then with -r and -y. Rounding is symmetric: every other sign of the
/// polynomial changes, and no bit of its value.
template <typename A> ReducedExponent<A> reduceExponent(A &a, Real<A> x, bool isNegated = false) {
  uint32_t flip = isNegated ? 0x80000000u : 0u, sign = 0;
  auto n = a.round(a.mul(x, a.bits(0x3FB8AA3B ^ flip))); // log2(e)
  auto nf = a.toReal(n);
  auto r = a.fma(nf, a.bits(0xBF317200 ^ flip), x); // ln(2) in two parts
  r = a.fma(nf, a.bits(0xB5BFBE8E ^ flip), r);
  auto y = a.bits(0x3AB511E8);
  for (uint32_t coefficient : {0x3C091D10u, 0x3D2AAC79u, 0x3E2AAA49u, 0x3EFFFFFEu, 0x3F800000u}) {
    sign ^= flip;
    y = a.fma(y, r, a.bits(coefficient ^ sign));
  }
  return {n, r, y};
}

/// [N.exp] of t = `clamped` or of t = -`clamped`, which is no NaN. t is within [-87, 88.722].
template <typename A> Real<A> expOfClamped(A &a, Real<A> clamped, bool isNegated = false) {
  return a.monotone(clamped, [=](auto &a, auto clamped) {
    auto [n, r, y] = reduceExponent(a, clamped, isNegated);
    return a.scale(a.fma(y, r, a.real(1.0f)), n);
  });
}

// No exponential is subnormal: some CPUs handle such numbers in microcode. One below
// exp(-20) < 2^-25 changes no bit of a sum with 1 or -1.

/// [N.exp] of what is neither NaN nor above log(2^128).
template <typename A> Real<A> expOfSmall(A &a, Real<A> x) {
  Real<A> least = a.real(-86.0f);
  return a.selectLess(x, least, a.real(0), expOfClamped(a, a.max(x, least)));
}

/// Whether it is x - max(x), or a positive constant times that.
bool isAtMostZero(mlir::Value value);

/// [N.exp]; `isSmall`: x is 0 at most.
template <typename A> Real<A> exp(A &a, Real<A> x, bool isSmall = false) {
  if (isSmall)
    return a.keepNaN(x, expOfSmall(a, x));
  Real<A> largest = a.bits(0x42B17217); // log(2^128), rounded down
  Real<A> e = expOfSmall(a, a.min(x, largest));
  return a.keepNaN(x, a.selectLess(largest, x, a.real(INFINITY), e));
}

/// `numerator / (1 + exp(-t))` with t = x < -87 ? -87 : x, which is the numerator if none is given.
template <typename A>
Real<A> divideByLogistic(A &a, Real<A> x, std::optional<Real<A>> numerator = std::nullopt) {
  Real<A> t = a.max(x, a.real(-87.0f));
  Real<A> e = expOfClamped(a, a.min(t, a.real(20.0f)), /*isNegated=*/true);
  return a.div(numerator.value_or(t), a.add(a.keepNaN(x, e), a.real(1.0f)));
}

/// [N.coarse] Within 2^-13 of its value from -17 to 88; `isSmall`: x is 0 at most.
template <typename A> Real<A> coarseExp(A &a, Real<A> x, bool isSmall) {
  constexpr float kMargin = 0x1p-12f; // the powers of two meet within twice the error
  Real<A> least = a.max(x, a.real(-17.0f)), t = isSmall ? least : a.min(least, a.real(88.0f));
  auto compute = [](auto &a, auto t) {
    auto n = a.round(a.mul(t, a.bits(0x3FB8AA3B)));     // log2(e)
    auto r = a.fma(a.toReal(n), a.bits(0xBF317218), t); // ln(2)
    return a.scale(polynomial(a, r, 0x3E292480, {0x3F010EF5, 0x3F80066E, 0x3F800000}), n);
  };
  return a.monotone(t, compute, kMargin);
}

/// [N.coarse] `max(x, 0)` and a tail, a polynomial in |x| without a constant up to `limit`, from
/// where on it is nearly zero. Polynomials found by Remez' algorithm, then rounded.
template <typename A>
Real<A> addTail(A &a, Real<A> x, float limit, uint32_t highest,
                std::initializer_list<uint32_t> others) {
  constexpr float kMostOfTail = 0.5f; // 0.28 of silu
  Real<A> base = a.max(x, a.real(0));
  return a.near(base, kMostOfTail, [&] {
    Real<A> u = a.min(a.abs(x), a.real(limit));
    return a.fma(u, polynomial(a, u, highest, others), base);
  });
}

/// [N.coarse]
template <typename A> Real<A> coarseSilu(A &a, Real<A> x) {
  return addTail(a, x, 8.5f, 0x34C97775,
                 {0xB787743E, 0x399978E1, 0xBB3C14FB, 0x3C82D8CD, 0xBD394A8D, 0x3C92FEAC,
                  0x3E7B2098, 0xBF00082D});
}

/// [N.coarse]
template <typename A> Real<A> coarseGelu(A &a, Real<A> x, GeluForm form) {
  constexpr float kLimit = 3.8f;
  if (form == GeluForm::none)
    return addTail(a, x, kLimit, 0x3A3F9CB0,
                   {0xBC3534D9, 0x3D81B69B, 0xBE1E26D7, 0x3D7B6364, 0x3EC25EA8, 0xBEFF0C7A});
  return addTail(a, x, kLimit, 0x3A38A957,
                 {0xBC2F18D8, 0x3D7B3201, 0xBE18E8DC, 0x3D62544C, 0x3EC3E677, 0xBEFF4D16});
}

/// [N.expm1] exp(x) - 1 as 2^n (exp(r) - 1) + (2^n - 1), precise where it is small; of no x above
/// `most`.
template <typename A> Real<A> expMinusOne(A &a, Real<A> x, float most = 20.0f) {
  return a.monotone(clip(a, x, -20.0f, most), [](auto &a, auto t) {
    auto [n, r, y] = reduceExponent(a, t);
    auto power = a.scale(a.real(1.0f), n);
    return a.fma(power, a.mul(y, r), a.sub(power, a.real(1.0f)));
  });
}

/// [N.tanh]
template <typename A> Real<A> tanh(A &a, Real<A> x) {
  auto compute = [](auto &a, auto x) {
    auto e = expMinusOne(a, a.mul(x, a.real(2.0f)));
    return a.div(e, a.add(e, a.real(2.0f)));
  };
  return a.keepNaN(x, a.monotone(x, compute));
}

/// [N.erf] Near zero x + x * P(x^2), else 1 - exp(-(u + u * Q(u))) with the sign of x.
template <typename A> Real<A> erf(A &a, Real<A> x) {
  return a.monotone(x, [](auto &a, auto x) {
    auto near =
        a.fma(x,
              polynomial(a, a.mul(x, x), 0x38A7B3B0,
                         {0xBA530517, 0x3BAA250D, 0xBCDC008D, 0x3DE716B2, 0xBEC093A0, 0x3E0375D4}),
              x);
    auto magnitude = a.max(x, a.neg(x));
    auto u = a.min(magnitude, a.real(4.0f));
    auto q = a.fma(
        polynomial(a, u, 0xB960B4B7, {0x3B52DD36, 0xBCBB951C, 0x3DD79A51, 0x3F22BDCA, 0x3E039A09}),
        u, u);
    auto far = a.sub(a.real(1.0f), expOfClamped(a, q, /*isNegated=*/true));
    auto withSign = a.selectLess(x, a.real(0), a.neg(far), far);
    return a.selectLess(a.real(0.93f), magnitude, withSign, near);
  });
}

/// [N.abs] The sum makes 0 of -0.
template <typename A> Real<A> magnitude(A &a, Real<A> x) {
  return a.add(a.max(x, a.neg(x)), a.real(0));
}

/// [N.round] Beside 2^23 there is no room for a fraction, so that an addition rounds.
template <typename A> Real<A> nearestInteger(A &a, Real<A> x) {
  return a.monotone(x, [](auto &a, auto x) {
    auto size = magnitude(a, x), shift = a.real(0x1p23f);
    auto rounded = a.sub(a.add(size, shift), shift);
    auto withSign = a.selectLess(x, a.real(0), a.neg(rounded), rounded);
    return a.selectLess(size, shift, withSign, x);
  });
}

/// [N.log] of a number, that is positive and finite: by its exponent n, in steps of halves, and
/// f = x / 2^n - 1, f + f^2 * P(f).
template <typename A> Real<A> logOfPositive(A &a, Real<A> x) {
  auto n = a.real(0);
  auto scaleIf = [&](auto isLess, auto bound, float factor, float exponent) {
    auto scaled = a.mul(x, a.real(factor)), counted = a.add(n, a.real(exponent));
    auto limit = a.bits(bound);
    std::tie(x, n) =
        isLess ? std::pair(a.selectLess(x, limit, scaled, x), a.selectLess(x, limit, counted, n))
               : std::pair(a.selectLess(x, limit, x, scaled), a.selectLess(x, limit, n, counted));
  };
  scaleIf(true, 0x1A800000, 0x1p75f, -75); // 2^-74: subnormal numbers, too
  scaleIf(true, 0x3F800000, 0x1p75f, -75); // 1
  for (int exponent : {64, 32, 16, 8, 4, 2, 1, 1})
    scaleIf(false, 0x3F3504F3u + (uint32_t(exponent) << 23), powerOfTwo(-exponent), exponent);
  auto f = a.sub(x, a.real(1.0f));
  auto p = polynomial(a, f, 0xBD9C182C,
                      {0x3E04243F, 0xBE079BB3, 0x3E1138CC, 0xBE2A13B6, 0x3E4CD1FA, 0xBE800213,
                       0x3EAAAAA8, 0xBEFFFFFC});
  auto low = a.fma(n, a.bits(0x35BFBE8E), a.mul(a.mul(f, f), p)); // ln(2) in two parts
  return a.fma(n, a.bits(0x3F317200), a.add(f, low));
}

/// [N.log]
template <typename A> Real<A> log(A &a, Real<A> x) {
  return a.monotone(x, [](auto &a, auto x) {
    auto infinity = a.bits(0x7F800000);
    auto atEnd = a.selectLess(x, infinity, logOfPositive(a, x), x); // infinity, and NaN
    auto below = a.selectLess(x, a.real(0), a.bits(0x7FC00000), a.neg(infinity));
    return a.keepNaN(x, a.selectLess(a.real(0), x, atEnd, below));
  });
}

/// [N.sin] of x + `shift` * pi, `shift` 0 or 1/2: x = (n - shift) * pi + r with |r| <= pi / 2.
template <typename A> Real<A> sine(A &a, Real<A> x, float shift) {
  auto t = clip(a, x, -0x1p20f, 0x1p20f);
  auto n = nearestInteger(a, a.fma(t, a.bits(0x3EA2F983), a.real(shift)));
  auto turns = a.sub(n, a.real(shift));
  auto r = a.fma(turns, a.bits(0xC0490FDB), t); // pi in three parts
  r = a.fma(turns, a.bits(0x33BBBD2E), r);
  r = clip(a, a.fma(turns, a.bits(0x27772CED), r), -2.0f, 2.0f);
  auto square = a.mul(r, r);
  auto p = polynomial(a, square, 0x362EDE74, {0xB94FB7F7, 0x3C08876A, 0xBE2AAAA6});
  auto y = a.fma(a.mul(square, r), p, r);
  auto half = a.mul(n, a.real(0.5f)),
       rest = a.sub(half, nearestInteger(a, half)); // +-1/2: n is odd
  auto withSign = a.selectLess(a.real(0), magnitude(a, rest), a.neg(y), y);
  return a.keepNaN(a.mul(x, a.real(0)), withSign); // infinity * 0
}

/// [N.atan] With u = |x| or 1 / |x|, whichever is below 1, u + u^3 * P(u^2).
template <typename A> Real<A> atan(A &a, Real<A> x) {
  return a.monotone(x, [](auto &a, auto x) {
    auto one = a.real(1.0f), size = magnitude(a, x);
    auto u = a.selectLess(one, size, a.div(one, size), size), square = a.mul(u, u);
    auto p = polynomial(a, square, 0xBAEB17F0,
                        {0x3C32D32A, 0xBCFF68AD, 0x3D6D64F1, 0xBDAC1A48, 0x3DE04CFF, 0xBE1210DB,
                         0x3E4CC8FF, 0xBEAAAA9F});
    auto y = a.fma(a.mul(square, u), p, u);
    y = a.selectLess(one, size, a.sub(a.bits(0x3FC90FDB), y), y); // pi / 2
    return a.keepNaN(x, a.selectLess(x, a.real(0), a.neg(y), y));
  });
}

/// [N.hard_sigmoid]
template <typename A> Real<A> hardSigmoid(A &a, Real<A> x, float alpha, float beta) {
  return clip(a, a.fma(a.real(alpha), x, a.real(beta)), 0.0f, 1.0f);
}

} // namespace octet::nn

#endif // OCTET_DIALECT_NN_FORMULAS_H
