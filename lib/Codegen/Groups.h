//===- Groups.h - operators that become one step ----------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_GROUPS_H
#define OCTET_LIB_CODEGEN_GROUPS_H

#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/SetVector.h"

namespace octet::codegen {

/// Whether kernels compute `op` element by element where its result is read.
bool isElementwisePart(mlir::Operation *op);

/// A product in integers whose real results an epilogue may read.
bool isRealProduct(mlir::Operation *op);

/// A convolution by constant weights whose results are floats, of floats or integers.
bool isConvToFloat(mlir::Operation *op);

/// What the parts read of others, in their order.
llvm::SetVector<mlir::Value> getInputs(llvm::ArrayRef<mlir::Operation *> parts);

/// Moves the parts, in whatever order, into a group in the place of the last of them, whose result
/// the group has; a quantize there is what the group's type says. `scratch`: further operands.
GroupOp moveIntoGroup(llvm::ArrayRef<mlir::Operation *> parts, mlir::ValueRange scratch = {});

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_GROUPS_H
