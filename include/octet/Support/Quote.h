//===- Quote.h - names from files in messages -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_QUOTE_H
#define OCTET_SUPPORT_QUOTE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace octet {

/// Untrusted text on one line without control characters: characters that are not printable, `"`
/// and `\` are escaped, and the middle of a long text is omitted. For text that people read; IR,
/// reports as JSON and libraries hold the exact text.
std::string escapeText(llvm::StringRef text);

/// The same in double quotes: how messages show names.
std::string quote(llvm::StringRef name);

} // namespace octet

#endif // OCTET_SUPPORT_QUOTE_H
