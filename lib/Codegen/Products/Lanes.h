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

/// For levels that multiply signed bytes, four of them by the same four of any lane.
struct LaneProducts : TileProducts {
  int64_t inputs() const override { return 4; }
  int64_t partSize() const override { return 64; }
  bool takesSigned() const override { return true; }
  const TileProducts &forDense(const DenseWork &work) const override;
  const TileProducts &forValues() const override { return getSignedProducts(); }
  bool keepsInput(int64_t /*inputVectors*/) const override { return true; }
  int64_t stepsPerLoad() const override { return 4; }
  /// 32 registers: 4 * 5 sums, 5 of input and 4 of weights.
  /// Weights of the next panel lie too far from those of the first for loads of pairs.
  TileCosts getTileCosts() const override { return {/*mostVectors=*/5, /*nextPanel=*/1.2}; }

  llvm::SmallVector<llvm::SmallVector<mlir::Value>> broadcastSteps(KernelBuilder &b,
                                                                   mlir::Value memory,
                                                                   mlir::Value at,
                                                                   int64_t steps) const override;
  mlir::Value multiplyAdd(KernelBuilder &b, mlir::Value sum, mlir::Value input,
                          mlir::Value weights) const override;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_PRODUCTS_LANES_H
