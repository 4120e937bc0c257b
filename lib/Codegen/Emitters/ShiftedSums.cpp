//===- ShiftedSums.cpp - integer sums that are the bits of floats ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShiftedSums.h"
#include "EpilogueBounds.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Whether sums below zero give the lower bound, and 2^23 times each multiplier is a number.
static bool dropsNegativeSums(const QuantParams &out, ArrayRef<float> multipliers) {
  constexpr float kMost = 0x1p100f;
  return !out.scales.empty() &&
         llvm::all_of(out.zeroPoints, [&](int64_t zeroPoint) { return zeroPoint <= out.low; }) &&
         llvm::all_of(multipliers, [](float multiplier) { return multiplier < kMost; });
}

ShiftedSums::ShiftedSums(const FusedOp &fused, const CpuLevel &level, bool isRepeated) {
  Value input = fused.getInput(), filter = fused.getOuter(fused.product->getOperand(1));
  auto weights = nn::getConstantValues<int8_t>(filter);
  auto bias = getBiasValues<int32_t>(fused);
  if (!level.convertsByAdding || fused.dynamic || failed(weights) || failed(bias))
    return;
  bool adds = hasFloatBias(fused); // to the products: their sign is not that of the sums
  QuantParams out;
  if (isByte(getTensorType(fused.getResult())) && fused.body.empty() && !fused.rounding)
    out = numerics::getParams(
        cast<quant::QuantizedType>(getTensorType(fused.getResult()).getElementType()));
  for (auto [low, high] :
       numerics::accumulatorRanges(getProductTypes(input, filter), *weights, *bias))
    if (!add(low, high)) {
      *this = ShiftedSums();
      return;
    }
  SmallVector<float> multipliers = getAccumulatorScales(input, filter);
  for (auto [c, multiplier] : llvm::enumerate(multipliers))
    multiplier =
        out.scales.empty() ? 0 : numerics::requantizeMultiplier(multiplier, out.getScale(c));
  dropsNegative = level.reloadsOperands && isRepeated && !adds && !hasMiddles() &&
                  dropsNegativeSums(out, multipliers);
  areProductsWords = getProductBound(multipliers, {}) < KernelBuilder::kMostInWord;
}

/// The next channel, or false if its sums are not side by side.
bool ShiftedSums::add(int64_t low, int64_t high) {
  constexpr int64_t kMost = 1 << 22;
  int64_t bound = std::max(-low, high), shift = 0;
  bool isSmall = bound < kMost;
  float middle = KernelBuilder::kMiddle;
  if (!isSmall) {
    middle = KernelBuilder::kMiddle - (float)(low + (high - low) / 2);
    shift = (int64_t)middle - (int64_t)KernelBuilder::kMiddle;
    isSmall = std::max(-(low + shift), high + shift) < kMost;
  }
  offsets.push_back(shift);
  bounds.push_back(bound);
  middles.push_back(middle);
  return isSmall;
}

bool ShiftedSums::hasMiddles() const {
  return llvm::any_of(middles, [](float middle) { return middle != KernelBuilder::kMiddle; });
}

/// Sums wrap as the accumulator does.
int ShiftedSums::addSums(Signature &signature, std::vector<int32_t> sums, int64_t block) const {
  int64_t first = block ? 0 : getFirstBits(dropsNegative);
  for (auto [sum, offset] : llvm::zip(sums, offsets))
    sum = (int32_t)(uint32_t)(sum + offset + first);
  return block ? signature.addShifted(sums, dropsNegative, block)
               : signature.addParameters(ArrayRef<int32_t>(sums), block);
}

float ShiftedSums::getProductBound(ArrayRef<float> multipliers, ArrayRef<float> addends) const {
  float most = 0;
  for (auto [c, bound] : llvm::enumerate(bounds))
    most = std::max(
        most, numerics::productBound(bound, multipliers[c], addends.empty() ? 0 : addends[c]));
  return most;
}
