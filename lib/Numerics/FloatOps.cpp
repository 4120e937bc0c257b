//===- FloatOps.cpp - rounding and batch norm of the compiler -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/FloatOps.h"
#include <cmath>

#pragma STDC FP_CONTRACT OFF

using namespace octet;

// Adding and subtracting 1.5 * 2^23 would do below 2^22; nearbyint does everywhere in the default
// rounding mode.
float numerics::roundNearestEven(float x) { return std::nearbyint(x); }

int64_t numerics::flushTiny(float *weights, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i)
    largest = std::fmax(largest, std::fabs(weights[i]));
  if (std::isinf(largest))
    return 0;
  int64_t numFlushed = 0;
  for (size_t i = 0; i < count; ++i)
    if (weights[i] != 0 && std::fabs((double)weights[i]) < (double)largest * 0x1p-100) {
      weights[i] = 0;
      ++numFlushed;
    }
  return numFlushed;
}

numerics::Affine numerics::batchNorm(double scale, double shift, double mean, double variance,
                                     double epsilon) {
  float k = static_cast<float>(scale / std::sqrt(variance + epsilon));
  double moved = mean * k; // a statement of its own: not contracted with the subtraction
  return {k, shift - moved};
}
