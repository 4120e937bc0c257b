//===- Splits.h - which columns are split, and where ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.split]
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_SPLITS_H
#define OCTET_LIB_QUANTIZE_SPLITS_H

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/ADT/STLExtras.h"

namespace octet {

/// The least and the largest number of a range, which includes zero.
using Ends = std::pair<float, float>;
/// Of each column.
using ColumnRanges = llvm::ArrayRef<Ends>;

/// clip(x[column] - shift, low, high)
struct Part {
  int64_t column;
  float shift, low, high;
};

struct Split {
  float low = 0, high = 0;
  llvm::SmallVector<Part, 0> parts; ///< of the columns behind those that there are

  llvm::SmallVector<int64_t> getColumns() const {
    return llvm::map_to_vector(parts, [](const Part &part) { return part.column; });
  }
};

/// The range over all columns and zero, if it is finite.
std::optional<Ends> getWholeRange(ColumnRanges columns);

/// Of each column the range of the values that reach furthest, each as a part of its own `wholes`.
llvm::SmallVector<Ends, 0> joinRanges(llvm::ArrayRef<ColumnRanges> values,
                                      llvm::ArrayRef<float> wholes);

/// The smallest range with at most `budget` further columns.
Ends chooseRange(ColumnRanges columns, int64_t budget);

/// The range widened to ends that are integers in `type`, which has its zero point: the parts of a
/// value that end there are exact, so that one part alone is rounded.
Ends alignRange(Ends range, mlir::quant::UniformQuantizedType type);

/// The parts of columns with these ranges beyond `range`; in the split they have `own` as range.
Split makeSplit(ColumnRanges columns, Ends range, Ends own);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_SPLITS_H
