//===- RequantizeTest.cpp - the requantization algebra --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/Requantize.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::numerics;

TEST(Requantize, EveryProductRoundsToFloat) {
  float scale = accumulatorScale(0.1f, 0.3f);
  EXPECT_EQ(scale, static_cast<float>(static_cast<double>(0.1f) * 0.3f));
  EXPECT_EQ(requantizeMultiplier(scale, 0.7f),
            static_cast<float>(static_cast<double>(scale) / 0.7f));
  float sum = static_cast<float>(static_cast<double>(0.7f) * 49.0);
  EXPECT_EQ(averageMultiplier(0.1f, 0.7f, 49), static_cast<float>(static_cast<double>(0.1f) / sum));
}

TEST(Requantize, BiasRoundsAndSaturates) {
  constexpr int32_t limit = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(quantizeBias(0.75f, 0.5f), 2);
  EXPECT_EQ(quantizeBias(1.25f, 0.5f), 2);
  EXPECT_EQ(quantizeBias(1e20f, 0.5f), limit);
  EXPECT_EQ(quantizeBias(-1e20f, 0.5f), -limit);
  // 2^24 + 1 halves: more than f32 could count.
  EXPECT_EQ(quantizeBias(16777216.0f, 0.25f), 67108864);
}

namespace {
struct Products : testing::Test {
  Products() : builder(&context) { context.loadDialect<quant::QuantDialect>(); }
  quant::QuantizedType perTensor(bool isSigned, double scale, int64_t zeroPoint, int64_t low,
                                 int64_t high) {
    return quant::UniformQuantizedType::get(isSigned, builder.getIntegerType(8),
                                            builder.getF32Type(), scale, zeroPoint, low, high);
  }
  quant::QuantizedType perAxis(bool isSigned, ArrayRef<double> scales, ArrayRef<int64_t> zeroPoints,
                               int axis, int64_t low, int64_t high) {
    return quant::UniformQuantizedPerAxisType::get(isSigned, builder.getIntegerType(8),
                                                   builder.getF32Type(), scales, zeroPoints, axis,
                                                   low, high);
  }
  MLIRContext context;
  Builder builder;
};
} // namespace

TEST_F(Products, BoundsFollowStorageBoundsAndChannels) {
  ProductTypes types{perTensor(false, 0.5, 100, 100, 255),
                     perAxis(true, {0.25, 0.5}, {0, 0}, 0, -127, 127), 2};
  int8_t filter[] = {1, -2, 3, -128, 0, 0};
  int32_t bias[] = {-5, 7};
  // A fused relu at zero point 100 leaves distances of 155 at most.
  EXPECT_EQ(accumulatorBounds(types, filter, bias),
            (llvm::SmallVector<int64_t, 0>{6 * 155 + 5, 128 * 155 + 7}));
  EXPECT_EQ(accumulatorBounds(types, filter, {}),
            (llvm::SmallVector<int64_t, 0>{6 * 155, 128 * 155}));
  EXPECT_EQ(types.scale(1), 0.25f);
}

TEST_F(Products, RangesFollowTheSignsOfWeights) {
  ProductTypes types{perTensor(false, 0.5, 100, 90, 255),
                     perAxis(true, {0.25, 0.5}, {0, 0}, 0, -127, 127), 2};
  int8_t filter[] = {1, -2, 3, -128, 0, 0};
  int32_t bias[] = {-5, 7};
  using Ranges = llvm::SmallVector<std::pair<int64_t, int64_t>, 0>;
  EXPECT_EQ(
      accumulatorRanges(types, filter, bias),
      (Ranges{{-5 - 4 * 10 - 2 * 155, -5 + 4 * 155 + 2 * 10}, {7 - 128 * 155, 7 + 128 * 10}}));
  EXPECT_EQ(accumulatorRanges(types, filter, {})[1], Ranges::value_type(-128 * 155, 128 * 10));
}

TEST_F(Products, DepthwiseInputsHaveTheirOwnParameters) {
  // Two outputs per input channel.
  ProductTypes types{perAxis(false, {0.5, 2.0}, {0, 255}, 1, 0, 255),
                     perTensor(true, 0.25, 0, -127, 127), 4};
  EXPECT_EQ(types.scale(1), 0.125f);
  EXPECT_EQ(types.scale(2), 0.5f);
  EXPECT_EQ(types.inputChannel(1), 0);
  EXPECT_EQ(types.inputChannel(3), 1);
  EXPECT_EQ(maxDistanceFromZeroPoint(types.input, types.inputChannel(3)), 255);
}

TEST(Requantize, ProductBoundIsReached) {
  float multiplier = 0.0123f;
  for (int64_t bound : {int64_t(1000), kMaxExactInFloat + 1, kMaxAccumulator})
    for (int64_t acc = bound - 100; acc <= bound; ++acc)
      EXPECT_LE(static_cast<float>(acc) * multiplier, productBound(bound, multiplier));
  EXPECT_EQ(productBound(1000, -0.5f), 500.0f);
}
