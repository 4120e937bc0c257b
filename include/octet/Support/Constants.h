//===- Constants.h - constants of any dialect -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_CONSTANTS_H
#define OCTET_SUPPORT_CONSTANTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

/// Constants are read through their folders and written through their dialect's
/// `materializeConstant`: `nn.constant`, `arith.constant` and `tosa.const` are alike here.
namespace octet {

/// A unit, on an argument of a function, on an operator, or on a symbol that operators name: the
/// values are weights, which are the same in every run, although no constant holds them.
inline constexpr llvm::StringLiteral kWeightAttr = "octet.weight";

/// Whether `value` is marked as a weight.
bool isMarkedWeight(mlir::Value value);

/// The integer or float type that a tensor of `type` (quantized or not) is stored as; signless.
mlir::Type getStorageElementType(mlir::Type elementType);

/// The elements of the constant that `value` is, or of the operator or symbol that is marked as a
/// weight and holds an attribute of its type; else null.
mlir::ElementsAttr getConstantElements(mlir::Value value);

/// The resource name of a constant's elements, or "constant" if they are held inline.
llvm::StringRef getConstantName(mlir::ElementsAttr elements);

/// The elements as a copy of type T (float, int8_t, int16_t, int32_t, int64_t; splats are
/// expanded), or failure if they are null or of another storage type, or their resource is missing.
template <typename T>
llvm::FailureOr<llvm::SmallVector<T, 0>> getConstantValues(mlir::ElementsAttr elements);
template <typename T>
llvm::FailureOr<llvm::SmallVector<T, 0>> getConstantValues(mlir::Value value) {
  return getConstantValues<T>(getConstantElements(value));
}

/// Raw little-endian bytes (copied) as elements of the storage type of `type`: a resource named
/// `name`.
mlir::ElementsAttr makeElements(llvm::StringRef name, mlir::RankedTensorType type,
                                llvm::ArrayRef<char> bytes);

/// Makes a constant of `type`, in the dialect of the constant `like`. Where that has no constants
/// of quantized types, the constant holds storage values, which a `quant.scast` sees as quantized.
/// Null if the dialect makes no constants.
mlir::Value createConstantLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like,
                               mlir::RankedTensorType type, mlir::ElementsAttr elements);

template <typename T>
mlir::Value createConstantLike(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like,
                               llvm::StringRef name, mlir::RankedTensorType type,
                               llvm::ArrayRef<T> values) {
  llvm::ArrayRef<char> bytes(reinterpret_cast<const char *>(values.data()),
                             values.size() * sizeof(T));
  return createConstantLike(builder, loc, like, type, makeElements(name, type, bytes));
}

} // namespace octet

#endif // OCTET_SUPPORT_CONSTANTS_H
