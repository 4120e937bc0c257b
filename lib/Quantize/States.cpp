//===- States.cpp - what passes from step to step of a recurrence ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recurrent network's state comes in, is moved, scaled by gates and added to, and leaves. What is
// lost on that way is lost for every later step, while what passes a product (gates, candidates) is
// computed anew each time. The steps may be runs of the network, or all in one network.
//
//===----------------------------------------------------------------------===//

#include "octet/Quantize/States.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Support/Constants.h"
#include "llvm/ADT/MapVector.h"
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

/// Of a transparent operator: whether it does not only move values.
static bool computes(Operation *op) { return op->hasTrait<nn::Elementwise>() || isa<GroupOp>(op); }

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
  for (Value input : block.getArguments()) // an input of integers is a mask or ids
    if (isa<FloatType>(getElementTypeOrSelf(input)) && leaving.contains(input))
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

/// Fewer layers with the same weights, one behind another, are no recurrence.
static constexpr unsigned kLeastSteps = 3;

/// Whether the units, which have the same weights, are steps: each reads the result of one before,
/// computed with element by element.
static bool isRecurrence(ArrayRef<const Unit *> sharing) {
  DenseMap<Operation *, OpOperand *> inputs;
  for (const Unit *unit : sharing)
    inputs[unit->op] = unit->getWeightedActivation();
  DenseMap<Value, unsigned> steps; // that a value has passed
  DenseSet<Value> computed;
  for (Operation *op = sharing.front()->op; op; op = op->getNextNode()) {
    unsigned number = 0;
    if (OpOperand *input = inputs.lookup(op)) {
      number = computed.contains(input->get()) ? steps.lookup(input->get()) + 1 : 1;
      if (number == kLeastSteps)
        return true;
    } else if (isTransparent(op)) {
      for (Value operand : op->getOperands())
        number = std::max(number, steps.lookup(operand));
      if (number && (computes(op) || isOneOf(computed, op->getOperands())))
        computed.insert_range(op->getResults());
    }
    for (Value result : op->getResults())
      if (number)
        steps[result] = number;
  }
  return false;
}

DenseSet<Operation *> octet::findRecurrentUnits(ArrayRef<const Unit *> units) {
  llvm::MapVector<std::pair<Value, Block *>, SmallVector<const Unit *>> byWeights;
  for (const Unit *unit : units)
    if (OpOperand *weights = unit->getOperand<WeightOp>(); weights && unit->getWeightedActivation())
      byWeights[{weights->get(), unit->op->getBlock()}].push_back(unit);
  DenseSet<Operation *> found;
  for (auto &[weights, sharing] : byWeights)
    if (sharing.size() > 1 && isRecurrence(sharing))
      for (const Unit *unit : sharing)
        found.insert(unit->op);
  return found;
}

/// What computes `value` before it is moved, or null.
static Operation *getSource(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && op->hasTrait<nn::DataMovement>() && op->getNumOperands() == 1)
    op = op->getOperand(0).getDefiningOp();
  return op;
}

namespace {
/// The sum that another one adds to, and the product between them.
struct ScanStep {
  Operation *before = nullptr, *product = nullptr;
  unsigned number = 1;
};
} // namespace

/// Follows `add` back through a product, neither of whose operands is a constant.
static ScanStep getScanStep(nn::AddOp add, const DenseMap<Operation *, ScanStep> &sums) {
  for (Value operand : add->getOperands()) {
    auto product = dyn_cast_if_present<nn::MulOp>(getSource(operand));
    if (!product || isConstant(product.getLhs()) || isConstant(product.getRhs()))
      continue;
    for (Value factor : product->getOperands())
      if (auto before = sums.find(getSource(factor)); before != sums.end())
        return {before->first, product, before->second.number + 1};
  }
  return {};
}

DenseSet<Operation *> octet::findScanOps(Block &block) {
  DenseMap<Operation *, ScanStep> sums;
  DenseSet<Operation *> found;
  for (auto add : block.getOps<nn::AddOp>()) {
    ScanStep step = getScanStep(add, sums);
    sums[add] = step;
    if (step.number < kLeastSteps)
      continue;
    for (Operation *op = add; op && found.insert(op).second; op = sums.lookup(op).before)
      if (Operation *product = sums.lookup(op).product)
        found.insert(product);
  }
  return found;
}

/// Whether an operator joins what it moves, as the states of all steps.
static bool joins(Operation *op) {
  return op->hasTrait<nn::DataMovement>() && op->getNumOperands() > 1;
}

DenseSet<Operation *> octet::findRecurrentOps(ArrayRef<const Unit *> units,
                                              const DenseSet<Operation *> &recurrent) {
  SmallVector<Operation *> before, behind;
  for (const Unit *unit : units)
    if (recurrent.contains(unit->op)) {
      before.push_back(unit->getWeightedActivation()->get().getDefiningOp());
      llvm::append_range(behind, unit->op->getUsers());
    }
  DenseSet<Operation *> seen, found;
  auto visit = [&](Operation *op) {
    if (!op || !isTransparent(op) || joins(op) || !seen.insert(op).second)
      return false;
    if (computes(op))
      found.insert(op);
    return true;
  };
  while (!before.empty())
    if (Operation *op = before.pop_back_val(); visit(op))
      for (Value operand : op->getOperands())
        before.push_back(operand.getDefiningOp());
  // The last step's results, which no other step reads.
  seen = found;
  while (!behind.empty())
    if (Operation *op = behind.pop_back_val(); visit(op))
      llvm::append_range(behind, op->getUsers());
  return found;
}

/// Of `ops`, those that read the result of one of `steps`, directly or not, beside a value that is
/// no such result; none if only the first step has such a reader, as of a residual.
static SmallVector<Operation *> findMeetings(Block &block, const DenseSet<Operation *> &steps,
                                             const DenseSet<Operation *> &ops) {
  DenseSet<Operation *> behind, behindSecond;
  auto isBehind = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return behind.contains(op) || steps.contains(op);
  };
  SmallVector<Operation *> found;
  bool any = false;
  for (Operation &op : block) {
    if (llvm::none_of(op.getOperands(), isBehind))
      continue;
    behind.insert(&op);
    bool isSecond = steps.contains(&op) || llvm::any_of(op.getOperands(), [&](Value value) {
                      return behindSecond.contains(value.getDefiningOp());
                    });
    if (isSecond)
      behindSecond.insert(&op);
    if (ops.contains(&op) && llvm::any_of(op.getOperands(), [&](Value value) {
          Operation *source = value.getDefiningOp();
          return !isBehind(value) && !(source && source->hasTrait<OpTrait::ConstantLike>());
        })) {
      found.push_back(&op);
      any |= isSecond;
    }
  }
  return any ? found : SmallVector<Operation *>();
}

DenseSet<Operation *> octet::findGateSums(Block &block, ArrayRef<const Unit *> units) {
  DenseSet<Operation *> recurrent = findRecurrentUnits(units), found;
  DenseSet<Operation *> ops = findRecurrentOps(units, recurrent);
  llvm::MapVector<Value, DenseSet<Operation *>> byWeights;
  for (const Unit *unit : units)
    if (recurrent.contains(unit->op))
      byWeights[unit->getOperand<WeightOp>()->get()].insert(unit->op);
  for (auto &[weights, steps] : byWeights)
    found.insert_range(findMeetings(block, steps, ops));
  return found;
}
