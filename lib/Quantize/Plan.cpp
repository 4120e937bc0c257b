//===- Plan.cpp - what is to be quantized, and why not --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace octet;

namespace {

/// Takes the decisions of one block.
class Planner {
public:
  Planner(Block &block, const Backend &backend, const QConfigMapping &mapping,
          bool quantizedOutputs)
      : block(block), backend(backend), mapping(mapping), quantizedOutputs(quantizedOutputs) {}

  Plan run() {
    for (Operation &op : block.without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>() && !isa<ObserverOp>(op))
        plan.decisions.push_back(decide(&op, backend, mapping));
    for (Decision &decision : plan.decisions)
      byOp[decision.op] = &decision;
    keepFloatWhatIsNotRead();
    keepFloatByStructure();
    do {
      do
        keepFloatWhatIsNotRead();
      while (keepFloatOnFloats(plan));
      plan.observed.clear();
      collectSets();
    } while (refuseWhatDoesNotFit());
    return std::move(plan);
  }

private:
  void keepFloat(const DenseSet<Operation *> &ops, StringRef code, StringRef why);
  void keepFloatByStructure();
  void keepFloatWhatIsNotRead();
  void collectSets();
  void addSet(ArrayRef<Value> values);
  ObserverAttrInterface getFollowingObserver(ArrayRef<Value> values);
  bool refuseWhatDoesNotFit();
  ObserverAttrInterface getChannelObserver(Value value);
  bool isPart(Operation *op);
  bool isRescaled(const Decision &decision, Value operand);
  const Decision *getProducer(Value value) const { return byOp.lookup(value.getDefiningOp()); }
  ObserverAttrInterface getWishedObserver(Value value);
  std::optional<Reason> getIgnoredReader(Value value, ObserverAttrInterface observer);

  Block &block;
  const Backend &backend;
  const QConfigMapping &mapping;
  const bool quantizedOutputs;
  Plan plan;
  DenseMap<Operation *, Decision *> byOp;
  /// Results whose operands do not share their observer.
  DenseSet<Value> rescaling;
};

/// Whether operands of these leaves are observed.
bool isActivation(Operation *leaf) { return isa<ActivationOp>(leaf); }

/// Whether a unit's result has the observer of its inputs, by its pattern or by its QConfig.
bool isShared(const Decision &decision) {
  bool reuses =
      !decision.qconfig.getResult() && decision.qconfig.getActivation().getSpec().reusesInput;
  return reuses || PatternOp(decision.unit->pattern).getObservation() == Observation::shared;
}

} // namespace

void Planner::keepFloat(const DenseSet<Operation *> &ops, StringRef code, StringRef why) {
  for (Decision &decision : plan.decisions)
    if (decision.verdict != Verdict::Float && ops.contains(decision.op)) {
      decision.verdict = Verdict::Float;
      decision.reason = Reason{code, why.str(), ""};
    }
}

void Planner::keepFloatByStructure() {
  if (StringRef why = backend.getStatesReason(); !why.empty() && !quantizedOutputs)
    keepFloat(findStateOps(block), "OCT107", why);
  if (StringRef why = backend.getNormsReason(); !why.empty())
    keepFloat(findNormOps(block), "OCT109", why);
  if (FloatFirstOp first = backend.getFloatFirst(); first && !quantizedOutputs)
    keepFloat(findSmallFirstLayers(plan, first.getShare().convertToDouble()), "OCT113",
              first.getReason());
}

/// Backwards: a result that no quantized unit reads becomes what its pattern's `float_uses` says.
void Planner::keepFloatWhatIsNotRead() {
  DenseSet<Value> read;
  if (quantizedOutputs)
    for (OpOperand &operand : block.getTerminator()->getOpOperands())
      if (!nn::getStateOfResult(cast<FunctionOpInterface>(block.getParentOp()),
                                operand.getOperandNumber()))
        read.insert(operand.get());
  for (Decision &decision : llvm::reverse(plan.decisions)) {
    if (decision.verdict == Verdict::Float)
      continue;
    FloatUses floatUses = PatternOp(decision.unit->pattern).getFloatUses();
    if (floatUses != FloatUses::observed && !read.contains(decision.op->getResult(0))) {
      bool computes = floatUses == FloatUses::float_result;
      decision.verdict = computes ? Verdict::FloatResult : Verdict::Float;
      decision.reason = Reason{"OCT102", "no quantized operator reads the result", ""};
    }
    if (decision.verdict != Verdict::Float)
      for (auto [leaf, operand] : decision.unit->leaves)
        if (isActivation(leaf))
          read.insert(operand->get());
  }
}

