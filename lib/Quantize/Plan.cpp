//===- Plan.cpp - what is to be quantized, and why not --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Edges.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"

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
    selectInterface();
    // Further columns of one bucket would be other weights than those of the next.
    bool mayWatchColumns = !block.getParentOp()->getParentOp()->hasAttr(kBucketAttr);
    for (Operation &op : block.without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>() && !isa<ObserverOp>(op))
        plan.decisions.push_back(decide(&op, backend, mapping));
    keepFloatWhatIsNotRead();
    keepFloatByStructure();
    do {
      do
        keepFloatWhatIsNotRead();
      while (keepFloatOnFloats(plan));
      plan.observed = chooseObservers(plan, mayWatchColumns);
    } while (refuseWhatDoesNotFit());
    return std::move(plan);
  }

private:
  void selectInterface();
  void keepFloat(const DenseSet<Operation *> &ops, StringRef code, StringRef why);
  void keepFloatByStructure();
  void keepFloatWhatIsNotRead();
  bool refuseWhatDoesNotFit();

  Block &block;
  const Backend &backend;
  const QConfigMapping &mapping;
  const bool quantizedOutputs;
  Plan plan;
};

} // namespace

/// What the mapping names, or all.
void Planner::selectInterface() {
  QConfigMappingOp op = mapping.getOp();
  Operation *terminator = block.getTerminator();
  auto select = [&](unsigned count, bool isOfFunction, std::optional<ArrayRef<int64_t>> named) {
    if (quantizedOutputs)
      return llvm::to_vector(llvm::seq<int64_t>(count));
    return isOfFunction ? SmallVector<int64_t>(named.value_or(ArrayRef<int64_t>()))
                        : SmallVector<int64_t>();
  };
  plan.quantizedInputs =
      select(block.getNumArguments(), block.isEntryBlock(), op.getQuantizedInputs());
  plan.quantizedOutputs =
      select(terminator->getNumOperands(), terminator->hasTrait<OpTrait::ReturnLike>(),
             op.getQuantizedOutputs());
}

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
  if (FloatFirstOp first = backend.getFloatFirst())
    keepFloat(findSmallFirstLayers(plan, first.getShare().convertToDouble()), "OCT113",
              first.getReason());
  if (FloatProductsOp products = backend.getFloatProducts())
    keepFloat(findSmallProducts(block, products.getShare().convertToDouble()), "OCT115",
              products.getReason());
}

/// Backwards: a result that no quantized unit reads becomes what its pattern's `float_uses` says.
void Planner::keepFloatWhatIsNotRead() {
  DenseSet<Value> read;
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (plan.isQuantizedOutput(operand) &&
        !nn::getStateOfResult(cast<FunctionOpInterface>(block.getParentOp()),
                              operand.getOperandNumber()))
      read.insert(operand.get());
  for (Decision &decision : llvm::reverse(plan.decisions)) {
    if (decision.verdict == Verdict::Float || isDynamic(decision))
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

/// Keeps units float that do not take the observers that their values have come to share, which
/// need not be those that they asked for. True if there was such a unit.
bool Planner::refuseWhatDoesNotFit() {
  DenseMap<Value, ObserverAttrInterface> ofValues;
  DenseMap<OpOperand *, ObserverAttrInterface> ofReaders;
  for (const ObservedSet &set : plan.observed)
    for (const ObservedPoint &point : set.points) {
      if (!point.isSecond)
        ofValues[point.value] = set.observer;
      for (OpOperand *reader : point.readers)
        ofReaders[reader] = set.observer;
    }
  auto getInput = [&](OpOperand &operand) {
    auto known = ofReaders.find(&operand);
    return known == ofReaders.end() ? ofValues.lookup(operand.get()) : known->second;
  };
  bool any = false;
  for (Decision &decision : plan.decisions) {
    if (decision.verdict == Verdict::Float || isDynamic(decision))
      continue;
    ObserverAttrInterface result = ofValues.lookup(decision.op->getResult(0));
    auto reason = checkObservers(*decision.unit, getInput, result);
    if (isShared(decision) && !result)
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

/// Fails, with an error emitted, if the block contains observers or quantized values already.
static LogicalResult checkIsFloat(Block &block) {
  for (Operation &op : block)
    if (isa<ObserveOp, QuantizeOp, DequantizeOp>(op))
      return op.emitOpError("expected a float program without observers")
             << Remedy("run this pass before octet-prepare");
  return success();
}

/// Fails, with an error emitted, if the function lacks an input or output that the mapping names.
static LogicalResult checkInterface(FunctionOpInterface function, QConfigMappingOp mapping) {
  auto check = [&](std::optional<ArrayRef<int64_t>> named, unsigned count, StringRef what) {
    if (!named || named->empty() || named->back() < count)
      return success();
    auto diagnostic = mapping.emitOpError("names the quantized ")
                      << what << " " << named->back() << ", but " << quote(function.getName())
                      << " has " << count << Remedy("give numbers from 0 on");
    diagnostic.attachNote(function.getLoc()) << "the function";
    return failure();
  };
  if (function.isExternal())
    return success();
  return success(
      succeeded(check(mapping.getQuantizedInputs(), function.getNumArguments(), "input")) &&
      succeeded(check(mapping.getQuantizedOutputs(), function.getNumResults(), "output")));
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
  for (auto function : cast<ModuleOp>(module).getOps<FunctionOpInterface>()) {
    if (failed(checkInterface(function, mapping->getOp())))
      return nullptr;
    for (Block &block : function.getFunctionBody()) {
      if (failed(checkIsFloat(block)) || failed(checkQConfigsOfUnits(*backend, *mapping, block)))
        return nullptr;
      made.push_back(Planner(block, *backend, *mapping, quantizedOutputs).run());
    }
  }
  return &known.emplace(std::move(made));
}
