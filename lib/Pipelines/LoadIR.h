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

/// Determines the last stage that a network passed, and reads its report, if it has one.
llvm::Error takeUp(mlir::ModuleOp module, Stage &passed, Report &report);

/// Whether the network was written by a compilation that stopped behind a stage.
bool isTidied(mlir::ModuleOp module);

/// Makes the states of a network that --state names.
llvm::LogicalResult keepStates(mlir::ModuleOp module, llvm::ArrayRef<std::string> states);

/// Writes bytecode with all weights, the last stage passed and the report, and text without
/// weights.
llvm::Error writeIR(mlir::ModuleOp module, Stage passed, const Report &report,
                    llvm::SmallVectorImpl<char> &bytecode, std::string &text);

/// Writes a reference model as an ONNX file.
llvm::Error writeOnnx(mlir::ModuleOp module, llvm::SmallVectorImpl<char> &bytes);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_LOADIR_H
