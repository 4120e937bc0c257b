//===- Passes.h - passes from the integer program to machine code -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_CODEGEN_PASSES_H
#define OCTET_CODEGEN_PASSES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "octet/Codegen/Levels.h"
#include "octet/Dialect/Kernel/Kernel.h"
#include "octet/Dialect/NN/NN.h"

namespace octet {

#define GEN_PASS_DECL
#include "octet/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "octet/Codegen/Passes.h.inc"

/// Whether code can be laid out for `network`: it has a body, and all its values are ranked tensors
/// of static shape. Emits an error if not.
llvm::LogicalResult verifyNetwork(mlir::func::FuncOp network);

/// Marks a kernel function that may become one with others of its structure.
inline constexpr llvm::StringLiteral kMergeableAttr = "kernel.mergeable";

/// Adds the passes from kernels (after octet-emit-program) to the LLVM dialect.
void buildLevelPipeline(mlir::OpPassManager &pm);

} // namespace octet

#endif // OCTET_CODEGEN_PASSES_H
