//===- Diagnostics.cpp - messages about a network file ------------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace octet;

static llvm::StringRef printSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
  llvm_unreachable("all severities are listed");
}

FileDiagnosticHandler::FileDiagnosticHandler(MLIRContext *context, llvm::StringRef file, llvm::raw_ostream &os)
    : ScopedDiagnosticHandler(context) {
  setHandler([file = file.str(), &os](Diagnostic &diagnostic) {
    os << file << ": " << printSeverity(diagnostic.getSeverity()) << ": ";
    if (auto node = dyn_cast<NameLoc>(diagnostic.getLocation()))
      os << "node \"" << node.getName().getValue() << "\": ";
    os << diagnostic << "\n";
    for (Diagnostic &note : diagnostic.getNotes())
      os << "  note: " << note << "\n";
    os.flush();
  });
}
