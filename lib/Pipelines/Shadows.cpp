//===- Shadows.cpp - quantized units beside their float twins -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Taps stay with operators, but octet-convert replaces those whose results are wanted: what is
// tapped are reshapes behind them that change nothing.
//
//===----------------------------------------------------------------------===//

#include "Shadows.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"

using namespace mlir;
using namespace octet;

/// Whether the unit computes in integers. A unit that shares the observer of its inputs only moves
/// values.
static bool isComputing(const Unit &unit) {
  DecisionAttr decision = getDecision(unit.op);
  return decision && decision.getVerdict() != Verdict::Float && unit.op->getNumResults() == 1 &&
         PatternOp(unit.pattern).getObservation() != Observation::shared;
}

/// The first octet.observe of a value, or null.
static ObserveOp getFirstObserve(Value value) {
  ObserveOp first;
  for (Operation *user : value.getUsers())
    if (auto observe = dyn_cast<ObserveOp>(user);
        observe && (!first || observe->isBeforeInBlock(first)))
      first = observe;
  return first;
}

/// An operator that passes `value` on.
static Operation *passOn(OpBuilder &builder, Value value) {
  return nn::ReshapeOp::create(builder, value.getLoc(), value.getType(), value);
}

/// The unit's operators in float, on values that are not observed: weights, or all.
static Value addTwin(OpBuilder &builder, Operation *unit, bool isOfReals) {
  Operation *twin = builder.clone(*unit);
  twin->removeAttr(kDecisionAttr);
  for (OpOperand &operand : twin->getOpOperands())
    while (auto observe = operand.get().getDefiningOp<ObserveOp>()) {
      if (!isOfReals && !isConstant(observe.getInput()))
        break;
      operand.set(observe.getInput());
    }
  return twin->getResult(0);
}

ShadowedNetwork::ShadowedNetwork(ModuleOp network, const Backend &backend) {
  IRMapping mapping;
  copy = cast<ModuleOp>(network->clone(mapping));
  auto function = network.lookupSymbol<func::FuncOp>("main");
  for (Operation &op : function.getBody().front()) {
    std::optional<Unit> unit = backend.matchUnit(&op);
    if (!unit || !isComputing(*unit))
      continue;
    Operation *shadowed = mapping.lookup(&op);
    Value result = shadowed->getResult(0);
    ObserveOp observe = getFirstObserve(result);
    OpBuilder builder(shadowed->getContext());
    builder.setInsertionPointAfter(observe ? observe.getOperation() : shadowed);
    Operation *twin = passOn(builder, addTwin(builder, shadowed, /*isOfReals=*/false));
    Operation *twinOfReals = passOn(builder, addTwin(builder, shadowed, /*isOfReals=*/true));
    Operation *last = passOn(builder, observe ? observe.getResult() : result);
    units.push_back({std::move(*unit), last, twin, twinOfReals});
  }
  // Observers may stand in another order than the operators whose results they observe.
  llvm::sort(units,
             [](const Shadowed &a, const Shadowed &b) { return a.twin->isBeforeInBlock(b.twin); });
}
