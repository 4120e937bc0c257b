//===- Attention.h - attention in integers as one step ----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_ATTENTION_H
#define OCTET_LIB_CODEGEN_ATTENTION_H

#include "Buffers.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

namespace octet::codegen {

/// (w . v) / sum(w) with weights w = f(s - max(s)), quantized, of scores s = g(q . k), as
/// octet-prepare-attention writes a softmax between two products; f and g are element-wise.
struct Attention {
  nn::MatmulOp scores;       ///< q . k
  nn::ReduceMaxOp largest;   ///< max(s)
  nn::SubOp difference;      ///< s - max(s)
  QuantizeOp weights;        ///< w
  nn::MatmulOp values;       ///< w . v
  nn::ReduceSumOp sum;       ///< sum(w)
  mlir::Operation *division; ///< what reads both, element by element
  llvm::SetVector<mlir::Operation *> onScores, onDifferences; ///< g, f
  /// The division, and what replaces its NaN in rows that are masked altogether.
  llvm::SetVector<mlir::Operation *> onValues;

  /// The attention whose weights these are, if its operators are read by one another only.
  static std::optional<Attention> match(QuantizeOp weights);

  llvm::SmallVector<mlir::Operation *> getParts();
  mlir::Value getResult() { return onValues.back()->getResult(0); }
  int64_t getRank() { return scores.getType().getRank(); }
  /// Of the scores.
  int64_t getRows() { return scores.getType().getDimSize(getRank() - 2); }
  int64_t getColumns() { return scores.getType().getShape().back(); }
  int64_t getNumMatrices() {
    return mlir::ShapedType::getNumElements(scores.getType().getShape().drop_back(2));
  }
};

/// Bytes on the stack of a kernel at most: a caller's may be small.
inline constexpr int64_t kMostStackBytes = 64 * 1024;

/// The memory that attention in floats works in, in elements: places for rows of scores of each
/// matrix, behind them the panels of sixteen columns of each matrix' right operands.
struct FloatAttentionMemory {
  /// Rows that are computed at a time, at most: they may begin beyond the last ones.
  static constexpr int64_t kMostRows = 64;
  int64_t matrices, rows, columns, depth, width;

  FloatAttentionMemory(nn::MatmulOp scores, nn::MatmulOp values)
      : matrices(mlir::ShapedType::getNumElements(scores.getType().getShape().drop_back(2))),
        rows(scores.getType().getShape().take_back(2).front()),
        columns(scores.getType().getShape().back()),
        depth(scores.getLhs().getType().getShape().back()),
        width(values.getType().getShape().back()) {}

  int64_t pitch() const { return llvm::alignTo(columns, 16); }
  int64_t rowsPerMatrix() const { return rows + kMostRows; }
  int64_t panelsAt() const { return matrices * rowsPerMatrix() * pitch(); }
  int64_t firstPanels() const { return depth * pitch(); }
  int64_t panels() const { return firstPanels() + columns * (int64_t)llvm::alignTo(width, 16); }
  int64_t elements() const { return panelsAt() + matrices * panels(); }
};

/// How the right operand of a product is packed in memory: panels of sixteen columns, four elements
/// of each side by side, and behind each panel sixteen numbers of 32 bits.
struct PackedOperand {
  int64_t depth, columns;

  explicit PackedOperand(nn::MatmulOp op)
      : depth(op.getLhs().getType().getShape().back()), columns(op.getType().getShape().back()) {}
  int64_t panels() const { return llvm::divideCeil(columns, 16); }
  /// At every level: some widen bytes to 16 bits.
  int64_t bytes() const { return panels() * ((int64_t)llvm::divideCeil(depth, 4) * 128 + 64); }
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_ATTENTION_H
