//===- Diagnostics.h - messages about a network file ------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_DIAGNOSTICS_H
#define OCTET_SUPPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

namespace octet {

/// Prints diagnostics the way people read them, as long as it lives: `file: error: node "conv1": message`, notes
/// indented behind it. The node is the name of the diagnostic's location, if it has one.
class FileDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  FileDiagnosticHandler(mlir::MLIRContext *context, llvm::StringRef file, llvm::raw_ostream &os = llvm::errs());
};

} // namespace octet

#endif // OCTET_SUPPORT_DIAGNOSTICS_H
