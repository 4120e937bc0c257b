//===- Trunks.cpp - layers between residual sums --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a branch of a residual sum loses is a small part of the sum. A layer between the sums of one
// stage and those of the next is no branch: what it loses, all that is behind it has lost.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Dialect/NN/NN.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;

namespace {
/// The residual sums of a plan, in floats.
class Trunks {
public:
  explicit Trunks(const Plan &plan) {
    for (const Decision &decision : plan.decisions)
      byOp[decision.op] = &decision;
  }

  /// The operand of a sum in floats that the other operand is computed of, or null.
  Value getCarried(Operation *add);
  /// Adds the layers in integers that compute `value`, up to products and the branches of sums.
  void findLayers(Value value, llvm::SetVector<Operation *> &layers);
  /// Whether a sum computes `value`, up to products.
  bool isOfSum(Value value);

private:
  bool isComputedOf(Value value, Value other) const;

  DenseMap<Operation *, const Decision *> byOp;
  DenseMap<Operation *, Value> carried; ///< what getCarried has found
  DenseSet<Value> seen;                 ///< by findLayers
};
} // namespace

/// Between `other` and `value` are no more operators than a branch may have.
bool Trunks::isComputedOf(Value value, Value other) const {
  constexpr size_t kLongest = 1000;
  Operation *first = other.getDefiningOp();
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; first && i < std::min(reached.size(), kLongest); ++i) {
    if (reached[i] == other)
      return true;
    Operation *op = reached[i].getDefiningOp();
    if (op && op->getBlock() == first->getBlock() && first->isBeforeInBlock(op))
      reached.insert_range(op->getOperands());
  }
  return false;
}

Value Trunks::getCarried(Operation *add) {
  if (!isa<nn::AddOp>(add))
    return {};
  auto [known, isNew] = carried.try_emplace(add);
  const Decision *decision = byOp.lookup(add);
  Value lhs = add->getOperand(0), rhs = add->getOperand(1);
  if (isNew && decision && !decision->readsIntegers() && lhs.getType() == rhs.getType())
    known->second = isComputedOf(rhs, lhs) ? lhs : isComputedOf(lhs, rhs) ? rhs : Value();
  return known->second;
}

/// Whether `op` is a part of a normalization, an activation function or the like, or moves values.
static bool isBetweenLayers(Operation *op) {
  return op->hasTrait<nn::Elementwise>() || op->hasTrait<nn::DataMovement>() ||
         isa<nn::ReduceMeanOp>(op);
}

void Trunks::findLayers(Value value, llvm::SetVector<Operation *> &layers) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    value = work.pop_back_val();
    Operation *op = seen.insert(value).second ? value.getDefiningOp() : nullptr;
    const Decision *decision = op ? byOp.lookup(op) : nullptr;
    if (!decision)
      continue;
    if (decision->verdict == Verdict::FloatResult && !isDynamic(*decision) &&
        decision->unit->getWeightedActivation())
      layers.insert(op);
    else if (Value next = getCarried(op))
      work.push_back(next);
    else if (isBetweenLayers(op))
      llvm::append_range(work, op->getOperands());
  }
}

bool Trunks::isOfSum(Value value) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    Operation *op = reached[i].getDefiningOp();
    if (op && getCarried(op))
      return true;
    if (op && isBetweenLayers(op))
      reached.insert_range(op->getOperands());
  }
  return false;
}

QConfigAttr octet::getQConfigOfTrunks(QConfigAttr qconfig) {
  if (!qconfig || !qconfig.getTrunkActivation())
    return nullptr;
  return QConfigAttr::get(qconfig.getContext(), qconfig.getTrunkActivation(), qconfig.getResult(),
                          qconfig.getWeight(), /*channel_activation=*/nullptr,
                          /*column_activation=*/nullptr, /*trunk_activation=*/nullptr);
}

DenseSet<Operation *> octet::findTrunkLayers(const Plan &plan, double share) {
  Trunks trunks(plan);
  llvm::SetVector<Operation *> layers;
  int64_t total = 0, ofLayers = 0;
  DenseSet<Operation *> found;
  for (const Decision &decision : plan.decisions) {
    total += nn::countMultiplyAdds(decision.op);
    if (Value value = trunks.getCarried(decision.op))
      trunks.findLayers(value, layers);
  }
  for (const Decision &decision : plan.decisions)
    if (layers.contains(decision.op) &&
        trunks.isOfSum(decision.unit->getWeightedActivation()->get())) {
      found.insert(decision.op);
      ofLayers += nn::countMultiplyAdds(decision.op);
    }
  return (double)ofLayers <= share * (double)total ? found : DenseSet<Operation *>();
}
