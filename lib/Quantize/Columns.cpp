//===- Columns.cpp - values whose columns may be split --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Support/Constants.h"

using namespace mlir;
using namespace octet;

/// The columns of a value with several, however many rows it has: these differ among shapes of one
/// network, whose observers are the same. Else 0.
static int64_t getNumColumns(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  bool hasColumns = type && type.getRank() > 0 && !type.isDynamicDim(type.getRank() - 1);
  return hasColumns && type.getShape().back() > 1 ? type.getShape().back() : 0;
}

static bool isShared(const Unit &unit) {
  return PatternOp(unit.pattern).getObservation() == Observation::shared;
}

int64_t octet::countWeights(Operation *op) {
  int64_t count = 0;
  op->walk([&](nn::ProductOpInterface product) {
    if (OpOperand *weights = product.getWeightOperand())
      count += cast<ShapedType>(weights->get().getType()).getNumElements();
  });
  return count;
}

bool octet::isSplittable(const Unit &unit, OpOperand &operand) {
  OpOperand *weight = unit.getOperand<WeightOp>();
  if (!weight || unit.getWeightedActivation() != &operand)
    return false;
  for (auto [leaf, bound] : unit.leaves)
    if (auto activation = dyn_cast<ActivationOp>(leaf); activation && bound == &operand)
      if (!activation.getSplittable())
        return false;
  if (auto group = dyn_cast<GroupOp>(unit.op))
    return group.getBody().getArgument(operand.getOperandNumber()).hasOneUse();
  return true;
}

bool octet::areSplittable(ArrayRef<ObservedPoint> points,
                          llvm::function_ref<const Decision *(Operation *)> getDecision) {
  bool any = false;
  int64_t numColumns = getNumColumns(points.front().value);
  for (const ObservedPoint &point : points) {
    if (numColumns == 0 || getNumColumns(point.value) != numColumns)
      return false;
    for (OpOperand *use : point.readers) {
      const Decision *reader = getDecision(use->getOwner());
      if (isShared(*reader->unit) && isa<nn::ReshapeOp>(reader->op))
        continue;
      if (!isSplittable(*reader->unit, *use))
        return false;
      any = true;
    }
  }
  return any;
}
