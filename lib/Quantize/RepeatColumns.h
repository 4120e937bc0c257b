//===- RepeatColumns.h - copies of columns and of weights -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_REPEATCOLUMNS_H
#define OCTET_LIB_QUANTIZE_REPEATCOLUMNS_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace octet {

/// Sets an operand to a value of another shape; a group's argument follows.
void setOperand(mlir::OpOperand &operand, mlir::Value value);

/// What constants became whose dimension has got the same further indices, by dimension: layers
/// that share weights go on sharing them.
using RepeatedConstants = llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value>;

/// Puts copies of some indices of dimension `axis` behind those of a constant, which may be
/// observed.
void repeatConstant(mlir::OpOperand &operand, int64_t axis, llvm::ArrayRef<int64_t> indices,
                    RepeatedConstants &known);

/// `value` with copies of some of its columns behind it. A linear layer all of whose readers
/// are known to take the wide result computes them with copies of its weights; else they are
/// gathered.
mlir::Value repeatColumns(mlir::OpBuilder &builder, mlir::Value value,
                          llvm::ArrayRef<int64_t> columns, RepeatedConstants &known,
                          llvm::function_ref<bool(mlir::OpOperand &)> isKnown);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_REPEATCOLUMNS_H
