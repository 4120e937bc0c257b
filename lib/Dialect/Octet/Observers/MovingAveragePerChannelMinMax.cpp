//===- MovingAveragePerChannelMinMax.cpp - averages per channel -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.moving_average] State: ChannelRanges, empty before the first run.
//
//===----------------------------------------------------------------------===//

#include "ChannelRanges.h"
#include "MovingAverage.h"

using namespace mlir;
using namespace octet;

LogicalResult MovingAveragePerChannelMinMaxObserverAttr::verify(EmitError emitError,
                                                                IntegerType dtype, Scheme scheme,
                                                                DenseI64ArrayAttr range,
                                                                FloatAttr eps, bool reduceRange,
                                                                int64_t axis, FloatAttr constant) {
  if (failed(verifyAxis(emitError, axis)) || failed(MovingAverage::verify(emitError, constant)))
    return failure();
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange, /*mayBeFloat=*/true);
}

ObserverSpec MovingAveragePerChannelMinMaxObserverAttr::getSpec() const {
  ObserverSpec spec = getTarget(*this).getSpec();
  spec.channelAxis = getAxis();
  return spec;
}

int64_t MovingAveragePerChannelMinMaxObserverAttr::getStateBytes(RankedTensorType observed) const {
  return sizeof(ValueRange32) * getNumChannels(observed, getAxis());
}

void MovingAveragePerChannelMinMaxObserverAttr::initState(RankedTensorType observed,
                                                          MutableArrayRef<char> state) const {
  ChannelRanges(observed, getAxis()).store(state);
}

void MovingAveragePerChannelMinMaxObserverAttr::updateState(RankedTensorType observed,
                                                            ArrayRef<float> data,
                                                            MutableArrayRef<char> state) const {
  ChannelRanges averages = ChannelRanges::load(state), seen(observed, getAxis(), data);
  for (size_t channel = 0; channel < averages.size(); ++channel)
    MovingAverage(getConstant()).update(averages[channel], seen[channel]);
  averages.store(state);
}

/// Whether no run was seen; each run reaches every channel.
static bool isEmpty(ArrayRef<char> state) {
  ChannelRanges ranges = ChannelRanges::load(state);
  return ranges.size() == 0 || ranges[0].isEmpty();
}

LogicalResult MovingAveragePerChannelMinMaxObserverAttr::mergeState(RankedTensorType,
                                                                    MutableArrayRef<char> state,
                                                                    ArrayRef<char> other) const {
  if (isEmpty(other))
    return success();
  if (!isEmpty(state))
    return failure(); // An average depends on the order of the samples.
  llvm::copy(other, state.begin());
  return success();
}

void MovingAveragePerChannelMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                                           RankedTensorType observed, Value data,
                                                           Value state) const {
  if (getAxis() >= observed.getRank())
    return;
  emitUpdateOfChannels(builder, loc, data, getAxis(), state,
                       [&](OpBuilder &b, Location loc, MinMax average, MinMax seen) {
                         return MovingAverage(getConstant()).emit(b, loc, average, seen);
                       });
}

FailureOr<quant::QuantizedType> MovingAveragePerChannelMinMaxObserverAttr::getQuantizedType(
    EmitError emitError, RankedTensorType observed, ArrayRef<char> state) const {
  if (failed(checkAxis(emitError, observed, getAxis())))
    return failure();
  return ChannelRanges::load(state).getQuantizedType(emitError, getTarget(*this), getAxis());
}

FailureOr<FloatQParams> MovingAveragePerChannelMinMaxObserverAttr::getFloatQParams(
    EmitError emitError, RankedTensorType observed, ArrayRef<char> state) const {
  if (failed(checkAxis(emitError, observed, getAxis())))
    return failure();
  return ChannelRanges::load(state).getFloatQParams(emitError, getTarget(*this), getAxis());
}
