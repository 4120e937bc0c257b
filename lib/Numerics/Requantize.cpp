//===- Requantize.cpp - requantization algebra===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/Requantize.h"
#include <cmath>
#include <limits>

#pragma STDC FP_CONTRACT OFF

using namespace octet;
using namespace octet::numerics;

float numerics::accumulatorScale(float inputScale, float filterScale) {
  return inputScale * filterScale;
}
float numerics::requantizeMultiplier(float accumulatorScale, float resultScale) {
  return accumulatorScale / resultScale;
}
float numerics::residualMultiplier(float residualScale, float resultScale) {
  return residualScale / resultScale;
}

float numerics::averageMultiplier(float inputScale, float resultScale, int64_t count) {
  return inputScale / (resultScale * static_cast<float>(count));
}

float numerics::addend(float bias, float resultScale) { return bias / resultScale; }

int32_t numerics::quantizeBias(float bias, float accumulatorScale) {
  double q = std::nearbyint(static_cast<double>(bias) / static_cast<double>(accumulatorScale));
  if (q != q)
    return 0;
  constexpr double limit = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(q < -limit ? -limit : q > limit ? limit : q);
}

float ProductTypes::scale(int64_t output) const {
  return accumulatorScale(input.getScale(inputChannel(output)), filter.getScale(output));
}

int64_t numerics::maxDistanceFromZeroPoint(const QuantParams &input, int64_t channel) {
  int64_t zeroPoint = input.getZeroPoint(channel);
  return std::max(std::abs(input.high - zeroPoint), std::abs(input.low - zeroPoint));
}

llvm::SmallVector<int64_t, 0> numerics::accumulatorBounds(const ProductTypes &types,
                                                          llvm::ArrayRef<int8_t> filter,
                                                          llvm::ArrayRef<int32_t> bias) {
  llvm::SmallVector<int64_t, 0> bounds;
  int64_t size = types.numOutputs ? filter.size() / types.numOutputs : 0;
  for (int64_t output = 0; output < types.numOutputs; ++output) {
    int64_t sum = 0;
    for (int8_t weight : filter.slice(output * size, size))
      sum += std::abs(static_cast<int64_t>(weight));
    int64_t offset = bias.empty() ? 0 : std::abs(static_cast<int64_t>(bias[output]));
    bounds.push_back(sum * maxDistanceFromZeroPoint(types.input, types.inputChannel(output)) +
                     offset);
  }
  return bounds;
}

llvm::SmallVector<std::pair<int64_t, int64_t>, 0>
numerics::accumulatorRanges(const ProductTypes &types, llvm::ArrayRef<int8_t> filter,
                            llvm::ArrayRef<int32_t> bias) {
  llvm::SmallVector<std::pair<int64_t, int64_t>, 0> ranges;
  int64_t size = types.numOutputs ? filter.size() / types.numOutputs : 0;
  for (int64_t output = 0; output < types.numOutputs; ++output) {
    int64_t zeroPoint = types.input.getZeroPoint(types.inputChannel(output));
    int64_t below = types.input.low - zeroPoint, above = types.input.high - zeroPoint;
    int64_t low = bias.empty() ? 0 : bias[output], high = low;
    for (int64_t weight : filter.slice(output * size, size)) {
      low += std::min(weight * below, weight * above);
      high += std::max(weight * below, weight * above);
    }
    ranges.push_back({low, high});
  }
  return ranges;
}

float numerics::productBound(int64_t bound, float multiplier, float addend) {
  // Rounding is monotone: the largest accumulator gives the largest product.
  return std::fma(static_cast<float>(bound), std::abs(multiplier), std::abs(addend));
}
