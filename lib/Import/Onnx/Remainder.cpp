//===- Remainder.cpp - Mod ---------------------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// A quotient has at most 24 bits, so that each step takes as many from it; quotients of up to
/// twice as many leave their exact remainder.
static constexpr int kSteps = 2;

namespace {

/// The remainder of real numbers, which is exact.
class RealRemainder {
public:
  RealRemainder(Node &node, Value lhs, Value rhs) : node(node), lhs(lhs), rhs(rhs) {}
  /// With the sign of the left operand, or that of the right one.
  MaybeValue compute(bool hasSignOfLeft);

private:
  struct Parts {
    MaybeValue high, low;
  };

  Parts split(MaybeValue x);
  MaybeValue subtractProduct(MaybeValue x, MaybeValue quotient);

  Node &node;
  MaybeValue lhs, rhs, divisor;
  Parts divisorParts;
};

} // namespace

/// Two numbers of 12 bits each whose sum is `x` (Veltkamp).
RealRemainder::Parts RealRemainder::split(MaybeValue x) {
  auto scaled = node.compute<nn::MulOp>(x, node.number("split", 4097));
  auto high = node.compute<nn::SubOp>(scaled, node.compute<nn::SubOp>(scaled, x));
  return {high, node.compute<nn::SubOp>(x, high)};
}

/// x - quotient * divisor, which is exact if it is small: the product is two numbers (Dekker).
MaybeValue RealRemainder::subtractProduct(MaybeValue x, MaybeValue quotient) {
  auto product = node.compute<nn::MulOp>(quotient, divisor);
  Parts parts = split(quotient);
  auto rest =
      node.compute<nn::SubOp>(node.compute<nn::MulOp>(parts.high, divisorParts.high), product);
  rest = node.compute<nn::AddOp>(rest, node.compute<nn::MulOp>(parts.high, divisorParts.low));
  rest = node.compute<nn::AddOp>(rest, node.compute<nn::MulOp>(parts.low, divisorParts.high));
  rest = node.compute<nn::AddOp>(rest, node.compute<nn::MulOp>(parts.low, divisorParts.low));
  return node.compute<nn::SubOp>(node.compute<nn::SubOp>(x, product), rest);
}

MaybeValue RealRemainder::compute(bool hasSignOfLeft) {
  auto zero = node.number("zero", 0), magnitude = node.compute<nn::AbsOp>(lhs);
  divisor = node.compute<nn::AbsOp>(rhs);
  divisorParts = split(divisor);
  MaybeValue rest = magnitude;
  for (int step = 0; step < kSteps; ++step)
    rest = subtractProduct(rest, node.compute<nn::FloorOp>(node.compute<nn::DivOp>(rest, divisor)));
  // The last quotient may be rounded to the next integer.
  rest = select(node, compare(node, nn::Predicate::less, rest, zero),
                node.compute<nn::AddOp>(rest, divisor), rest);
  rest = select(node, compare(node, nn::Predicate::less_or_equal, divisor, rest),
                node.compute<nn::SubOp>(rest, divisor), rest);
  rest = select(node, compare(node, nn::Predicate::less, magnitude, divisor), magnitude,
                rest); // of which one may be infinite
  rest = select(node, compare(node, nn::Predicate::less, lhs, zero), node.compute<nn::NegOp>(rest),
                rest);
  if (hasSignOfLeft)
    return rest;
  auto isOther = node.compute<nn::XorOp>(compare(node, nn::Predicate::less, rest, zero),
                                         compare(node, nn::Predicate::less, rhs, zero));
  auto isNone = compare(node, nn::Predicate::equal, rest, zero);
  auto moves = node.compute<nn::AndOp>(isOther, node.compute<nn::NotOp>(isNone));
  return select(node, moves, node.compute<nn::AddOp>(rest, rhs), rest);
}

/// With the divisor's sign, or (fmod) with that of the other operand: then what a quotient without
/// its fraction leaves.
LogicalResult onnx_import::importMod(Node &node) {
  auto lhs = node.any(0), rhs = node.any(1);
  if (failed(lhs) || failed(rhs))
    return failure();
  bool hasSignOfLeft = node.getInt("fmod", 0);
  if (nn::holdsReals(lhs->getType()) != nn::holdsReals(rhs->getType()))
    return node.invalid("has operands of different types");
  if (nn::holdsReals(lhs->getType()))
    return node.setComputed(RealRemainder(node, *lhs, *rhs).compute(hasSignOfLeft));
  if (!hasSignOfLeft)
    return node.setComputed(node.create<nn::ModOp>(*lhs, *rhs));
  auto quotient = node.create<nn::DivOp>(*lhs, *rhs);
  return node.setComputed(node.compute<nn::SubOp>(lhs, node.compute<nn::MulOp>(quotient, rhs)));
}
