//===- Diagnostics.h - diagnostics as messages -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_DIAGNOSTICS_H
#define OCTET_SUPPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "octet/Support/Message.h"
#include "llvm/Support/raw_ostream.h"

namespace octet {

/// A diagnostic as a message; `file` is where those without a place of their own are said to be.
Message toMessage(mlir::Diagnostic &diagnostic, llvm::StringRef file);

/// Gives a diagnostic a stable code, and says which end of its text is the remedy; programs read
/// both.
void annotate(mlir::InFlightDiagnostic &diagnostic, llvm::StringRef code,
              llvm::StringRef remedy = "");

/// Emits the messages of an error as diagnostics that hold all fields.
void emitMessages(mlir::Location loc, llvm::Error error);

/// Prints diagnostics as text as long as it lives.
class FileDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  FileDiagnosticHandler(mlir::MLIRContext *context, llvm::StringRef file,
                        llvm::raw_ostream &os = llvm::errs());
};

} // namespace octet

#endif // OCTET_SUPPORT_DIAGNOSTICS_H
