//===- MagnitudeCounts.h - counts of how large runs and rows are -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.peak] [N.stat.power] Numbers that are not negative, in four bins for each power of two: a
// bin is given by the highest bits of an f32 without its sign.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_MAGNITUDECOUNTS_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_MAGNITUDECOUNTS_H

#include "EmitReduction.h"
#include "llvm/ADT/ArrayRef.h"

namespace octet {

inline constexpr int64_t kNumMagnitudes = 1024;

void countMagnitude(float magnitude, llvm::MutableArrayRef<int64_t> counts);

/// The end of the first bin up to which at least half of those counted lie; 0 if there are none.
float getTypicalMagnitude(llvm::ArrayRef<int64_t> counts);

/// Counts in `counters`, 64 bits each, from `first` on, if `isCounted`.
void emitCountMagnitude(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value magnitude,
                        mlir::Value isCounted, mlir::Value counters, int64_t first);

/// [N.stat.power] The mean of the squares of a row: in f32, sixteen sums side by side.
float getMeanSquare(llvm::ArrayRef<float> row);
/// The same of the elements of `memory` from `first` on.
mlir::Value emitMeanSquare(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value memory,
                           mlir::Value first, StridedDim row);

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_MAGNITUDECOUNTS_H
