//===- ScaleEachRun.cpp - scales for values whose size varies -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.vary] Between calibration and conversion, as octet-split-outliers: no samples are needed here.
// Sound and its spectra are loud in a few runs and quiet in most: one scale for all leaves these a
// few steps.
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Backend/Backend.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Dialect/Octet/TypicalPeak.h"
#include "octet/Quantize/Passes.h"
#include "octet/Quantize/Statistics.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_SCALEEACHRUNPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

static ObserverOp getObserver(ObserveOp op) {
  return SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, op.getObserverAttr());
}

/// The largest magnitude that integers of the type stand for.
static double getReach(quant::UniformQuantizedType type) {
  return type.getScale() * (double)std::max(type.getStorageTypeMax() - type.getZeroPoint(),
                                            type.getZeroPoint() - type.getStorageTypeMin());
}

/// [N.stat.peak] Of the values that an observer watches; 0 where it is not known.
static float getPeak(ObserverOp observer) {
  auto kind = dyn_cast<MeanSquaredErrorObserverAttr>(observer.getObserver());
  return kind && observer.getStatisticsAttr() ? getTypicalPeak(kind, observer.getState()) : 0;
}

/// That of the largest operand of a concatenation which has another observer than the result: the
/// result is no smaller. 0 for other values.
static float getPeakOfOthers(ObserveOp op) {
  Operation *joining = op.getInput().getDefiningOp();
  float peak = 0;
  if (joining && joining->hasTrait<nn::DataMovement>() && joining->getNumOperands() > 1)
    for (Value operand : joining->getOperands())
      if (auto observe = operand.getDefiningOp<ObserveOp>();
          observe && observe.getObserver() != op.getObserver())
        peak = std::max(peak, getPeak(getObserver(observe)));
  return peak;
}

/// Whether half of the runs stay below `share` of what the value's integers reach; `least` is a
/// peak that half of them have.
static bool varies(ObserveOp op, double share, float least) {
  ObserverOp observer = getObserver(op);
  auto kind = dyn_cast<MeanSquaredErrorObserverAttr>(observer.getObserver());
  if (!kind || kind.getAxis() || !observer.getStatisticsAttr() || !kind.getDtype().isUnsigned() ||
      kind.getDtype().getWidth() != 8)
    return false;
  auto uniform = dyn_cast_or_null<quant::UniformQuantizedType>(
      getTypeByStatistics(kind, op.getObservedType(), observer.getState()));
  if (!uniform)
    return false;
  double peak = getPeak(observer);
  // Of the least scale, the reach says nothing; octet-convert warns of it.
  return uniform.getScale() > kind.getSpec().eps.value_or(0) && peak > 0 &&
         std::max<double>(peak, least) < share * getReach(uniform);
}

/// A layer whose kernels take a scale of each run: linear, or a convolution of one group.
static bool takesScaleOfRun(Operation *op) {
  auto conv = dyn_cast<nn::ConvOp>(op);
  return isa<nn::LinearOp>(op) || (conv && conv.getGroups() == 1);
}

/// Whether `op` only moves values, all of them observed.
static bool movesObserved(Operation *op) {
  return op && op->hasTrait<nn::DataMovement>() && op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), [](Value x) { return x.getDefiningOp<ObserveOp>(); });
}

static void decide(Operation *op, Verdict verdict, StringRef code, StringRef text) {
  DecisionAttr old = getDecision(op);
  if (!old)
    return;
  auto reason = ReasonAttr::get(op->getContext(), code, text, "");
  op->setAttr(kDecisionAttr,
              DecisionAttr::get(op->getContext(), old.getNumber(), verdict, old.getPattern(),
                                reason, old.getNote(), /*refused=*/false));
}

/// Erases what nothing reads any more, as far as it only observes and moves. An operator whose
/// integers nothing reads writes floats.
static void eraseUnread(Value value, DenseSet<Value> &erased) {
  Operation *op = erased.contains(value) ? nullptr : value.getDefiningOp();
  if (!op)
    return;
  if (value.use_empty() && (isa<ObserveOp>(op) || movesObserved(op))) {
    SetVector<Value> inputs(llvm::from_range, op->getOperands());
    erased.insert(value);
    op->erase();
    for (Value input : inputs)
      eraseUnread(input, erased);
    return;
  }
  DecisionAttr decision = getDecision(op);
  bool isObserved = llvm::any_of(value.getUsers(), [](Operation *user) {
    auto observe = dyn_cast<ObserveOp>(user);
    return observe && !getObserver(observe).getObserver().getSpec().isDynamic;
  });
  if (decision && decision.getVerdict() == Verdict::Quantized && !isObserved)
    decide(op, Verdict::FloatResult, "OCT102", "no quantized operator reads the result");
}

namespace {
/// See Passes.td.
struct ScaleEachRun : octet::impl::ScaleEachRunPassBase<ScaleEachRun> {
  using ScaleEachRunPassBase::ScaleEachRunPassBase;
  DenseMap<Operation *, bool> observers;
  DenseMap<Operation *, float> leastPeaks; ///< of observers of concatenations
  DenseSet<Value> varying;                 ///< and what is computed from them
  DenseMap<Value, Value> moved;            ///< values of integers, and the same as floats

