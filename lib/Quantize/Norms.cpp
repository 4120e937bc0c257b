//===- Norms.cpp - what stays float in front of a normalization -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InnerValues.h"
#include "octet/Dialect/NN/NN.h"

using namespace mlir;
using namespace octet;

/// The product whose elements `op` averages or adds up, perhaps in another shape, if it is that of
/// a tensor by itself; or null.
static nn::MulOp getSquare(Operation &op) {
  if (!isa<nn::ReduceMeanOp, nn::ReduceSumOp>(op))
    return {};
  Value value = op.getOperand(0);
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
    value = reshape.getInput();
  auto square = value.getDefiningOp<nn::MulOp>();
  return square && square.getLhs() == square.getRhs() ? square : nn::MulOp();
}

/// What computes with the average `mean` alone, element by element, moved at most, up to what
/// scales or shifts other values by it: a factor that is far larger in rows of zeros.
static void findReadersOfAverage(Operation *mean, DenseSet<Operation *> &found) {
  auto getSize = [](Operation *op) {
    return cast<RankedTensorType>(op->getResult(0).getType()).getNumElements();
  };
  DenseSet<Operation *> seen;
  SmallVector<Operation *> work = {mean};
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      bool computes = user->hasTrait<nn::Elementwise>();
      if (!seen.insert(user).second || !(computes || user->hasTrait<nn::DataMovement>()))
        continue;
      if (computes)
        found.insert(user);
      if (getSize(user) == getSize(mean))
        work.push_back(user);
    }
}

DenseSet<Operation *> octet::findNormOps(Block &block) {
  SmallVector<Value> values;
  DenseSet<Operation *> found;
  for (Operation &op : block)
    if (nn::MulOp square = getSquare(op)) {
      values.push_back(square.getLhs());
      found.insert_range(ArrayRef{square.getOperation(), &op});
      findReadersOfAverage(&op, found);
    }
  DenseSet<Value> seen;
  while (!values.empty()) {
    Value value = values.pop_back_val();
    Operation *op = seen.insert(value).second ? value.getDefiningOp() : nullptr;
    bool computes = op && (op->hasTrait<nn::Elementwise>() || isa<nn::ReduceMeanOp>(op));
    if (!computes && !(op && op->hasTrait<nn::DataMovement>()))
      continue;
    if (computes)
      found.insert(op);
    llvm::append_range(values, op->getOperands());
  }
  addSumsBehind(block, found);
  return found;
}

/// A number, or one for each channel.
static bool isVector(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *source = value.getDefiningOp();
  return type && source && source->hasTrait<OpTrait::ConstantLike>() &&
         llvm::count_if(type.getShape(), [](int64_t size) { return size != 1; }) <= 1;
}

/// What an operator scales or shifts by a constant, if nothing else reads it: the unit that
/// computes it takes the operator into its epilogue.
static Value getScaled(Operation *op) {
  if (!op->hasTrait<nn::Elementwise>() || op->getNumOperands() != 2)
    return {};
  for (auto [value, other] : {std::pair(0, 1), std::pair(1, 0)})
    if (isVector(op->getOperand(other)) && op->getOperand(value).hasOneUse() &&
        op->getOperand(value).getDefiningOp())
      return op->getOperand(value);
  return {};
}

namespace {

/// Which values operators that stay float compute.
class FloatValues {
public:
  FloatValues(const Plan &plan, const Backend &backend) : backend(backend) {
    for (const Decision &decision : plan.decisions)
      byOp[decision.op] = &decision;
  }

  /// Constants are as float as the values beside them.
  bool isFloat(Value value) const {
    Operation *op = value.getDefiningOp();
    if (op && op->hasTrait<OpTrait::ConstantLike>())
      return true;
    const Decision *producer = byOp.lookup(op);
    if (!producer || !producer->readsIntegers()) {
      Value scaled = op ? getScaled(op) : Value();
      return producer && (!scaled || isFloat(scaled));
    }
    if (isDynamic(*producer))
      return true;
    return PatternOp(producer->unit->pattern).getObservation() == Observation::shared &&
           readsFloats(*producer->unit);
  }

  /// Whether the unit has activations, all of them float.
  bool readsFloats(const Unit &unit) const {
    bool any = false;
    for (auto [leaf, operand] : unit.leaves) {
      if (!isa<ActivationOp>(leaf))
        continue;
      if (!isFloat(operand->get()))
        return false;
      any |= !operand->get().getDefiningOp()->hasTrait<OpTrait::ConstantLike>();
    }
    return any;
  }

  /// Whether operators that stay float compute all operands themselves, and pass none on.
  bool isBehindFloats(Operation *op) const {
    return llvm::none_of(op->getOperands(), [&](Value operand) {
      const Decision *producer = byOp.lookup(operand.getDefiningOp());
      return producer && producer->readsIntegers() && !isDynamic(*producer);
    });
  }

  /// Whether the unit computes element by element with what the backend keeps float on purpose.
  bool readsWithoutIntegers(const Unit &unit) const {
    return llvm::any_of(unit.leaves, [&](auto leaf) {
      Value operand = leaf.second->get();
      Operation *producer = operand.getDefiningOp();
      return isa<ActivationOp>(leaf.first) && producer &&
             !backend.getFloatReason(producer->getName()).empty() &&
             operand.getType() == unit.op->getResult(0).getType();
    });
  }

private:
  const Backend &backend;
  DenseMap<Operation *, const Decision *> byOp;
};

} // namespace

static FloatOperands getFloatOperands(const Decision &decision) {
  return PatternOp(decision.unit->pattern).getFloatOperands();
}

/// The activations of quantized units that do not follow others.
static DenseSet<Value> findQuantizedOperands(const Plan &plan) {
  DenseSet<Value> found;
  for (const Decision &decision : plan.decisions)
    if (decision.readsIntegers() && !isDynamic(decision) &&
        getFloatOperands(decision) != FloatOperands::follows)
      for (auto [leaf, operand] : decision.unit->leaves)
        if (isa<ActivationOp>(leaf))
          found.insert(operand->get());
  return found;
}

bool octet::keepFloatOnFloats(Plan &plan, const Backend &backend) {
  FloatValues values(plan, backend);
  DenseSet<Value> quantized = findQuantizedOperands(plan);
  bool any = false;
  for (Decision &decision : plan.decisions) {
    if (!decision.readsIntegers() || isDynamic(decision))
      continue;
    // The end of an operator of the source is what its beginning is: an LSTM that stays float does
    // not join its states in integers.
    bool isEnd = movesOfProducer(decision.op) && values.isBehindFloats(decision.op);
    if (getFloatOperands(decision) == FloatOperands::stays_float &&
        values.readsWithoutIntegers(*decision.unit) && !values.readsFloats(*decision.unit)) {
      decision.verdict = Verdict::Float;
      decision.reason = Reason{
          "OCT104", "no integer form: it computes element by element with what has none", ""};
      any = true;
      continue;
    }
    if ((getFloatOperands(decision) == FloatOperands::observed && !isEnd) ||
        !values.readsFloats(*decision.unit))
      continue;
    if (getFloatOperands(decision) == FloatOperands::follows && !isEnd &&
        llvm::any_of(decision.unit->leaves, [&](auto leaf) {
          return isa<ActivationOp>(leaf.first) && quantized.contains(leaf.second->get());
        }))
      continue;
    decision.verdict = Verdict::Float;
    decision.reason = Reason{"OCT108", "operators that stay float compute all that it reads", ""};
    any = true;
  }
  return any;
}
