//===- IntegerLaws.h - the laws of integers and truth values ----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each law of docs/numerics.md, section 4, "Integers and truth values", written once, as Laws.h has
// those of real numbers: over an arithmetic A whose numbers are real ones (f32), integers (i64) or
// truth values. Integers of narrower types are extended when they are read and cut when they are
// stored. To add an op, add one `integerLaw` for its class.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_INTEGERLAWS_H
#define OCTET_DIALECT_NN_INTEGERLAWS_H

#include "octet/Dialect/NN/Laws.h"

namespace octet::nn {

template <typename A> using Number = typename A::Number;
template <typename A> using Numbers = llvm::ArrayRef<typename A::Number>;

//===----------------------------------------------------------------------===//
// Formulas that laws share
//===----------------------------------------------------------------------===//

/// `x / y` without a fraction; 0 for y = 0, and wrapped for y = -1, which CPUs cannot divide by.
template <typename A> Number<A> quotient(A &a, Number<A> x, Number<A> y) {
  Number<A> zero = a.integer(0), isZero = a.equal(y, zero), isMinusOne = a.equal(y, a.integer(-1));
  Number<A> divisor = a.select(a.either(isZero, isMinusOne), a.integer(1), y);
  return a.select(isZero, zero, a.select(isMinusOne, a.sub(zero, x), a.divide(x, divisor)));
}

/// Whether a shift by `count` leaves any of 64 bits.
template <typename A> Number<A> leavesBits(A &a, Number<A> count) {
  return a.equal(a.both(count, a.integer(~int64_t(63))), a.integer(0));
}

/// [N.cast] of a real number to an integer: 2^63 and more, and NaN, are not converted.
template <typename A> Number<A> truncate(A &a, Number<A> x) {
  Number<A> limit = a.real(0x1p63f), least = a.real(-0x1p63f);
  Number<A> isInside = a.both(a.less(x, limit), a.less(least, x));
  Number<A> inside = a.toInteger(a.select(isInside, x, a.real(0)));
  Number<A> end = a.select(a.less(x, limit), a.integer(INT64_MIN), a.integer(INT64_MAX));
  Number<A> outside = a.select(a.equal(x, x), end, a.integer(0));
  return a.select(isInside, inside, outside);
}

/// The combination of two integers.
template <typename A>
Number<A> combineIntegers(A &a, Combination combination, Number<A> x, Number<A> y) {
  switch (combination) {
  case Combination::replace:
    return y;
  case Combination::sum:
    return a.add(x, y);
  case Combination::product:
    return a.mul(x, y);
  case Combination::max:
    return a.select(a.less(y, x), x, y);
  case Combination::min:
    return a.select(a.less(x, y), x, y);
  }
  llvm_unreachable("all combinations are above");
}

//===----------------------------------------------------------------------===//
// The laws: of an op whose operands are `x`
//===----------------------------------------------------------------------===//

/// [N.integer]
template <typename A> Number<A> integerLaw(A &a, AddOp, Numbers<A> x) { return a.add(x[0], x[1]); }
template <typename A> Number<A> integerLaw(A &a, SubOp, Numbers<A> x) { return a.sub(x[0], x[1]); }
template <typename A> Number<A> integerLaw(A &a, MulOp, Numbers<A> x) { return a.mul(x[0], x[1]); }
template <typename A> Number<A> integerLaw(A &a, DivOp, Numbers<A> x) {
  return quotient(a, x[0], x[1]);
}
template <typename A> Number<A> integerLaw(A &a, ModOp, Numbers<A> x) {
  Number<A> y = x[1], zero = a.integer(0);
  Number<A> rest = a.sub(x[0], a.mul(quotient(a, x[0], y), y));
  Number<A> isOtherWay = a.less(a.other(rest, y), zero);
  Number<A> floored = a.select(isOtherWay, a.add(rest, y), rest);
  return a.select(a.either(a.equal(rest, zero), a.equal(y, zero)), zero, floored);
}
template <typename A> Number<A> integerLaw(A &a, NegOp, Numbers<A> x) {
  return a.sub(a.integer(0), x[0]);
}
template <typename A> Number<A> integerLaw(A &a, AbsOp, Numbers<A> x) {
  Number<A> zero = a.integer(0);
  return a.select(a.less(x[0], zero), a.sub(zero, x[0]), x[0]);
}
template <typename A> Number<A> integerLaw(A &a, SignOp, Numbers<A> x) {
  Number<A> zero = a.integer(0), positive = a.select(a.less(zero, x[0]), a.integer(1), zero);
  return a.select(a.less(x[0], zero), a.integer(-1), positive);
}
template <typename A> Number<A> integerLaw(A &a, MaxOp, Numbers<A> x) {
  return combineIntegers(a, Combination::max, x[0], x[1]);
}
template <typename A> Number<A> integerLaw(A &a, MinOp, Numbers<A> x) {
  return combineIntegers(a, Combination::min, x[0], x[1]);
}
template <typename A> Number<A> integerLaw(A &a, AndOp, Numbers<A> x) { return a.both(x[0], x[1]); }
template <typename A> Number<A> integerLaw(A &a, OrOp, Numbers<A> x) {
  return a.either(x[0], x[1]);
}
template <typename A> Number<A> integerLaw(A &a, XorOp, Numbers<A> x) {
  return a.other(x[0], x[1]);
}
template <typename A> Number<A> integerLaw(A &a, NotOp, Numbers<A> x) {
  return a.other(x[0], a.allOnes(x[0]));
}
template <typename A> Number<A> integerLaw(A &a, ShiftLeftOp, Numbers<A> x) {
  Number<A> shifted = a.shiftLeft(x[0], a.both(x[1], a.integer(63)));
  return a.select(leavesBits(a, x[1]), shifted, a.integer(0));
}
template <typename A> Number<A> integerLaw(A &a, ShiftRightOp, Numbers<A> x) {
  return a.shiftRight(x[0], a.select(leavesBits(a, x[1]), x[1], a.integer(63)));
}

/// [N.compare]
template <typename A> Number<A> integerLaw(A &a, CompareOp op, Numbers<A> x) {
  switch (op.getPredicate()) {
  case Predicate::equal:
    return a.equal(x[0], x[1]);
  case Predicate::less:
    return a.less(x[0], x[1]);
  case Predicate::less_or_equal:
    return a.either(a.less(x[0], x[1]), a.equal(x[0], x[1]));
  }
  llvm_unreachable("all predicates are above");
}
template <typename A> Number<A> integerLaw(A &a, SelectOp, Numbers<A> x) {
  return a.select(x[0], x[1], x[2]);
}

/// [N.cast]
template <typename A> Number<A> integerLaw(A &a, CastOp op, Numbers<A> x) {
  auto isTruth = [](mlir::Type type) { return mlir::getElementTypeOrSelf(type).isInteger(1); };
  bool fromReal = holdsReals(op.getInput().getType()), toReal = holdsReals(op.getType());
  if (isTruth(op.getInput().getType()))
    return isTruth(op.getType()) ? x[0]
           : toReal              ? a.select(x[0], a.real(1), a.real(0))
                                 : a.select(x[0], a.integer(1), a.integer(0));
  if (isTruth(op.getType())) {
    Number<A> isZero = a.equal(x[0], fromReal ? a.real(0) : a.integer(0));
    return a.other(isZero, a.allOnes(isZero));
  }
  if (fromReal == toReal)
    return x[0];
  return fromReal ? truncate(a, x[0]) : a.toReal(x[0]);
}

/// The result of the law of `op`, whose operands or result are no real numbers; nothing if there is
/// none.
template <typename A>
std::optional<Number<A>> applyIntegerLaw(A &a, mlir::Operation *op, Numbers<A> operands) {
  auto lawOf = [&a](auto typed, Numbers<A> x) -> decltype(integerLaw(a, typed, x)) {
    return integerLaw(a, typed, x);
  };
  return applyLawOf<Number<A>>(lawOf, op, operands);
}

} // namespace octet::nn

#endif // OCTET_DIALECT_NN_INTEGERLAWS_H
