//===- Plan.cpp - what is to be quantized, and why not --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Edges.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Quantize/States.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"

using namespace mlir;
using namespace octet;

/// Whether the regions of an operator are parts of the network, as those of `scf.if` are.
static bool isControlFlow(Operation *op) {
  return isa<RegionBranchOpInterface>(op) && !isa<GroupOp>(op);
}

static void addBlocks(Region &region, SmallVector<Block *> &blocks) {
  for (Block &block : region) {
    blocks.push_back(&block);
    for (Operation &op : block)
      if (isControlFlow(&op))
        for (Region &inner : op.getRegions())
          addBlocks(inner, blocks);
  }
}

SmallVector<Block *> octet::getNetworkBlocks(FunctionOpInterface function) {
  SmallVector<Block *> blocks;
  addBlocks(function.getFunctionBody(), blocks);
  return blocks;
}

/// Whether an operator is one of those that are decided about.
static bool isPlanned(Operation *op) {
  return !op->hasTrait<OpTrait::ConstantLike>() && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<ObserverOp, FakeQuantizeOp>(op) && !isControlFlow(op);
}

bool Plan::isQuantizedInput(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->isEntryBlock() &&
         isa<FunctionOpInterface>(argument.getOwner()->getParentOp()) &&
         llvm::is_contained(quantizedInputs, argument.getArgNumber());
}

bool Plan::isQuantizedOutput(OpOperand &use) const {
  Operation *op = use.getOwner();
  return op->hasTrait<OpTrait::ReturnLike>() && isa<FunctionOpInterface>(op->getParentOp()) &&
         llvm::is_contained(quantizedOutputs, use.getOperandNumber());
}

namespace {

/// Takes the decisions of one function.
class Planner {
public:
  Planner(FunctionOpInterface function, const Backend &backend, const QConfigMapping &mapping,
          bool quantizedOutputs)
      : function(function), backend(backend), mapping(mapping), quantizedOutputs(quantizedOutputs) {
  }

  Plan run() {
    selectInterface();
    for (Block *block : getNetworkBlocks(function))
      for (Operation &op : *block) {
        auto trained = dyn_cast<FakeQuantizeOp>(op);
        if (trained && !isConstant(trained.getInput()))
          plan.trained.push_back(trained);
        if (isPlanned(&op))
          plan.decisions.push_back(decide(&op, backend, mapping));
      }
    keepLongSumsFloat();
    keepFloatWhatIsNotRead();
    keepFloatByStructure();
    keepFloatWhatIsNotRead();
    widenTrunks();
    do {
      do
        keepFloatWhatIsNotRead();
      while (keepFloatOnFloats(plan, backend));
      plan.observed = chooseObservers(plan);
    } while (refuseWhatDoesNotFit());
    return std::move(plan);
  }

private:
  void selectInterface();
  void keepFloat(const DenseSet<Operation *> &ops, StringRef code, StringRef why);
  void keepLongSumsFloat();
  void keepFloatByStructure();
  void keepRecurrencesFloat(StringRef why);
  void keepFloatWhatIsNotRead();
  void widenTrunks();
  bool refuseWhatDoesNotFit();

  FunctionOpInterface function;
  const Backend &backend;
  const QConfigMapping &mapping;
  const bool quantizedOutputs;
  DenseSet<Operation *> ofNorms; ///< what stays float for OCT109
  Plan plan;
};

} // namespace

octet::Interface::Interface(FunctionOpInterface function, const QConfigMapping &mapping) {
  const QConfigMapping &own = mapping.getFor(function);
  QConfigMappingOp op = own.getOp();
  if (!op.getQuantizedInputs() && !op.getQuantizedOutputs())
    return;
  if (&own == &mapping && !SymbolTable::symbolKnownUseEmpty(function, function->getParentOp()))
    return;
  llvm::append_range(inputs, op.getQuantizedInputs().value_or(ArrayRef<int64_t>()));
  llvm::append_range(outputs, op.getQuantizedOutputs().value_or(ArrayRef<int64_t>()));
}

/// What the mapping names, or all.
void Planner::selectInterface() {
  auto select = [&](unsigned count, ArrayRef<int64_t> named) {
    return quantizedOutputs ? llvm::to_vector(llvm::seq<int64_t>(count))
                            : SmallVector<int64_t>(named);
  };
  Interface interface(function, mapping);
  plan.quantizedInputs = select(function.getNumArguments(), interface.inputs);
  plan.quantizedOutputs = select(function.getNumResults(), interface.outputs);
}

void Planner::keepFloat(const DenseSet<Operation *> &ops, StringRef code, StringRef why) {
  for (Decision &decision : plan.decisions)
    if (decision.readsIntegers() && ops.contains(decision.op)) {
      decision.verdict = Verdict::Float;
      decision.reason = Reason{code, why.str(), ""};
    }
}

