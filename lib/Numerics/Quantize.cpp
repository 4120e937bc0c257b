//===- Quantize.cpp - quantization parameters and the law of one value===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/Quantize.h"
#include "octet/Numerics/FloatOps.h"

#pragma STDC FP_CONTRACT OFF

using namespace mlir;
using namespace octet;
using numerics::QuantParams;
using quant::QuantizedType;
using quant::UniformQuantizedPerAxisType;
using quant::UniformQuantizedType;

int64_t numerics::getNumChannels(QuantizedType type) {
  auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(type);
  return perAxis ? perAxis.getScales().size() : 1;
}

bool numerics::isWide(Type type) {
  auto uniform = dyn_cast<UniformQuantizedType>(type);
  return uniform && uniform.getStorageTypeIntegralWidth() == 16;
}

int64_t numerics::getChannelAxis(QuantizedType type) {
  auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(type);
  return perAxis ? perAxis.getQuantizedDimension() : -1;
}

QuantParams numerics::getParams(QuantizedType type) {
  QuantParams params;
  params.low = type.getStorageTypeMin();
  params.high = type.getStorageTypeMax();
  auto add = [&](double scale, int64_t zeroPoint) {
    params.scales.push_back(static_cast<float>(scale));
    params.zeroPoints.push_back(static_cast<int32_t>(zeroPoint));
  };
  if (auto uniform = dyn_cast<UniformQuantizedType>(type)) {
    add(uniform.getScale(), uniform.getZeroPoint());
    return params;
  }
  auto perAxis = cast<UniformQuantizedPerAxisType>(type);
  params.axis = perAxis.getQuantizedDimension();
  for (auto [scale, zeroPoint] : llvm::zip(perAxis.getScales(), perAxis.getZeroPoints()))
    add(scale, zeroPoint);
  return params;
}

bool numerics::haveSameParams(QuantizedType a, QuantizedType b) {
  if (a.getStorageType() != b.getStorageType() || a.isSigned() != b.isSigned())
    return false;
  QuantParams pa = getParams(a), pb = getParams(b);
  return pa.axis == pb.axis && pa.scales == pb.scales && pa.zeroPoints == pb.zeroPoints;
}

QuantizedType numerics::withParams(QuantizedType type, const QuantParams &params) {
  llvm::SmallVector<double> scales(params.scales.begin(), params.scales.end());
  llvm::SmallVector<int64_t> zeroPoints(params.zeroPoints.begin(), params.zeroPoints.end());
  if (params.axis >= 0)
    return UniformQuantizedPerAxisType::get(type.getFlags(), type.getStorageType(),
                                            type.getExpressedType(), scales, zeroPoints,
                                            params.axis, params.low, params.high);
  return UniformQuantizedType::get(type.getFlags(), type.getStorageType(), type.getExpressedType(),
                                   scales[0], zeroPoints[0], params.low, params.high);
}

QuantizedType numerics::withBounds(QuantizedType type, int64_t low, int64_t high) {
  if (auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(type))
    return UniformQuantizedPerAxisType::get(
        type.getFlags(), type.getStorageType(), type.getExpressedType(), perAxis.getScales(),
        perAxis.getZeroPoints(), perAxis.getQuantizedDimension(), low, high);
  auto uniform = cast<UniformQuantizedType>(type);
  return UniformQuantizedType::get(type.getFlags(), type.getStorageType(), type.getExpressedType(),
                                   uniform.getScale(), uniform.getZeroPoint(), low, high);
}

/// Behind the division: `t` in units of the scale.
static int64_t quantizeSteps(float t, const QuantParams &params, int64_t zeroPoint) {
  if (t != t)
    t = 0.0f;
  // In f32, before the conversion to an integer: an infinite t is in range afterwards.
  float low = static_cast<float>(params.low - zeroPoint),
        high = static_cast<float>(params.high - zeroPoint);
  t = t < low ? low : t > high ? high : t;
  return static_cast<int64_t>(numerics::roundNearestEven(t)) + zeroPoint;
}

int64_t numerics::quantize(float x, const QuantParams &params, int64_t channel) {
  return quantizeSteps(x / params.getScale(channel), params, params.getZeroPoint(channel));
}

int64_t numerics::quantizeWeight(float w, const QuantParams &params, int64_t channel) {
  float reciprocal = 1.0f / params.getScale(channel);
  return quantizeSteps(w * reciprocal, params, params.getZeroPoint(channel));
}

float numerics::dequantize(int64_t q, const QuantParams &params, int64_t channel) {
  return static_cast<float>(q - params.getZeroPoint(channel)) * params.getScale(channel);
}

float numerics::fakeQuantize(float x, const QuantParams &params, int64_t channel) {
  int64_t q = x != x ? params.low : quantizeWeight(x, params, channel);
  return dequantize(q, params, channel);
}

int64_t numerics::quantizeWeight(float w, float scale, float zeroPoint, int64_t low, int64_t high) {
  float reciprocal = 1.0f / scale, t = w * reciprocal;
  t = t + zeroPoint;
  if (t != t)
    t = 0.0f;
  float least = static_cast<float>(low), greatest = static_cast<float>(high);
  t = t < least ? least : t > greatest ? greatest : t;
  return static_cast<int64_t>(numerics::roundNearestEven(t));
}

float numerics::dequantizeWeight(int64_t q, float scale, float zeroPoint) {
  float distance = static_cast<float>(q) - zeroPoint;
  return distance * scale;
}

void numerics::forEachElement(llvm::ArrayRef<int64_t> shape, const QuantParams &params,
                              llvm::function_ref<void(int64_t, int64_t)> element) {
  int64_t numChannels = params.scales.size(), inner = 1, count = 1;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    count *= size;
    if (params.axis >= 0 && static_cast<int64_t>(dim) > params.axis)
      inner *= size;
  }
  for (int64_t index = 0; index < count; ++index)
    element(index, index / inner % numChannels);
}
