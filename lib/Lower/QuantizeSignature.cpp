//===- QuantizeSignature.cpp - integers in, integers out ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/States.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;

namespace octet {
#define GEN_PASS_DEF_QUANTIZESIGNATUREPASS
#include "octet/Lower/Passes.h.inc"
} // namespace octet

/// A tensor that a caller can make or read: stored in bytes, with one scale.
static bool isQuantizedPerTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto quantized =
      tensor ? dyn_cast<quant::QuantizedType>(tensor.getElementType()) : quant::QuantizedType();
  return quantized && isa<quant::UniformQuantizedType>(quantized) &&
         quantized.getStorageTypeIntegralWidth() == 8;
}

/// The type to which every user quantizes `argument`, or null.
static Type getOnlyQuantizedType(BlockArgument argument) {
  Type type;
  for (Operation *user : argument.getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (!quantize || (type && type != quantize.getResult().getType()))
      return {};
    type = quantize.getResult().getType();
  }
  return type && isQuantizedPerTensor(type) ? type : Type();
}

namespace {
struct QuantizeSignature : octet::impl::QuantizeSignaturePassBase<QuantizeSignature> {
  using QuantizeSignaturePassBase::QuantizeSignaturePassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        quantizeSignature(function);
    SymbolTableCollection symbols;
    getOperation().walk([&](func::CallOp call) {
      if (auto function = symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr()))
        adapt(call, function.getFunctionType());
    });
  }

private:
  void quantizeSignature(func::FuncOp function) {
    // States are no part of the interface.
    for (BlockArgument argument : function.getArguments()) {
      unsigned number = argument.getArgNumber();
      bool isMarked = (bool)function.removeArgAttr(number, kQuantizedAttr);
      if ((isMarked || !markedOnly) && !nn::getStateOfArgument(function, number))
        quantizeArgument(argument);
    }
    auto terminator = cast<func::ReturnOp>(function.getBody().front().getTerminator());
    for (OpOperand &result : terminator->getOpOperands()) {
      unsigned number = result.getOperandNumber();
      bool isMarked =
          (bool)function.removeResultAttr(number, StringAttr::get(&getContext(), kQuantizedAttr));
      if ((isMarked || !markedOnly) && !nn::getStateOfResult(function, number))
        quantizeResult(result);
    }
    function.setFunctionType(FunctionType::get(&getContext(),
                                               function.getBody().front().getArgumentTypes(),
                                               terminator.getOperandTypes()));
  }

  /// The call's operands and results in the function's types.
  static void adapt(func::CallOp call, FunctionType type) {
    OriginPropagation origins(call.getOperation());
    OpBuilder builder(call, &origins);
    for (auto [operand, input] : llvm::zip_equal(call->getOpOperands(), type.getInputs()))
      if (operand.get().getType() != input)
        operand.set(QuantizeOp::create(builder, call.getLoc(), input, operand.get()));
    builder.setInsertionPointAfter(call);
    for (auto [result, output] : llvm::zip_equal(call.getResults(), type.getResults())) {
      Type real = result.getType();
      if (real == output)
        continue;
      result.setType(output);
      auto dequantize = DequantizeOp::create(builder, call.getLoc(), real, result);
      result.replaceAllUsesExcept(dequantize, dequantize);
    }
  }

  void quantizeArgument(BlockArgument argument) {
    if (!nn::holdsReals(argument.getType()))
      return; // integers already
    Type type = getOnlyQuantizedType(argument);
    if (!type) {
      emitWarning(argument.getLoc())
          << "this input stays f32: it is not only quantized to bytes with one scale";
      return;
    }
    for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
      user->getResult(0).replaceAllUsesWith(argument);
      user->erase();
    }
    argument.setType(type);
  }

  void quantizeResult(OpOperand &result) {
    if (!nn::holdsReals(result.get().getType()))
      return;
    auto dequantize = result.get().getDefiningOp<DequantizeOp>();
    if (!dequantize || !isQuantizedPerTensor(dequantize.getInput().getType())) {
      emitWarning(result.get().getLoc())
          << "this output stays f32: it is not computed in bytes with one scale";
      return;
    }
    result.set(dequantize.getInput());
    if (dequantize->use_empty())
      dequantize->erase();
  }
};
} // namespace
