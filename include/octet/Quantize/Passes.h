//===- Passes.h - from the float network to the reference model -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_QUANTIZE_PASSES_H
#define OCTET_QUANTIZE_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/Support/JSON.h"

namespace octet {

#define GEN_PASS_DECL
#include "octet/Quantize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "octet/Quantize/Passes.h.inc"

/// The verdicts that octet-explain prints, as an array of objects: name, operator, location, verdict, macs, pattern, code,
/// reason, remedy. Fails, with an error emitted, if backend or mapping cannot be read.
mlir::FailureOr<llvm::json::Array> explain(mlir::ModuleOp module, llvm::StringRef backend, llvm::StringRef qconfigMapping,
                                           bool quantizedOutputs = false);

} // namespace octet

#endif // OCTET_QUANTIZE_PASSES_H
