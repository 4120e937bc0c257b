//===- PerChannelMinMax.cpp - smallest and largest value per channel ------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.min_max] State: the smallest values of all channels, then the largest ones, f32.
//
//===----------------------------------------------------------------------===//

#include "EmitReduction.h"
#include "Range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace octet;

static QuantTarget getTarget(const PerChannelMinMaxObserverAttr &observer) {
  return {observer.getDtype(), observer.getScheme(), observer.getRange(), observer.getEps()};
}

LogicalResult PerChannelMinMaxObserverAttr::verify(EmitError emitError, IntegerType dtype, Scheme,
                                                   DenseI64ArrayAttr range, FloatAttr eps,
                                                   int64_t axis) {
  if (axis < 0)
    return emitError() << "expected an axis of at least 0, but got " << axis;
  return verifyTarget(emitError, dtype, range, eps);
}

ObserverSpec PerChannelMinMaxObserverAttr::getSpec() const {
  ObserverSpec spec = getTarget(*this).getSpec();
  spec.channelAxis = getAxis();
  return spec;
}

/// Channels of an observed tensor; one if it has no such dimension (the type is refused when it is
/// asked for).
static int64_t getNumChannels(RankedTensorType observed, int64_t axis) {
  return axis < observed.getRank() ? observed.getDimSize(axis) : 1;
}

int64_t PerChannelMinMaxObserverAttr::getStateBytes(RankedTensorType observed) const {
  return sizeof(ValueRange32) * getNumChannels(observed, getAxis());
}

static ValueRange32 getChannel(ArrayRef<char> state, int64_t channel, int64_t numChannels) {
  const float *values = stateAs<float>(state);
  return {values[channel], values[numChannels + channel]};
}

static void setChannel(MutableArrayRef<char> state, int64_t channel, int64_t numChannels,
                       ValueRange32 range) {
  float *values = stateAs<float>(state);
  values[channel] = range.min;
  values[numChannels + channel] = range.max;
}

void PerChannelMinMaxObserverAttr::initState(RankedTensorType observed,
                                             MutableArrayRef<char> state) const {
  int64_t numChannels = getNumChannels(observed, getAxis());
  for (int64_t channel = 0; channel < numChannels; ++channel)
    setChannel(state, channel, numChannels, ValueRange32());
}

void PerChannelMinMaxObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                               MutableArrayRef<char> state) const {
  int64_t numChannels = getNumChannels(observed, getAxis()), inner = 1;
  for (int64_t axis = getAxis() + 1; axis < observed.getRank(); ++axis)
    inner *= observed.getDimSize(axis);
  for (size_t i = 0; i < data.size(); ++i) {
    int64_t channel = i / inner % numChannels;
    ValueRange32 range = getChannel(state, channel, numChannels);
    range.include(data[i]);
    setChannel(state, channel, numChannels, range);
  }
}

LogicalResult PerChannelMinMaxObserverAttr::mergeState(RankedTensorType observed,
                                                       MutableArrayRef<char> state,
                                                       ArrayRef<char> other) const {
  int64_t numChannels = getNumChannels(observed, getAxis());
  for (int64_t channel = 0; channel < numChannels; ++channel) {
    ValueRange32 range = getChannel(state, channel, numChannels),
                 more = getChannel(other, channel, numChannels);
    if (more.isEmpty())
      continue;
    range.include(more.min);
    range.include(more.max);
    setChannel(state, channel, numChannels, range);
  }
  return success();
}

/// Channels lie side by side in memory: vectors of channels.
static void emitSideBySide(OpBuilder &builder, Location loc, const FlatTensor &tensor, Value mins,
                           Value maxs) {
  int64_t numChannels = tensor.channel->size, lanes = getLanes(numChannels);
  auto type = VectorType::get({lanes}, builder.getF32Type());
  auto updateBlock = [&](OpBuilder &b, Location loc, Value channel) {
    MinMax seen = emitMinMaxOfLanes(b, loc, tensor, channel, lanes);
    Value min = vector::LoadOp::create(b, loc, type, mins, channel),
          max = vector::LoadOp::create(b, loc, type, maxs, channel);
    vector::StoreOp::create(b, loc, emitPlusZero(b, loc, emitMin(b, loc, min, seen.min)), mins,
                            channel);
    vector::StoreOp::create(b, loc, emitPlusZero(b, loc, emitMax(b, loc, max, seen.max)), maxs,
                            channel);
  };
  emitLoops(builder, loc, StridedDim{numChannels / lanes, lanes}, emitIndex(builder, loc, 0), {},
            [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
              updateBlock(b, loc, channel);
              return {};
            });
  // The rest overlaps the last block: taking a value twice changes nothing.
  if (numChannels % lanes)
    updateBlock(builder, loc, emitIndex(builder, loc, numChannels - lanes));
}

/// Channels lie apart: one after the other, vectors inside.
static void emitOneByOne(OpBuilder &builder, Location loc, const FlatTensor &tensor, Value mins,
                         Value maxs) {
  emitLoops(builder, loc, StridedDim{tensor.channel->size, 1}, emitIndex(builder, loc, 0), {},
            [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
              Value base =
                  arith::MulIOp::create(b, loc, channel, emitIndex(b, loc, tensor.channel->stride));
              MinMax seen = emitMinMax(b, loc, tensor, base);
              Value min = memref::LoadOp::create(b, loc, mins, channel),
                    max = memref::LoadOp::create(b, loc, maxs, channel);
              memref::StoreOp::create(b, loc, emitPlusZero(b, loc, emitMin(b, loc, min, seen.min)),
                                      mins, channel);
              memref::StoreOp::create(b, loc, emitPlusZero(b, loc, emitMax(b, loc, max, seen.max)),
                                      maxs, channel);
              return {};
            });
}

void PerChannelMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                              RankedTensorType observed, Value data,
                                              Value state) const {
  if (getAxis() >= observed.getRank())
    return;
  FlatTensor tensor = flatten(builder, loc, data, getAxis());
  int64_t numChannels = tensor.channel->size;
  Value mins = emitStateView(builder, loc, state, builder.getF32Type(), numChannels);
  Value maxs = emitStateView(builder, loc, state, builder.getF32Type(), numChannels,
                             sizeof(float) * numChannels);
  if (tensor.channel->stride == 1)
    emitSideBySide(builder, loc, tensor, mins, maxs);
  else
    emitOneByOne(builder, loc, tensor, mins, maxs);
}

FailureOr<quant::QuantizedType>
PerChannelMinMaxObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType observed,
                                               ArrayRef<char> state) const {
  if (getAxis() >= observed.getRank())
    return emitError() << "expected a tensor with a dimension " << getAxis()
                       << " for the channels, but got " << observed;
  int64_t numChannels = getNumChannels(observed, getAxis());
  SmallVector<ValueRange32> ranges;
  for (int64_t channel = 0; channel < numChannels; ++channel)
    ranges.push_back(getChannel(state, channel, numChannels));
  return getQuantizedTypeOfRanges(emitError, getTarget(*this), ranges, getAxis());
}
