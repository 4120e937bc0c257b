//===- ReadDecisions.cpp - what a quantized file runs in integers ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Quantize/Passes.h"

using namespace mlir;
using namespace octet;

template <typename... Ops> static bool hasAny(ModuleOp module) {
  return module
      ->walk([](Operation *op) {
        return isa<Ops...>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool octet::hasTrainedRanges(ModuleOp module) { return hasAny<FakeQuantizeOp>(module); }

bool octet::isQuantizedNetwork(ModuleOp module, bool byWeights) {
  return hasAny<QuantizeOp, DequantizeOp, FakeQuantizeOp>(module) ||
         (byWeights && hasAny<DequantizeWeightsOp>(module));
}

Type octet::getStoredElementType(Value stored) {
  Type element = cast<ShapedType>(stored.getType()).getElementType();
  auto quantized = dyn_cast<quant::QuantizedType>(element);
  return quantized ? quantized.getStorageType() : element;
}

namespace {
/// How a value of a quantized file is known.
enum class Kind {
  Real,
  Constant,
  Computed, ///< from quantized values, by operators that quantize nothing in between
  Stored,   ///< dequantized, and perhaps moved
};

/// Reads from the places of quantize and dequantize what the file runs in integers.
class Reader {
public:
  /// Asks in such an order that no chain of operators is followed far.
  explicit Reader(Region &body) {
    for (Operation &op : body.getOps())
      for (Value result : op.getResults())
        getKind(result);
    for (Block &block : llvm::reverse(body))
      for (Operation &op : llvm::reverse(block))
        for (Value result : op.getResults())
          isQuantizedBehind(result);
  }

  std::pair<Verdict, std::optional<Reason>> decide(Operation *op) {
    if (isDynamicProduct(op))
      return {Verdict::FloatResult, getReasonOfDynamic()};
    const kernel::OperatorRow &row = kernel::getOperatorRow(op);
    bool readsQuantized = llvm::any_of(
        op->getOperands(), [&](Value operand) { return getKind(operand) >= Kind::Computed; });
    bool isRead = llvm::any_of(op->getResults(), [&](Value r) { return isQuantizedBehind(r); });
    if (!readsQuantized && llvm::any_of(op->getOpOperands(), isStoredWeight))
      return {Verdict::WeightOnly, std::nullopt};
    if (!readsQuantized && !isRead)
      return {Verdict::Float, Reason{"OCT111", "the file has it in float", ""}};
    if (!isProduct(op) && lacksWideKernel(op, row))
      return {Verdict::Float, Reason{"OCT104", "no integer form of 16 bits", ""}};
    if (row.input.storage == kernel::Storage::none)
      return {Verdict::Float, Reason{"OCT104", "no integer form", ""}};
    if (!areOperandsQuantized(op))
      return {Verdict::Float, Reason{"OCT112", "the file does not quantize all of its operands",
                                     "quantize them in the file"}};
    if (isRead || getKind(op->getResult(0)) == Kind::Stored)
      return {Verdict::Quantized, std::nullopt};
    return {isProduct(op) ? Verdict::FloatResult : Verdict::Float,
            Reason{"OCT102", "no quantized operator reads the result", ""}};
  }

private:
  /// A constant in few bits that a kernel reads as it is stored.
  static bool isStoredWeight(OpOperand &operand) {
    Operation *op = operand.get().getDefiningOp();
    return isa_and_nonnull<DequantizeOp, DequantizeWeightsOp>(op) && isConstant(operand.get()) &&
           kernel::readsStored(operand, getStoredElementType(op->getOperand(0)));
  }

  /// [N.dynamic_product]
  static bool isDynamicProduct(Operation *op) {
    return isa<nn::LinearOp, nn::ConvOp>(op) &&
           op->getOperand(0).getDefiningOp<DequantizeDynamicOp>() &&
           op->getOperand(1).getDefiningOp<DequantizeOp>() && isConstant(op->getOperand(1));
  }

  /// The type of the integers that an operator reads, perhaps moved, or null.
  static Type getStored(Value operand) {
    Operation *op = operand.getDefiningOp();
    if (auto dequantize = dyn_cast_if_present<DequantizeOp>(op))
      return dequantize.getInput().getType().getElementType();
    return op ? getStoredType(op) : quant::QuantizedType();
  }

  /// The type of the only quantize that reads `value`, perhaps moved, or null.
  static Type getStoredBehind(Value value) {
    while (value.hasOneUse() && movesOne(*value.user_begin()))
      value = value.user_begin()->getResult(0);
    auto quantize = value.hasOneUse() ? dyn_cast<QuantizeOp>(*value.user_begin()) : QuantizeOp();
    return quantize ? quantize.getResult().getType().getElementType() : Type();
  }

  /// Whether the operator reads or gives integers of 16 bits for which it has no kernel.
  static bool lacksWideKernel(Operation *op, const kernel::OperatorRow &row) {
    auto lacks = [&](const kernel::FormRow &form, Type type) {
      return type && numerics::isWide(type) &&
             kernel::matchForm(form, cast<quant::QuantizedType>(type), op) != kernel::Fit::yes;
    };
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) { return lacks(row.input, getStored(operand)); }) ||
           llvm::any_of(op->getResults(),
                        [&](Value result) { return lacks(row.result, getStoredBehind(result)); });
  }

  static bool isProduct(Operation *op) {
    return &kernel::getOperatorRow(op) == &kernel::Operators::product;
  }
  static bool isElementwise(Operation *op) {
    return &kernel::getOperatorRow(op) == &kernel::Operators::elementwise;
  }

  /// Element-wise operators run with those in front of them; others read what is stored, or, if
  /// they only move values, are moved behind the quantize.
  bool areOperandsQuantized(Operation *op) {
    Kind least = isElementwise(op) || movesOne(op) ? Kind::Computed : Kind::Stored;
    auto isQuantized = [&](Value operand) {
      return getKind(operand) >= least || getKind(operand) == Kind::Constant;
    };
    return isProduct(op) ? getKind(op->getResult(0)) == Kind::Computed
                         : llvm::all_of(op->getOperands(), isQuantized);
  }

  Kind getKind(Value value) {
    auto [known, isNew] = kinds.try_emplace(value, Kind::Real);
    if (!isNew)
      return known->second;
    Kind kind = findKind(value);
    return kinds[value] = kind;
  }

  Kind findKind(Value value) {
    if (isConstant(value))
      return Kind::Constant;
    Operation *op = value.getDefiningOp();
    if (!op)
      return Kind::Real;
    if (isa<DequantizeOp>(op) || getStoredType(op) ||
        (movesOne(op) && getKind(op->getOperand(0)) == Kind::Stored))
      return Kind::Stored;
    if (isProduct(op)) {
      Value weights = cast<nn::ProductOpInterface>(op).getWeightOperand()->get();
      bool isQuantized =
          weights.getDefiningOp<DequantizeOp>() && getKind(op->getOperand(0)) == Kind::Stored;
      return isQuantized ? Kind::Computed : Kind::Real;
    }
    bool isComputed = (isElementwise(op) || movesOne(op)) &&
                      llvm::all_of(op->getOperands(),
                                   [&](Value operand) { return getKind(operand) != Kind::Real; });
    return isComputed ? Kind::Computed : Kind::Real;
  }

  /// Whether a quantize reads `value`, perhaps behind operators that run with it.
  bool isQuantizedBehind(Value value) {
    auto [known, isNew] = behind.try_emplace(value, false);
    if (!isNew)
      return known->second;
    bool found = llvm::any_of(value.getUsers(), [&](Operation *user) {
      if (isa<QuantizeOp>(user))
        return true;
      return (isElementwise(user) || movesOne(user)) &&
             getKind(user->getResult(0)) >= Kind::Computed && isQuantizedBehind(user->getResult(0));
    });
    return behind[value] = found;
  }

  DenseMap<Value, Kind> kinds;
  DenseMap<Value, bool> behind;
};
} // namespace

SmallVector<std::pair<Operation *, DecisionAttr>, 0> octet::readDecisions(ModuleOp module) {
  SmallVector<std::pair<Operation *, DecisionAttr>, 0> decisions;
  MLIRContext *context = module.getContext();
  for (auto function : module.getOps<FunctionOpInterface>()) {
    Reader reader(function.getFunctionBody());
    for (Operation &op : function.getFunctionBody().getOps()) {
      if (op.hasTrait<OpTrait::ConstantLike>() || op.hasTrait<OpTrait::IsTerminator>() ||
          isa<QuantizeOp, DequantizeOp, DequantizeWeightsOp, ChooseQParamsOp, QuantizeDynamicOp,
              DequantizeDynamicOp>(op))
        continue;
      auto [verdict, reason] = reader.decide(&op);
      decisions.push_back(
          {&op, DecisionAttr::get(
                    context, (int64_t)decisions.size(), verdict, /*pattern=*/SymbolRefAttr(),
                    reason ? ReasonAttr::get(context, reason->code, reason->text, reason->remedy)
                           : ReasonAttr(),
                    /*note=*/ReasonAttr(), /*refused=*/false)});
    }
  }
  return decisions;
}
