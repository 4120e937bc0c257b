//===- Lanes.h - products with a lane of a register -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_PRODUCTS_LANES_H
#define OCTET_LIB_CODEGEN_PRODUCTS_LANES_H

#include "Products.h"

namespace octet::codegen {

/// For levels that multiply signed bytes, four of them by the same four of any lane. Input is
/// unsigned in memory: with the top bit flipped it is less by 128 and signed.
struct LaneProducts : TileProducts {
  int64_t inputs() const override { return 4; }
  int64_t partSize() const override { return 64; }
  int64_t inputShift() const override { return -128; }
  const TileProducts &forDense(const DenseWork &work) const override;
  const TileProducts &forValues() const override { return *getByteProducts(); }
  bool keepsInput(int64_t /*inputVectors*/) const override { return true; }
  int64_t stepsPerLoad() const override { return 4; }
  /// 32 registers: 4 * 5 sums, 5 of input, 4 of weights and what flips.
  /// Weights of the next panel lie too far from those of the first for loads of pairs.
  TileCosts getTileCosts() const override { return {/*mostVectors=*/5, /*nextPanel=*/1.2}; }

  llvm::SmallVector<mlir::Value> split(KernelBuilder &b, mlir::Value input) const override;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> broadcastSteps(KernelBuilder &b,
                                                                   mlir::Value memory,
                                                                   mlir::Value at,
                                                                   int64_t steps) const override;
  mlir::Value multiplyAdd(KernelBuilder &b, mlir::Value sum, mlir::Value input,
                          mlir::Value weights) const override;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_PRODUCTS_LANES_H
