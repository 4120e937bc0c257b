//===- Names.h - the source name of an operator -----------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_NAMES_H
#define OCTET_DIALECT_OCTET_NAMES_H

#include "mlir/IR/Location.h"

namespace octet {

/// The name of the first NameLoc in `loc`, or "".
llvm::StringRef getSourceName(mlir::Location loc);

} // namespace octet

#endif // OCTET_DIALECT_OCTET_NAMES_H
