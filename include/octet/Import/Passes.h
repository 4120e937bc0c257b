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

/// The passes from nn to nn that every imported network goes through, whatever its source; only
/// those that leave its operators as they are where a policy is about these.
void buildTidyPipeline(mlir::OpPassManager &pm, bool keepsOperators = false);

/// Registers it as `octet-tidy`.
void registerTidyPipeline();

} // namespace octet

#endif // OCTET_IMPORT_PASSES_H
