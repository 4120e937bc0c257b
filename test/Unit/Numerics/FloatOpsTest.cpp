//===- FloatOpsTest.cpp - the float law against high precision ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/FloatOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>

using namespace octet;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// The largest error over [low, high] in units of the last place of the true result (normal results only).
static double worstUlps(llvm::function_ref<float(float)> law, llvm::function_ref<long double(long double)> truth, float low,
                        float high) {
  double worst = 0;
  for (int64_t i = 0; i <= 400000; ++i) {
    float x = low + (high - low) * static_cast<float>(i / 400000.0);
    long double expected = truth(x);
    float nearest = static_cast<float>(expected);
    if (std::abs(nearest) < std::numeric_limits<float>::min())
      continue;
    double ulp = std::nextafter(std::abs(nearest), infinity) - std::abs(nearest);
    worst = std::max(worst, static_cast<double>(std::abs(law(x) - expected) / ulp));
  }
  return worst;
}

TEST(FloatOps, ExpIsWithinOneUlp) {
  EXPECT_LT(worstUlps(numerics::exp, [](long double x) { return std::exp(x); }, -87.0f, 88.7f), 0.89);
  EXPECT_EQ(numerics::exp(0.0f), 1.0f);
}

TEST(FloatOps, ExpAtTheEnds) {
  EXPECT_EQ(numerics::exp(1000.0f), infinity);
  EXPECT_EQ(numerics::exp(infinity), infinity);
  EXPECT_EQ(numerics::exp(-1000.0f), 0.0f);
  EXPECT_EQ(numerics::exp(-infinity), 0.0f);
  EXPECT_TRUE(std::isnan(numerics::exp(notANumber)));
  // Subnormal results are kept.
  EXPECT_GT(numerics::exp(-100.0f), 0.0f);
  EXPECT_NEAR(numerics::exp(-100.0f) / std::exp(-100.0), 1.0, 0.02);
}

TEST(FloatOps, SigmoidAndSiluAreWithinThreeUlps) {
  auto sigmoid = [](long double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LT(worstUlps(numerics::sigmoid, sigmoid, -80.0f, 20.0f), 3.0);
  EXPECT_LT(worstUlps(numerics::silu, [&](long double x) { return x * sigmoid(x); }, -80.0f, 20.0f), 3.0);
  // At the end nothing is subnormal or no number.
  EXPECT_GE(numerics::sigmoid(-infinity), std::numeric_limits<float>::min());
  EXPECT_LT(numerics::sigmoid(-infinity), 2e-38f);
  EXPECT_EQ(numerics::silu(-infinity), numerics::silu(-87.0f));
  EXPECT_TRUE(std::isnan(numerics::silu(notANumber)));
}

TEST(FloatOps, TanhIsCloseAbsolutely) {
  for (float x = -12.0f; x < 12.0f; x += 0.001f)
    EXPECT_NEAR(numerics::tanh(x), std::tanh(static_cast<double>(x)), 2e-7) << x;
  EXPECT_EQ(numerics::tanh(1000.0f), 1.0f);
  EXPECT_EQ(numerics::tanh(-1000.0f), -1.0f);
}

TEST(FloatOps, Clamps) {
  EXPECT_EQ(numerics::relu(-1.0f), 0.0f);
  EXPECT_EQ(numerics::relu(notANumber), 0.0f);
  EXPECT_EQ(numerics::clip(7.0f, 0.0f, 6.0f), 6.0f);
  EXPECT_EQ(numerics::clip(-7.0f, 0.0f, 6.0f), 0.0f);
  EXPECT_EQ(numerics::leakyRelu(-2.0f, 0.25f), -0.5f);
  EXPECT_EQ(numerics::hardSigmoid(0.0f, 0.2f, 0.5f), 0.5f);
  EXPECT_EQ(numerics::hardSwish(6.0f), 6.0f);
  EXPECT_EQ(numerics::hardSwish(-3.0f), 0.0f);
  EXPECT_FLOAT_EQ(numerics::elu(-1.0f, 2.0f), 2.0f * std::expm1(-1.0f));
}

TEST(FloatOps, TiesGoToEven) {
  EXPECT_EQ(numerics::roundNearestEven(0.5f), 0.0f);
  EXPECT_EQ(numerics::roundNearestEven(1.5f), 2.0f);
  EXPECT_EQ(numerics::roundNearestEven(-2.5f), -2.0f);
}

// (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24, of which rounding the product first would lose the last term.
TEST(FloatOps, HardSigmoidFuses) {
  float x = llvm::bit_cast<float>(0x3F800800u);
  EXPECT_EQ(numerics::hardSigmoid(x, x, -1.0f), std::fma(x, x, -1.0f));
  volatile float product = x * x;
  EXPECT_NE(numerics::hardSigmoid(x, x, -1.0f), product - 1.0f);
}
