//===- Arithmetic.h - what the float laws are computed with -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The float laws (octet/Dialect/NN/Laws.h) are templates over an arithmetic: real numbers,
// integers, and the operations of section 1 of docs/numerics.md on them. The three arithmetics here
// evaluate a law, bound its results and measure its depth; Codegen has a fourth, which emits code.
// Another one, with a counterpart in Codegen, evaluates the laws of integers.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_NUMERICS_ARITHMETIC_H
#define OCTET_NUMERICS_ARITHMETIC_H

#include <algorithm>
#include <cstdint>
#include <variant>

namespace octet::numerics {

/// Numbers of the compiler, equal bit for bit to those of emitted code. Every operation is a call,
/// so that no compiler contracts two of them; of libm only `fma`, `sqrt` and `nearbyint` are used.
struct HostArithmetic {
  using Real = float;
  using Integer = int32_t;

  Real real(float value) { return value; }
  Real bits(uint32_t bits);
  Real add(Real x, Real y);
  Real sub(Real x, Real y);
  Real mul(Real x, Real y);
  Real div(Real x, Real y);
  Real fma(Real x, Real y, Real z);
  Real sqrt(Real x);
  Real neg(Real x);
  Real abs(Real x);
  /// `x > y ? x : y` and `x < y ? x : y`: y where x is NaN.
  Real max(Real x, Real y) { return x > y ? x : y; }
  Real min(Real x, Real y) { return x < y ? x : y; }
  Real selectLess(Real x, Real y, Real yes, Real no) { return x < y ? yes : no; }
  /// The nearest integer, ties to even.
  Integer round(Real x);
  Real toReal(Integer n);
  /// `x * 2^n`, a normal number.
  Real scale(Real x, Integer n);
  /// `y`, or NaN where x is one.
  Real keepNaN(Real x, Real y) { return x == x ? y : x; }
  /// `function(*this, x)`, which is monotone in x but for `margin` times its value, or `margin`.
  template <typename Function> Real monotone(Real x, Function function, float = 0x1p-20f) {
    return function(*this, x);
  }
  /// `function()`, which differs from x by `distance` at most.
  template <typename Function> Real near(Real, float, Function function) { return function(); }
};

/// Intervals that contain every result for operands in given intervals. IEEE operations are
/// monotone, so the bounds are exact. A value that may be infinite or NaN is unbounded, and so is
/// every value computed from it.
struct IntervalArithmetic {
  struct Real {
    float low, high;
    bool isBounded() const;
    /// The largest |x|, or infinity.
    float getMagnitude() const;
  };
  using Integer = Real;

  Real real(float value) { return {value, value}; }
  Real bits(uint32_t bits) { return real(HostArithmetic().bits(bits)); }
  Real add(Real x, Real y);
  Real sub(Real x, Real y);
  Real mul(Real x, Real y);
  Real div(Real x, Real y);
  Real fma(Real x, Real y, Real z);
  Real sqrt(Real x);
  Real neg(Real x) { return {-x.high, -x.low}; }
  Real abs(Real x) { return {std::max({x.low, -x.high, 0.0f}), std::max(-x.low, x.high)}; }
  Real max(Real x, Real y);
  Real min(Real x, Real y);
  Real selectLess(Real x, Real y, Real yes, Real no);
  Integer round(Real x);
  Real toReal(Integer n) { return n; }
  Real scale(Real x, Integer n);
  Real keepNaN(Real, Real y) { return y; }
  template <typename Function> Real monotone(Real x, Function function, float margin = 0x1p-20f) {
    HostArithmetic host;
    return x.isBounded() ? widen(function(host, x.low), function(host, x.high), margin) : x;
  }
  template <typename Function> Real near(Real x, float distance, Function) {
    return add(x, {-distance, distance});
  }

private:
  /// The interval between two values, widened by the margin of `monotone`.
  static Real widen(float a, float b, float margin);
};

/// The length of the longest chain of dependent operations.
struct DepthArithmetic {
  using Real = int;
  using Integer = int;

  Real real(float) { return 0; }
  Real bits(uint32_t) { return 0; }
  Real add(Real x, Real y) { return 1 + std::max(x, y); }
  Real sub(Real x, Real y) { return 1 + std::max(x, y); }
  Real mul(Real x, Real y) { return 1 + std::max(x, y); }
  Real div(Real x, Real y) { return 1 + std::max(x, y); }
  Real fma(Real x, Real y, Real z) { return 1 + std::max({x, y, z}); }
  Real sqrt(Real x) { return 1 + x; }
  Real neg(Real x) { return 1 + x; }
  Real abs(Real x) { return 1 + x; }
  Real max(Real x, Real y) { return 1 + std::max(x, y); }
  Real min(Real x, Real y) { return 1 + std::max(x, y); }
  Real selectLess(Real x, Real y, Real yes, Real no) { return 1 + std::max({x, y, yes, no}); }
  Integer round(Real x) { return 1 + x; }
  Real toReal(Integer n) { return 1 + n; }
  Real scale(Real x, Integer n) { return 1 + std::max(x, n); }
  Real keepNaN(Real x, Real y) { return 1 + std::max(x, y); }
  template <typename Function> Real monotone(Real x, Function function, float = 0) {
    return function(*this, x);
  }
  template <typename Function> Real near(Real, float, Function function) { return function(); }
};

/// Real numbers, integers and truth values of the compiler, for the laws of integers
/// (octet/Dialect/NN/IntegerLaws.h).
struct HostIntegers {
  using Number = std::variant<float, int64_t, bool>;

  Number real(float value) { return value; }
  Number integer(int64_t value) { return value; }
  /// All bits of an integer, or truth: what `other` complements x with.
  Number allOnes(Number x);
  Number add(Number x, Number y);
  Number sub(Number x, Number y);
  Number mul(Number x, Number y);
  /// Without a fraction; y is not 0 or -1.
  Number divide(Number x, Number y) { return std::get<int64_t>(x) / std::get<int64_t>(y); }
  /// Conjunction, disjunction and exclusive or, of bits or truth values.
  Number both(Number x, Number y);
  Number either(Number x, Number y);
  Number other(Number x, Number y);
  /// By 0 to 63 bits; to the right, the sign fills what becomes free.
  Number shiftLeft(Number x, Number y);
  Number shiftRight(Number x, Number y);
  /// Of operands of one kind; false for NaN.
  Number equal(Number x, Number y);
  Number less(Number x, Number y);
  Number select(Number condition, Number yes, Number no) {
    return std::get<bool>(condition) ? yes : no;
  }
  Number toReal(Number x) { return static_cast<float>(std::get<int64_t>(x)); }
  /// Without the fraction; x is within 64 bits.
  Number toInteger(Number x) { return static_cast<int64_t>(std::get<float>(x)); }
};

} // namespace octet::numerics

#endif // OCTET_NUMERICS_ARITHMETIC_H
