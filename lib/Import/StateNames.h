//===- StateNames.h - states told by their names ----------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_STATENAMES_H
#define OCTET_LIB_IMPORT_STATENAMES_H

#include "llvm/ADT/StringRef.h"

namespace octet {

/// Whether an input and an output are called as the two ends of one state are: h and hn, state and
/// stateN, h_in and h_out, past and present, cache and new_cache.
bool areNamesOfState(llvm::StringRef input, llvm::StringRef output);

} // namespace octet

#endif // OCTET_LIB_IMPORT_STATENAMES_H
