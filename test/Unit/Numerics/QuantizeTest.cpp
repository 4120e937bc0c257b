//===- QuantizeTest.cpp - quantizing one value ----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/Quantize.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;
using namespace octet;
using numerics::QuantParams;

TEST(Quantize, RoundsTiesToEven) {
  QuantParams params{{0.5f}, {10}, 0, 255};
  EXPECT_EQ(numerics::quantize(0.25f, params), 10);
  EXPECT_EQ(numerics::quantize(0.75f, params), 12);
  EXPECT_EQ(numerics::quantize(-0.75f, params), 8);
}

TEST(Quantize, MultipliesWeightsByTheReciprocal) {
  QuantParams params{{0.00214854861f}, {0}, 0, 255};
  EXPECT_EQ(numerics::quantize(0.273939937f, params), 127);
  EXPECT_EQ(numerics::quantizeWeight(0.273939937f, params), 128);
  QuantParams tiny{{1e-40f}, {3}, 0, 255}; // whose reciprocal is infinite
  EXPECT_EQ(numerics::quantizeWeight(0.0f, tiny), 3);
  EXPECT_EQ(numerics::quantizeWeight(1.0f, tiny), 255);
  EXPECT_EQ(numerics::quantizeWeight(-1.0f, tiny), 0);
}

TEST(Quantize, ClampsBeforeItConverts) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  QuantParams params{{0.5f}, {10}, 3, 200};
  EXPECT_EQ(numerics::quantize(infinity, params), 200);
  EXPECT_EQ(numerics::quantize(-infinity, params), 3);
  EXPECT_EQ(numerics::quantize(1e30f, params), 200);
  EXPECT_EQ(numerics::quantize(std::numeric_limits<float>::quiet_NaN(), params), 10);
}

TEST(Quantize, DequantizeIsOneProduct) {
  QuantParams params{{0.1f}, {10}, 0, 255};
  EXPECT_EQ(numerics::dequantize(13, params), 3.0f * 0.1f);
  for (int64_t q = 0; q < 256; ++q)
    EXPECT_EQ(numerics::quantize(numerics::dequantize(q, params), params), q);
}

namespace {
struct Types : testing::Test {
  Types() : builder(&context) { context.loadDialect<quant::QuantDialect>(); }
  quant::UniformQuantizedType uniform(double scale, int64_t zeroPoint) {
    return quant::UniformQuantizedType::get(0, builder.getIntegerType(8), builder.getF32Type(),
                                            scale, zeroPoint, 0, 255);
  }
  MLIRContext context;
  Builder builder;
};
} // namespace

TEST_F(Types, BoundsDoNotChangeParameters) {
  auto type = uniform(0.5, 3);
  auto narrow = numerics::withBounds(type, 3, 20);
  EXPECT_NE(type, narrow);
  EXPECT_TRUE(numerics::haveSameParams(type, narrow));
  EXPECT_EQ(numerics::getParams(narrow).low, 3);
  EXPECT_EQ(numerics::getParams(narrow).high, 20);
  EXPECT_FALSE(numerics::haveSameParams(type, uniform(0.5, 4)));
  EXPECT_FALSE(numerics::haveSameParams(type, uniform(0.25, 3)));
}

TEST_F(Types, ScalesAreF32) { EXPECT_EQ(numerics::getParams(uniform(0.1, 0)).getScale(0), 0.1f); }

TEST(Quantize, ChannelsFollowTheirAxis) {
  QuantParams params{{0.5f, 2.0f}, {0, 10}, 0, 255, /*axis=*/1};
  EXPECT_EQ(numerics::quantize(4.0f, params, 0), 8);
  EXPECT_EQ(numerics::quantize(4.0f, params, 1), 12);
  EXPECT_EQ(numerics::dequantize(12, params, 1), 4.0f);
  llvm::SmallVector<int64_t> channels;
  numerics::forEachElement({2, 2, 3}, params, [&](int64_t index, int64_t channel) {
    EXPECT_EQ(index, static_cast<int64_t>(channels.size()));
    channels.push_back(channel);
  });
  EXPECT_EQ(channels, (llvm::SmallVector<int64_t>{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}

/// As codegen::quantizeBy does.
static float multiply(float x, float scale) {
  return std::fma(x, 1.0f / scale, std::fma(x, numerics::reciprocalRest(scale), 0x1p-60f));
}

TEST(Quantize, ReciprocalsInTwoPartsRoundLikeDivision) {
  std::mt19937 random(1);
  int differencesOfOnePart = 0;
  for (int i = 0; i < 2000; ++i) {
    float scale =
        std::ldexp(0x800000u + random() % 0x800000u, static_cast<int>(random() % 158) - 102);
    for (int n = 0; n < 256; ++n) {
      float x = scale * (n + 0.5f);
      for (float y : {std::nextafter(x, 0.0f), x, -x, std::nextafter(x, 2 * x)}) {
        ASSERT_EQ(std::nearbyint(multiply(y, scale)), std::nearbyint(y / scale))
            << y << " / " << scale;
        differencesOfOnePart += std::nearbyint(y * (1.0f / scale)) != std::nearbyint(y / scale);
      }
    }
  }
  EXPECT_GT(differencesOfOnePart, 0);
}

/// All scales and x for which x / scale is within 2^-46 of the middle between some n + 1/2 and a
/// float beside it. With both significands as integers, scale * middle then is at most 8 from a
/// multiple of 2^24 (or 2^25), x: one scale for each distance.
TEST(Quantize, NoQuotientIsTooNearTheMiddleOfTwoFloats) {
  constexpr uint32_t kMask = (1u << 24) - 1;
  int checked = 0;
  for (int n = 0; n < 256; ++n) {
    float half = n + 0.5f;
    for (float neighbour : {std::nextafter(half, 0.0f), std::nextafter(half, 256.0f)}) {
      double middle = (static_cast<double>(half) + neighbour) / 2;
      int exponent;
      auto significand = static_cast<uint32_t>(std::ldexp(std::frexp(middle, &exponent), 25));
      ASSERT_EQ(significand % 2, 1u);
      uint32_t inverse = 1;
      for (int step = 0; step < 5; ++step)
        inverse *= 2 - significand * inverse;
      for (int distance = -8; distance <= 8; ++distance) {
        uint32_t bits = inverse * static_cast<uint32_t>(distance) & kMask;
        if (bits < 0x800000u)
          continue;
        auto scale = static_cast<float>(bits), x = static_cast<float>(middle * bits);
        ASSERT_EQ(bits * significand & kMask, static_cast<uint32_t>(distance) & kMask);
        EXPECT_EQ(std::nearbyint(multiply(x, scale)), std::nearbyint(x / scale))
            << x << " / " << scale;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 1000);
}
