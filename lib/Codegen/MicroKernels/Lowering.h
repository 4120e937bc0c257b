//===- Lowering.h - micro-kernel ops to instructions ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_MICROKERNELS_LOWERING_H
#define OCTET_LIB_CODEGEN_MICROKERNELS_LOWERING_H

#include "../KernelBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace octet::codegen {

/// The lowerings of every level: broadcasts, rounding, and plain forms of dot products and packs.
void populateGenericLowering(mlir::RewritePatternSet &patterns);
/// x86 instructions; `level` picks the register width. Preferred to the generic forms.
void populateX86Lowering(mlir::RewritePatternSet &patterns, const CpuLevel &level);
/// AArch64 instructions.
void populateAArch64Lowering(mlir::RewritePatternSet &patterns, const CpuLevel &level);
/// math.fma where no instruction does it: exact, by rounding to odd in f64.
void populateFmaEmulation(mlir::RewritePatternSet &patterns);
/// Lets all math.fma on a scalar call one function, and all on sixteen lanes another: their
/// emulation is some hundred bytes long, and kernels have many.
void outlineFma(mlir::ModuleOp module);

/// Calls an LLVM intrinsic of one result.
mlir::Value callIntrinsic(mlir::OpBuilder &b, mlir::Location loc, llvm::StringRef name,
                          mlir::Type result, mlir::ValueRange operands);
/// Elements [offset, offset + size) of a vector.
mlir::Value sliceVector(mlir::OpBuilder &b, mlir::Location loc, mlir::Value vector, int64_t offset,
                        int64_t size);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_MICROKERNELS_LOWERING_H
