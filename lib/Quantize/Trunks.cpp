//===- Trunks.cpp - residual sums and layers between them -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a branch of a residual sum loses is a small part of the sum. A layer between the sums of one
// stage and those of the next is no branch: what it loses, all that is behind it has lost. And
// each sum rounds what all sums before it have added.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Support/Constants.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;

/// Between `other` and `value` are no more operators than a branch may have.
static bool isComputedOf(Value value, Value other) {
  constexpr size_t kLongest = 1000;
  Operation *first = other.getDefiningOp();
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < std::min(reached.size(), kLongest); ++i) {
    if (reached[i] == other)
      return true;
    Operation *op = reached[i].getDefiningOp();
    if (op && (!first || (op->getBlock() == first->getBlock() && first->isBeforeInBlock(op))))
      reached.insert_range(op->getOperands());
  }
  return false;
}

namespace {
/// A sum of a value, moved, pooled or computed element by element at most, and of what layers
/// compute of the same value.
struct ResidualSum {
  Operation *addedTo = nullptr; ///< computes that value; null if it comes in
  SmallVector<Operation *> between;
  bool isLinear = false;         ///< the branch ends with a linear layer
  int64_t count = 0, linear = 0; ///< of the sums up to this one, of those of linear layers
};
} // namespace

/// Follows `value` to what it is moved, pooled, or computed element by element of.
static Value follow(Value value, SmallVectorImpl<Operation *> &between) {
  while (Operation *op = value.getDefiningOp()) {
    if (!op->hasTrait<nn::Elementwise>() && !op->hasTrait<nn::DataMovement>() &&
        !isa<nn::MaxPoolOp, nn::AvgPoolOp>(op))
      break;
    auto operands = llvm::make_filter_range(op->getOperands(),
                                            [](Value operand) { return !isConstant(operand); });
    if (!llvm::hasSingleElement(operands))
      break;
    between.push_back(op);
    value = *operands.begin();
  }
  return value;
}

static std::optional<ResidualSum> getResidualSum(Operation &op) {
  auto add = dyn_cast<nn::AddOp>(op);
  if (!add || add.getLhs().getType() != add.getRhs().getType())
    return std::nullopt;
  for (auto [value, branch] :
       {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
    ResidualSum sum;
    Value addedTo = follow(value, sum.between);
    sum.addedTo = addedTo.getDefiningOp();
    if (!isComputedOf(branch, addedTo))
      continue;
    SmallVector<Operation *> moves;
    sum.isLinear = follow(branch, moves).getDefiningOp<nn::LinearOp>() != nullptr;
    return sum;
  }
  return std::nullopt;
}

DenseSet<Operation *> octet::findLongSums(Block &block, FloatSumsOp rule) {
  const int64_t length = rule.getLength(),
                linearLength = rule.getLinearLength().value_or(std::numeric_limits<int64_t>::max());
  llvm::MapVector<Operation *, ResidualSum> sums;
  DenseSet<Operation *> found;
  for (Operation &op : block) {
    auto sum = getResidualSum(op);
    if (!sum)
      continue;
    auto before = sums.find(sum->addedTo);
    if (before != sums.end())
      sum->count = before->second.count, sum->linear = before->second.linear;
    ++sum->count;
    sum->linear += sum->isLinear;
    sums[&op] = *sum;
    if (sum->count >= length || sum->linear >= linearLength)
      for (Operation *trunk = &op; sums.contains(trunk) && found.insert(trunk).second;)
        trunk = sums.find(trunk)->second.addedTo;
  }
  for (auto &[op, sum] : sums)
    if (found.contains(sum.addedTo)) {
      found.insert(op);
      found.insert_range(sum.between);
    }
  return found;
}

void octet::addSumsBehind(Block &block, DenseSet<Operation *> &floats) {
  for (Operation &op : block) {
    auto sum = getResidualSum(op);
    if (!sum || !isa_and_nonnull<nn::AddOp>(sum->addedTo) || !floats.contains(sum->addedTo))
      continue;
    floats.insert(&op);
    floats.insert_range(sum->between);
  }
}

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
  DenseMap<Operation *, const Decision *> byOp;
  DenseMap<Operation *, Value> carried; ///< what getCarried has found
  DenseSet<Value> seen;                 ///< by findLayers
};
} // namespace

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
