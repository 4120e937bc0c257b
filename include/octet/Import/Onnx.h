//===- Onnx.h - networks from ONNX files ------------------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_IMPORT_ONNX_H
#define OCTET_IMPORT_ONNX_H

#include "octet/Import/Import.h"

namespace octet {

/// Imports a network into one `func.func @main` of nn ops, without the rewrites of `octet-tidy`.
/// Errors go to the context's diagnostic handlers, located at their node or at the file `name`; the
/// result is then null. `folder` holds external data (none if empty).
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(mlir::MLIRContext *context, llvm::StringRef bytes,
                                             llvm::StringRef name, llvm::StringRef folder,
                                             const ImportOptions &options);

/// Prints the table of ONNX operators that can be imported, with their attributes.
void listOnnxOperators(llvm::raw_ostream &os);

} // namespace octet

#endif // OCTET_IMPORT_ONNX_H
