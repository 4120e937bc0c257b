//===- ActivationsTest.cpp - activations in steps of their results --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/Activations.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace octet::numerics;

static float apply(const StepActivation &activation, float t) {
  float u = std::min(std::fabs(t), activation.limit), q = 0;
  for (float coefficient : activation.coefficients)
    q = std::fma(q, u, coefficient);
  return std::fma(u, q, std::max(t, 0.0f));
}

TEST(Activations, AreNearTheirFunctions) {
  auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  auto gelu = [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); };
  auto geluTanh = [](double x) {
    return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  auto check = [](Activation activation, auto function, double bound) {
    for (float scale : {0x1p-10f, 0.0173f, 1.0f, 37.3f, 0x1p10f}) {
      auto steps = StepActivation::get(activation, scale);
      ASSERT_TRUE(steps);
      for (double x = -12; x < 12; x += 0.003) {
        float t = (float)(x / scale), y = apply(*steps, t);
        ASSERT_NEAR(y * (double)scale, function(t * (double)scale), bound) << x;
        ASSERT_LE(std::fabs(y - std::max(t, 0.0f)), StepActivation::getTailBound(scale)) << x;
      }
    }
  };
  check(Activation::silu, silu, 1.9e-3);
  check(Activation::gelu, gelu, 3.9e-4);
  check(Activation::geluTanh, geluTanh, 3.9e-4);
}

TEST(Activations, ScalesThatLoseCoefficientsAreRefused) {
  for (float scale : {0x1p-11f, 0x1p11f, std::nanf("")})
    EXPECT_FALSE(StepActivation::get(Activation::silu, scale));
  for (float scale : {0x1p-10f, 0x1p10f})
    for (float coefficient : StepActivation::get(Activation::silu, scale)->coefficients)
      EXPECT_TRUE(std::isnormal(coefficient));
}
