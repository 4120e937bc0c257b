//===- Files.h - files written whole or not at all --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_FILES_H
#define OCTET_SUPPORT_FILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace octet {

/// Writes a file whole or not at all: to a new name beside it, then renamed. The error names the file.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::ArrayRef<char> contents);

} // namespace octet

#endif // OCTET_SUPPORT_FILES_H
