//===- ConstantOutputs.cpp - channels that are one value whatever is read --===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A channel that the network never uses has tiny scales: its accumulator, of a large bias, is far
// from zero, or its multiplier is huge. Kernels would convert and clamp all channels for its sake.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Numerics/Requantize.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using numerics::ProductTypes;
using numerics::QuantParams;
using quant::UniformQuantizedPerAxisType;

/// [N.requantize]
static int64_t requantize(int64_t sum, float multiplier, const QuantParams &result,
                          int64_t channel) {
  float scaled = static_cast<float>(static_cast<int32_t>(sum)) * multiplier;
  QuantParams unscaled = result;
  unscaled.scales.assign(result.scales.size(), 1.0f);
  return numerics::quantize(scaled, unscaled, channel);
}

/// A scale of weights by which the accumulator counts in steps of the result, or 0.
static float getUnitScale(const ProductTypes &types, const QuantParams &result, int64_t channel) {
  float input = types.input.getScale(types.inputChannel(channel)),
        scale = result.getScale(channel) / input;
  return std::isnormal(scale) && std::isnormal(numerics::accumulatorScale(input, scale)) ? scale
                                                                                         : 0;
}

/// The same type with other scales.
static RankedTensorType withScales(Value value, ArrayRef<double> scales) {
  auto type = cast<UniformQuantizedPerAxisType>(getQuantizedType(value));
  return withElementType(value, UniformQuantizedPerAxisType::get(
                                    type.getFlags(), type.getStorageType(), type.getExpressedType(),
                                    scales, type.getZeroPoints(), type.getQuantizedDimension(),
                                    type.getStorageTypeMin(), type.getStorageTypeMax()));
}

namespace {
/// Weights and biases of a product, which may be replaced.
struct Parameters {
  SmallVector<int8_t, 0> weights;
  SmallVector<int32_t, 0> biases;
  SmallVector<double> weightScales, biasScales;
};
} // namespace

/// Whether a constant of its own holds the operand, with a scale per output.
static bool isOwnPerOutput(Value operand) {
  return operand.getDefiningOp<nn::ConstantOp>() && operand.hasOneUse() &&
         isa<UniformQuantizedPerAxisType>(getElementTypeOrSelf(operand.getType())) &&
         numerics::getChannelAxis(getQuantizedType(operand)) == 0;
}

/// Gives the channel no weights and the value as its bias, if it is the same value then.
static bool replace(Parameters &of, const ProductTypes &types, const QuantParams &result,
                    int64_t channel, int64_t value) {
  float scale = getUnitScale(types, result, channel),
        sumScale =
            numerics::accumulatorScale(types.input.getScale(types.inputChannel(channel)), scale),
        multiplier = numerics::requantizeMultiplier(sumScale, result.getScale(channel));
  int64_t bias = value - result.getZeroPoint(channel);
  if (scale == 0 || requantize(bias, multiplier, result, channel) != value)
    return false;
  int64_t size = of.weights.size() / types.numOutputs;
  std::fill_n(of.weights.begin() + channel * size, size, 0);
  of.biases[channel] = bias;
  of.weightScales[channel] = scale;
  of.biasScales[channel] = sumScale;
  return true;
}

static bool replaceConstantOutputs(nn::ProductOpInterface product) {
  Value input = product->getOperand(0), filter = product->getOperand(1);
  Value bias = product->getNumOperands() > 2 ? product->getOperand(2) : Value();
  Value out = product->getResult(0);
  auto isQuantized = [](Value value) {
    return isa<quant::QuantizedType>(getElementTypeOrSelf(value.getType()));
  };
  if (!bias || !llvm::all_of(ArrayRef{input, out}, isQuantized) || !isOwnPerOutput(filter) ||
      !isOwnPerOutput(bias))
    return false;
  auto weights = nn::getConstantValues<int8_t>(filter);
  auto biases = nn::getConstantValues<int32_t>(bias);
  if (failed(weights) || failed(biases))
    return false;
  ProductTypes types(getQuantizedType(input), getQuantizedType(filter), biases->size());
  QuantParams result = numerics::getParams(getQuantizedType(out));
  auto scalesOf = [](Value value) {
    return llvm::to_vector(cast<UniformQuantizedPerAxisType>(getQuantizedType(value)).getScales());
  };
  Parameters of{*weights, *biases, scalesOf(filter), scalesOf(bias)};
  bool hasChanged = false;
  for (auto [channel, range] :
       llvm::enumerate(numerics::accumulatorRanges(types, *weights, *biases))) {
    auto [low, high] = range;
    float multiplier =
        numerics::requantizeMultiplier(types.scale(channel), result.getScale(channel));
    int64_t value = requantize(low, multiplier, result, channel);
    if (requantize(high, multiplier, result, channel) == value)
      hasChanged |= replace(of, types, result, channel, value);
  }
  if (!hasChanged)
    return false;
  OpBuilder b(product);
  auto setConstant = [&](int64_t operand, ArrayRef<double> scales, auto values) {
    Value old = product->getOperand(operand);
    auto constant = old.getDefiningOp<nn::ConstantOp>();
    product->setOperand(operand,
                        nn::createConstant(b, constant.getLoc(), nn::getConstantName(constant),
                                           withScales(old, scales), values));
    constant.erase();
  };
  setConstant(1, of.weightScales, ArrayRef<int8_t>(of.weights));
  setConstant(2, of.biasScales, ArrayRef<int32_t>(of.biases));
  return true;
}

int64_t lower::replaceConstantOutputs(Block &block) {
  int64_t count = 0;
  for (Operation &op : llvm::make_early_inc_range(block))
    if (isProduct(&op))
      count += ::replaceConstantOutputs(cast<nn::ProductOpInterface>(&op));
  return count;
}
