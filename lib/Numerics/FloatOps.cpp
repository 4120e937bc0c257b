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

numerics::Affine numerics::batchNorm(double scale, double shift, double mean, double variance,
                                     double epsilon) {
  float k = static_cast<float>(scale / std::sqrt(variance + epsilon));
  double moved = mean * k; // a statement of its own: not contracted with the subtraction
  return {k, shift - moved};
}
