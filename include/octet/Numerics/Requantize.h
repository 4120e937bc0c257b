//===- Requantize.h - requantization algebra: S, M, biases, accumulator bounds -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_NUMERICS_REQUANTIZE_H
#define OCTET_NUMERICS_REQUANTIZE_H

#include "octet/Numerics/Quantize.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

/// The only place that computes multipliers: for the proofs of Lower and for the constants of
/// Codegen.
namespace octet::numerics {

/// S[c] = f32(s_x * s_w[c]), the scale of the accumulator. [N.bias]
float accumulatorScale(float inputScale, float filterScale);
/// M[c] = f32(S[c] / s_y[c]). [N.requantize]
float requantizeMultiplier(float accumulatorScale, float resultScale);
/// M_r = f32(s_r / s_y[c]). [N.residual]
float residualMultiplier(float residualScale, float resultScale);
/// M = f32(s_x / f32(s_y * f32(n))) for a window of n values. [N.avg_pool]
float averageMultiplier(float inputScale, float resultScale, int64_t count);
/// bq = clamp(rne(f64(b) / f64(S[c])), +-(2^31 - 1)). [N.bias]
int32_t quantizeBias(float bias, float accumulatorScale);

/// B[c] = f32(b[c] / s_y[c]). [N.float_bias]
float addend(float bias, float resultScale);

/// The parameters of one convolution or linear layer of `numOutputs` channels.
struct ProductTypes {
  QuantParams input, filter;
  int64_t numOutputs;

  ProductTypes(mlir::quant::QuantizedType input, mlir::quant::QuantizedType filter,
               int64_t numOutputs)
      : input(getParams(input)), filter(getParams(filter)), numOutputs(numOutputs) {}
  /// The input channel whose parameters apply to `output`: with one scale per input channel
  /// (depthwise), each channel feeds the same number of neighbouring outputs.
  int64_t inputChannel(int64_t output) const { return output * input.scales.size() / numOutputs; }
  /// S[output].
  float scale(int64_t output) const;
};

/// max |x - z_x| of a channel of `input` over its storage bounds.
int64_t maxDistanceFromZeroPoint(const QuantParams &input, int64_t channel);

/// The largest |acc| per output channel: sum over |w| times max |x - z_x|, plus |b|. `filter` has
/// the output channel as its outermost dimension; `bias` is empty or has one value per output. The
/// bound holds for every partial sum in any order. [N.overflow]
llvm::SmallVector<int64_t, 0> accumulatorBounds(const ProductTypes &types,
                                                llvm::ArrayRef<int8_t> filter,
                                                llvm::ArrayRef<int32_t> bias);

/// The smallest and the largest acc per output channel, of whole sums.
llvm::SmallVector<std::pair<int64_t, int64_t>, 0> accumulatorRanges(const ProductTypes &types,
                                                                    llvm::ArrayRef<int8_t> filter,
                                                                    llvm::ArrayRef<int32_t> bias);

/// Beyond this an int32 sum is not proven to be exact. [N.overflow]
inline constexpr int64_t kMaxAccumulator = (int64_t(1) << 31) - 1;
/// Up to this f32(acc) is exact.
inline constexpr int64_t kMaxExactInFloat = int64_t(1) << 24;

/// The largest |fma(f32(acc), multiplier, addend)| for |acc| <= bound. If it fits int32 and the
/// result saturates in a narrower integer anyway, Codegen needs no clamp in f32.
float productBound(int64_t bound, float multiplier, float addend = 0);

} // namespace octet::numerics

#endif // OCTET_NUMERICS_REQUANTIZE_H
