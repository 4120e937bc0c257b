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

int64_t numerics::getChannelAxis(QuantizedType type) {
  auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(type);
  return perAxis ? perAxis.getQuantizedDimension() : -1;
}

QuantParams numerics::getParams(QuantizedType type, int64_t channel) {
  int64_t low = type.getStorageTypeMin(), high = type.getStorageTypeMax();
  if (auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(type))
    return {static_cast<float>(perAxis.getScales()[channel]), perAxis.getZeroPoints()[channel], low, high};
  auto uniform = cast<UniformQuantizedType>(type);
  return {static_cast<float>(uniform.getScale()), uniform.getZeroPoint(), low, high};
}

bool numerics::haveSameParams(QuantizedType a, QuantizedType b) {
  if (a.getStorageType() != b.getStorageType() || a.isSigned() != b.isSigned() || getChannelAxis(a) != getChannelAxis(b) ||
      getNumChannels(a) != getNumChannels(b))
    return false;
  for (int64_t channel = 0; channel < getNumChannels(a); ++channel) {
    QuantParams pa = getParams(a, channel), pb = getParams(b, channel);
    if (pa.scale != pb.scale || pa.zeroPoint != pb.zeroPoint)
      return false;
  }
  return true;
}

QuantizedType numerics::withBounds(QuantizedType type, int64_t low, int64_t high) {
  if (auto perAxis = dyn_cast<UniformQuantizedPerAxisType>(type))
    return UniformQuantizedPerAxisType::get(type.getFlags(), type.getStorageType(), type.getExpressedType(),
                                            perAxis.getScales(), perAxis.getZeroPoints(),
                                            perAxis.getQuantizedDimension(), low, high);
  auto uniform = cast<UniformQuantizedType>(type);
  return UniformQuantizedType::get(type.getFlags(), type.getStorageType(), type.getExpressedType(), uniform.getScale(),
                                   uniform.getZeroPoint(), low, high);
}

int64_t numerics::quantize(float x, const QuantParams &params) {
  float t = x / params.scale;
  if (t != t)
    t = 0.0f;
  // In f32, before the conversion to an integer: an infinite t is in range afterwards.
  float low = static_cast<float>(params.low - params.zeroPoint), high = static_cast<float>(params.high - params.zeroPoint);
  t = t < low ? low : t > high ? high : t;
  return static_cast<int64_t>(roundNearestEven(t)) + params.zeroPoint;
}

float numerics::dequantize(int64_t q, const QuantParams &params) {
  return static_cast<float>(q - params.zeroPoint) * params.scale;
}
