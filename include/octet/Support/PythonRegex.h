//===- PythonRegex.h - regular expressions as Python writes them -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_PYTHONREGEX_H
#define OCTET_SUPPORT_PYTHONREGEX_H

#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"

namespace octet {

/// A matcher for an expression in the syntax of Python's `re`, which matches as `re.match` does:
/// from the first character on, not necessarily to the last. `\d`, `\w` and `\s` mean ASCII
/// characters. An error for an expression that Python refuses, or that only a backtracking matcher
/// decides: look-around, references to groups, `\b`, flags, conditions, possessive quantifiers.
llvm::Expected<llvm::Regex> compilePythonRegex(llvm::StringRef expression);

} // namespace octet

#endif // OCTET_SUPPORT_PYTHONREGEX_H
