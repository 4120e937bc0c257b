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

/// The sizes of a table of several rows with `numColumns` columns; a layer on a single row is as
/// slow as its weights are read, which more columns would cost in full.
static bool hasRows(Value value, int64_t &numColumns) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape() || type.getRank() == 0)
    return false;
  numColumns = type.getShape().back();
  return numColumns > 1 && type.getNumElements() > numColumns;
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

ObserverAttrInterface
octet::watchColumns(ObserverAttrInterface observer, ArrayRef<ObservedPoint> points,
                    llvm::function_ref<const Decision *(Operation *)> getDecision) {
  auto plain = dyn_cast_or_null<MinMaxObserverAttr>(observer);
  if (!plain)
    return observer;
  bool any = false;
  int64_t numColumns = 0, others = 0;
  for (const ObservedPoint &point : points) {
    if (!hasRows(point.value, others) || (numColumns && others != numColumns))
      return observer;
    numColumns = others;
    for (OpOperand *use : point.readers) {
      const Decision *reader = getDecision(use->getOwner());
      if (isShared(*reader->unit) && isa<nn::ReshapeOp>(reader->op))
        continue;
      if (!isSplittable(*reader->unit, *use))
        return observer;
      any = true;
    }
  }
  if (!any)
    return observer;
  return ColumnMinMaxObserverAttr::get(observer.getContext(), plain.getDtype(), plain.getScheme(),
                                       plain.getRange(), plain.getEps(), plain.getReduceRange());
}

DenseSet<Operation *> octet::findSmallFirstLayers(const Plan &plan, double share) {
  int64_t total = 0;
  for (const Decision &decision : plan.decisions)
    total += countWeights(decision.op);
  DenseSet<Operation *> found;
  for (const Decision &decision : plan.decisions) {
    OpOperand *operand = decision.unit ? decision.unit->getWeightedActivation() : nullptr;
    if (!operand || !isSplittable(*decision.unit, *operand) ||
        (double)countWeights(decision.op) >= share * (double)total)
      continue;
    Value value = operand->get();
    while (Operation *op = value.getDefiningOp())
      if (op->hasTrait<nn::DataMovement>() && op->getNumOperands() == 1)
        value = op->getOperand(0);
      else
        break;
    if (isa<BlockArgument>(value) && !plan.isQuantizedInput(value))
      found.insert(decision.op);
  }
  return found;
}
