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
#include <gtest/gtest.h>
#include <limits>

using namespace mlir;
using namespace octet;
using numerics::QuantParams;

TEST(Quantize, RoundsTiesToEven) {
  QuantParams params{0.5f, 10, 0, 255};
  EXPECT_EQ(numerics::quantize(0.25f, params), 10);
  EXPECT_EQ(numerics::quantize(0.75f, params), 12);
  EXPECT_EQ(numerics::quantize(-0.75f, params), 8);
}

TEST(Quantize, ClampsBeforeItConverts) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  QuantParams params{0.5f, 10, 3, 200};
  EXPECT_EQ(numerics::quantize(infinity, params), 200);
  EXPECT_EQ(numerics::quantize(-infinity, params), 3);
  EXPECT_EQ(numerics::quantize(1e30f, params), 200);
  EXPECT_EQ(numerics::quantize(std::numeric_limits<float>::quiet_NaN(), params), 10);
}

TEST(Quantize, DequantizeIsOneProduct) {
  QuantParams params{0.1f, 10, 0, 255};
  EXPECT_EQ(numerics::dequantize(13, params), 3.0f * 0.1f);
  for (int64_t q = 0; q < 256; ++q)
    EXPECT_EQ(numerics::quantize(numerics::dequantize(q, params), params), q);
}

namespace {
struct Types : testing::Test {
  Types() : builder(&context) { context.loadDialect<quant::QuantDialect>(); }
  quant::UniformQuantizedType uniform(double scale, int64_t zeroPoint) {
    return quant::UniformQuantizedType::get(0, builder.getIntegerType(8), builder.getF32Type(), scale, zeroPoint, 0, 255);
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

TEST_F(Types, ScalesAreF32) { EXPECT_EQ(numerics::getParams(uniform(0.1, 0)).scale, 0.1f); }
