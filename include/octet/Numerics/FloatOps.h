//===- FloatOps.h - the float law for one number -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_NUMERICS_FLOATOPS_H
#define OCTET_NUMERICS_FLOATOPS_H

/// The scalar form of the float operations of docs/numerics.md, for constants and tables that the compiler evaluates.
/// Bit for bit what compiled code gives: fma only where written, no libm but `std::fma`, `std::sqrt`.
namespace octet::numerics {

float relu(float x);                                 // [N.relu]
float clip(float x, float lo, float hi);             // [N.clip]
float leakyRelu(float x, float alpha);               // [N.leaky_relu]
float exp(float x);                                  // [N.exp]
float elu(float x, float alpha);                     // [N.elu]
float sigmoid(float x);                              // [N.sigmoid]
float tanh(float x);                                 // [N.tanh]
float silu(float x);                                 // [N.silu]
float hardSigmoid(float x, float alpha, float beta); // [N.hard_sigmoid]
float hardSwish(float x);                            // [N.hard_swish]

/// [N.batch_norm] of one channel: k, and b' before it is rounded.
struct Affine {
  float scale;
  double shift;
};
Affine batchNorm(double scale, double shift, double mean, double variance, double epsilon);

/// Round to nearest, ties to even.
float roundNearestEven(float x);

} // namespace octet::numerics

#endif // OCTET_NUMERICS_FLOATOPS_H
