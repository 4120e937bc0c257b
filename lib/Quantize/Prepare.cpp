//===- Prepare.cpp - inserts observers ------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InnerValues.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Remarks.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Constants.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include <cmath>

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_PREPAREPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

/// The name of a value's observer: that of the argument, the constant, or the operator that
/// computes the value (the last one of a group); without a source name, the name of the op.
static std::string getValueName(Value value) {
  if (auto group = value.getDefiningOp<GroupOp>())
    value = group.getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  if (OriginAttr origin = getOrigin(value))
    return origin.getName().str();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return "arg" + std::to_string(argument.getArgNumber());
  Operation *op = value.getDefiningOp();
  return op->hasTrait<OpTrait::ConstantLike>() ? "constant" : op->getName().stripDialect().str();
}

/// Adds an observer to the module under a name that is still free.
static ObserverOp createObserver(SymbolTable &symbols, Location loc, StringRef name,
                                 ObserverAttrInterface observer) {
  auto module = cast<ModuleOp>(symbols.getOp());
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  // Observers stand in the order of their creation, in front of the functions.
  for (auto last : module.getOps<ObserverOp>())
    builder.setInsertionPointAfter(last);
  auto op = ObserverOp::create(builder, loc, builder.getStringAttr(name), observer, nullptr);
  OpBuilder::InsertPoint point = builder.saveInsertionPoint();
  symbols.insert(op, point.getPoint());
  return op;
}

/// Where `value` is observed: behind it, arguments in their order, which is that of the updates of
/// an observer that they share.
static void setPlaceToObserve(OpBuilder &builder, Value value) {
  builder.setInsertionPointAfterValue(value);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return;
  auto isInFront = [&](Operation &op) {
    auto observe = dyn_cast<ObserveOp>(op);
    auto other = observe ? dyn_cast<BlockArgument>(observe.getInput()) : BlockArgument();
    return other && other.getArgNumber() < argument.getArgNumber();
  };
  builder.setInsertionPoint(argument.getOwner(),
                            llvm::find_if_not(*argument.getOwner(), isInFront));
}

/// Inserts an octet.observe of `value`; `readers` selects the uses that it replaces.
static void observe(Value value, ObserverOp observer,
                    llvm::function_ref<bool(OpOperand &)> readers) {
  OriginPropagation origins(getOrigin(value));
  OpBuilder builder(value.getContext(), &origins);
  setPlaceToObserve(builder, value);
  Location loc = isa<BlockArgument>(value) ? observer.getLoc() : value.getLoc();
  auto op =
      ObserveOp::create(builder, loc, value.getType(), value, FlatSymbolRefAttr::get(observer));
  value.replaceUsesWithIf(op.getResult(),
                          [&](OpOperand &use) { return use.getOwner() != op && readers(use); });
}

/// Emits the decision about an operator as a remark.
static void tell(const Decision &decision) {
  auto options = remark::RemarkOpts::name(decision.reason ? decision.reason->code : "quantized")
                     .category("octet-prepare");
  if (!decision.reason)
    remark::passed(decision.op->getLoc(), options)
        << "pattern @" + PatternOp(decision.unit->pattern).getSymName().str();
  else
    remark::missed(decision.op->getLoc(), options)
        << decision.reason->text
        << remark::suggest("{0}",
                           decision.reason->remedy.empty() ? "none" : decision.reason->remedy);
}

static void emitNote(Location loc, const Reason &reason) {
  remark::analysis(loc, remark::RemarkOpts::name(reason.code).category("octet-prepare"))
      << reason.text;
}

namespace {
struct Prepare : octet::impl::PreparePassBase<Prepare> {
  using PreparePassBase::PreparePassBase;

  void runOnOperation() override {
    const auto *plans = getAnalysis<PlanAnalysis>().getPlans(quantizedOutputs);
    const auto &policy = getAnalysis<PolicyAnalysis>();
    if (!plans || failed(checkEntries(getOperation(), *policy.getMapping(), strict)))
      return signalPassFailure();
    markAnalysesPreserved<PolicyAnalysis>();
    int64_t number = 0;
    for (const Plan &plan : *plans) {
      if (failed(prepare(plan)))
        signalPassFailure();
      for (auto [op, decision] : getDecisionAttrs(plan, *policy.getBackend(), number))
        op->setAttr(kDecisionAttr, decision);
    }
    markInterface(*policy.getMapping());
  }

