//===- Diagnostics.h - diagnostics of a compilation --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_DIAGNOSTICS_H
#define OCTET_LIB_PIPELINES_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "octet/Support/Message.h"
#include <mutex>

namespace octet {

/// Collects what is emitted on a context while it lives; remarks are dropped.
class DiagnosticCollector {
public:
  /// `file` is where diagnostics without a place of their own are said to be.
  DiagnosticCollector(mlir::MLIRContext *context, llvm::StringRef file);

  /// The collected errors; if there are none, `error`, which then says more than that a stage
  /// failed.
  llvm::Error takeError(llvm::Error error);
  std::vector<Message> warnings;

private:
  std::string file;
  std::vector<Message> errors;
  std::mutex mutex;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_DIAGNOSTICS_H
