//===- Leaving.cpp - layers whose results leave the network ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.bias_correction] A head's classes are often concatenated with its boxes, which go on through
// another product when they have been sliced off again. So a box of elements is followed, one range
// per dimension, instead of a whole value; where an operator's result is no such box, all of it.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Pipelines/Measure.h"

using namespace mlir;
using namespace octet;

namespace {
/// Of one dimension: [begin, end).
struct Indices {
  int64_t begin, end;
};
/// One range per dimension (a scalar has one dimension here); none if there are no elements.
using Box = SmallVector<Indices, 6>;
} // namespace

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static Box getWhole(Value value) {
  Box box;
  for (int64_t size : getShape(value))
    box.push_back({0, size});
  return box.empty() ? Box{{0, 1}} : box;
}

static Box slice(nn::SliceOp op, const Box &box) {
  Box result;
  for (auto [d, range] : llvm::enumerate(box)) {
    Indices taken{op.getSizes()[d], 0};
    for (int64_t i = 0; i < op.getSizes()[d]; ++i) {
      int64_t index = op.getStarts()[d] + i * op.getSteps()[d];
      if (range.begin <= index && index < range.end)
        taken = {std::min(taken.begin, i), i + 1};
    }
    if (taken.begin >= taken.end)
      return {};
    result.push_back(taken);
  }
  return result;
}

/// Dimensions that a reshape keeps have the same ranges, the others all indices.
static Box reshape(nn::ReshapeOp op, const Box &box) {
  ArrayRef<int64_t> from = getShape(op.getInput()), to = getShape(op.getResult());
  Box result = getWhole(op.getResult());
  int64_t before = 1; // elements of the dimensions in front of f
  for (size_t f = 0; f < from.size(); before *= from[f++]) {
    int64_t ahead = 1;
    for (size_t t = 0; t < to.size(); ahead *= to[t++])
      if (ahead == before && to[t] == from[f])
        result[t] = box[f];
  }
  return result;
}

/// The elements of the user's result that those of one of its operands reach.
static Box move(OpOperand &use, const Box &box) {
  Operation *user = use.getOwner();
  Value result = user->getResult(0);
  if (getShape(use.get()).empty() || getShape(result).empty())
    return getWhole(result);
  if (auto op = dyn_cast<nn::SliceOp>(user))
    return slice(op, box);
  if (auto op = dyn_cast<nn::ReshapeOp>(user))
    return reshape(op, box);
  Box moved = box;
  if (auto op = dyn_cast<nn::ConcatOp>(user)) {
    for (Value other : op.getInputs().take_front(use.getOperandNumber())) {
      moved[op.getAxis()].begin += getShape(other)[op.getAxis()];
      moved[op.getAxis()].end += getShape(other)[op.getAxis()];
    }
    return moved;
  }
  if (auto op = dyn_cast<nn::TransposeOp>(user)) {
    for (auto [d, axis] : llvm::enumerate(op.getPermutation()))
      moved[d] = box[axis];
    return moved;
  }
  bool isInPlace = user->hasTrait<nn::Elementwise>() || isa<ObserveOp>(user);
  return isInPlace && getShape(use.get()) == getShape(result) ? box : getWhole(result);
}

/// Whether results of `op` are those of single operands' elements, or keep their order.
static bool keepsElements(Operation *op) {
  if (auto group = dyn_cast<GroupOp>(op))
    return llvm::all_of(group.getBody().front().without_terminator(),
                        [](Operation &op) { return keepsElements(&op); });
  return op->hasTrait<nn::Elementwise>() || op->hasTrait<nn::DataMovement>() ||
         isa<ObserveOp, nn::SoftmaxOp>(op);
}

/// Extends `box` by `more`; whether that made it larger.
static bool extend(Box &box, const Box &more) {
  bool isLarger = box.empty() && !more.empty();
  if (box.empty())
    box = more;
  for (auto [range, other] : llvm::zip(box, more)) {
    isLarger |= other.begin < range.begin || range.end < other.end;
    range = {std::min(range.begin, other.begin), std::max(range.end, other.end)};
  }
  return isLarger;
}

bool Layer::isLeaving() const {
  Value result = unit.op->getResult(0);
  DenseMap<Value, Box> reached{{result, getWhole(result)}};
  SmallVector<Value> pending{result};
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Box box = reached[value];
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<func::ReturnOp>(user))
        continue;
      if (!keepsElements(user))
        return false;
      Box moved = move(use, box);
      if (extend(reached[user->getResult(0)], moved))
        pending.push_back(user->getResult(0));
    }
  }
  return true;
}
