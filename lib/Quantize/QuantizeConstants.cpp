//===- QuantizeConstants.cpp - weights and biases as integers -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QuantizeConstants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Numerics/Requantize.h"
#include "octet/Support/Constants.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace mlir::quant;

QuantizedType octet::raiseWeightScales(QuantizedType weight, QuantizedType input,
                                       ArrayRef<float> bias, int64_t &raised) {
  numerics::ProductTypes types(input, weight, bias.size());
  constexpr float limit = 1 << 30;
  for (auto [c, value] : llvm::enumerate(bias)) {
    if (std::abs(value) <= limit * types.scale(c))
      continue;
    float inputScale = types.input.getScale(types.inputChannel(c));
    // The next float up, so that rounding does not undo it.
    float scale = std::nextafter(std::abs(value) / limit / inputScale, INFINITY);
    if (!std::isfinite(scale))
      continue; // no scale suits NaN and infinity, which [N.bias] clamps
    types.filter.scales[types.filter.axis < 0 ? 0 : c] = scale;
    ++raised;
  }
  return raised ? numerics::withParams(weight, types.filter) : weight;
}

QuantizedType octet::getBiasType(QuantizedType weight, QuantizedType input, int64_t size) {
  numerics::ProductTypes types(input, weight, size);
  auto storage = IntegerType::get(weight.getContext(), 32);
  int64_t min = QuantizedType::getDefaultMinimumForInteger(true, 32),
          max = QuantizedType::getDefaultMaximumForInteger(true, 32);
  if (types.input.scales.size() == 1 && types.filter.scales.size() == 1)
    return UniformQuantizedType::get(QuantizationFlags::Signed, storage, weight.getExpressedType(),
                                     types.scale(0), 0, min, max);
  SmallVector<double> scales;
  for (int64_t c = 0; c < size; ++c)
    scales.push_back(types.scale(c));
  return UniformQuantizedPerAxisType::get(QuantizationFlags::Signed, storage,
                                          weight.getExpressedType(), scales,
                                          SmallVector<int64_t>(size, 0), 0, min, max);
}

/// `values` as elements of type T by `law(value, parameters, channel)`: a constant of the dialect
/// of `source`, and its dequantized value. Null if that dialect makes no constants.
template <typename T, typename Law>
static Value quantizeConstant(OpBuilder &builder, Value source, ArrayRef<float> values,
                              QuantizedType type, StringRef suffix, Law law) {
  auto tensor = cast<RankedTensorType>(source.getType());
  numerics::QuantParams params = numerics::getParams(type);
  SmallVector<T, 0> stored(values.size());
  numerics::forEachElement(tensor.getShape(), params, [&](int64_t i, int64_t channel) {
    stored[i] = static_cast<T>(law(values[i], params, channel));
  });
  std::string name = (getConstantName(getConstantElements(source)) + suffix).str();
  Value constant =
      createConstantLike<T>(builder, source.getLoc(), source, name, tensor.clone(type), stored);
  return constant ? DequantizeOp::create(builder, source.getLoc(), tensor, constant).getResult()
                  : Value();
}

Value octet::quantizeWeights(OpBuilder &builder, Value source, ArrayRef<float> values,
                             QuantizedType type) {
  auto law = [](float value, const numerics::QuantParams &params, int64_t channel) {
    return numerics::quantizeWeight(value, params, channel);
  };
  if (type.getStorageTypeIntegralWidth() > 8)
    return quantizeConstant<int16_t>(builder, source, values, type, ".i16", law);
  return quantizeConstant<int8_t>(builder, source, values, type, ".i8", law);
}

/// A constant of these values in the dialect of `source`; null where that makes none.
template <typename T>
static Value createLike(OpBuilder &builder, Value source, const Twine &suffix, Type element,
                        ArrayRef<int64_t> shape, ArrayRef<T> values) {
  std::string name = (getConstantName(getConstantElements(source)) + suffix).str();
  Value constant = createConstantLike<T>(builder, source.getLoc(), source, name,
                                         RankedTensorType::get(shape, element), values);
  bool isOfType = constant && cast<ShapedType>(constant.getType()).getElementType() == element;
  return isOfType ? constant : Value();
}