  void runOnOperation() override {
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    if (!backend)
      return signalPassFailure();
    markAnalysesPreserved<PolicyAnalysis>();
    // The buckets of a network share their statistics, and what was decided by them.
    if (getOperation()->hasAttr(kBucketAttr) || getOperation()->hasAttr(kStaticScalesAttr))
      return;
    getOperation().walk([&](ObserveOp op) {
      float &least = leastPeaks[getObserver(op)];
      least = std::max(least, getPeakOfOthers(op));
    });
    SmallVector<OpOperand *> inputs;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto observe = dyn_cast<ObserveOp>(op);
      bool isBehind = llvm::any_of(op->getOperands(), [&](Value x) { return varying.contains(x); });
      if (isBehind)
        varying.insert_range(op->getResults());
      if (!observe || isInteger(observe) || !hasVarying(observe, isBehind ? further : share))
        return;
      varying.insert(observe);
      for (OpOperand &use : observe.getResult().getUses())
        if (isInputOfLayer(*backend, use))
          inputs.push_back(&use);
    });
    SetVector<Value> old;
    for (OpOperand *input : inputs) {
      old.insert(input->get());
      scaleEachRun(*input);
    }
    DenseSet<Value> erased;
    for (Value value : old)
      eraseUnread(value, erased);
    numLayers += inputs.size();
  }

  /// One answer for all values of an observer, that of the first.
  bool hasVarying(ObserveOp op, double part) {
    auto [known, isNew] = observers.try_emplace(getObserver(op), false);
    if (isNew)
      known->second = varies(op, part, leastPeaks.lookup(getObserver(op)));
    return known->second;
  }

  /// Whether a part of the value comes in as integers.
  static bool isInteger(Value value) {
    if (auto observe = value.getDefiningOp<ObserveOp>())
      return isInteger(observe.getInput());
    if (Operation *op = value.getDefiningOp(); movesObserved(op))
      return llvm::any_of(op->getOperands(), isInteger);
    auto argument = dyn_cast<BlockArgument>(value);
    auto function =
        argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
    return function && function.getArgAttr(argument.getArgNumber(), kQuantizedAttr);
  }

  static bool isInputOfLayer(const Backend &backend, OpOperand &use) {
    DecisionAttr decision = getDecision(use.getOwner());
    if (!decision || (decision.getVerdict() != Verdict::Quantized &&
                      decision.getVerdict() != Verdict::FloatResult))
      return false;
    std::optional<Unit> unit = backend.matchUnit(use.getOwner());
    OpOperand *weights = unit ? unit->getOperand<WeightOp>() : nullptr;
    if (!weights || unit->getWeightedActivation() != &use)
      return false;
    auto isWeight = [](auto &leaf) { return isa<WeightOp>(leaf.first); };
    return takesScaleOfRun(llvm::find_if(unit->match.leaves, isWeight)->second->getOwner());
  }

  /// The value as floats: what moves integers does so again with these.
  Value getFloats(Value value) {
    Operation *op = value.getDefiningOp();
    if (!movesObserved(op))
      return value;
    Value &floats = moved[value];
    if (floats)
      return floats;
    SmallVector<Value> inputs;
    for (Value input : op->getOperands())
      inputs.push_back(getFloats(input.getDefiningOp<ObserveOp>().getInput()));
    Operation *copy = OpBuilder(op).clone(*op);
    copy->setOperands(inputs);
    decide(copy, Verdict::Float, "OCT102", "no quantized operator reads the result");
    return moved[value] = copy->getResult(0);
  }

  void scaleEachRun(OpOperand &use) {
    auto old = use.get().getDefiningOp<ObserveOp>();
    bool isLinear =
        use.getOwner()->walk([](nn::LinearOp) { return WalkResult::interrupt(); }).wasInterrupted();
    OriginPropagation origins(old);
    OpBuilder builder(old, &origins);
    auto observe =
        ObserveOp::create(builder, old.getLoc(), old.getType(), getFloats(old.getInput()),
                          FlatSymbolRefAttr::get(getDynamic(old, isLinear)));
    use.set(observe);
    decide(
        use.getOwner(), Verdict::FloatResult, "OCT218",
        "the size of its input varies, so that it is quantized in each run; its result is float");
  }

  /// The observer of a scale for each run, beside that of `op`.
  static ObserverOp getDynamic(ObserveOp op, bool isPerRow) {
    ObserverOp old = getObserver(op);
    auto module = old->getParentOfType<ModuleOp>();
    std::string name = (old.getSymName() + (isPerRow ? ".rows" : ".run")).str();
    if (auto known = module.lookupSymbol<ObserverOp>(name))
      return known;
    OpBuilder builder(old);
    auto kind = cast<MeanSquaredErrorObserverAttr>(old.getObserver());
    auto attr = PlaceholderObserverAttr::get(op.getContext(), kind.getDtype(), /*dynamic=*/true,
                                             /*range=*/nullptr, /*reduce_range=*/false, isPerRow);
    return ObserverOp::create(builder, old.getLoc(), builder.getStringAttr(name), attr, nullptr);
  }
};
} // namespace
