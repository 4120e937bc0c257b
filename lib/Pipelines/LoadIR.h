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
#include "octet/Pipelines/Stages.h"

namespace octet {

/// Finds out which stage a network that was read has passed, and what was done so far if that is
/// noted.
llvm::Error takeUp(mlir::ModuleOp module, Stage &passed, Report &report);

/// Whether a compilation that stopped behind some stage wrote the network.
bool isTidied(mlir::ModuleOp module);

/// Notes on a module which stage it has passed.
void markStage(mlir::ModuleOp module, Stage passed);
/// Notes on a module what was done so far.
void markReport(mlir::ModuleOp module, const Report &report);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_LOADIR_H