/// Residual sums, but those that a normalization keeps float. Called in front of
/// keepFloatWhatIsNotRead, which has a reason of its own for some of them.
void Planner::keepLongSumsFloat() {
  FloatSumsOp sums = backend.getFloatSums();
  if (!sums)
    return;
  for (Block &block : function.getFunctionBody()) {
    DenseSet<Operation *> ops = findLongSums(block, sums);
    if (!backend.getNormsReason().empty())
      for (Operation *op : findNormOps(block))
        ops.erase(op);
    keepFloat(ops, "OCT127", sums.getReason());
  }
}

/// What a recurrence computes between its products, whose input has one scale in all steps.
void Planner::keepRecurrencesFloat(StringRef why) {
  SmallVector<const Unit *> units;
  for (const Decision &decision : plan.decisions)
    if (decision.readsIntegers() && !isDynamic(decision))
      units.push_back(&*decision.unit);
  plan.recurrent = findRecurrentUnits(units);
  keepFloat(findRecurrentOps(units, plan.recurrent), "OCT107", why);
}

void Planner::keepFloatByStructure() {
  StringRef states = backend.getStatesReason(), norms = backend.getNormsReason(),
            angles = backend.getAnglesReason(), ratios = backend.getRatiosReason();
  for (Block &block : function.getFunctionBody()) {
    if (!states.empty() && !quantizedOutputs) {
      keepFloat(findStateOps(block), "OCT107", states);
      keepFloat(findScanOps(block), "OCT107", states);
    }
    if (!norms.empty()) {
      DenseSet<Operation *> ops = findNormOps(block);
      keepFloat(ops, "OCT109", norms);
      ofNorms.insert_range(ops);
    }
    if (!angles.empty())
      keepFloat(findAngleOps(block), "OCT123", angles);
    if (!ratios.empty())
      keepFloat(findRatioOps(block), "OCT124", ratios);
  }
  if (!states.empty() && !quantizedOutputs)
    keepRecurrencesFloat(states);
  if (FloatEndsOp ends = backend.getFloatEnds())
    keepFloat(findSmallEnds(function, plan, ends.getShare().convertToDouble()), "OCT113",
              ends.getReason());
  if (FloatProductsOp products = backend.getFloatProducts();
      products && !function.getFunctionBody().empty())
    keepFloat(findSmallProducts(function.getFunctionBody().front(),
                                products.getShare().convertToDouble()),
              "OCT115", products.getReason());
}

/// Layers between residual sums have the `trunk_activation` of their QConfig, if it has one. Those
/// of the buckets of a network, whose shares differ, have not.
void Planner::widenTrunks() {
  constexpr double kShare = 0.2;
  if (function->getParentOp()->hasAttr(kBucketAttr))
    return;
  DenseSet<Operation *> layers = findTrunkLayers(plan, kShare);
  for (Decision &decision : plan.decisions) {
    QConfigAttr qconfig = getQConfigOfTrunks(decision.qconfig);
    Verdict verdict;
    if (!qconfig || !layers.contains(decision.op) || checkQConfig(*decision.unit, qconfig, verdict))
      continue;
    decision.qconfig = qconfig;
    decision.note =
        Reason{"OCT126", "it stands between residual sums, so that it has the trunk_activation",
               "leave that out of the QConfig where time counts more"};
  }
}

/// In how many bits an observer has values; 0 if it takes those that there are.
static unsigned getBits(ObserverAttrInterface observer) {
  IntegerType type = observer.getSpec().dtype;
  return type ? type.getWidth() : 0;
}

static unsigned getBitsOfResult(const Decision &decision) {
  QConfigAttr qconfig = decision.qconfig;
  return getBits(qconfig.getResult() ? qconfig.getResult() : qconfig.getActivation());
}

