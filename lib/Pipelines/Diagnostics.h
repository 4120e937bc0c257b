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

/// Collects the errors and warnings of a context during its lifetime.
class DiagnosticCollector {
public:
  /// `file` is the place of diagnostics without a location.
  DiagnosticCollector(mlir::MLIRContext *context, llvm::StringRef file);

  /// The collected errors, or `error` if there are none.
  llvm::Error takeError(llvm::Error error);
  std::vector<Message> warnings; ///< each text and place once
  std::string bucket;            ///< the one that errors are about, if there are several

private:
  void addWarning(Message message);

  std::string file;
  std::vector<Message> errors;
  std::mutex mutex;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_DIAGNOSTICS_H
