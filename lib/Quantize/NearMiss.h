//===- NearMiss.h - why no pattern matches an operator ----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_NEARMISS_H
#define OCTET_LIB_QUANTIZE_NEARMISS_H

#include "octet/Quantize/Plan.h"

namespace octet {

/// Why the nearest pattern or fold with an operator of this name does not match `op`, or between
/// which operators of a pattern `op` stands; nothing if there is no such pattern.
std::optional<Reason> explainNearMiss(mlir::Operation *op, const Backend &backend);

/// The longer pattern that would take `op`, which runs quantized without it, if nothing but
/// operators of the pattern read the result.
std::optional<Reason> findLongerPattern(mlir::Operation *op, const Backend &backend);

/// The `octet.fold` of a built-in backend, as text on one line, that puts `op` into the weights in
/// front of it, and its backend's name; empty texts if there is none. (BuiltinFolds.cpp)
struct BuiltinFold {
  std::string text, backend;
};
BuiltinFold findBuiltinFold(mlir::Operation *op);

/// `nn.relu "act1"`.
std::string describeOperator(mlir::Operation *op);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_NEARMISS_H
