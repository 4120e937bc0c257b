//===- Outline.h - kernel functions told apart by their code ----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_OUTLINE_H
#define OCTET_LIB_CODEGEN_OUTLINE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace octet::codegen {

/// A kernel function as its structure and its bounds. Bounds are the values of index constants that
/// fit 32 bits, which a step may give as arguments.
struct Outline {
  explicit Outline(mlir::func::FuncOp func);

  /// Everything about the operations but bounds and the extents of memory arguments: equal in
  /// functions that differ in these only.
  std::vector<const void *> structure;
  llvm::SmallVector<mlir::arith::ConstantOp> bounds;
};

/// Everything about a function but its name: equal in functions of the same code. Valid as long as
/// the context.
std::vector<const void *> getCodeKey(mlir::func::FuncOp func);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_OUTLINE_H
