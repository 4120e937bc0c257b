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
  unsigned width = type.getStorageTypeIntegralWidth();
  if (width <= 8)
    stored = widen(nn::getConstantValues<int8_t>(value));
  else if (width <= 16)
    stored = widen(nn::getConstantValues<int16_t>(value));
  else if (width == 32)
    stored = widen(nn::getConstantValues<int32_t>(value));
  if (stored.empty())
    return failure();
  if (!type.isSigned() && width <= 16)
    for (int64_t &q : stored)
      q &= (1 << width) - 1;
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

/// The integer that `bits` are in a type of at most 8 bits.
static int64_t getInteger(uint8_t bits, IntegerType type) {
  int64_t q = bits & ((1 << type.getWidth()) - 1);
  return !type.isUnsigned() && q >> (type.getWidth() - 1) ? q - (1 << type.getWidth()) : q;
}

/// The value that `bits` are in a type of floats of 16 bits.
static float getReal(uint16_t bits, FloatType type) {
  return llvm::APFloat(type.getFloatSemantics(), llvm::APInt(16, bits)).convertToFloat();
}

/// Where the scale of each element lies.
static SmallVector<int64_t, 0> getScaleIndices(DequantizeWeightsOp op) {
  ArrayRef<int64_t> shape = op.getWeights().getType().getShape(),
                    scales = op.getScales().getType().getShape();
  SmallVector<int64_t, 0> indices;
  for (int64_t i = 0, count = op.getWeights().getType().getNumElements(); i < count; ++i) {
    int64_t rest = i, index = 0, step = 1;
    for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
      index += rest % shape[dim] / op.getBlockSize(dim) * step;
      rest /= shape[dim];
      step *= scales[dim];
    }
    indices.push_back(index);
  }
  return indices;
}

/// The real numbers; none if an operand is not constant.
static SmallVector<float, 0> dequantize(DequantizeWeightsOp op) {
  auto constant = op.getWeights().getDefiningOp<nn::ConstantOp>();
  Type element = op.getWeights().getType().getElementType();
  if (!constant || element.getIntOrFloatBitWidth() > 16)
    return {};
  std::vector<char> bytes = nn::getConstantBytes(constant);
  SmallVector<float, 0> values(constant.getType().getNumElements());
  if (auto half = dyn_cast<FloatType>(element)) {
    for (auto [i, value] : llvm::enumerate(values))
      value = getReal(reinterpret_cast<const uint16_t *>(bytes.data())[i], half);
    return values;
  }
  auto integer = cast<IntegerType>(element);
  auto scales = nn::getConstantValues<float>(op.getScales());
  FailureOr<SmallVector<float, 0>> zeroPoints;
  if (op.getZeroPoints())
    zeroPoints = nn::getConstantValues<float>(op.getZeroPoints());
  else if (succeeded(scales))
    zeroPoints = SmallVector<float, 0>(scales->size(), 0.0f);
  if (integer.getWidth() > 8 || failed(scales) || failed(zeroPoints))
    return {};
  for (auto [i, index] : llvm::enumerate(getScaleIndices(op)))
    values[i] = numerics::dequantizeWeight(getInteger(bytes[i], integer), (*scales)[index],
                                           (*zeroPoints)[index]);
  return values;
}

bool lower::foldConstant(DequantizeWeightsOp op) {
  SmallVector<float, 0> values = dequantize(op);
  if (values.empty())
    return false;
  auto constant = op.getWeights().getDefiningOp<nn::ConstantOp>();
  OpBuilder builder(op);
  std::string name = (nn::getConstantName(constant) + ".f32").str();
  Value folded = nn::createConstant<float>(builder, constant.getLoc(), name,
                                           op.getResult().getType(), ArrayRef<float>(values));
  op.replaceAllUsesWith(folded);
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
    getOperation().walk([&](DequantizeWeightsOp op) { fold(op); });
    getOperation().walk([](nn::ConstantOp op) {
      if (op->use_empty())
        op.erase();
    });
  }
};
} // namespace
