//===- FloatOps.cpp - the float law for one number===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/FloatOps.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstdint>
#include <initializer_list>

// Every operation below is one IEEE operation: the compiler of the compiler must not contract them either.
#pragma STDC FP_CONTRACT OFF

using namespace octet;

static float fromBits(uint32_t bits) { return llvm::bit_cast<float>(bits); }

/// 2^n for -126 <= n <= 127, from the exponent's bits.
static float powerOfTwo(int32_t n) { return fromBits(static_cast<uint32_t>(n + 127) << 23); }

// Adding and subtracting 1.5 * 2^23 would do below 2^22; nearbyint does everywhere in the default rounding mode.
float numerics::roundNearestEven(float x) { return std::nearbyint(x); }

float numerics::relu(float x) { return x > 0 ? x : 0.0f; }

float numerics::clip(float x, float lo, float hi) {
  float t = x > lo ? x : lo;
  return t < hi ? t : hi;
}

float numerics::leakyRelu(float x, float alpha) { return x < 0 ? alpha * x : x; }

float numerics::exp(float x) {
  if (x != x)
    return x;
  x = clip(x, -110.0f, 110.0f);
  float n = roundNearestEven(x * fromBits(0x3FB8AA3B)); // log2(e)
  float r = std::fma(n, -fromBits(0x3F317200), x);      // ln(2) in two parts
  r = std::fma(n, -fromBits(0x35BFBE8E), r);
  float y = fromBits(0x3AB511E8);
  for (uint32_t coefficient : {0x3C091D10u, 0x3D2AAC79u, 0x3E2AAA49u, 0x3EFFFFFEu, 0x3F800000u, 0x3F800000u})
    y = std::fma(y, r, fromBits(coefficient));
  // n reaches -159: one factor 2^n would not be a normal number.
  int32_t exponent = static_cast<int32_t>(n), half = exponent >> 1;
  return y * powerOfTwo(half) * powerOfTwo(exponent - half);
}

float numerics::elu(float x, float alpha) { return x < 0 ? alpha * (exp(x) - 1.0f) : x; }

/// Below, exp(-x) would soon be infinite and its reciprocal subnormal.
static float clipForLogistic(float x) { return x < -87.0f ? -87.0f : x; }

float numerics::sigmoid(float x) { return 1.0f / (1.0f + exp(-clipForLogistic(x))); }
float numerics::silu(float x) { return clipForLogistic(x) / (1.0f + exp(-clipForLogistic(x))); }

float numerics::tanh(float x) {
  float e = exp(clip(2.0f * x, -20.0f, 20.0f));
  return (e - 1.0f) / (e + 1.0f);
}

float numerics::hardSigmoid(float x, float alpha, float beta) { return clip(std::fma(alpha, x, beta), 0.0f, 1.0f); }
float numerics::hardSwish(float x) { return x * hardSigmoid(x, static_cast<float>(1.0 / 6.0), 0.5f); }

numerics::Affine numerics::batchNorm(double scale, double shift, double mean, double variance, double epsilon) {
  float k = static_cast<float>(scale / std::sqrt(variance + epsilon));
  double moved = mean * k; // a statement of its own: not contracted with the subtraction
  return {k, shift - moved};
}
