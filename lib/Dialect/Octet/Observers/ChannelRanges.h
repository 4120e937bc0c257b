//===- ChannelRanges.h - one range of values per channel --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// State: the smallest values of all channels, then the largest ones, f32.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_DIALECT_OCTET_OBSERVERS_CHANNELRANGES_H
#define OCTET_LIB_DIALECT_OCTET_OBSERVERS_CHANNELRANGES_H

#include "EmitReduction.h"
#include "Range.h"

namespace octet {

mlir::LogicalResult verifyAxis(EmitError emitError, int64_t axis);
/// Fails if the tensor has no such dimension.
mlir::LogicalResult checkAxis(EmitError emitError, mlir::RankedTensorType observed, int64_t axis);
/// One if the tensor has no such dimension.
int64_t getNumChannels(mlir::RankedTensorType observed, int64_t axis);

/// The ranges of all channels.
class ChannelRanges {
public:
  ChannelRanges(mlir::RankedTensorType observed, int64_t axis);
  /// Those of row-major values.
  ChannelRanges(mlir::RankedTensorType observed, int64_t axis, llvm::ArrayRef<float> data);
  static ChannelRanges load(llvm::ArrayRef<char> state);
  void store(llvm::MutableArrayRef<char> state) const;

  size_t size() const { return ranges.size(); }
  ValueRange32 &operator[](size_t channel) { return ranges[channel]; }
  mlir::FailureOr<mlir::quant::QuantizedType>
  getQuantizedType(EmitError emitError, const QuantTarget &target, int64_t axis) const {
    return getQuantizedTypeOfRanges(emitError, target, ranges, axis);
  }
  mlir::FailureOr<FloatQParams> getFloatQParams(EmitError emitError, const QuantTarget &target,
                                                int64_t axis) const {
    return getFloatQParamsOfRanges(emitError, target, ranges, axis);
  }

private:
  ChannelRanges() = default;
  llvm::SmallVector<ValueRange32> ranges;
};

/// Emits the ranges that follow from those kept and those of a run; scalars, or vectors of
/// channels.
using EmitCombined =
    llvm::function_ref<MinMax(mlir::OpBuilder &, mlir::Location, MinMax kept, MinMax seen)>;

/// Emits the update of the state with each channel of `data`.
void emitUpdateOfChannels(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value data,
                          int64_t axis, mlir::Value state, EmitCombined combine);

} // namespace octet

#endif // OCTET_LIB_DIALECT_OCTET_OBSERVERS_CHANNELRANGES_H
