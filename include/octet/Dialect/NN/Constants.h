//===- Constants.h - reading and making nn.constant -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_CONSTANTS_H
#define OCTET_DIALECT_NN_CONSTANTS_H

#include "octet/Dialect/NN/NN.h"
#include "octet/Support/Constants.h"
#include <optional>

namespace octet::nn {

using octet::getStorageElementType;

/// Makes a constant of `type` from raw little-endian bytes (copied), as a resource named `name`.
ConstantOp createConstant(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                          mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);

template <typename T>
ConstantOp createConstant(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                          mlir::RankedTensorType type, llvm::ArrayRef<T> values) {
  return createConstant(builder, loc, name, type,
                        llvm::ArrayRef<char>(reinterpret_cast<const char *>(values.data()),
                                             values.size() * sizeof(T)));
}

/// The resource name of a constant, or "constant" if it is held inline.
llvm::StringRef getConstantName(ConstantOp op);

/// The raw little-endian bytes of a constant (splats are expanded); empty if its resource is
/// missing.
std::vector<char> getConstantBytes(ConstantOp op);

/// The elements of an `nn.constant` as octet::getConstantValues gives those of any constant.
template <typename T>
llvm::FailureOr<llvm::SmallVector<T, 0>> getConstantValues(mlir::Value value) {
  auto op = value.getDefiningOp<ConstantOp>();
  return octet::getConstantValues<T>(op ? op.getValue() : mlir::ElementsAttr());
}

/// The only element of a constant of f32, or nothing.
std::optional<float> getNumber(mlir::Value value);

} // namespace octet::nn

#endif // OCTET_DIALECT_NN_CONSTANTS_H
