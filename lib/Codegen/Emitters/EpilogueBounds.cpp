//===- EpilogueBounds.cpp - what is proven of an epilogue's values --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueBounds.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

static quant::QuantizedType quantizedTypeOf(Value value) {
  return cast<quant::QuantizedType>(getTensorType(value).getElementType());
}

QuantParams codegen::paramsOf(Value value) { return numerics::getParams(quantizedTypeOf(value)); }

numerics::ProductTypes codegen::getProductTypes(Value input, Value filter) {
  return {quantizedTypeOf(input), quantizedTypeOf(filter), getTensorType(filter).getDimSize(0)};
}

SmallVector<float> codegen::getAccumulatorScales(Value input, Value filter) {
  numerics::ProductTypes types = getProductTypes(input, filter);
  SmallVector<float> scales;
  for (int64_t o = 0; o < types.numOutputs; ++o)
    scales.push_back(types.scale(o));
  return scales;
}

float codegen::getProductBound(const FusedOp &fused, ArrayRef<float> factors,
                               ArrayRef<float> addends) {
  Value input = fused.getInput(), filter = fused.getOuter(fused.product->getOperand(1));
  FailureOr<SmallVector<int8_t, 0>> weights = nn::getConstantValues<int8_t>(filter);
  auto bias = getBiasValues<int32_t>(fused);
  bool isUnbounded = llvm::any_of(addends, [](float addend) { return !std::isfinite(addend); });
  if (failed(weights) || failed(bias) || isUnbounded)
    return kInfinity;
  float bound = 0;
  auto sums = numerics::accumulatorBounds(getProductTypes(input, filter), *weights, *bias);
  for (auto [c, sum] : llvm::enumerate(sums))
    bound =
        std::max(bound, numerics::productBound(sum, factors[c], addends.empty() ? 0 : addends[c]));
  return bound;
}

Interval codegen::getOperandRange(Value outer) {
  Interval range{0, 0};
  auto add = [&](float value) {
    bool isNumber = !std::isnan(value);
    range.low = std::min(range.low, isNumber ? value : -kInfinity);
    range.high = std::max(range.high, isNumber ? value : kInfinity);
  };
  if (isQuantized(outer.getType())) {
    QuantParams params = paramsOf(outer);
    for (size_t channel = 0; channel < params.scales.size(); ++channel)
      for (int64_t bound : {params.low, params.high})
        add(numerics::dequantize(bound, params, channel));
  } else if (auto values = nn::getConstantValues<float>(outer); succeeded(values)) {
    llvm::for_each(*values, add);
  } else {
    return {-kInfinity, kInfinity};
  }
  return range;
}

Interval codegen::getEpilogueRange(const FusedOp &fused, Interval product) {
  llvm::DenseMap<Value, Interval> ranges{{fused.getProductValue(), product}};
  for (Value inner : fused.getBodyInputs())
    ranges[inner] = getOperandRange(fused.getOuter(inner));
  return getBodyRange(fused, ranges);
}

Interval codegen::getElementwiseRange(const FusedOp &fused) {
  llvm::DenseMap<Value, Interval> ranges;
  for (Value inner : fused.getBodyInputs())
    ranges[inner] = getOperandRange(fused.getOuter(inner));
  return getBodyRange(fused, ranges);
}

/// Whether all products of a range give the same stored values.
static bool isConstantBeyond(const FusedOp &fused, Interval product) {
  Interval result = getEpilogueRange(fused, product);
  if (!isQuantized(fused.getResult().getType()) || !result.isBounded())
    return false;
  QuantParams params = paramsOf(fused.getResult());
  return llvm::all_of(llvm::seq<int64_t>(params.scales.size()), [&](int64_t channel) {
    return numerics::quantize(result.low, params, channel) ==
           numerics::quantize(result.high, params, channel);
  });
}

RoundingClamps::RoundingClamps(const FusedOp &fused, float bound) {
  QuantParams params = paramsOf(fused.getProductValue());
  float scale = params.scales[0], low = params.low - params.zeroPoints[0],
        high = params.high - params.zeroPoints[0];
  range = {low * scale, high * scale};
  constexpr float kMost = 1 << 29;
  if (bound > kMost)
    return;
  Interval all{-(bound + 1) * scale, (bound + 1) * scale};
  below = all.low < range.low && !isConstantBeyond(fused, {all.low, range.low});
  above = all.high > range.high && !isConstantBeyond(fused, {range.high, all.high});
  if (!below)
    range.low = std::min(all.low, range.low);
  if (!above)
    range.high = std::max(all.high, range.high);
}
