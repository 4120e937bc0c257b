//===- Lower.cpp - reference model to integer program ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/IR/Remarks.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using quant::QuantizedType;

namespace octet {
#define GEN_PASS_DEF_LOWERPASS
#include "octet/Lower/Passes.h.inc"
} // namespace octet

//===----------------------------------------------------------------------===//
// Helpers of all parts
//===----------------------------------------------------------------------===//

Value lower::getQuantizedSource(Value real) {
  auto dequantize = real.getDefiningOp<DequantizeOp>();
  return dequantize ? dequantize.getInput() : Value();
}

QuantizeOp lower::getOnlyQuantize(Value real) {
  return real.hasOneUse() ? dyn_cast<QuantizeOp>(*real.user_begin()) : QuantizeOp();
}

QuantizedType lower::getQuantizedType(Value value) {
  return cast<QuantizedType>(cast<RankedTensorType>(value.getType()).getElementType());
}

RankedTensorType lower::withElementType(Value value, Type elementType) {
  return RankedTensorType::get(cast<RankedTensorType>(value.getType()).getShape(), elementType);
}

Outcome lower::checkActivation(const kernel::FormRow &form, QuantizedType type, Operation *op) {
  switch (kernel::matchForm(form, type, op)) {
  case kernel::Fit::yes:
    return Outcome::Lowered;
  case kernel::Fit::other_storage:
    return Outcome::StorageType;
  case kernel::Fit::other_granularity:
    return Outcome::PerChannel;
  }
  llvm_unreachable("unknown fit");
}

Value lower::cloneOnto(OpBuilder &builder, Operation *op, ValueRange operands, Type resultType) {
  Operation *copy = builder.insert(op->cloneWithoutRegions());
  copy->setOperands(operands);
  copy->getResult(0).setType(resultType);
  return copy->getResult(0);
}

//===----------------------------------------------------------------------===//
// One run
//===----------------------------------------------------------------------===//

Outcome Lowering::lower(Operation *op) {
  builder.setInsertionPoint(op);
  origins.setSource(getOrigin(op));
  if (auto group = dyn_cast<GroupOp>(op))
    return lowerGroup(group);
  if (auto quantize = dyn_cast<QuantizeOp>(op))
    return lowerQuantize(quantize);
  if (isProduct(op))
    return lowerProduct(cast<nn::ProductOpInterface>(op));
  if (auto product = dyn_cast<nn::MatmulOp>(op))
    return lowerMatmul(product);
  using kernel::Operators;
  const kernel::OperatorRow *row = &kernel::getOperatorRow(op);
  if (row == &Operators::average_pool || row == &Operators::mean)
    return lowerMean(op);
  if (row == &Operators::sum || row == &Operators::softmax)
    return lowerToReal(op);
  if (row == &Operators::resampling)
    return lowerResampling(op);
  if (row == &Operators::max_pool || row == &Operators::movement)
    return lowerMovement(op);
  return isScalarOp(op) ? awaitQuantize(op) : Outcome::NotConcerned;
}

ArrayRef<FloatReason> octet::getFloatReasons() {
  static constexpr FloatReason reasons[] = {
#define OCTET_LOWER_REASON(name, code, refused, why, remedy) {code, refused, why, remedy},
#include "octet/Lower/Reasons.def"
  };
  return reasons;
}

/// Revises what octet-prepare decided, if it did. `refused`: against the policy.
static void setStaysFloat(Operation *op, ReasonAttr reason, bool refused) {
  DecisionAttr planned = getDecision(op);
  op->setAttr(kDecisionAttr,
              DecisionAttr::get(op->getContext(), planned ? planned.getNumber() : std::nullopt,
                                Verdict::Float, planned ? planned.getPattern() : SymbolRefAttr(),
                                reason, planned ? planned.getNote() : ReasonAttr(), refused));
}

/// Whether the op, which is float, was to run in integers.
static bool isPlanned(Operation *op) {
  DecisionAttr planned = getDecision(op);
  return planned && planned.getNumber() && planned.getVerdict() == Verdict::Quantized;
}

/// Whether the op, which reads f32 weights, was to have them in fewer bits.
static bool isStoredWide(Operation *op) {
  DecisionAttr planned = getDecision(op);
  return planned && planned.getVerdict() == Verdict::WeightOnly &&
         llvm::any_of(op->getOperands(),
                      [](Value v) { return v.getDefiningOp<DequantizeWeightsOp>(); });
}

LogicalResult Lowering::reportFallback(Operation *op, Outcome reason) {
  const FloatReason &text =
      getFloatReasons()[static_cast<int>(reason) - static_cast<int>(Outcome::NoIntegerForm)];
  if (text.isRefusal || isPlanned(op) || isStoredWide(op))
    // A real result is no refusal: a recipe changed what reads it.
    setStaysFloat(op, ReasonAttr::get(op->getContext(), text.code, text.why, text.remedy),
                  /*refused=*/reason != Outcome::RealResult);
  remark::missed(op->getLoc(), remark::RemarkOpts::name(text.code).category("octet-lower"))
      << "stays float: " + text.why.str() << remark::suggest("{0}", text.remedy);
  ++numFallback;
  if (text.isRefusal && isStrict)
    return emitError(op->getLoc())
           << "stays float " << Code{text.code} << ": " << text.why << Remedy(text.remedy);
  return success();
}

