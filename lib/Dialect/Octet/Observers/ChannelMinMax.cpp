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
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <cmath>

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

/// The part of the state that the keeper has.
template <typename Bytes> static Bytes getRanges(Bytes state) {
  return state.drop_back(sizeof(int64_t));
}

static int64_t &getCountOf(MutableArrayRef<char> state) {
  return *stateAs<int64_t>(state.take_back(sizeof(int64_t)));
}
static int64_t getCount(ArrayRef<char> state) {
  return *stateAs<int64_t>(state.take_back(sizeof(int64_t)));
}

static int64_t countNumbers(RankedTensorType observed, int64_t axis) {
  return observed.getNumElements() / std::max<int64_t>(getNumChannels(observed, axis), 1);
}

int64_t ChannelMinMaxObserverAttr::getStateBytes(RankedTensorType observed) const {
  return getKeeper(*this).getStateBytes(observed) + (int64_t)sizeof(int64_t);
}

void ChannelMinMaxObserverAttr::initState(RankedTensorType observed,
                                          MutableArrayRef<char> state) const {
  getKeeper(*this).initState(observed, getRanges(state));
  getCountOf(state) = 0;
}

void ChannelMinMaxObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                            MutableArrayRef<char> state) const {
  getKeeper(*this).updateState(observed, data, getRanges(state));
  getCountOf(state) += countNumbers(observed, getAxis());
}

LogicalResult ChannelMinMaxObserverAttr::mergeState(RankedTensorType observed,
                                                    MutableArrayRef<char> state,
                                                    ArrayRef<char> other) const {
  getCountOf(state) += getCount(other);
  return getKeeper(*this).mergeState(observed, getRanges(state), getRanges(other));
}

void ChannelMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                           RankedTensorType observed, Value data,
                                           Value state) const {
  ObserverAttrInterface keeper = getKeeper(*this);
  keeper.emitUpdate(builder, loc, observed, data, state);
  Value count = emitStateView(builder, loc, state, builder.getI64Type(), 1,
                              keeper.getStateBytes(observed)),
        zero = emitIndex(builder, loc, 0),
        more = arith::ConstantIntOp::create(builder, loc, countNumbers(observed, getAxis()), 64);
  Value sum =
      arith::AddIOp::create(builder, loc, memref::LoadOp::create(builder, loc, count, zero), more);
  memref::StoreOp::create(builder, loc, sum, count, zero);
}

/// By how much more numbers are expected to reach further than `count` of them.
static float getRoom(int64_t count) {
  constexpr double kNumbers = 100000;
  if (count < 2 || (double)count >= kNumbers)
    return 1;
  return (float)std::sqrt(std::log(kNumbers) / std::log((double)count));
}

FailureOr<quant::QuantizedType>
ChannelMinMaxObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType observed,
                                            ArrayRef<char> state) const {
  if (failed(checkAxis(emitError, observed, getAxis())))
    return failure();
  ChannelRanges ranges = ChannelRanges::load(getRanges(state));
  float room = getRoom(getCount(state));
  for (size_t channel = 0; channel < ranges.size(); ++channel)
    if (!ranges[channel].isEmpty()) {
      ranges[channel].min *= room;
      ranges[channel].max *= room;
    }
  return ranges.getQuantizedType(emitError, getTarget(*this), getAxis());
}
