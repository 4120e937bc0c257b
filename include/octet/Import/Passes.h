//===- Passes.h - tidying up imported networks ------------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_IMPORT_PASSES_H
#define OCTET_IMPORT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "octet/Dialect/NN/NN.h"

namespace octet {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "octet/Import/Passes.h.inc"

/// The passes from nn to nn that every imported network goes through, whatever its source.
void buildTidyPipeline(mlir::OpPassManager &pm);
/// The same for a network whose operators a policy observes one by one: all of them stay.
void buildOperatorTidyPipeline(mlir::OpPassManager &pm);

/// Registers it as `octet-tidy`.
void registerTidyPipeline();

} // namespace octet

#endif // OCTET_IMPORT_PASSES_H
