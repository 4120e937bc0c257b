//===- RoundWeights.h - weights are rounded against data --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_NUMERICS_ROUNDWEIGHTS_H
#define OCTET_NUMERICS_ROUNDWEIGHTS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace octet::numerics {

/// [N.round_weights] Sums of a linear layer's inputs, quantized, and of their products by blocks of
/// columns: integers, so that the order of samples leaves no trace.
class InputProducts {
public:
  explicit InputProducts(int64_t numColumns);

  /// Adds rows, each column's values side by side: `values` [columns][rows], of magnitude 255 at
  /// most, and 2^15 rows at most.
  void add(llvm::ArrayRef<int16_t> values);

  int64_t getNumColumns() const { return (int64_t)sums.size(); }
  int64_t getNumRows() const { return numRows; }
  /// Whether there are as many rows as a block has columns: fewer say nothing of most sums of
  /// these.
  bool areEnough() const { return numRows >= blocks.front().size; }
  /// The sum of each column.
  llvm::ArrayRef<int64_t> getSums() const { return sums; }

  /// Columns [begin, begin + size): for `row >= column`, the sum of products at row * size +
  /// column.
  struct Block {
    int64_t begin, size;
    std::vector<int64_t> products;
  };
  llvm::ArrayRef<Block> getBlocks() const { return blocks; }

private:
  int64_t numRows = 0;
  std::vector<int64_t> sums;
  std::vector<Block> blocks;
};

/// [N.round_weights] Rounds the weights of layers that read the same inputs.
class WeightRounder {
public:
  explicit WeightRounder(const InputProducts &inputs);

  /// Rounds `weights` [scales.size()][columns] to multiples of at most `quantMax` of their row's
  /// scale, so that a layer's results on the inputs differ little but for their mean. A row's
  /// weights of the largest magnitude stay as they are, and those of columns that are all zero.
  void round(llvm::MutableArrayRef<float> weights, llvm::ArrayRef<double> scales,
             int64_t quantMax) const;

private:
  /// The columns of a block in the order of their rounding, and what each one behind another takes
  /// of its error: [columns][columns].
  struct Block {
    std::vector<int64_t> columns;
    std::vector<float> shares;

    void round(llvm::MutableArrayRef<float> row, double scale, float largest,
               double quantMax) const;
  };
  int64_t numColumns;
  std::vector<Block> blocks;
};

} // namespace octet::numerics

#endif // OCTET_NUMERICS_ROUNDWEIGHTS_H
