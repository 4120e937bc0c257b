//===- Ends.cpp - small layers at the ends of a network -------------------===//
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

static bool readsInput(Value value, const Plan &plan) {
  while (Operation *op = value.getDefiningOp())
    if (op->hasTrait<nn::DataMovement>() && op->getNumOperands() == 1)
      value = op->getOperand(0);
    else
      return false;
  return !plan.isQuantizedInput(value);
}

/// Whether what `op` computes depends on one value alone, or on values that it only moves.
static bool passesOn(Operation *op) {
  if (op->hasTrait<nn::DataMovement>())
    return true;
  return countWeights(op) == 0 &&
         llvm::count_if(op->getOperands(), [](Value value) { return !isConstant(value); }) == 1;
}

/// The operators whose results reach results of the function alone, behind others of them.
static DenseSet<Operation *> findLastOps(Block &block, const Plan &plan) {
  DenseSet<Operation *> found;
  auto isLast = [&](OpOperand &use) {
    if (use.getOwner() == block.getTerminator())
      return !plan.isQuantizedOutput(use);
    return found.contains(use.getOwner()) && passesOn(use.getOwner());
  };
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (!op.use_empty() && llvm::all_of(op.getUses(), isLast))
      found.insert(&op);
  return found;
}

DenseSet<Operation *> octet::findSmallEnds(FunctionOpInterface function, const Plan &plan,
                                           double share) {
  DenseSet<Operation *> found, last;
  for (Block &block : function.getFunctionBody())
    last.insert_range(findLastOps(block, plan));
  int64_t total = 0, ofLast = 0;
  for (const Decision &decision : plan.decisions)
    total += countWeights(decision.op);
  auto isSmall = [&](int64_t count) { return (double)count < share * (double)total; };
  SmallVector<Operation *> makeOutputs;
  for (const Decision &decision : plan.decisions) {
    OpOperand *operand = decision.unit ? decision.unit->getWeightedActivation() : nullptr;
    if (!operand || !isSplittable(*decision.unit, *operand))
      continue;
    int64_t count = countWeights(decision.op);
    if (readsInput(operand->get(), plan) && isSmall(count))
      found.insert(decision.op);
    if (last.contains(decision.op)) {
      makeOutputs.push_back(decision.op);
      ofLast += count;
    }
  }
  if (isSmall(ofLast))
    found.insert_range(makeOutputs);
  return found;
}
