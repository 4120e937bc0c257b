//===- Buffers.h - where tensors lie ----------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_BUFFERS_H
#define OCTET_LIB_CODEGEN_BUFFERS_H

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Numerics/Quantize.h"

namespace octet::codegen {

using numerics::QuantParams;

inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// Element strides of a tensor type (dense row-major, or NHWC as its encoding says).
struct Strides {
  llvm::SmallVector<int64_t> steps; ///< per logical dimension, in elements
  int64_t offset = 0;               ///< of the first element, behind the border
  int64_t extent = 0;               ///< elements of the buffer, border included
};

Strides getStrides(mlir::RankedTensorType type);
/// The strides with which a tensor of type `from` is read in the shape `to`, if there are any:
/// dimensions may be split, and joined where nothing lies between.
std::optional<Strides> getReshapedStrides(mlir::RankedTensorType from, llvm::ArrayRef<int64_t> to);
/// The signless element type in memory.
mlir::Type getStorageType(mlir::RankedTensorType type);
int64_t getBufferBytes(mlir::RankedTensorType type);
/// The layout of a tensor type, or null if it is dense.
nn::LayoutAttr getLayout(mlir::RankedTensorType type);
/// The type with another layout (null: dense).
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, nn::LayoutAttr layout);
/// The buffer of an NHWC type has a border.
bool hasBorder(mlir::RankedTensorType type);
/// Elements lie in row-major order without a gap, layout or not: a reshape between two such types
/// moves nothing.
bool isRowMajor(mlir::RankedTensorType type);

bool isQuantized(mlir::Type tensorType);
/// 8-bit storage.
bool isByte(mlir::RankedTensorType type);
bool isSigned(mlir::RankedTensorType quantized);

/// A key that tells a constant from every other in the module.
std::string getConstantKey(nn::ConstantOp constant);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_BUFFERS_H
