//===- ChannelMinMax.cpp - ranges per channel, with room ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.room] State: that of a per-channel observer; then how many numbers of each channel were
// seen, 64 bits.
//
//===----------------------------------------------------------------------===//

#include "ChannelRanges.h"
#include "CountedState.h"
#include "octet/Numerics/ChooseQParams.h"

using namespace mlir;
using namespace octet;

/// The observer that keeps the ranges.
static ObserverAttrInterface getKeeper(const ChannelMinMaxObserverAttr &observer) {
  return PerChannelMinMaxObserverAttr::get(
      observer.getContext(), observer.getDtype(), observer.getScheme(), observer.getRange(),
      observer.getEps(), observer.getReduceRange(), observer.getAxis());
}

LogicalResult ChannelMinMaxObserverAttr::verify(EmitError emitError, IntegerType dtype,
                                                Scheme scheme, DenseI64ArrayAttr range,
                                                FloatAttr eps, bool reduceRange, int64_t axis) {
  if (failed(verifyAxis(emitError, axis)))
    return failure();
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange);
}

ObserverSpec ChannelMinMaxObserverAttr::getSpec() const { return getKeeper(*this).getSpec(); }

/// Of each channel in a run; 0 if that is known at run time only.
static int64_t countNumbers(RankedTensorType observed, int64_t axis) {
  if (!observed.hasStaticShape())
    return 0;
  return observed.getNumElements() / std::max<int64_t>(getNumChannels(observed, axis), 1);
}

/// The keeper's state and how many numbers of each channel were seen.
static CountedState getState(const ChannelMinMaxObserverAttr &observer, RankedTensorType observed) {
  return {getKeeper(observer), observed, countNumbers(observed, observer.getAxis())};
}

int64_t ChannelMinMaxObserverAttr::getStateBytes(RankedTensorType observed) const {
  return getState(*this, observed).getBytes();
}

void ChannelMinMaxObserverAttr::initState(RankedTensorType observed,
                                          MutableArrayRef<char> state) const {
  getState(*this, observed).init(state);
}

void ChannelMinMaxObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                            MutableArrayRef<char> state) const {
  getState(*this, observed).update(data, state);
}

LogicalResult ChannelMinMaxObserverAttr::mergeState(RankedTensorType observed,
                                                    MutableArrayRef<char> state,
                                                    ArrayRef<char> other) const {
  return getState(*this, observed).merge(state, other);
}

void ChannelMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                           RankedTensorType observed, Value data,
                                           Value state) const {
  getState(*this, observed).emitUpdate(builder, loc, data, state);
}

/// The largest of the numbers, if two or more are exactly that: a clamp gave them; else infinity.
static float findClamp(ArrayRef<float> numbers) {
  float most = -std::numeric_limits<float>::infinity();
  for (float number : numbers)
    most = std::max(most, number);
  return llvm::count(numbers, most) > 1 ? most : std::numeric_limits<float>::infinity();
}

FailureOr<quant::QuantizedType>
ChannelMinMaxObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType observed,
                                            ArrayRef<char> state) const {
  if (failed(checkAxis(emitError, observed, getAxis())))
    return failure();
  ChannelRanges ranges = ChannelRanges::load(CountedState::getKept(state));
  float room = numerics::getRoom((double)CountedState::getCount(state));
  SmallVector<float> least, most;
  for (size_t channel = 0; channel < ranges.size(); ++channel)
    if (!ranges[channel].isEmpty()) {
      least.push_back(-ranges[channel].min);
      most.push_back(ranges[channel].max);
    }
  float low = -findClamp(least), high = findClamp(most);
  for (size_t channel = 0; channel < ranges.size(); ++channel)
    if (!ranges[channel].isEmpty()) {
      // An end on the other side of 0, which all ranges hold, needs no room, and may be the clamp.
      if (ranges[channel].min < 0)
        ranges[channel].min = std::max(ranges[channel].min * room, low);
      if (ranges[channel].max > 0)
        ranges[channel].max = std::min(ranges[channel].max * room, high);
    }
  return ranges.getQuantizedType(emitError, getTarget(*this), getAxis());
}
