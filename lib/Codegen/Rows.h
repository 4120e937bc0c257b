//===- Rows.h - operators that work row by row ------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_ROWS_H
#define OCTET_LIB_CODEGEN_ROWS_H

#include "octet/Dialect/Octet/Octet.h"

namespace octet::codegen {

/// Whether `op` is a mean, sum or extreme of each row, the elements of the last dimension, whose
/// place one element takes.
bool reducesRows(mlir::Operation *op);

/// The shape of what there is one of for each row.
llvm::SmallVector<int64_t> getShapeOfRows(llvm::ArrayRef<int64_t> shape);

/// Whether rows of a softmax are vectors, and the numbers and exponentials of one fit on the stack.
bool isSoftmaxOfRows(nn::SoftmaxOp op);

/// Whether octet-fuse-rows made the group: reductions of rows among element-wise operators.
bool isRowGroup(GroupOp group);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_ROWS_H
