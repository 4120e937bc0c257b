//===- PerChannelMinMax.cpp - smallest and largest value per channel ------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.min_max] State: ChannelRanges.
//
//===----------------------------------------------------------------------===//

#include "ChannelRanges.h"

using namespace mlir;
using namespace octet;

LogicalResult PerChannelMinMaxObserverAttr::verify(EmitError emitError, IntegerType dtype,
                                                   Scheme scheme, DenseI64ArrayAttr range,
                                                   FloatAttr eps, bool reduceRange, int64_t axis) {
  if (failed(verifyAxis(emitError, axis)))
    return failure();
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange, /*mayBeFloat=*/true);
}

ObserverSpec PerChannelMinMaxObserverAttr::getSpec() const {
  ObserverSpec spec = getTarget(*this).getSpec();
  spec.channelAxis = getAxis();
  return spec;
}

int64_t PerChannelMinMaxObserverAttr::getStateBytes(RankedTensorType observed) const {
  return sizeof(ValueRange32) * getNumChannels(observed, getAxis());
}

void PerChannelMinMaxObserverAttr::initState(RankedTensorType observed,
                                             MutableArrayRef<char> state) const {
  ChannelRanges(observed, getAxis()).store(state);
}

/// Includes the ranges of `more` in those of the state.
static void include(MutableArrayRef<char> state, ChannelRanges more) {
  ChannelRanges ranges = ChannelRanges::load(state);
  for (size_t channel = 0; channel < ranges.size(); ++channel)
    if (!more[channel].isEmpty()) {
      ranges[channel].include(more[channel].min);
      ranges[channel].include(more[channel].max);
    }
  ranges.store(state);
}

void PerChannelMinMaxObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                               MutableArrayRef<char> state) const {
  include(state, ChannelRanges(observed, getAxis(), data));
}

LogicalResult PerChannelMinMaxObserverAttr::mergeState(RankedTensorType,
                                                       MutableArrayRef<char> state,
                                                       ArrayRef<char> other) const {
  include(state, ChannelRanges::load(other));
  return success();
}

void PerChannelMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                              RankedTensorType observed, Value data,
                                              Value state) const {
  if (getAxis() >= observed.getRank())
    return;
  emitUpdateOfChannels(builder, loc, data, getAxis(), state,
                       [](OpBuilder &b, Location loc, MinMax kept, MinMax seen) -> MinMax {
                         return {emitPlusZero(b, loc, emitMin(b, loc, kept.min, seen.min)),
                                 emitPlusZero(b, loc, emitMax(b, loc, kept.max, seen.max))};
                       });
}

FailureOr<quant::QuantizedType>
PerChannelMinMaxObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType observed,
                                               ArrayRef<char> state) const {
  if (failed(checkAxis(emitError, observed, getAxis())))
    return failure();
  return ChannelRanges::load(state).getQuantizedType(emitError, getTarget(*this), getAxis());
}

FailureOr<FloatQParams> PerChannelMinMaxObserverAttr::getFloatQParams(EmitError emitError,
                                                                      RankedTensorType observed,
                                                                      ArrayRef<char> state) const {
  if (failed(checkAxis(emitError, observed, getAxis())))
    return failure();
  return ChannelRanges::load(state).getFloatQParams(emitError, getTarget(*this), getAxis());
}
