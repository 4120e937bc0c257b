//===- QuantizedSource.h - networks that a source quantized -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_QUANTIZEDSOURCE_H
#define OCTET_DIALECT_OCTET_QUANTIZEDSOURCE_H

#include "llvm/ADT/StringRef.h"

namespace octet {

/// A unit, on a module: no stage has passed, and what is quantized is so in the network's source.
/// Without it, quantize and dequantize ops are those of a reference model that was begun here.
inline constexpr llvm::StringLiteral kQuantizedSourceAttr = "octet.quantized_source";

} // namespace octet

#endif // OCTET_DIALECT_OCTET_QUANTIZEDSOURCE_H
