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

#include "Splits.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Backend/Backend.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Magnitudes.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Quantize/Passes.h"
#include "octet/Quantize/Statistics.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

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

/// Whether an observer watches activations in u8.
static bool isOfBytes(ObserverOp observer) {
  IntegerType dtype = observer.getObserver().getSpec().dtype;
  return observer.getStatisticsAttr() && dtype.isUnsigned() && dtype.getWidth() == 8;
}

/// The values' static type, unless its scale is the least one, of which the reach says nothing;
/// octet-convert warns of it.
static quant::UniformQuantizedType getStaticType(ObserveOp op, MeanSquaredErrorObserverAttr kind) {
  if (!kind || kind.getAxis() || !isOfBytes(getObserver(op)))
    return nullptr;
  auto type = dyn_cast_or_null<quant::UniformQuantizedType>(
      getTypeByStatistics(kind, op.getObservedType(), getObserver(op).getState()));
  return type && type.getScale() > kind.getSpec().eps.value_or(0) ? type : nullptr;
}

/// Whether half of the runs stay below `share` of what the value's integers reach; `least` is a
/// peak that half of them have.
static bool varies(ObserveOp op, double share, float least) {
  ObserverOp observer = getObserver(op);
  auto type = getStaticType(op, dyn_cast<MeanSquaredErrorObserverAttr>(observer.getObserver()));
  double peak = type ? getPeak(observer) : 0;
  return peak > 0 && std::max<double>(peak, least) < share * getReach(type);
}

/// Whether rounding to integers of a scale leaves so few decibels of a mean square.
static bool isCoarse(double meanSquare, double scale, double decibels) {
  return meanSquare > 0 && meanSquare < std::pow(10, decibels / 10) * scale * scale / 12;
}

static bool isCoarse(ObserveOp op, double decibels) {
  auto kind = dyn_cast<MeanSquaredErrorObserverAttr>(getObserver(op).getObserver());
  auto type = getStaticType(op, kind);
  return type &&
         isCoarse(getMeanSquare(kind, getObserver(op).getState()), type.getScale(), decibels);
}

