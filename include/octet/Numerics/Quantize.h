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

/// The parameters of a quantized type: one scale and zero point for all elements, or one per
/// channel along `axis`. Scales are f32; `low` and `high` are the storage bounds.
struct QuantParams {
  llvm::SmallVector<float> scales;
  llvm::SmallVector<int32_t> zeroPoints;
  int64_t low = 0, high = 0;
  int64_t axis = -1; ///< -1: per tensor

  /// The parameters of a channel, which are the same for all if they are per tensor.
  float getScale(int64_t channel) const { return scales[scales.size() == 1 ? 0 : channel]; }
  int64_t getZeroPoint(int64_t channel) const {
    return zeroPoints[zeroPoints.size() == 1 ? 0 : channel];
  }
};

/// The number of scales: 1 for a per-tensor type.
int64_t getNumChannels(mlir::quant::QuantizedType type);
/// Whether a type is one of integers of 16 bits with one scale [N.wide].
bool isWide(mlir::Type type);
/// The axis of a per-axis type, or -1.
int64_t getChannelAxis(mlir::quant::QuantizedType type);
QuantParams getParams(mlir::quant::QuantizedType type);
/// Whether scales, zero points and storage type agree (bounds may differ), so that a plain copy
/// converts values of one type to the other.
bool haveSameParams(mlir::quant::QuantizedType a, mlir::quant::QuantizedType b);
/// `type` with other scales, zero points, storage bounds and axis.
mlir::quant::QuantizedType withParams(mlir::quant::QuantizedType type, const QuantParams &params);
/// `type` with other storage bounds.
mlir::quant::QuantizedType withBounds(mlir::quant::QuantizedType type, int64_t low, int64_t high);

/// [N.quantize] with the parameters of `channel`.
int64_t quantize(float x, const QuantParams &params, int64_t channel = 0);
/// [N.quantize_weight] with the parameters of `channel`.
int64_t quantizeWeight(float w, const QuantParams &params, int64_t channel = 0);
/// [N.fake_quantize] with the parameters of `channel`.
float fakeQuantize(float x, const QuantParams &params, int64_t channel = 0);
/// [N.dequantize] with the parameters of `channel`.
float dequantize(int64_t q, const QuantParams &params, int64_t channel = 0);

/// [N.quantize_weight] with a real zero point.
int64_t quantizeWeight(float w, float scale, float zeroPoint, int64_t low, int64_t high);
/// [N.dequantize_weights]
float dequantizeWeight(int64_t q, float scale, float zeroPoint);

/// Calls `element(index, channel)` for every element of a tensor of `shape`, in order.
void forEachElement(llvm::ArrayRef<int64_t> shape, const QuantParams &params,
                    llvm::function_ref<void(int64_t, int64_t)> element);

/// The rounding error of f32(1 / x), as f32. Where a quotient is rounded to an integer, fused
/// multiply-adds with the reciprocal and with this rest replace the division.
inline float reciprocalRest(float x) { return (float)(1.0 / (double)x - (double)(1.0f / x)); }

} // namespace octet::numerics

#endif // OCTET_NUMERICS_QUANTIZE_H
