//===- MatmulPanels.h - how products of two quantized values multiply -----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sixteen columns of the right operand are packed as the weights of a dense layer lie, and rows of
// the left operand are multiplied by them. With b' = b - offset, which is a signed byte (offset is
// 128 for unsigned b, else 0), a sum over k of (a - za) * (b - zb) is
//   a . b'  -  za * (sum of b')  +  (offset - zb) * (sum of a - K * za):
// the second part is of a column, the third of a row.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_MATMULPANELS_H
#define OCTET_LIB_CODEGEN_EMITTERS_MATMULPANELS_H

#include "../Products/Products.h"
#include "llvm/Support/MathExtras.h"

namespace octet::codegen {

class MatmulPanels {
public:
  /// Of rows and columns of `depth` elements.
  MatmulPanels(const CpuLevel &level, int64_t depth)
      : products(level.products->forValues()), depth(depth) {}

  int64_t steps() const { return llvm::divideCeil(depth, products.inputs()); }
  int64_t panelBytes() const { return steps() * products.weightSize(); }

  /// Writes the columns, whose first elements are at `base` of `from` and whose elements are
  /// `step` apart, to `at` of `to`. Returns the sums of b'.
  mlir::Value pack(KernelBuilder &b, mlir::Value from, mlir::Value base, int64_t step,
                   mlir::Value to, mlir::Value at) const;
  /// The third part for the row at `base`, in all lanes; za, zb: in all lanes.
  mlir::Value getPartOfRow(KernelBuilder &b, mlir::Value memory, mlir::Value base, mlir::Value za,
                           mlir::Value zb) const;
  /// `sums` of the rows at `bases` with the panels at `panels` (of bytes of `packed`), rows
  /// outermost, and the first part.
  llvm::SmallVector<mlir::Value> multiply(KernelBuilder &b, mlir::Value memory,
                                          llvm::ArrayRef<mlir::Value> bases, mlir::Value packed,
                                          llvm::ArrayRef<mlir::Value> panels,
                                          llvm::SmallVector<mlir::Value> sums) const;

private:
  int32_t offset() const { return products.takesSigned() ? 0 : 128; }
  mlir::Value packStep(KernelBuilder &b, mlir::Value from, llvm::ArrayRef<mlir::Value> rows,
                       mlir::Value to, mlir::Value at, mlir::Value sum) const;
  /// All lanes of all parts 1, but those from element `count` on.
  llvm::SmallVector<mlir::Value> makeOnes(KernelBuilder &b, int64_t count) const;
  /// The sum of a row, in all lanes.
  mlir::Value sumRow(KernelBuilder &b, mlir::Value memory, mlir::Value base) const;

  const TileProducts &products;
  int64_t depth;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_MATMULPANELS_H
