//===- MovingAverage.h - a range that moves from run to run -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_MOVINGAVERAGE_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_MOVINGAVERAGE_H

#include "EmitReduction.h"
#include "Range.h"

namespace octet {

/// [N.stat.moving_average] The part of the way that one run moves the range.
struct MovingAverage {
  float constant;

  explicit MovingAverage(mlir::FloatAttr constant)
      : constant(constant ? (float)constant.getValueAsDouble() : 0.01f) {}
  static mlir::LogicalResult verify(EmitError emitError, mlir::FloatAttr constant);

  void update(ValueRange32 &average, ValueRange32 seen) const;
  /// The same for scalars or vectors.
  MinMax emit(mlir::OpBuilder &builder, mlir::Location loc, MinMax average, MinMax seen) const;
};

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_MOVINGAVERAGE_H
