//===- QuantizeConstants.h - weights and biases as integers -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_QUANTIZECONSTANTS_H
#define OCTET_LIB_QUANTIZE_QUANTIZECONSTANTS_H

#include "octet/Dialect/Octet/Octet.h"

namespace octet {

/// [N.weight_scale] The weight type with scales raised so that every |bias[c]| is at most 2^30
/// steps of f32(s_x * s_w[c]). `raised` counts the scales that changed.
mlir::quant::QuantizedType raiseWeightScales(mlir::quant::QuantizedType weight,
                                             mlir::quant::QuantizedType input,
                                             llvm::ArrayRef<float> bias, int64_t &raised);

/// [N.bias] The int32 type of a bias of `size` channels: scales f32(s_x * s_w), zero points 0.
mlir::quant::QuantizedType getBiasType(mlir::quant::QuantizedType weight,
                                       mlir::quant::QuantizedType input, int64_t size);

/// [N.quantize_weight] The constant `source`, whose elements are `values`, as integers of at most
/// 16 bits: a constant of the same dialect, and its dequantized value. Null if that dialect makes
/// no constants.
mlir::Value quantizeWeights(mlir::OpBuilder &builder, mlir::Value source,
                            llvm::ArrayRef<float> values, mlir::quant::QuantizedType type);
/// Whether weights of `type` are signed with zero points of 0, as products read them.
bool isCentered(mlir::quant::QuantizedType type);
/// Whether anything may read `weights`, a constant of `type`, as integers: no product takes others
/// than centered ones.
bool hasIntegerForm(mlir::Operation *weights, mlir::quant::QuantizedType type);
/// [N.fake_quantize] The real numbers that integers of `type` stand for.
mlir::Value roundWeights(mlir::OpBuilder &builder, mlir::Value source, llvm::ArrayRef<float> values,
                         mlir::quant::QuantizedType type);
/// [N.quantize_weight] The constant `source` as integers of `dtype`, at most 8 bits, with real zero
/// points, and octet.dequantize_weights of it. Where its dialect has no such constants, one of the
/// real numbers that these stand for.
mlir::Value storeWeights(mlir::OpBuilder &builder, mlir::Value source, llvm::ArrayRef<float> values,
                         mlir::IntegerType dtype, const FloatQParams &params);
/// [N.half] The same as floats of 16 bits.
mlir::Value storeWeights(mlir::OpBuilder &builder, mlir::Value source, llvm::ArrayRef<float> values,
                         mlir::FloatType dtype);
/// [N.bias] The same with 32-bit integers.
mlir::Value quantizeBias(mlir::OpBuilder &builder, mlir::Value source, llvm::ArrayRef<float> values,
                         mlir::quant::QuantizedType type);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_QUANTIZECONSTANTS_H
