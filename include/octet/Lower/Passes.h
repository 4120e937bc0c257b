//===- Passes.h - from the reference model to the integer program -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LOWER_PASSES_H
#define OCTET_LOWER_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"

namespace octet {

/// Why an operator stays float between dequantize and quantize (Reasons.def).
struct FloatReason {
  llvm::StringLiteral code;
  bool isRefusal; ///< the operator was quantized to run in int8
  llvm::StringLiteral why, remedy;
};
llvm::ArrayRef<FloatReason> getFloatReasons();

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "octet/Lower/Passes.h.inc"

} // namespace octet

#endif // OCTET_LOWER_PASSES_H
