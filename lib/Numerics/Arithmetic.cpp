//===- Arithmetic.cpp - what the float laws are computed with -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/Arithmetic.h"
#include "octet/Numerics/FloatOps.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>

#pragma STDC FP_CONTRACT OFF

using namespace octet::numerics;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

float HostArithmetic::bits(uint32_t bits) { return llvm::bit_cast<float>(bits); }
float HostArithmetic::add(float x, float y) { return x + y; }
float HostArithmetic::sub(float x, float y) { return x - y; }
float HostArithmetic::mul(float x, float y) { return x * y; }
float HostArithmetic::div(float x, float y) { return x / y; }
float HostArithmetic::fma(float x, float y, float z) { return std::fma(x, y, z); }
float HostArithmetic::sqrt(float x) { return std::sqrt(x); }
float HostArithmetic::neg(float x) { return -x; }
float HostArithmetic::abs(float x) { return std::abs(x); }
int32_t HostArithmetic::round(float x) { return static_cast<int32_t>(roundNearestEven(x)); }
float HostArithmetic::toReal(int32_t n) { return static_cast<float>(n); }

float HostArithmetic::scale(float x, int32_t n) {
  return llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(x) + (static_cast<uint32_t>(n) << 23));
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

using Interval = IntervalArithmetic::Real;
static constexpr float kInfinity = std::numeric_limits<float>::infinity();
static constexpr Interval kUnbounded{-kInfinity, kInfinity};

bool Interval::isBounded() const { return low > -kInfinity && high < kInfinity; }
float Interval::getMagnitude() const {
  return isBounded() ? std::max(std::abs(low), std::abs(high)) : kInfinity;
}

static bool areBounded(std::initializer_list<Interval> operands) {
  return std::all_of(operands.begin(), operands.end(), [](Interval x) { return x.isBounded(); });
}

/// From the least to the largest of `values`; unbounded if one is infinite or no number.
static Interval enclose(std::initializer_list<float> values) {
  for (float value : values)
    if (!(std::abs(value) < kInfinity))
      return kUnbounded;
  return {std::min(values), std::max(values)};
}

Interval IntervalArithmetic::widen(float a, float b, float margin) {
  auto of = [=](float value) { return margin * std::max(1.0f, std::abs(value)); };
  return enclose({a - of(a), a + of(a), b - of(b), b + of(b)});
}

Interval IntervalArithmetic::add(Interval x, Interval y) {
  return areBounded({x, y}) ? enclose({x.low + y.low, x.high + y.high}) : kUnbounded;
}

Interval IntervalArithmetic::sub(Interval x, Interval y) { return add(x, neg(y)); }

Interval IntervalArithmetic::mul(Interval x, Interval y) {
  if (!areBounded({x, y}))
    return kUnbounded;
  return enclose({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
}

Interval IntervalArithmetic::div(Interval x, Interval y) {
  if (!areBounded({x, y}) || (y.low <= 0 && y.high >= 0))
    return kUnbounded;
  return enclose({x.low / y.low, x.low / y.high, x.high / y.low, x.high / y.high});
}

Interval IntervalArithmetic::fma(Interval x, Interval y, Interval z) {
  if (!areBounded({x, y, z}))
    return kUnbounded;
  auto at = [&](float a, float b, float c) { return std::fma(a, b, c); };
  Interval low = enclose({at(x.low, y.low, z.low), at(x.low, y.high, z.low),
                          at(x.high, y.low, z.low), at(x.high, y.high, z.low)});
  Interval high = enclose({at(x.low, y.low, z.high), at(x.low, y.high, z.high),
                           at(x.high, y.low, z.high), at(x.high, y.high, z.high)});
  return {low.low, high.high};
}

Interval IntervalArithmetic::sqrt(Interval x) {
  bool isDefined = x.isBounded() && x.low >= 0;
  return isDefined ? Interval{std::sqrt(x.low), std::sqrt(x.high)} : kUnbounded;
}

Interval IntervalArithmetic::max(Interval x, Interval y) {
  if (!areBounded({x, y}))
    return kUnbounded;
  return {std::max(x.low, y.low), std::max(x.high, y.high)};
}

Interval IntervalArithmetic::min(Interval x, Interval y) {
  if (!areBounded({x, y}))
    return kUnbounded;
  return {std::min(x.low, y.low), std::min(x.high, y.high)};
}

Interval IntervalArithmetic::selectLess(Interval x, Interval y, Interval yes, Interval no) {
  if (x.isBounded() && y.isBounded() && x.high < y.low)
    return yes;
  if (x.isBounded() && y.isBounded() && x.low >= y.high)
    return no;
  if (!areBounded({x, y, yes, no}))
    return kUnbounded;
  return {std::min(yes.low, no.low), std::max(yes.high, no.high)};
}

Interval IntervalArithmetic::round(Interval x) {
  return x.isBounded() ? Interval{roundNearestEven(x.low), roundNearestEven(x.high)} : kUnbounded;
}

Interval IntervalArithmetic::scale(Interval x, Interval n) {
  if (!areBounded({x, n}))
    return kUnbounded;
  return enclose(
      {std::ldexp(x.low, static_cast<int>(n.low)), std::ldexp(x.low, static_cast<int>(n.high)),
       std::ldexp(x.high, static_cast<int>(n.low)), std::ldexp(x.high, static_cast<int>(n.high))});
}

//===----------------------------------------------------------------------===//
// Integers and truth values
//===----------------------------------------------------------------------===//

using Number = HostIntegers::Number;

/// Integers by `function` of their bits, which wrap around; truth values by that of 0 and 1.
template <typename Function> static Number applyToBits(Number x, Number y, Function function) {
  if (auto *truth = std::get_if<bool>(&x))
    return function(uint64_t(*truth), uint64_t(std::get<bool>(y))) % 2 != 0;
  return static_cast<int64_t>(
      function(uint64_t(std::get<int64_t>(x)), uint64_t(std::get<int64_t>(y))));
}

Number HostIntegers::allOnes(Number x) {
  return std::holds_alternative<bool>(x) ? Number(true) : Number(int64_t(-1));
}
Number HostIntegers::add(Number x, Number y) { return applyToBits(x, y, std::plus<uint64_t>()); }
Number HostIntegers::sub(Number x, Number y) { return applyToBits(x, y, std::minus<uint64_t>()); }
Number HostIntegers::mul(Number x, Number y) {
  return applyToBits(x, y, std::multiplies<uint64_t>());
}
Number HostIntegers::both(Number x, Number y) {
  return applyToBits(x, y, std::bit_and<uint64_t>());
}
Number HostIntegers::either(Number x, Number y) {
  return applyToBits(x, y, std::bit_or<uint64_t>());
}
Number HostIntegers::other(Number x, Number y) {
  return applyToBits(x, y, std::bit_xor<uint64_t>());
}
Number HostIntegers::shiftLeft(Number x, Number y) {
  return applyToBits(x, y, [](uint64_t bits, uint64_t count) { return bits << count; });
}
Number HostIntegers::shiftRight(Number x, Number y) {
  return applyToBits(x, y, [](uint64_t bits, uint64_t count) { return int64_t(bits) >> count; });
}
Number HostIntegers::equal(Number x, Number y) { return x == y; }
Number HostIntegers::less(Number x, Number y) { return x < y; }