/// Backwards: a result that no quantized unit reads becomes what its pattern's `float_uses` says.
/// One that a normalization reads, too, or a unit that takes it in other bits, stays float, and is
/// quantized for each of the others.
void Planner::keepFloatWhatIsNotRead() {
  DenseSet<Value> read;
  DenseMap<OpOperand *, unsigned> wantedBits; ///< of units that read integers
  for (FakeQuantizeOp trained : plan.trained)
    read.insert(trained.getInput());
  for (Block &block : function.getFunctionBody())
    for (OpOperand &operand : block.getTerminator()->getOpOperands())
      if (plan.isQuantizedOutput(operand) &&
          !nn::getStateOfResult(function, operand.getOperandNumber()))
        read.insert(operand.get());
  for (Decision &decision : llvm::reverse(plan.decisions)) {
    if (!decision.readsIntegers() || isDynamic(decision))
      continue;
    FloatUses floatUses = PatternOp(decision.unit->pattern).getFloatUses();
    bool isRead = llvm::any_of(decision.op->getResults(),
                               [&](Value result) { return read.contains(result); });
    bool computes = floatUses == FloatUses::float_result;
    bool isNormalized = llvm::any_of(decision.op->getUsers(),
                                     [&](Operation *user) { return ofNorms.contains(user); });
    unsigned bits = getBitsOfResult(decision);
    bool isReadOtherwise = bits && llvm::any_of(decision.op->getUses(), [&](OpOperand &use) {
                             unsigned wanted = wantedBits.lookup(&use);
                             return wanted && wanted != bits;
                           });
    if (floatUses != FloatUses::observed && (isNormalized || isReadOtherwise || !isRead)) {
      decision.verdict = computes ? Verdict::FloatResult : Verdict::Float;
      decision.reason =
          isNormalized && isRead ? Reason{"OCT109", backend.getNormsReason().str(), ""}
          : isReadOtherwise      ? Reason{"OCT125", "a layer reads the result in other bits", ""}
                                 : Reason{"OCT102", "no quantized operator reads the result", ""};
    }
    if (decision.verdict != Verdict::Float)
      for (auto [leaf, operand] : decision.unit->leaves)
        if (isActivation(leaf)) {
          read.insert(operand->get());
          wantedBits[operand] = getBits(decision.qconfig.getActivation());
        }
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
    if (!decision.readsIntegers() || isDynamic(decision))
      continue;
    // What stands behind floats is their readers'.
    bool isFloat = decision.verdict == Verdict::FloatResult;
    auto results = llvm::map_to_vector(decision.op->getResults(), [&](Value result) {
      return isFloat ? ObserverAttrInterface() : ofValues.lookup(result);
    });
    std::optional<Reason> reason;
    for (ObserverAttrInterface result : results)
      reason = reason ? reason : checkObservers(*decision.unit, getInput, result);
    if (isShared(decision) && !isFloat &&
        !llvm::any_of(results, [](auto result) { return (bool)result; }))
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

/// Fails, with an error emitted, if the block contains observers or quantized values already, or an
/// activation was trained with a scale per channel.
static LogicalResult checkIsFloat(Block &block) {
  for (Operation &op : block) {
    if (isa<ObserveOp>(op))
      return op.emitOpError("expected a float program without observers")
             << Remedy("run this pass before octet-prepare");
    if (isa<QuantizeOp, DequantizeOp>(op))
      return op.emitOpError("expected a float program without quantized values")
             << Remedy("run octet-to-fake-quantize first, which keeps their ranges");
    auto trained = dyn_cast<FakeQuantizeOp>(op);
    if (trained && !isConstant(trained.getInput()) &&
        !isa<quant::UniformQuantizedType>(trained.getQuantizedType()))
      return op.emitOpError("expected one scale for an activation, but got ")
             << trained.getQuantizedType() << Remedy("train it with one scale for all channels");
  }
  return success();
}

/// Fails, with an error emitted, if the function lacks an input or output that the mapping names.
static LogicalResult checkInterface(FunctionOpInterface function, const QConfigMapping &mapping) {
  Interface interface(function, mapping);
  auto check = [&](ArrayRef<int64_t> named, unsigned count, StringRef what) {
    if (named.empty() || named.back() < count)
      return success();
    auto diagnostic = mapping.getFor(function).getOp().emitOpError("names the quantized ")
                      << what << " " << named.back() << ", but " << quote(function.getName())
                      << " has " << count << Remedy("give numbers from 0 on");
    diagnostic.attachNote(function.getLoc()) << "the function";
    return failure();
  };
  if (function.isExternal())
    return success();
  return success(succeeded(check(interface.inputs, function.getNumArguments(), "input")) &&
                 succeeded(check(interface.outputs, function.getNumResults(), "output")));
}

/// Operators of a module inside of another one, which the policy's symbols do not reach. One that
/// has a policy of its own was left to passes of its own.
static Plan refuseNested(ModuleOp nested, const QConfigMapping &mapping) {
  Plan plan;
  if (!nested.getOps<BackendOp>().empty())
    return plan;
  nested.walk([&](FunctionOpInterface function) {
    for (Block *block : getNetworkBlocks(function))
      for (Operation &op : *block) {
        if (!isPlanned(&op))
          continue;
        Operation *entry = mapping.lookup(&op);
        bool isRefused =
            entry && getQConfig(entry) && llvm::any_of(op.getResultTypes(), isObservable);
        plan.decisions.push_back(
            {&op, std::nullopt, nullptr, Verdict::Float,
             Reason{"OCT118", "it stands in a module inside of the one that has the policy",
                    "run the passes on the inner module: builtin.module(builtin.module(...))"},
             /*note=*/std::nullopt, isRefused});
      }
  });
  return plan;
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
    if (failed(checkInterface(function, *mapping)))
      return nullptr;
    for (Block *block : getNetworkBlocks(function))
      if (failed(checkIsFloat(*block)) || failed(checkQConfigsOfUnits(*backend, *mapping, *block)))
        return nullptr;
    if (!function.isExternal())
      made.push_back(Planner(function, *backend, *mapping, quantizedOutputs).run());
  }
  for (auto nested : cast<ModuleOp>(module).getOps<ModuleOp>())
    if (Plan plan = refuseNested(nested, *mapping); !plan.decisions.empty())
      made.push_back(std::move(plan));
  return &known.emplace(std::move(made));
}
