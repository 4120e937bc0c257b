//===- FloatOps.h - rounding and batch norm of the compiler -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_NUMERICS_FLOATOPS_H
#define OCTET_NUMERICS_FLOATOPS_H

#include <cstddef>
#include <cstdint>

namespace octet::numerics {

/// [N.batch_norm] of one channel: k, and b' before it is rounded.
struct Affine {
  float scale;
  double shift;
};
Affine batchNorm(double scale, double shift, double mean, double variance, double epsilon);

/// [N.tiny] Sets weights to zero beside which others are 2^100 times as large; returns how many.
int64_t flushTiny(float *weights, size_t count);

/// Round to nearest, ties to even.
float roundNearestEven(float x);

} // namespace octet::numerics

#endif // OCTET_NUMERICS_FLOATOPS_H
