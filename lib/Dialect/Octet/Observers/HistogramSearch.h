//===- HistogramSearch.h - least squared error over a histogram -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSEARCH_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSEARCH_H

#include "HistogramState.h"

namespace octet {

/// [N.stat.range_search] The range that quantizes the counted values to 256 steps with the least
/// squared error, found on `bins` equal bins over the range seen.
ValueRange32 searchRange(const Histogram &histogram, int64_t bins);

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_HISTOGRAMSEARCH_H