/// Unites the values of sharing units; every other value that a unit reads or writes is a set of
/// its own, and so is a slice of channels whose operand may have a scale for each of them.
void Planner::collectSets() {
  llvm::EquivalenceClasses<void *> classes;
  llvm::SetVector<Value> values;
  DenseMap<std::pair<Value, int64_t>, Value> parts; // by channel
  rescaling.clear();
  auto add = [&](Value value) {
    values.insert(value);
    classes.insert(value.getAsOpaquePointer());
  };
  for (Decision &decision : plan.decisions) {
    if (decision.verdict == Verdict::Float)
      continue;
    Value result = decision.op->getResult(0);
    Observation observation = PatternOp(decision.unit->pattern).getObservation();
    for (auto [leaf, operand] : decision.unit->leaves) {
      if (!isActivation(leaf) || observation == Observation::none)
        continue;
      add(operand->get());
      if (!isShared(decision))
        continue;
      if (!isRescaled(decision, operand->get()))
        classes.unionSets(operand->get().getAsOpaquePointer(), result.getAsOpaquePointer());
      else if (!isPart(decision.op))
        rescaling.insert(result);
      else // slices that overlap have one scale
        for (int64_t channel :
             getPart(decision.op, *getChannelObserver(operand->get()).getSpec().channelAxis))
          classes.unionSets(parts.try_emplace({operand->get(), channel}, result)
                                .first->second.getAsOpaquePointer(),
                            result.getAsOpaquePointer());
    }
    if (decision.verdict == Verdict::Quantized && observation != Observation::none)
      add(result);
  }
  DenseMap<void *, SmallVector<Value>> members;
  for (Value value : values)
    members[classes.getLeaderValue(value.getAsOpaquePointer())].push_back(value);
  SmallPtrSet<void *, 16> done;
  for (Value value : values)
    if (void *leader = classes.getLeaderValue(value.getAsOpaquePointer());
        done.insert(leader).second)
      addSet(members[leader]);
}

/// The observer that the producer of `value` asks for, else the first operator that reads it and
/// asks for one; null for a sharing producer.
ObserverAttrInterface Planner::getWishedObserver(Value value) {
  const Decision *producer = getProducer(value);
  if (producer && producer->verdict == Verdict::Quantized) {
    if (isPart(producer->op))
      return getWishedObserver(producer->op->getOperand(0));
    if (isShared(*producer))
      return nullptr;
    return producer->qconfig.getResult() ? producer->qconfig.getResult()
                                         : producer->qconfig.getActivation();
  }
  for (const Decision &decision : plan.decisions)
    if (decision.verdict != Verdict::Float &&
        !decision.qconfig.getActivation().getSpec().reusesInput &&
        llvm::is_contained(decision.op->getOperands(), value))
      return decision.qconfig.getActivation();
  return nullptr;
}

/// A note about a reader whose observer is not the one in use.
std::optional<Reason> Planner::getIgnoredReader(Value value, ObserverAttrInterface observer) {
  for (OpOperand &use : value.getUses()) {
    const Decision *reader = byOp.lookup(use.getOwner());
    if (reader && reader->verdict != Verdict::Float &&
        reader->qconfig.getActivation() != observer && !isShared(*reader) &&
        PatternOp(reader->unit->pattern).getObservation() == Observation::different)
      return Reason{"OCT210",
                    "an operator that reads this value asks for another observer; a value has one, "
                    "its producer's",
                    "give producer and reader the same QConfig"};
  }
  return std::nullopt;
}

/// Whether a unit only takes some of its operand's channels.
static bool isSlice(const Decision &decision, int64_t axis) {
  return PatternOp(decision.unit->pattern).getObservation() == Observation::shared &&
         !getPart(decision.op, axis).empty();
}

/// The producer's observer with a scale per channel, if every reader takes one, or is a slice and
/// takes some channels; else null.
ObserverAttrInterface Planner::getChannelObserver(Value value) {
  const Decision *producer = getProducer(value);
  if (!producer || producer->verdict != Verdict::Quantized || producer->qconfig.getResult())
    return nullptr;
  PatternOp pattern = producer->unit->pattern;
  auto observer = producer->qconfig.getChannelActivation();
  auto axis = pattern.getChannelAxis();
  if (!observer || !axis || observer.getSpec().channelAxis != (int64_t)*axis)
    return nullptr;
  if (!takesObserver(*producer->unit, observer, /*isResult=*/true))
    return nullptr;
  bool isTaken = llvm::all_of(value.getUses(), [&](OpOperand &use) {
    const Decision *reader = byOp.lookup(use.getOwner());
    return reader && reader->verdict != Verdict::Float &&
           takesObserver(*reader->unit, observer, /*isResult=*/false) &&
           (isSlice(*reader, *axis) || llvm::any_of(reader->unit->leaves, [&](auto leaf) {
              auto activation = dyn_cast<ActivationOp>(leaf.first);
              return leaf.second == &use && activation && activation.getChannelAxis() == axis;
            }));
  });
  return isTaken ? observer : nullptr;
}

/// Whether `op` is a quantized slice of a value that may have a scale per channel.
bool Planner::isPart(Operation *op) {
  const Decision *decision = byOp.lookup(op);
  if (!decision || decision->verdict != Verdict::Quantized || op->getNumOperands() != 1)
    return false;
  ObserverAttrInterface observer = getChannelObserver(op->getOperand(0));
  return observer && isSlice(*decision, *observer.getSpec().channelAxis);
}