bool octet::isCentered(QuantizedType type) {
  auto isZero = [](int32_t zeroPoint) { return zeroPoint == 0; };
  return type.isSigned() && llvm::all_of(numerics::getParams(type).zeroPoints, isZero);
}

bool octet::hasIntegerForm(Operation *weights, QuantizedType type) {
  return isCentered(type) || !llvm::all_of(weights->getUses(), [](OpOperand &use) {
           auto product = dyn_cast<nn::ProductOpInterface>(use.getOwner());
           return product && product.getWeightOperand() == &use;
         });
}

Value octet::roundWeights(OpBuilder &builder, Value source, ArrayRef<float> values,
                          QuantizedType type) {
  auto tensor = cast<RankedTensorType>(source.getType());
  numerics::QuantParams params = numerics::getParams(type);
  SmallVector<float, 0> reals(values);
  numerics::forEachElement(tensor.getShape(), params, [&](int64_t i, int64_t channel) {
    reals[i] = numerics::fakeQuantize(reals[i], params, channel);
  });
  return createLike<float>(builder, source, ".rounded", tensor.getElementType(), tensor.getShape(),
                           reals);
}

Value octet::storeWeights(OpBuilder &builder, Value source, ArrayRef<float> values,
                          IntegerType dtype, const FloatQParams &params) {
  auto type = cast<RankedTensorType>(source.getType());
  std::pair<int64_t, int64_t> bounds = getStorageRange(dtype);
  numerics::QuantParams channels;
  channels.axis = params.axis;
  channels.scales = params.scales;
  SmallVector<int8_t, 0> stored(values.size());
  SmallVector<float, 0> reals(values.size());
  numerics::forEachElement(type.getShape(), channels, [&](int64_t i, int64_t channel) {
    float scale = params.scales[channel], zeroPoint = params.zeroPoints[channel];
    int64_t q = numerics::quantizeWeight(values[i], scale, zeroPoint, bounds.first, bounds.second);
    stored[i] = static_cast<int8_t>(q);
    reals[i] = numerics::dequantizeWeight(q, scale, zeroPoint);
  });
  SmallVector<int64_t> shape(type.getRank(), 1);
  if (params.axis >= 0)
    shape[params.axis] = params.scales.size();
  Value weights = createLike<int8_t>(builder, source, ".stored", dtype, type.getShape(), stored);
  if (!weights)
    return createLike<float>(builder, source, ".rounded", type.getElementType(), type.getShape(),
                             reals);
  Type f32 = builder.getF32Type();
  Value scales = createLike<float>(builder, source, ".scales", f32, shape, params.scales),
        zeroPoints =
            createLike<float>(builder, source, ".zero_points", f32, shape, params.zeroPoints);
  return DequantizeWeightsOp::create(builder, source.getLoc(), type, weights, scales, zeroPoints,
                                     /*block=*/nullptr);
}

Value octet::storeWeights(OpBuilder &builder, Value source, ArrayRef<float> values,
                          FloatType dtype) {
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int16_t, 0> stored;
  SmallVector<float, 0> reals;
  for (float value : values) {
    llvm::APFloat half(value);
    bool isInexact;
    half.convert(dtype.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &isInexact);
    stored.push_back(static_cast<int16_t>(half.bitcastToAPInt().getZExtValue()));
    reals.push_back(half.convertToFloat());
  }
  Value weights = createLike<int16_t>(builder, source, ".stored", dtype, type.getShape(), stored);
  if (!weights)
    return createLike<float>(builder, source, ".rounded", type.getElementType(), type.getShape(),
                             reals);
  return DequantizeWeightsOp::create(builder, source.getLoc(), type, weights, /*scales=*/Value(),
                                     /*zero_points=*/Value(), /*block=*/nullptr);
}

Value octet::quantizeBias(OpBuilder &builder, Value source, ArrayRef<float> values,
                          QuantizedType type) {
  auto law = [](float value, const numerics::QuantParams &params, int64_t channel) {
    return numerics::quantizeBias(value, params.getScale(channel));
  };
  return quantizeConstant<int32_t>(builder, source, values, type, ".i32", law);
}
