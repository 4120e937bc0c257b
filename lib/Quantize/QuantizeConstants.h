//===- QuantizeConstants.h - weights and biases as integers -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_QUANTIZECONSTANTS_H
#define OCTET_LIB_QUANTIZE_QUANTIZECONSTANTS_H

#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"

namespace octet {

/// [N.weight_scale] The weight type with scales raised so that every |bias[c]| is at most 2^30 steps of f32(s_x * s_w[c]).
/// `raised` counts the scales that changed.
mlir::quant::QuantizedType raiseWeightScales(mlir::quant::QuantizedType weight, mlir::quant::QuantizedType input,
                                             llvm::ArrayRef<float> bias, int64_t &raised);

/// [N.bias] The int32 type of a bias of `size` channels: scales f32(s_x * s_w), zero points 0.
mlir::quant::QuantizedType getBiasType(mlir::quant::QuantizedType weight, mlir::quant::QuantizedType input, int64_t size);

/// [N.quantize] (8 bits) or [N.bias] (32 bits): a constant of the quantized type, and its dequantized value.
mlir::Value createQuantizedConstant(mlir::OpBuilder &builder, nn::ConstantOp source, llvm::ArrayRef<float> values,
                                    mlir::quant::QuantizedType type);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_QUANTIZECONSTANTS_H