/// Whether a sharing unit reads this operand at another scale than its result's: a slice reads its
/// part, and a unit that joins several values rescales such a part if others read it, too.
bool Planner::isRescaled(const Decision &decision, Value operand) {
  if (decision.verdict != Verdict::Quantized)
    return false;
  if (isPart(decision.op))
    return true;
  auto isOther = [&](Operation *user) {
    const Decision *reader = byOp.lookup(user);
    return reader && reader->verdict != Verdict::Float &&
           PatternOp(reader->unit->pattern).getObservation() == Observation::different;
  };
  return decision.op->getNumOperands() > 1 && operand.getDefiningOp() &&
         isPart(operand.getDefiningOp()) && llvm::any_of(operand.getUsers(), isOther);
}

/// Whether an operator brings in a value that the known range of its operand need not hold.
static bool addsValues(Operation *op) {
  auto fill = dyn_cast_or_null<nn::FillOpInterface>(op);
  return fill && fill.getFill() != 0;
}

/// The observer that a sharing operator of the set asks for, if it follows the data; else null.
ObserverAttrInterface Planner::getFollowingObserver(ArrayRef<Value> values) {
  for (Value value : values) {
    const Decision *producer = getProducer(value);
    if (producer && producer->verdict != Verdict::Float &&
        !producer->qconfig.getActivation().getSpec().fixedScale &&
        !producer->qconfig.getActivation().getSpec().reusesInput)
      return producer->qconfig.getActivation();
  }
  return nullptr;
}

/// Keeps units float that do not take the observers that their values have come to share, which
/// need not be those that they asked for. True if there was such a unit.
bool Planner::refuseWhatDoesNotFit() {
  DenseMap<Value, ObserverAttrInterface> observers;
  for (const ObservedSet &set : plan.observed)
    for (Value value : set.values)
      observers[value] = set.observer;
  bool any = false;
  for (Decision &decision : plan.decisions) {
    if (decision.verdict == Verdict::Float)
      continue;
    auto reason =
        checkObservers(*decision.unit, [&](Value value) { return observers.lookup(value); });
    if (isShared(decision) && !observers.lookup(decision.op->getResult(0)))
      reason = Reason{"OCT213", "the QConfig reuses the observer of the inputs, which have none",
                      "give the operator an observer of its own in the QConfig mapping"};
    if (!reason)
      continue;
    decision.reason = reason;
    decision.verdict = Verdict::Float;
    decision.isRefused = any = true;
  }
  return any;
}

void Planner::addSet(ArrayRef<Value> values) {
  ObservedSet set{SmallVector<Value, 1>(values), nullptr, false, std::nullopt};
  if (values.size() == 1)
    set.observer = getChannelObserver(values[0]);
  if (set.observer) {
    set.isPerChannel = true;
    plan.observed.push_back(std::move(set));
    return;
  }
  // An observer that follows the data suits every member, constants suit none but their own.
  bool isFixedUnfit = false;
  for (Value value : values) {
    ObserverAttrInterface wished = getWishedObserver(value);
    isFixedUnfit |= addsValues(value.getDefiningOp()) || rescaling.contains(value);
    if (!wished || wished == set.observer)
      continue;
    isFixedUnfit |= (bool)set.observer;
    if (set.observer)
      set.note = Reason{"OCT209", "operators that share this observer ask for different ones",
                        "give them the same QConfig"};
    if (!set.observer || (set.observer.getSpec().fixedScale && !wished.getSpec().fixedScale))
      set.observer = wished;
  }
  if (isFixedUnfit && set.observer.getSpec().fixedScale)
    if (ObserverAttrInterface following = getFollowingObserver(values))
      set.observer = following;
  for (Value value : values)
    if (!set.note && set.observer && !set.observer.getSpec().fixedScale)
      set.note = getIgnoredReader(value, set.observer);
  // Further columns of one bucket would be other weights than those of the next.
  if (!block.getParentOp()->getParentOp()->hasAttr(kBucketAttr))
    set.observer =
        watchColumns(set.observer, values, [&](Operation *op) { return byOp.lookup(op); });
  plan.observed.push_back(std::move(set));
}

/// Fails, with an error emitted, if the block contains observers or quantized values already.
static LogicalResult checkIsFloat(Block &block) {
  for (Operation &op : block)
    if (isa<ObserveOp, QuantizeOp, DequantizeOp>(op))
      return op.emitOpError("expected a float program without observers")
             << Remedy("run this pass before octet-prepare");
  return success();
}

const std::vector<Plan> *PlanAnalysis::getPlans(bool quantizedOutputs) {
  std::optional<std::vector<Plan>> &known = plans[quantizedOutputs];
  if (known)
    return &*known;
  const Backend *backend = policy.getBackend();
  const QConfigMapping *mapping = backend ? policy.getMapping() : nullptr;
  if (!mapping)
    return nullptr;
  std::vector<Plan> made;
  for (auto function : cast<ModuleOp>(module).getOps<FunctionOpInterface>())
    for (Block &block : function.getFunctionBody()) {
      if (failed(checkIsFloat(block)) || failed(checkQConfigsOfUnits(*backend, *mapping, block)))
        return nullptr;
      made.push_back(Planner(block, *backend, *mapping, quantizedOutputs).run());
    }
  return &known.emplace(std::move(made));
}