/// Constants that are a part of a group become its operands, which is where kernels read them.
static void hoistConstants(func::FuncOp function) {
  function.walk([](GroupOp group) {
    for (Operation &op : llvm::make_early_inc_range(group.getBody().front()))
      if (op.hasTrait<OpTrait::ConstantLike>()) {
        op.moveBefore(group);
        op.getResult(0).replaceAllUsesExcept(group.addInput(op.getResult(0)), group);
      }
  });
}

/// A group around one op says nothing that the op does not say; one with several results has no
/// integer form.
static void inlineGroupsOfOne(func::FuncOp function) {
  function.walk([](GroupOp group) {
    Block &body = group.getBody().front();
    if (group->getNumResults() != 1) {
      group.inlineBody();
      return group.erase();
    }
    if (!llvm::hasSingleElement(body.without_terminator()))
      return;
    Operation &op = body.front();
    if (op.getNumResults() != 1 || group.getYielded() != op.getResult(0))
      return;
    if (DecisionAttr decision = getDecision(group))
      op.setAttr(kDecisionAttr, decision);
    group.inlineBody();
    group.erase();
  });
}

/// Whether it is news that `op` is float: it was to run in integers, or a quantized value comes in
/// or goes out through a conversion.
static bool isFallback(Operation *op) {
  auto isQuantized = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<QuantizedType>(tensor.getElementType());
  };
  if (isa<nn::ConstantOp, QuantizeOp, DequantizeOp, ChooseQParamsOp, QuantizeDynamicOp,
          DequantizeDynamicOp, ObserveOp>(op) ||
      op->hasTrait<OpTrait::IsTerminator>() || llvm::any_of(op->getOperandTypes(), isQuantized))
    return false;
  return isPlanned(op) || isStoredWide(op) ||
         llvm::any_of(op->getOperands(),
                      [](Value v) {
                        return isa_and_nonnull<DequantizeOp, DequantizeDynamicOp>(
                            v.getDefiningOp());
                      }) ||
         llvm::any_of(op->getUsers(), llvm::IsaPred<QuantizeOp>);
}

static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

/// Operators that stay float read float weights: constants are not dequantized at run time.
static void foldDequantizedConstants(Block &block) {
  for (auto dequantize : llvm::make_early_inc_range(block.getOps<DequantizeOp>()))
    foldConstant(dequantize);
  for (auto dequantize : llvm::make_early_inc_range(block.getOps<DequantizeWeightsOp>()))
    foldConstant(dequantize);
  eraseDead(block);
}

/// Says of every op that converts to or from quantized values why it is float.
static LogicalResult reportFallbacks(Block &block, Lowering &lowering,
                                     const llvm::DenseMap<Operation *, Outcome> &outcomes) {
  LogicalResult result = success();
  for (Operation &op : block) {
    if (!isFallback(&op))
      continue;
    // An op that was not visited came out of a group whose product was lowered alone.
    auto found = outcomes.find(&op);
    Outcome outcome = found == outcomes.end() ? Outcome::RealOperand : found->second;
    if (outcome == Outcome::Separate)
      continue;
    if (isStoredWide(&op))
      outcome = Outcome::StoredWeights;
    // Others read it as float beside its integer form, which the quantize behind it became.
    if (outcome == Outcome::NotConcerned && isPlanned(&op) && isScalarOp(&op) &&
        llvm::none_of(op.getUsers(), llvm::IsaPred<QuantizeOp>))
      continue;
    if (failed(lowering.reportFallback(
            &op, outcome <= Outcome::NotConcerned ? Outcome::NoIntegerForm : outcome)))
      result = failure();
  }
  return result;
}

/// Visits the ops in order, so that every op finds the integer forms of its operands' producers.
static LogicalResult lowerBlock(Block &block, Lowering &lowering) {
  llvm::DenseMap<Operation *, Outcome> outcomes;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    Outcome outcome = outcomes[&op] = lowering.lower(&op);
    // Element-wise ops are visited from the quantize behind them.
    if (auto quantize = dyn_cast<QuantizeOp>(op); quantize && outcome > Outcome::NotConcerned)
      if (Operation *producer = quantize.getInput().getDefiningOp();
          outcomes.lookup(producer) == Outcome::NotConcerned)
        outcomes[producer] = outcome;
  }
  groupStoredWeights(block);
  eraseDead(block);
  if (failed(reportFallbacks(block, lowering, outcomes)))
    return failure();
  foldDequantizedConstants(block);
  return success();
}

/// Storage bounds of a quantized result may have become narrower.
static void updateResultTypes(func::FuncOp function) {
  for (auto terminator : function.getOps<func::ReturnOp>())
    function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                       terminator.getOperandTypes()));
}

namespace {
struct Lower : octet::impl::LowerPassBase<Lower> {
  using LowerPassBase::LowerPassBase;

  void runOnOperation() override {
    if (failed(expandBatchNorms(getOperation())))
      return signalPassFailure();
    normalizeStorage(getOperation());
    hoistConstants(getOperation());
    inlineGroupsOfOne(getOperation());
    markCoarseActivations(getOperation());
    Lowering lowering(&getContext(), strict);
    for (Block &block : getOperation().getBody())
      joinClamps(block);
    for (Block &block : getOperation().getBody())
      if (failed(lowerBlock(block, lowering)))
        return signalPassFailure();
    for (Block &block : getOperation().getBody())
      numConstant += replaceConstantOutputs(block);
    updateResultTypes(getOperation());
    numLowered += lowering.numLowered;
    numTables += lowering.numTables;
    numFallback += lowering.numFallback;
  }
};
} // namespace
