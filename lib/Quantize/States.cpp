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

#include "Plan.h"
#include "octet/Dialect/NN/NN.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace octet;

/// Whether values keep their identity in `op`: it moves them, or computes element by element.
static bool isTransparent(Operation *op) {
  if (auto group = dyn_cast<GroupOp>(op))
    return llvm::all_of(group.getBody().front().without_terminator(),
                        [](Operation &op) { return isTransparent(&op); });
  return op->hasTrait<nn::Elementwise>() || op->hasTrait<nn::DataMovement>() ||
         op->hasTrait<OpTrait::ConstantLike>();
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
