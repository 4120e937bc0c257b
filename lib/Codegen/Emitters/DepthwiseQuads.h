//===- DepthwiseQuads.h - four input rows, interleaved ----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_DEPTHWISEQUADS_H
#define OCTET_LIB_CODEGEN_EMITTERS_DEPTHWISEQUADS_H

#include "../Products/Products.h"
#include "DepthwiseShape.h"

namespace octet::codegen {

/// Bytes of four input rows are interleaved into quads, so that one dot product takes four kernel
/// rows of sixteen channels.
class DepthwiseQuads {
public:
  DepthwiseQuads(const DepthwiseShape &shape, const TileProducts &products)
      : shape(shape), products(products) {}

  /// Quads of all input rows of a strip at one column: [quad][vector][part].
  llvm::SmallVector<mlir::Value> loadColumn(KernelBuilder &b, mlir::Value input,
                                            mlir::Value base) const;
  /// Adds the products of one column's quads to the sums of all output rows; `at` is where the
  /// first of these has the column's weights.
  void addProducts(KernelBuilder &b, mlir::Value weights, llvm::MutableArrayRef<mlir::Value> sums,
                   llvm::ArrayRef<mlir::Value> column, mlir::Value at) const;

  int64_t columnQuads() const { return shape.quads() * shape.vectors(); }
  int64_t valuesPerColumn() const {
    int64_t last = shape.quads() - 1;
    return shape.vectors() * (last * products.parts() + usedParts(last));
  }
  // Of weights as the kernel reads them.
  int64_t bytesPerColumn() const { return columnQuads() * products.weightSize(); }
  int64_t bytesPerRow() const { return shape.kernelColumns * bytesPerColumn(); }

private:
  /// Of one or two rows only, those at even places, the first part is enough.
  int64_t usedParts(int64_t quad) const {
    return shape.inputRows() - 4 * quad <= 2 ? 1 : products.parts();
  }
  mlir::Value loadBytes(KernelBuilder &b, mlir::Value input, mlir::Value at) const;
  llvm::SmallVector<mlir::Value> interleave(KernelBuilder &b,
                                            llvm::ArrayRef<mlir::Value> rows) const;

  const DepthwiseShape &shape;
  const TileProducts &products;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_DEPTHWISEQUADS_H
