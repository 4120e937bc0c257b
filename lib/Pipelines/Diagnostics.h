//===- Diagnostics.h - diagnostics as text ----------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_DIAGNOSTICS_H
#define OCTET_LIB_PIPELINES_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Error.h"
#include <mutex>

namespace octet {

/// Collects what is emitted on a context while it lives; remarks are dropped.
class DiagnosticText {
public:
  /// `file` is where diagnostics without a place of their own are said to be.
  DiagnosticText(mlir::MLIRContext *context, llvm::StringRef file);

  /// The collected errors, with `error`'s text behind them unless it only says that a stage failed.
  llvm::Error takeError(llvm::Error error);
  std::string warnings;

private:
  std::string file, errors;
  std::mutex mutex;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_DIAGNOSTICS_H
