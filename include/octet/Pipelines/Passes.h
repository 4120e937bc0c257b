//===- Passes.h - passes that run the network -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_PASSES_H
#define OCTET_PIPELINES_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"

namespace octet {

#define GEN_PASS_DECL
#include "octet/Pipelines/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "octet/Pipelines/Passes.h.inc"

} // namespace octet

#endif // OCTET_PIPELINES_PASSES_H