/// The same of half of the rows. A few wide columns do not count if without them the range is at
/// most `gain` of the whole: octet-split-outliers splits them.
static bool isCoarseByRow(ObserverOp observer, double decibels, double wide, double gain) {
  auto kind = dyn_cast<ColumnMinMaxObserverAttr>(observer.getObserver());
  if (!kind || !isOfBytes(observer))
    return false;
  SmallVector<char> state = observer.getState();
  auto columns = kind.getColumns(state);
  std::optional<Ends> whole = getWholeRange(columns);
  if (!whole)
    return false;
  Ends range = chooseRange(columns, (int64_t)std::ceil(wide * (double)columns.size()));
  if (range.second - range.first > gain * (whole->second - whole->first))
    range = *whole;
  double scale = (range.second - range.first) / 255.0;
  return scale > kind.getSpec().eps.value_or(0) &&
         isCoarse(getTypicalPower(kind, state), scale, decibels);
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

namespace {
/// Of what a value takes its scale each time.
enum class Varies { No, ByRun, ByRow };

/// See Passes.td.
struct ScaleEachRun : octet::impl::ScaleEachRunPassBase<ScaleEachRun> {
  using ScaleEachRunPassBase::ScaleEachRunPassBase;
  DenseMap<Operation *, Varies> observers;
  DenseMap<Operation *, float> leastPeaks; ///< of observers of concatenations
  DenseSet<Value> varying;                 ///< and what is computed from them
  DenseMap<Value, Value> moved;            ///< values of integers, and the same as floats
  DenseSet<Value> erased;

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
    SmallVector<std::pair<OpOperand *, Varies>> inputs;
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto observe = dyn_cast<ObserveOp>(op);
      bool isBehind = llvm::any_of(op->getOperands(), [&](Value x) { return varying.contains(x); });
      if (isBehind)
        varying.insert_range(op->getResults());
      if (!observe || isInteger(observe))
        return;
      Varies kind = getKind(observe, isBehind ? further : share);
      if (kind == Varies::ByRun)
        varying.insert(observe);
      for (OpOperand &use : observe.getResult().getUses())
        if (kind != Varies::No && isInputOfLayer(*backend, use, kind))
          inputs.push_back({&use, kind});
    });
    SetVector<Value> old;
    for (auto [input, kind] : inputs) {
      old.insert(input->get());
      scaleEachRun(*input, kind);
    }
    for (Value value : old)
      eraseUnread(value, *backend);
    numLayers += inputs.size();
  }

  /// One answer for all values of an observer, that of the first.
  Varies getKind(ObserveOp op, double part) {
    ObserverOp observer = getObserver(op);
    auto [known, isNew] = observers.try_emplace(observer, Varies::No);
    if (!isNew)
      return known->second;
    if (varies(op, part, leastPeaks.lookup(observer)))
      return known->second = Varies::ByRun;
    if (isCoarse(op, decibels) || isCoarseByRow(observer, rowDecibels, columns, gain))
      return known->second = Varies::ByRow;
    return Varies::No;
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

  /// Of a layer whose kernels take such a scale: linear, or of a run a convolution of one group.
  static bool isInputOfLayer(const Backend &backend, OpOperand &use, Varies kind) {
    DecisionAttr decision = getDecision(use.getOwner());
    if (!decision || (decision.getVerdict() != Verdict::Quantized &&
                      decision.getVerdict() != Verdict::FloatResult))
      return false;
    std::optional<Unit> unit = backend.matchUnit(use.getOwner());
    OpOperand *weights = unit ? unit->getOperand<WeightOp>() : nullptr;
    if (!weights || unit->getWeightedActivation() != &use)
      return false;
    auto isWeight = [](auto &leaf) { return isa<WeightOp>(leaf.first); };
    Operation *layer = llvm::find_if(unit->match.leaves, isWeight)->second->getOwner();
    auto conv = dyn_cast<nn::ConvOp>(layer);
    return isa<nn::LinearOp>(layer) || (conv && conv.getGroups() == 1 && kind == Varies::ByRun);
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

  /// Erases what nothing reads any more, as far as it only observes and moves. An operator whose
  /// integers nothing reads writes floats, or computes with them if its pattern says so.
  void eraseUnread(Value value, const Backend &backend) {
    Operation *op = erased.contains(value) ? nullptr : value.getDefiningOp();
    if (!op)
      return;
    if (value.use_empty() && (isa<ObserveOp>(op) || movesObserved(op))) {
      SetVector<Value> inputs(llvm::from_range, op->getOperands());
      erased.insert(value);
      op->erase();
      for (Value input : inputs)
        eraseUnread(input, backend);
      return;
    }
    DecisionAttr decision = getDecision(op);
    bool isObserved = llvm::any_of(value.getUsers(), [](Operation *user) {
      auto observe = dyn_cast<ObserveOp>(user);
      return observe && !getObserver(observe).getObserver().getSpec().isDynamic;
    });
    if (!decision || decision.getVerdict() != Verdict::Quantized || isObserved)
      return;
    std::optional<Unit> unit = backend.matchUnit(op);
    bool isFloat = unit && PatternOp(unit->pattern).getFloatUses() == FloatUses::stays_float &&
                   !unit->getOperand<WeightOp>();
    decide(op, isFloat ? Verdict::Float : Verdict::FloatResult, "OCT102",
           "no quantized operator reads the result");
    if (isFloat)
      readFloats(op, backend);
  }

  void readFloats(Operation *op, const Backend &backend) {
    SetVector<Value> old;
    for (OpOperand &operand : op->getOpOperands())
      if (auto observe = operand.get().getDefiningOp<ObserveOp>()) {
        old.insert(observe);
        operand.set(getFloats(observe.getInput()));
      }
    for (Value value : old)
      eraseUnread(value, backend);
  }

  void scaleEachRun(OpOperand &use, Varies kind) {
    auto old = use.get().getDefiningOp<ObserveOp>();
    bool isLinear =
        use.getOwner()->walk([](nn::LinearOp) { return WalkResult::interrupt(); }).wasInterrupted();
    OriginPropagation origins(old);
    OpBuilder builder(old, &origins);
    auto observe =
        ObserveOp::create(builder, old.getLoc(), old.getType(), getFloats(old.getInput()),
                          FlatSymbolRefAttr::get(getDynamic(old, isLinear)));
    use.set(observe);
    StringRef why = kind == Varies::ByRun
                        ? "the size of its input varies, so that it is quantized in each run; its "
                          "result is float"
                        : "one scale would be too coarse for most of its input, so that each row "
                          "is quantized by itself; its result is float";
    decide(use.getOwner(), Verdict::FloatResult, "OCT218", why);
  }

  /// The observer of a scale for each run, beside that of `op`.
  static ObserverOp getDynamic(ObserveOp op, bool isPerRow) {
    ObserverOp old = getObserver(op);
    auto module = old->getParentOfType<ModuleOp>();
    std::string name = (old.getSymName() + (isPerRow ? ".rows" : ".run")).str();
    if (auto known = module.lookupSymbol<ObserverOp>(name))
      return known;
    OpBuilder builder(old);
    IntegerType dtype = old.getObserver().getSpec().dtype;
    auto attr = PlaceholderObserverAttr::get(op.getContext(), dtype, /*dynamic=*/true,
                                             /*range=*/nullptr, /*reduce_range=*/false, isPerRow);
    return ObserverOp::create(builder, old.getLoc(), builder.getStringAttr(name), attr, nullptr);
  }
};
} // namespace
