//===- PossibleRows.cpp - rows that a mask may choose ---------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters count hits per class by OneHot, with a class more than there are: no row is of that
// class, whatever is given in the run.
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "MaskOrigin.h"
#include "mlir/IR/TypeUtilities.h"
#include "octet/Support/Constants.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Behind more ops, nothing is known.
static constexpr int64_t kMostDepth = 32;

static bool isZero(Value value) {
  auto only = findOnlyValue(value);
  return only && std::visit(
                     [](const auto &data) {
                       return llvm::all_of(data, [](auto number) { return number == 0; });
                     },
                     only->data);
}

/// How many numbers from 0 on positions are among: those of `nn.top_k` count the elements of an
/// axis.
static std::optional<int64_t> countPositions(Value value, int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == kMostDepth)
    return std::nullopt;
  if (auto best = dyn_cast<nn::TopKOp>(op))
    return shapeOf(best.getInput()).back();
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(value));
  if (!integer || integer.getWidth() < 32) // casts may wrap around
    return std::nullopt;
  if (isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::CastOp, nn::ConcatOp>(op)) {
    auto counts = llvm::map_to_vector(
        op->getOperands(), [&](Value operand) { return countPositions(operand, depth + 1); });
    return llvm::is_contained(counts, std::nullopt) ? std::nullopt : *llvm::max_element(counts);
  }
  auto select = dyn_cast<nn::SelectOp>(op); // of positions that may be counted from the end
  auto less = select ? select.getCondition().getDefiningOp<nn::CompareOp>() : nullptr;
  bool isNegative = less && less.getPredicate() == nn::Predicate::less &&
                    less.getLhs() == select.getNo() && isZero(less.getRhs());
  return isNegative ? countPositions(select.getNo(), depth + 1) : std::nullopt;
}

/// The axis of a reshape's operand that an axis of its result is, or -1.
static int64_t findReshaped(nn::ReshapeOp reshape, int64_t axis) {
  ShapeRef from = shapeOf(reshape.getInput()), to = shapeOf(reshape.getResult());
  int64_t before = *countElements(to.take_front(axis)), count = 1;
  for (auto [i, size] : llvm::enumerate(from)) {
    if (count == before && size == to[axis])
      return i;
    count *= size;
  }
  return -1;
}

/// The axis of a reduction's operand that an axis of its result is, or nothing of other ops.
static std::optional<int64_t> findReduced(Operation *op, int64_t axis) {
  auto find = [&](auto reduce) {
    for (int64_t i = 0, kept = axis;; ++i)
      if (reduce.getKeepDims() || (!llvm::is_contained(reduce.getAxes(), i) && kept-- == 0))
        return reduce.getKeepDims() ? axis : i;
  };
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case<nn::ReduceOp, nn::ReduceSumOp, nn::ReduceMaxOp>(find)
      .Default(std::nullopt);
}

/// Classes along an axis that positions may be.
static std::optional<SmallVector<bool>> findClasses(nn::CompareOp equal, int64_t axis,
                                                    int64_t depth) {
  int64_t rank = shapeOf(equal.getResult()).size();
  ShapeRef classes = shapeOf(equal.getRhs());
  int64_t along = axis - rank + classes.size();
  auto numbers = getConstantValues<int64_t>(equal.getRhs());
  auto count = countPositions(equal.getLhs(), depth);
  if (!count || failed(numbers) || along < 0 || *countElements(classes) != classes[along])
    return std::nullopt;
  return llvm::map_to_vector(*numbers,
                             [&](int64_t number) { return number >= 0 && number < *count; });
}

std::optional<SmallVector<bool>> onnx_import::findPossible(Value value, int64_t axis,
                                                           int64_t depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == kMostDepth || axis < 0)
    return std::nullopt;
  auto follow = [&](Value operand, int64_t of) { return findPossible(operand, of, depth + 1); };
  auto followAlike = [&](Value operand) { // axes of others are aligned at the last
    return shapeOf(operand) == shapeOf(value) ? follow(operand, axis) : std::nullopt;
  };
  if (isa<nn::CastOp>(op))
    return follow(op->getOperand(0), axis);
  if (auto transpose = dyn_cast<nn::TransposeOp>(op))
    return follow(transpose.getInput(), transpose.getPermutation()[axis]);
  if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
    return follow(reshape.getInput(), findReshaped(reshape, axis));
  if (auto reduced = findReduced(op, axis))
    return follow(op->getOperand(0), *reduced);
  if (auto select = dyn_cast<nn::SelectOp>(op); select && isZero(select.getNo()))
    return followAlike(select.getCondition());
  auto compare = dyn_cast<nn::CompareOp>(op);
  if (compare && compare.getPredicate() == nn::Predicate::less && isZero(compare.getLhs()))
    return followAlike(compare.getRhs());
  return compare && compare.getPredicate() == nn::Predicate::equal
             ? findClasses(compare, axis, depth + 1)
             : std::nullopt;
}
