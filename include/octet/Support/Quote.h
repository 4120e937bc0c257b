//===- Quote.h - names from files in messages -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_QUOTE_H
#define OCTET_SUPPORT_QUOTE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace octet {

/// Untrusted text on one line without control characters: characters that are not printable, `"`
/// and `\` are escaped, and the middle of a long text is omitted. For text that people read; IR,
/// reports as JSON and libraries hold the exact text.
std::string escapeText(llvm::StringRef text);

/// The same of a sentence that quotes names itself: quotes and backslashes stay, nothing is
/// omitted.
std::string escapeSentence(llvm::StringRef text);

/// The first one's text in double quotes: how messages show names.
std::string quote(llvm::StringRef name);

/// The remedy that names up to three of `names` near `wrong`, or "".
std::string suggestNames(llvm::StringRef wrong, llvm::ArrayRef<std::string> names);

} // namespace octet

#endif // OCTET_SUPPORT_QUOTE_H
