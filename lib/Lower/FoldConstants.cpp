//===- FoldConstants.cpp - constants quantized and dequantized now --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using numerics::QuantParams;
using quant::QuantizedType;

namespace octet {
#define GEN_PASS_DEF_FOLDCONSTANTSPASS
#include "octet/Lower/Passes.h.inc"
} // namespace octet

bool lower::foldConstant(QuantizeOp quantize) {
  auto values = nn::getConstantValues<float>(quantize.getInput());
  QuantizedType quantized = getQuantizedType(quantize.getResult());
  if (failed(values) || quantized.getStorageTypeIntegralWidth() != 8)
    return false;
  auto type = cast<RankedTensorType>(quantize.getResult().getType());
  SmallVector<int8_t, 0> bytes(values->size());
  QuantParams params = numerics::getParams(quantized);
  numerics::forEachElement(type.getShape(), params, [&](int64_t index, int64_t channel) {
    bytes[index] = static_cast<int8_t>(numerics::quantize((*values)[index], params, channel));
  });
  auto constant = quantize.getInput().getDefiningOp<nn::ConstantOp>();
  OpBuilder builder(quantize);
  std::string name = (nn::getConstantName(constant) + ".i8").str();
  Value folded = nn::createConstant<int8_t>(builder, constant.getLoc(), name, type, bytes);
  quantize.replaceAllUsesWith(folded);
  return true;
}

/// The stored integers of a quantized constant.
static FailureOr<SmallVector<int64_t, 0>> getStoredValues(Value value) {
  auto widen = [](auto values) {
    SmallVector<int64_t, 0> wide;
    if (succeeded(values))
      wide.assign(values->begin(), values->end());
    return wide;
  };
  if (!value.getDefiningOp<nn::ConstantOp>())
    return failure();
  QuantizedType type = getQuantizedType(value);
  SmallVector<int64_t, 0> stored;
  if (type.getStorageTypeIntegralWidth() == 8)
    stored = widen(nn::getConstantValues<int8_t>(value));
  if (type.getStorageTypeIntegralWidth() == 32)
    stored = widen(nn::getConstantValues<int32_t>(value));
  if (stored.empty())
    return failure();
  if (!type.isSigned() && type.getStorageTypeIntegralWidth() == 8)
    for (int64_t &q : stored)
      q &= 0xFF;
  return stored;
}

bool lower::foldConstant(DequantizeOp dequantize) {
  auto stored = getStoredValues(dequantize.getInput());
  if (failed(stored))
    return false;
  auto type = cast<RankedTensorType>(dequantize.getResult().getType());
  SmallVector<float, 0> values(stored->size());
  QuantParams params = numerics::getParams(getQuantizedType(dequantize.getInput()));
  numerics::forEachElement(type.getShape(), params, [&](int64_t index, int64_t channel) {
    values[index] = numerics::dequantize((*stored)[index], params, channel);
  });
  auto constant = dequantize.getInput().getDefiningOp<nn::ConstantOp>();
  OpBuilder builder(dequantize);
  std::string name = (nn::getConstantName(constant) + ".f32").str();
  Value folded = nn::createConstant<float>(builder, constant.getLoc(), name, type, values);
  dequantize.replaceAllUsesWith(folded);
  return true;
}

namespace {
class FoldConstants : public octet::impl::FoldConstantsPassBase<FoldConstants> {
  void runOnOperation() override {
    auto fold = [&](auto op) {
      if (!foldConstant(op))
        return;
      ++numFolded;
      op.erase();
    };
    // Quantize first: its result may be dequantized next.
    getOperation().walk([&](QuantizeOp op) { fold(op); });
    getOperation().walk([&](DequantizeOp op) { fold(op); });
    getOperation().walk([](nn::ConstantOp op) {
      if (op->use_empty())
        op.erase();
    });
  }
};
} // namespace
