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

/// For a diagnostic: its stable code, printed as `[OCT307]`, and a field that programs read.
struct Code {
  llvm::StringRef text;
};
mlir::Diagnostic &operator<<(mlir::Diagnostic &diagnostic, const Code &code);

/// For the end of a diagnostic: the change by the user that cures it, printed behind a semicolon
/// unless it is empty, and a field that programs read.
struct Remedy {
  explicit Remedy(const llvm::Twine &text) : text(text.str()) {}
  std::string text;
};
mlir::Diagnostic &operator<<(mlir::Diagnostic &diagnostic, const Remedy &remedy);

/// For the end of a diagnostic: the text of an error, with the remedy as a field if it has one.
struct Cause {
  explicit Cause(llvm::Error error) : messages(takeMessages(std::move(error), "")) {}
  std::vector<Message> messages;
};
mlir::Diagnostic &operator<<(mlir::Diagnostic &diagnostic, const Cause &cause);

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
