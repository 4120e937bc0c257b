//===- QuantizeConstants.cpp - weights and biases as integers -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeConstants.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "octet/Dialect/NN/Constants.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace mlir::quant;

/// Scales and zero points, one per channel or one for all.
namespace {
struct QParams {
  SmallVector<double> scales;
  SmallVector<int64_t> zeroPoints;
};
} // namespace

static QParams getQParams(QuantizedType type) {
  if (auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(type))
    return {SmallVector<double>(perAxis.getScales()), SmallVector<int64_t>(perAxis.getZeroPoints())};
  auto perTensor = cast<UniformQuantizedType>(type);
  return {{perTensor.getScale()}, {perTensor.getZeroPoint()}};
}

/// Scale of the accumulator of channel c of `size`: f32(s_x * s_w[c]). An input with one scale per channel feeds
/// `size / (its channels)` neighbouring output channels from each.
static float getAccumulatorScale(const QParams &input, const QParams &weight, int64_t c, int64_t size) {
  float inputScale = input.scales[c * input.scales.size() / size];
  float weightScale = weight.scales[weight.scales.size() == 1 ? 0 : c];
  return inputScale * weightScale;
}

QuantizedType octet::raiseWeightScales(QuantizedType weight, QuantizedType input, ArrayRef<float> bias, int64_t &raised) {
  QParams inputs = getQParams(input), weights = getQParams(weight);
  constexpr float limit = 1 << 30;
  for (auto [c, value] : llvm::enumerate(bias)) {
    size_t w = weights.scales.size() == 1 ? 0 : c;
    if (std::abs(value) <= limit * getAccumulatorScale(inputs, weights, c, bias.size()))
      continue;
    float inputScale = inputs.scales[c * inputs.scales.size() / bias.size()];
    // The next float up, so that rounding does not undo it.
    weights.scales[w] = std::nextafter(std::abs(value) / limit / inputScale, INFINITY);
    ++raised;
  }
  if (!raised)
    return weight;
  if (auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(weight))
    return UniformQuantizedPerAxisType::get(weight.getFlags(), weight.getStorageType(), weight.getExpressedType(), weights.scales,
                                            weights.zeroPoints, perAxis.getQuantizedDimension(), weight.getStorageTypeMin(),
                                            weight.getStorageTypeMax());
  return UniformQuantizedType::get(weight.getFlags(), weight.getStorageType(), weight.getExpressedType(), weights.scales[0],
                                   weights.zeroPoints[0], weight.getStorageTypeMin(), weight.getStorageTypeMax());
}

QuantizedType octet::getBiasType(QuantizedType weight, QuantizedType input, int64_t size) {
  QParams inputs = getQParams(input), weights = getQParams(weight);
  auto storage = IntegerType::get(weight.getContext(), 32);
  int64_t min = QuantizedType::getDefaultMinimumForInteger(true, 32), max = QuantizedType::getDefaultMaximumForInteger(true, 32);
  if (inputs.scales.size() == 1 && weights.scales.size() == 1)
    return UniformQuantizedType::get(QuantizationFlags::Signed, storage, weight.getExpressedType(),
                                     getAccumulatorScale(inputs, weights, 0, size), 0, min, max);
  SmallVector<double> scales;
  for (int64_t c = 0; c < size; ++c)
    scales.push_back(getAccumulatorScale(inputs, weights, c, size));
  return UniformQuantizedPerAxisType::get(QuantizationFlags::Signed, storage, weight.getExpressedType(), scales,
                                          SmallVector<int64_t>(size, 0), 0, min, max);
}

/// [N.quantize] in f32: NaN gives the zero point; clamped before the conversion.
static int64_t quantize(float x, float scale, int64_t zeroPoint, int64_t min, int64_t max) {
  float t = x / scale;
  if (std::isnan(t))
    t = 0;
  t = std::min(std::max(t, (float)(min - zeroPoint)), (float)(max - zeroPoint));
  return (int64_t)std::nearbyint(t) + zeroPoint;
}

/// [N.bias] in f64.
static int64_t quantizeBias(float x, float scale) {
  double t = std::nearbyint((double)x / (double)scale), limit = INT32_MAX;
  return std::isnan(t) ? 0 : (int64_t)std::min(std::max(t, -limit), limit);
}

Value octet::createQuantizedConstant(OpBuilder &builder, nn::ConstantOp source, ArrayRef<float> values, QuantizedType type) {
  QParams params = getQParams(type);
  auto tensor = cast<RankedTensorType>(source.getType());
  int64_t inner = values.size();
  if (auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(type)) {
    inner = 1;
    for (int64_t size : tensor.getShape().drop_front(perAxis.getQuantizedDimension() + 1))
      inner *= size;
  }
  bool isBias = type.getStorageTypeIntegralWidth() == 32;
  SmallVector<int32_t, 0> wide(values.size());
  for (auto [i, value] : llvm::enumerate(values)) {
    size_t c = i / inner % params.scales.size();
    wide[i] = isBias ? quantizeBias(value, params.scales[c])
                     : quantize(value, params.scales[c], params.zeroPoints[c], type.getStorageTypeMin(), type.getStorageTypeMax());
  }
  auto quantizedType = RankedTensorType::get(tensor.getShape(), type);
  std::string name = (nn::getConstantName(source) + (isBias ? ".i32" : ".i8")).str();
  Value constant;
  if (isBias)
    constant = nn::createConstant<int32_t>(builder, source.getLoc(), name, quantizedType, wide);
  else
    constant = nn::createConstant<int8_t>(builder, source.getLoc(), name, quantizedType, SmallVector<int8_t, 0>(wide.begin(), wide.end()));
  return DequantizeOp::create(builder, source.getLoc(), tensor, constant);
}
