//===- Quote.h - names from files, as people are shown them -----*- C++ -*-===//
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

/// Text of foreign origin on one line that moves no cursor: characters that are not printable, `"`
/// and `\` are escaped, the middle of a long text is left out. For messages and progress only; IR,
/// reports and libraries hold the exact text.
std::string escapeText(llvm::StringRef text);

/// The same in double quotes: how messages show names.
std::string quote(llvm::StringRef name);

} // namespace octet

#endif // OCTET_SUPPORT_QUOTE_H
