//===- Images.h - values that lie as images -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_IMAGES_H
#define OCTET_LIB_CODEGEN_IMAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace octet::codegen {

/// Whether kernels of `op`, plain or fused, read and write NHWC only.
bool wantsImages(mlir::Operation *op);

/// Whether kernels of `op`, plain or fused, walk over dense rows.
bool wantsRows(mlir::Operation *op);

/// The values of rank 4 that a kernel of images reads or writes, or that operators without a layout
/// of their own, such as sums and slices, compute from these or into these. All others, such as the
/// heads of attention, stay dense.
llvm::DenseSet<mlir::Value> findImages(mlir::func::FuncOp func);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_IMAGES_H
