//===- SignBytes.h - unsigned activations as signed ones --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_SIGNBYTES_H
#define OCTET_LIB_CODEGEN_SIGNBYTES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace octet::codegen {

/// Unsigned 8-bit values inside a network become signed ones, which stand for the same real
/// numbers. Inputs and outputs stay as they are.
void signBytes(mlir::func::FuncOp network);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_SIGNBYTES_H
