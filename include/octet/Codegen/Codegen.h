//===- Codegen.h - passes from the integer program to machine code -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_CODEGEN_CODEGEN_H
#define OCTET_CODEGEN_CODEGEN_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "octet/Dialect/Kernel/Kernel.h"
#include "octet/Dialect/NN/NN.h"

namespace octet {

#define GEN_PASS_DECL
#include "octet/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "octet/Codegen/Passes.h.inc"

/// A CPU level: a row of octet/Runtime/Levels.def.
struct CpuLevel {
  llvm::StringRef name;
  llvm::StringRef arch;     ///< "x86_64", "aarch64" or "any"
  llvm::StringRef features; ///< comma-separated, each with its sign
  int64_t accumulators;     ///< dot-product accumulators of sixteen lanes that fit in registers
  bool isScalar;            ///< the reference path: scalar loops only
  bool hasFma;              ///< fused multiply-add is an instruction
  bool mergesKernels;       ///< also kernels of products become one where they differ in bounds only
  bool multipliesWords;     ///< products of bytes are made of 16-bit words: weights prepared for it are such words
};

/// All levels, best first within each architecture.
llvm::ArrayRef<CpuLevel> getCpuLevels();
/// The level of this name, or null.
const CpuLevel *lookupCpuLevel(llvm::StringRef name);

/// Whether code can be laid out for `network`: it has a body, and all its values are ranked tensors of static shape. Emits
/// an error if not.
llvm::LogicalResult verifyNetwork(mlir::func::FuncOp network);

/// Marks a kernel function that may become one with others of its structure.
inline constexpr llvm::StringLiteral kMergeableAttr = "kernel.mergeable";

/// Adds the passes from kernels (after octet-emit-program) to the LLVM dialect.
void buildLevelPipeline(mlir::OpPassManager &pm);
/// Adds the passes from the integer program to one LLVM-dialect module per level.
void buildCodegenPipeline(mlir::OpPassManager &pm, llvm::ArrayRef<std::string> levels);

} // namespace octet

#endif // OCTET_CODEGEN_CODEGEN_H
