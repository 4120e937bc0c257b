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
#define GEN_PASS_DEF_FOLDCONSTANTS
#include "octet/Lower/Passes.h.inc"
} // namespace octet

/// Calls `element(index, parameters of its channel)` for every element of a tensor of `type`.
static void forEachElement(RankedTensorType type, QuantizedType quantized,
                           llvm::function_ref<void(int64_t, const QuantParams &)> element) {
  SmallVector<QuantParams, 0> params;
  for (int64_t channel = 0; channel < numerics::getNumChannels(quantized); ++channel)
    params.push_back(numerics::getParams(quantized, channel));
  int64_t axis = numerics::getChannelAxis(quantized), inner = 1;
  for (int64_t dim = axis + 1; axis >= 0 && dim < type.getRank(); ++dim)
    inner *= type.getDimSize(dim);
  for (int64_t index = 0; index < type.getNumElements(); ++index)
    element(index, params[index / inner % params.size()]);
}

bool lower::foldConstant(QuantizeOp quantize) {
  auto values = nn::getConstantValues<float>(quantize.getInput());
  QuantizedType quantized = getQuantizedType(quantize.getResult());
  if (failed(values) || quantized.getStorageTypeIntegralWidth() != 8)
    return false;
  auto type = cast<RankedTensorType>(quantize.getResult().getType());
  SmallVector<int8_t, 0> bytes(values->size());
  forEachElement(type, quantized, [&](int64_t index, const QuantParams &params) {
    bytes[index] = static_cast<int8_t>(numerics::quantize((*values)[index], params));
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
  forEachElement(type, getQuantizedType(dequantize.getInput()), [&](int64_t index, const QuantParams &params) {
    values[index] = numerics::dequantize((*stored)[index], params);
  });
  auto constant = dequantize.getInput().getDefiningOp<nn::ConstantOp>();
  OpBuilder builder(dequantize);
  std::string name = (nn::getConstantName(constant) + ".f32").str();
  Value folded = nn::createConstant<float>(builder, constant.getLoc(), name, type, values);
  dequantize.replaceAllUsesWith(folded);
  return true;
}

namespace {
class FoldConstantsPass : public octet::impl::FoldConstantsBase<FoldConstantsPass> {
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
