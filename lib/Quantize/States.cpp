//===- States.cpp - operators on the way from an input to an output -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recurrent network's state comes in, is moved, scaled by gates and added to, and leaves. What is
// lost on that way is lost for every later step, while what passes a product (gates, candidates) is
// computed anew each time.
//
//===----------------------------------------------------------------------===//

#include "octet/Quantize/States.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace octet;

/// Whether values keep their identity in `op`: it moves them, or computes element by element.
static bool isTransparent(Operation *op) {
  if (auto group = dyn_cast<GroupOp>(op))
    return llvm::all_of(group.getBody().front().without_terminator(),
                        [](Operation &op) { return isTransparent(&op); });
  return op->hasTrait<nn::Elementwise>() || op->hasTrait<nn::DataMovement>() ||
         op->hasTrait<OpTrait::ConstantLike>() || isa<ObserveOp>(op);
}

static bool isOneOf(const DenseSet<Value> &values, ValueRange range) {
  return llvm::any_of(range, [&](Value value) { return values.contains(value); });
}

DenseSet<Operation *> octet::findStateOps(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    if (isTransparent(&op))
      ops.push_back(&op);
  DenseSet<Value> leaving(llvm::from_range, block.getTerminator()->getOperands());
  for (Operation *op : llvm::reverse(ops))
    if (isOneOf(leaving, op->getResults()))
      leaving.insert_range(op->getOperands());
  DenseSet<Value> states;
  for (Value input : block.getArguments())
    if (leaving.contains(input))
      states.insert(input);
  DenseSet<Operation *> found;
  for (Operation *op : ops) {
    if (!isOneOf(states, op->getOperands()))
      continue;
    states.insert_range(op->getResults());
    if (isOneOf(leaving, op->getResults()) || isa<nn::SliceOp>(op))
      found.insert(op);
  }
  return found;
}

/// The values that an input reaches through transparent operators.
static DenseSet<Value> findReached(Block &block, Value input) {
  DenseSet<Value> reached{input};
  for (Operation &op : block.without_terminator())
    if (isTransparent(&op) && isOneOf(reached, op.getOperands()))
      reached.insert_range(op.getResults());
  return reached;
}

DenseSet<Operation *> octet::findStateSources(Block &block) {
  SmallVector<Value> values;
  if (block.getNumArguments() > 1)
    for (Value input : block.getArguments()) {
      DenseSet<Value> reached = findReached(block, input);
      for (Value output : block.getTerminator()->getOperands())
        if (output.getType() == input.getType() && reached.contains(output))
          values.push_back(output);
    }
  DenseSet<Operation *> found;
  while (!values.empty())
    if (Operation *op = values.pop_back_val().getDefiningOp(); op && found.insert(op).second)
      llvm::append_range(values, op->getOperands());
  return found;
}
