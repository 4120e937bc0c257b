//===- NormalizeStorage.cpp - signed activations as unsigned ones ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Integer kernels multiply unsigned activations by signed weights. A signed byte q with zero point
// z stands for the same real number as the unsigned byte q + 128 with zero point z + 128, so a
// backend with signed activations needs other types, but no other kernels. [N.signed]
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/SignBits.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using quant::QuantizedType;

static bool isSignedByte(Value value) {
  QuantizedType type = getQuantizedType(value);
  return type.isSigned() && type.getStorageTypeIntegralWidth() == 8;
}

/// Whether a product, alone or in a group, reads `real` as its filter: weights are signed.
static bool isFilter(Value real) {
  return llvm::any_of(real.getUses(), [](OpOperand &use) {
    if (auto group = dyn_cast<GroupOp>(use.getOwner()))
      return isFilter(group.getBody().getArgument(use.getOperandNumber()));
    return isProduct(use.getOwner()) && use.getOperandNumber() == 1;
  });
}

/// `value`, which is stored in bytes, with the sign bits flipped, as `type`.
static Value flipSignBits(OpBuilder &builder, Value value, Type type) {
  builder.setInsertionPointAfterValue(value);
  if (auto constant = value.getDefiningOp<nn::ConstantOp>())
    return nn::flipSignBits(builder, constant, cast<RankedTensorType>(type));
  SmallVector<int8_t> table;
  for (int64_t q = 0; q < 256; ++q)
    table.push_back(static_cast<int8_t>(q ^ nn::kSignBit));
  return nn::TableOp::create(builder, value.getLoc(), type, value, table);
}

void lower::normalizeStorage(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  auto getNormalized = [](Value value) {
    return withElementType(value, nn::flipSign(getQuantizedType(value)));
  };
  auto isDequantizedFilter = [](Operation *user) {
    auto dequantize = dyn_cast<DequantizeOp>(user);
    return dequantize && isFilter(dequantize.getResult());
  };
  for (auto quantize : function.getOps<QuantizeOp>()) {
    Value result = quantize.getResult();
    if (!isSignedByte(result) || llvm::any_of(result.getUsers(), isDequantizedFilter))
      continue;
    Type type = result.getType();
    result.setType(getNormalized(result));
    // The caller, for one, reads what the network says that it returns.
    auto isDequantize = [](OpOperand &use) { return isa<DequantizeOp>(use.getOwner()); };
    if (llvm::all_of(result.getUses(), isDequantize))
      continue;
    Value asSigned = flipSignBits(builder, result, type);
    result.replaceUsesWithIf(asSigned, [&](OpOperand &use) {
      return !isDequantize(use) && use.getOwner() != asSigned.getDefiningOp();
    });
  }
  llvm::DenseMap<Value, Value> normalized;
  for (auto dequantize : function.getOps<DequantizeOp>()) {
    Value source = dequantize.getInput();
    if (!isSignedByte(source) || isFilter(dequantize.getResult()))
      continue;
    Value &asUnsigned = normalized[source];
    if (!asUnsigned)
      asUnsigned = flipSignBits(builder, source, getNormalized(source));
    dequantize.getInputMutable().assign(asUnsigned);
  }
}
