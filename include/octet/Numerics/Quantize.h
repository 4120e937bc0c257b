//===- Quantize.h - quantization parameters and the law of one value -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_NUMERICS_QUANTIZE_H
#define OCTET_NUMERICS_QUANTIZE_H

#include "mlir/Dialect/Quant/IR/QuantTypes.h"

namespace octet::numerics {

/// Quantization parameters of one channel; `low` and `high` are the storage bounds.
struct QuantParams {
  float scale;
  int64_t zeroPoint, low, high;
};

/// How many channels have parameters of their own: 1 for a per-tensor type.
int64_t getNumChannels(mlir::quant::QuantizedType type);
/// The axis of a per-axis type, or -1.
int64_t getChannelAxis(mlir::quant::QuantizedType type);
/// The parameters of channel `channel`; a per-tensor type has the same for all. Scales are f32.
QuantParams getParams(mlir::quant::QuantizedType type, int64_t channel = 0);
/// Whether scales, zero points and storage type agree (bounds may differ): a plain copy carries values from one to the other.
bool haveSameParams(mlir::quant::QuantizedType a, mlir::quant::QuantizedType b);
/// `type` with other storage bounds.
mlir::quant::QuantizedType withBounds(mlir::quant::QuantizedType type, int64_t low, int64_t high);

/// [N.quantize]
int64_t quantize(float x, const QuantParams &params);
/// [N.dequantize]
float dequantize(int64_t q, const QuantParams &params);

/// 1 / scale as the sum of two floats; the second is what the first, f32(1 / scale), leaves out. For scales in [2^-80, 2^80]
/// `rne(fma(x, first, fma(x, second, 2^-60)))` is `rne(x / scale)` for all x with |x / scale| < 256, and greater x give
/// integers beyond 255. (Without 2^-60, products of small x would be subnormal, which some CPUs make in microcode.) Source:
/// Brisebarre and Muller, "Correctly rounded multiplication by arbitrary precision constants", 2008. Proof: for quotients from
/// 1/4 on the sum is within 2^-46 of the quotient, relatively, before its last rounding, so that both round to the same float
/// unless the middle of two floats is that near; and two neighbouring floats round to different integers beside n + 1/2 only.
/// A test goes through all scales and x for which that happens.
std::pair<float, float> getReciprocal(float scale);

} // namespace octet::numerics

#endif // OCTET_NUMERICS_QUANTIZE_H
