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

} // namespace octet::numerics

#endif // OCTET_NUMERICS_QUANTIZE_H
