//===- HistogramState.h - counts of values by magnitude ---------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.histogram] Bin k of a sign holds the values with trunc(|x| / 2^exponent) = k. Whatever
// the order of the data, the exponent is that of the largest magnitude, and widening by one adds
// bins 2k and 2k + 1: the counts depend on the data only.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSTATE_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSTATE_H

#include "MagnitudeCounts.h"
#include "Range.h"

namespace octet {

/// The beginning of a histogram's state; the counts follow, 64 bits each.
struct HistogramHeader {
  ValueRange32 range; ///< of the finite values
  int32_t exponent;   ///< bins are 2^exponent wide
  int32_t padding;
};

/// A histogram's state to be read.
struct Histogram {
  HistogramHeader header;
  /// The bins for values from 0 upwards, and those for negative ones by magnitude.
  llvm::ArrayRef<int64_t> positive, negative;
  int64_t infinities;
  llvm::ArrayRef<int64_t> peaks; ///< runs by their largest finite magnitude

  int64_t getNumBins() const { return positive.size(); }
  double getBinWidth() const;
  /// The number of finite values.
  int64_t getTotal() const;
  /// Calls `bin(low, high, count)` for every bin that holds values, upwards; bounds lie within the
  /// range.
  void forEachBin(llvm::function_ref<void(double, double, int64_t)> bin) const;
};

/// A kind of histogram: 2^binBits bins of either sign, and the number of bins for peaks of runs.
struct HistogramKind {
  int64_t binBits, numPeaks = 0;

  int64_t getNumBins() const { return int64_t(1) << binBits; }
  /// The bins of both signs, infinities, NaN, peaks.
  int64_t getNumCounters() const { return 2 * getNumBins() + 2 + numPeaks; }
  int64_t getBytes() const { return sizeof(HistogramHeader) + sizeof(int64_t) * getNumCounters(); }

  void init(llvm::MutableArrayRef<char> state) const;
  void update(llvm::ArrayRef<float> data, llvm::MutableArrayRef<char> state) const;
  void merge(llvm::MutableArrayRef<char> state, llvm::ArrayRef<char> other) const;
  /// Fails if a NaN was seen or the statistics, which may come from a file, are damaged.
  mlir::FailureOr<Histogram> read(EmitError emitError, llvm::ArrayRef<char> state) const;
  /// Emits the update with the elements of `tensor` from `base` on; the histogram's state begins
  /// at byte `offset`.
  void emitUpdate(mlir::OpBuilder &builder, mlir::Location loc, const FlatTensor &tensor,
                  mlir::Value base, mlir::Value state, mlir::Value offset) const;
};

/// What the observers of whole tensors use.
inline constexpr HistogramKind kWholeHistogram{12, kNumMagnitudes};

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSTATE_H
