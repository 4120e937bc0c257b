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

/// What octet-convert puts in the place of observers.
enum class ConvertForm { Quantized, FakeQuantize };

#define GEN_PASS_DECL
#include "octet/Quantize/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "octet/Quantize/Passes.h.inc"

/// Whether a network has quantized values already, or ranges that were trained; `byWeights`: or
/// only weights in few bits.
bool isQuantizedNetwork(mlir::ModuleOp module, bool byWeights = true);
/// Whether it has ranges that were trained (octet.fake_quantize).
bool hasTrainedRanges(mlir::ModuleOp module);

/// The report's row of an operator or a group, from its `octet.decision`: name, operator, location
/// (of IR from a file), verdict, macs, pattern, code, reason, remedy, refused, note.
llvm::json::Object describeDecision(mlir::Operation *op);

/// The report's rows of a module behind octet-prepare.
llvm::json::Array describeDecisions(mlir::ModuleOp module);

} // namespace octet

#endif // OCTET_QUANTIZE_PASSES_H