  /// Says octet-quantize-signature what the mapping names.
  void markInterface(const QConfigMapping &mapping) {
    auto unit = UnitAttr::get(&getContext());
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (function.isExternal())
        continue;
      Interface interface(function, mapping);
      for (int64_t number : interface.inputs)
        function.setArgAttr(number, kQuantizedAttr, unit);
      for (int64_t number : interface.outputs)
        function.setResultAttr(number, kQuantizedAttr, unit);
    }
  }

  LogicalResult prepare(const Plan &plan) {
    SymbolTable symbols(getOperation());
    LogicalResult result = success();
    for (const Decision &decision : plan.decisions) {
      tell(decision);
      ++(decision.verdict == Verdict::Float ? numFloat : numQuantized);
      if (strict && decision.isRefused)
        result = emitError(decision.op->getLoc())
                 << "stays float " << Code{decision.reason->code} << ": " << decision.reason->text
                 << Remedy(decision.reason->remedy);
    }
    if (failed(result) || failed(checkConstants(plan)))
      return failure();
    DenseSet<Operation *> quantized, units;
    for (const Decision &decision : plan.decisions) {
      if (decision.verdict == Verdict::Quantized)
        quantized.insert(decision.op);
      if (decision.readsIntegers() && !isDynamic(decision))
        units.insert(decision.op);
    }
    DenseSet<OpOperand *> seconds;
    for (const ObservedSet &set : plan.observed)
      for (const ObservedPoint &point : set.points)
        if (point.isSecond)
          seconds.insert_range(point.readers);
    SmallVector<std::pair<const ObservedPoint *, ObserverOp>> second;
    for (const ObservedSet &set : plan.observed)
      insert(symbols, set, second, [&](OpOperand &use) {
        return quantized.contains(use.get().getDefiningOp()) || plan.isQuantizedInput(use.get()) ||
               plan.isQuantizedOutput(use) ||
               (units.contains(use.getOwner()) && !seconds.contains(&use));
      });
    for (auto &[point, observer] : second) {
      ArrayRef<OpOperand *> readers = point->readers;
      observe(readers.front()->get(), observer,
              [&](OpOperand &use) { return llvm::is_contained(readers, &use); });
    }
    for (const Decision &decision : plan.decisions)
      if (decision.verdict != Verdict::Float)
        insertAtUnit(symbols, decision);
    return success();
  }

  /// Whether the values stay f32.
  static bool isSingle(ObserverAttrInterface observer) {
    return observer.getSpec().floatType && observer.getSpec().floatType.isF32();
  }

  /// What a unit observes for itself alone: its weights, its input if it is dynamic, and what is
  /// rounded to floats of 16 bits.
  static void insertAtUnit(SymbolTable &symbols, const Decision &decision) {
    if (isDynamic(decision))
      insertForOne(symbols, decision.unit->getWeightedActivation(),
                   decision.qconfig.getActivation());
    if (decision.verdict == Verdict::WeightOnly)
      insertRounding(symbols, decision);
    for (OpOperand *operand : decision.unit->getOperands<WeightOp>())
      if (!operand->get().getDefiningOp<FakeQuantizeOp>() &&
          !isSingle(decision.qconfig.getWeight()))
        insertForOne(symbols, operand, decision.qconfig.getWeight());
  }

  /// The first activation of a unit that computes with floats of 16 bits, and its result if these
  /// leave it, too.
  static void insertRounding(SymbolTable &symbols, const Decision &decision) {
    QConfigAttr qconfig = decision.qconfig;
    OpOperand *input = decision.unit->getOperand<ActivationOp>();
    bool isReal = input && getElementTypeOrSelf(input->get().getType()).isF32();
    if (isReal && !isSingle(qconfig.getActivation()))
      insertForOne(symbols, input, qconfig.getActivation());
    DTypeAttr output = getOutputType(*decision.unit, qconfig);
    auto result = qconfig.getResult() ? qconfig.getResult() : qconfig.getActivation();
    if (!output || output.getType().isF32() || isSingle(result))
      return;
    Value value = decision.op->getResult(0);
    observe(value, createObserver(symbols, value.getLoc(), getValueName(value), result),
            [](OpOperand &) { return true; });
  }

