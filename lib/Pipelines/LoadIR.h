//===- LoadIR.h - networks that a compilation stopped at --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_LOADIR_H
#define OCTET_LIB_PIPELINES_LOADIR_H

#include "Report.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "octet/Pipelines/Compile.h"

namespace octet {

/// Reads a network as text or bytecode, which stage it has passed, and what was done so far if that is noted.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> loadIR(llvm::StringRef path, mlir::MLIRContext &context, Stage &passed,
                                                         Report &report);

/// Notes on a module which stage it has passed.
void markStage(mlir::ModuleOp module, Stage passed);
/// Notes on a module what was done so far.
void markReport(mlir::ModuleOp module, const Report &report);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_LOADIR_H
