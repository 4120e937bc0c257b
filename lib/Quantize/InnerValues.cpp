//===- InnerValues.cpp - values inside of the source's operators ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InnerValues.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"

using namespace mlir;
using namespace octet;

static bool movesData(Operation *op) {
  auto group = dyn_cast<GroupOp>(op);
  return group ? llvm::all_of(group.getBody().front().without_terminator(),
                              [](Operation &inner) { return movesData(&inner); })
               : op->hasTrait<nn::DataMovement>();
}

bool octet::movesOfProducer(Operation *op) {
  OriginAttr origin = getOrigin(op);
  return origin && !origin.getSourceClass() && movesData(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           Operation *producer = operand.getDefiningOp();
           return producer && !isa<ObserveOp>(producer) &&
                  getSourceName(producer) == origin.getName().getValue();
         });
}

/// Whether all values of the only operand that are left are those of the result.
static bool movesInside(Operation *op) {
  return op->getNumOperands() == 1 && op->getNumResults() == 1 && op->getOperand(0).hasOneUse() &&
         !isa<nn::FillOpInterface>(op) && movesOfProducer(op);
}

Value octet::getInnerValue(Value value) {
  Operation *op = value.getDefiningOp();
  return op && movesInside(op) ? op->getOperand(0) : Value();
}

Value octet::getOuterValue(Value value) {
  Operation *user = value.hasOneUse() ? *value.user_begin() : nullptr;
  return user && movesInside(user) ? user->getResult(0) : Value();
}

/// Whether an operator moves integers. One that the plan leaves float moves real numbers.
static bool isQuantized(Operation *op) {
  DecisionAttr decision = getDecision(op);
  return decision && decision.getVerdict() == Verdict::Quantized;
}

void octet::observeInnerValues(ObserveOp op) {
  Value inner = getInnerValue(op.getInput());
  while (inner && isQuantized(*inner.user_begin())) {
    OriginPropagation origins(getOrigin(inner));
    OpBuilder builder(inner.getContext(), &origins);
    builder.setInsertionPointAfterValue(inner);
    auto observe =
        ObserveOp::create(builder, inner.getLoc(), inner.getType(), inner, op.getObserverAttr());
    inner.replaceAllUsesExcept(observe, observe);
    inner = getInnerValue(inner);
  }
}
