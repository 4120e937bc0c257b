//===- HistogramSearch.h - least squared error over a histogram -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSEARCH_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSEARCH_H

#include "Range.h"

namespace octet {

/// The state of a histogram observer.
struct HistogramState {
  static constexpr int64_t kBins = 4096;
  ValueRange32 range; ///< of the finite values
  int32_t exponent;   ///< bins are 2^exponent wide
  int32_t padding;
  /// kBins for values from 0 upwards, kBins for negative ones by magnitude, then infinities, then
  /// NaN.
  int64_t counts[2 * kBins + 2];
};

/// [N.stat.range_search] The range that quantizes the counted values to 256 steps with the least
/// squared error, found on `bins` equal bins over the range seen.
ValueRange32 searchRange(const HistogramState &histogram, int64_t bins);

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSEARCH_H
