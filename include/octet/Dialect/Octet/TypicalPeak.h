//===- TypicalPeak.h - how large a value is in most runs --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_TYPICALPEAK_H
#define OCTET_DIALECT_OCTET_TYPICALPEAK_H

#include "octet/Dialect/Octet/Octet.h"

namespace octet {

/// [N.stat.peak] What the largest magnitude of half of the runs does not exceed; 0 where that is
/// not known.
float getTypicalPeak(MeanSquaredErrorObserverAttr observer, llvm::ArrayRef<char> state);

} // namespace octet

#endif // OCTET_DIALECT_OCTET_TYPICALPEAK_H
