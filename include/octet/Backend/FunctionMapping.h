//===- FunctionMapping.h - mappings that functions have ---------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_BACKEND_FUNCTIONMAPPING_H
#define OCTET_BACKEND_FUNCTIONMAPPING_H

#include "mlir/IR/BuiltinOps.h"

namespace octet {

/// Adds the mapping of a text in PyTorch's dictionary form to the module, as the function's own.
/// Its name is the function's with `.mapping` behind it. Fails, with an error emitted, if it is
/// none.
llvm::LogicalResult addMappingOfFunction(mlir::ModuleOp module, mlir::Operation *function,
                                         llvm::StringRef text);

} // namespace octet

#endif // OCTET_BACKEND_FUNCTIONMAPPING_H