  /// Refuses weights and biases that are not finite, which would otherwise show after the
  /// calibration, as statistics without a scale, or not at all.
  static LogicalResult checkConstants(const Plan &plan) {
    for (const Decision &decision : plan.decisions) {
      if (decision.verdict == Verdict::Float)
        continue;
      for (auto [leaf, operand] : decision.unit->leaves)
        if (!isa<AnyOp>(leaf) && failed(checkConstant(decision.op, operand->get())))
          return failure();
    }
    return success();
  }

  static LogicalResult checkConstant(Operation *op, Value constant) {
    auto values = getConstantValues<float>(constant);
    if (failed(values))
      return success();
    auto wrong = llvm::find_if_not(*values, [](float x) { return std::isfinite(x); });
    if (wrong == values->end())
      return success();
    SmallVector<int64_t> index =
        delinearize(wrong - values->begin(),
                    computeStrides(cast<RankedTensorType>(constant.getType()).getShape()));
    return emitError(op->getLoc())
           << "reads the constant " << quote(getConstantName(getConstantElements(constant)))
           << ", which holds " << std::to_string(*wrong) << " at [" << index << "]"
           << Remedy("repair it, or keep the operator float in the QConfig mapping (none)");
  }

  /// Whether the set has what becomes of the value inside of an operator of the source, too.
  /// octet-convert gives such a value its type.
  static bool isInner(const ObservedPoint &point, const ObservedSet &set) {
    Value outer = getOuterValue(point.value);
    return outer && llvm::any_of(set.points, [&](const ObservedPoint &other) {
             return other.value == outer && !other.isSecond && !other.trained;
           });
  }

  /// `reads`: the uses that see the quantized value: all of what is computed in integers; of what
  /// float operators compute, or comes from outside, those by units. Second points, which may read
  /// what other observers see, are left for later.
  void insert(SymbolTable &symbols, const ObservedSet &set,
              SmallVectorImpl<std::pair<const ObservedPoint *, ObserverOp>> &second,
              llvm::function_ref<bool(OpOperand &)> reads) {
    Value first = set.points.front().value;
    Location loc = first.getLoc();
    if (llvm::all_of(set.points, [](const ObservedPoint &point) { return (bool)point.trained; })) {
      for (const ObservedPoint &point : set.points)
        readTrained(point, set.observer);
      return;
    }
    ObserverOp observer = createObserver(symbols, loc, getValueName(first), set.observer);
    if (set.note)
      emitNote(loc, *set.note);
    for (Operation *reader : set.ignoredReaders)
      emitNote(reader->getLoc(), getReasonOfIgnored());
    for (const ObservedPoint &point : set.points)
      if (point.trained)
        readTrained(point, set.observer);
      else if (point.isSecond)
        second.push_back({&point, observer});
      else if (!isInner(point, set))
        observe(point.value, observer, reads);
    ++numObservers;
    numPerChannel += set.isPerChannel;
    numSecond += llvm::count_if(set.points, [](const ObservedPoint &p) { return p.isSecond; });
  }

  /// Units read a value of known range as it is rounded in its training.
  static void readTrained(const ObservedPoint &point, ObserverAttrInterface observer) {
    FakeQuantizeOp trained = point.trained;
    bool isSigned = !observer.getSpec().dtype.isUnsigned();
    trained.setQuantizedType(getTrainedType(trained, isSigned));
    if (Operation *producer = point.value.getDefiningOp())
      trained->moveAfter(producer);
    else
      trained->moveBefore(&cast<BlockArgument>(point.value).getOwner()->front());
    for (OpOperand *reader : point.readers)
      reader->set(trained.getResult());
  }

  /// Each such user of a value may have an observer of its own; equal observers are merged.
  static void insertForOne(SymbolTable &symbols, OpOperand *operand, ObserverAttrInterface attr) {
    Value value = operand->get();
    for (Operation *user : value.getUsers())
      if (auto other = dyn_cast<ObserveOp>(user);
          other && symbols.lookup<ObserverOp>(other.getObserver()).getObserver() == attr)
        return operand->set(other.getResult());
    ObserverOp observer = createObserver(symbols, value.getLoc(), getValueName(value), attr);
    observe(value, observer, [&](OpOperand &use) { return &use == operand; });
  }
};
} // namespace
