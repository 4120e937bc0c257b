//===- PolicyErrors.h - one message about a policy's text -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_BACKEND_POLICYERRORS_H
#define OCTET_LIB_BACKEND_POLICYERRORS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace octet {

/// Runs `parse` over the text of a policy. Of the errors that the parser emits for one mistake,
/// each level of the grammar its own, the first is passed on, with a remedy where there is one.
mlir::OwningOpRef<mlir::ModuleOp>
parsePolicy(mlir::MLIRContext *context, llvm::StringRef text,
            llvm::function_ref<mlir::OwningOpRef<mlir::ModuleOp>()> parse);

} // namespace octet

#endif // OCTET_LIB_BACKEND_POLICYERRORS_H
