//===- Logic.cpp - comparisons, truth values, bits ---------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static Type getTruthType(Node &node) { return node.builder().getI1Type(); }

MaybeValue onnx_import::compare(Node &node, nn::Predicate predicate, MaybeValue lhs,
                                MaybeValue rhs) {
  if (failed(lhs) || failed(rhs))
    return failure();
  return node.createAs<nn::CompareOp>(getTruthType(node), predicate, *lhs, *rhs);
}

MaybeValue onnx_import::select(Node &node, MaybeValue condition, MaybeValue yes, MaybeValue no) {
  if (failed(condition) || failed(yes) || failed(no))
    return failure();
  return node.createAs<nn::SelectOp>(getElementTypeOrSelf(*yes), *condition, *yes, *no);
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

LogicalResult onnx_import::importEqual(Node &node) {
  return node.setComputed(compare(node, nn::Predicate::equal, node.any(0), node.any(1)));
}
LogicalResult onnx_import::importLess(Node &node) {
  return node.setComputed(compare(node, nn::Predicate::less, node.any(0), node.any(1)));
}
LogicalResult onnx_import::importLessOrEqual(Node &node) {
  return node.setComputed(compare(node, nn::Predicate::less_or_equal, node.any(0), node.any(1)));
}
LogicalResult onnx_import::importGreater(Node &node) {
  return node.setComputed(compare(node, nn::Predicate::less, node.any(1), node.any(0)));
}
LogicalResult onnx_import::importGreaterOrEqual(Node &node) {
  return node.setComputed(compare(node, nn::Predicate::less_or_equal, node.any(1), node.any(0)));
}

/// A number that is not equal to itself.
LogicalResult onnx_import::importIsNaN(Node &node) {
  auto x = node.value(0);
  return node.setComputed(node.compute<nn::NotOp>(compare(node, nn::Predicate::equal, x, x)));
}

/// Of both signs, or of one.
LogicalResult onnx_import::importIsInf(Node &node) {
  bool isPositive = node.getInt("detect_positive", 1),
       isNegative = node.getInt("detect_negative", 1);
  float infinity = std::numeric_limits<float>::infinity();
  auto x = isPositive && isNegative ? node.compute<nn::AbsOp>(node.value(0)) : node.value(0);
  if (!isPositive && !isNegative) // less than the least number, which nothing is
    return node.setComputed(compare(node, nn::Predicate::less, x, node.number("end", -infinity)));
  return node.setComputed(compare(node, nn::Predicate::equal, x,
                                  node.number("end", isPositive ? infinity : -infinity)));
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

LogicalResult onnx_import::importWhere(Node &node) {
  return node.setComputed(select(node, node.any(0), node.any(1), node.any(2)));
}

//===----------------------------------------------------------------------===//
// Truth values and bits
//===----------------------------------------------------------------------===//

template <typename OpTy> static LogicalResult importOfBits(Node &node) {
  return node.setComputed(node.compute<OpTy>(node.any(0), node.any(1)));
}

LogicalResult onnx_import::importAnd(Node &node) { return importOfBits<nn::AndOp>(node); }
LogicalResult onnx_import::importOr(Node &node) { return importOfBits<nn::OrOp>(node); }
LogicalResult onnx_import::importXor(Node &node) { return importOfBits<nn::XorOp>(node); }
LogicalResult onnx_import::importNot(Node &node) {
  return node.setComputed(node.compute<nn::NotOp>(node.any(0)));
}

LogicalResult onnx_import::importBitShift(Node &node) {
  return node.getString("direction", "") == "LEFT" ? importOfBits<nn::ShiftLeftOp>(node)
                                                   : importOfBits<nn::ShiftRightOp>(node);
}
