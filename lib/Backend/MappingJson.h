//===- MappingJson.h - QConfig mappings in PyTorch's dictionary form -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_BACKEND_MAPPINGJSON_H
#define OCTET_LIB_BACKEND_MAPPINGJSON_H

#include "octet/Backend/Backend.h"

namespace octet {

/// Whether a file of a policy is JSON rather than IR.
bool isJson(llvm::StringRef text);

/// A module with the mapping of a JSON text; null, with an error emitted at `file`, if it is none.
mlir::OwningOpRef<mlir::ModuleOp> parseJsonMapping(llvm::StringRef text, mlir::MLIRContext *context,
                                                   llvm::StringRef file);

} // namespace octet

#endif // OCTET_LIB_BACKEND_MAPPINGJSON_H
