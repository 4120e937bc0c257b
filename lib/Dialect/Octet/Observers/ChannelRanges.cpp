//===- ChannelRanges.cpp - one range of values per channel ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelRanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace octet;

LogicalResult octet::verifyAxis(EmitError emitError, int64_t axis) {
  if (axis < 0)
    return emitError() << "expected an axis of at least 0, but got " << axis;
  return success();
}

LogicalResult octet::checkAxis(EmitError emitError, RankedTensorType observed, int64_t axis) {
  if (axis >= observed.getRank())
    return emitError() << "expected a tensor with a dimension " << axis
                       << " for the channels, but got " << observed;
  return success();
}

int64_t octet::getNumChannels(RankedTensorType observed, int64_t axis) {
  return axis < observed.getRank() ? observed.getDimSize(axis) : 1;
}

ChannelRanges::ChannelRanges(RankedTensorType observed, int64_t axis)
    : ranges(getNumChannels(observed, axis)) {}

ChannelRanges::ChannelRanges(RankedTensorType observed, int64_t axis, ArrayRef<float> data)
    : ChannelRanges(observed, axis) {
  int64_t inner = 1;
  for (int64_t dim = axis + 1; dim < observed.getRank(); ++dim)
    inner *= observed.getDimSize(dim);
  for (size_t channel = 0; !data.empty(); channel = (channel + 1) % ranges.size()) {
    ValueRange32 range = ranges[channel];
    for (float x : data.take_front(inner))
      range.include(x);
    ranges[channel] = range;
    data = data.drop_front(inner);
  }
}

ChannelRanges ChannelRanges::load(ArrayRef<char> state) {
  size_t numChannels = state.size() / sizeof(ValueRange32);
  const float *values = stateAs<float>(state);
  ChannelRanges loaded;
  for (size_t channel = 0; channel < numChannels; ++channel)
    loaded.ranges.push_back({values[channel], values[numChannels + channel]});
  return loaded;
}

void ChannelRanges::store(MutableArrayRef<char> state) const {
  float *values = stateAs<float>(state);
  for (auto [channel, range] : llvm::enumerate(ranges)) {
    values[channel] = range.min;
    values[ranges.size() + channel] = range.max;
  }
}

namespace {
/// The smallest and the largest values in the state.
struct KeptRanges {
  Value mins, maxs;
};
} // namespace

/// Channels lie side by side in memory: vectors of channels, the rest in shorter ones.
static void emitSideBySide(OpBuilder &builder, Location loc, const FlatTensor &tensor,
                           KeptRanges kept, EmitCombined combine) {
  int64_t numChannels = tensor.channel->size;
  for (int64_t first = 0; first < numChannels;) {
    int64_t lanes = getLanes(numChannels - first), count = (numChannels - first) / lanes;
    auto type = VectorType::get({lanes}, builder.getF32Type());
    emitLoops(builder, loc, StridedDim{count, lanes}, emitIndex(builder, loc, first), {},
              [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
                MinMax seen = emitMinMaxOfLanes(b, loc, tensor, channel, lanes);
                Value min = vector::LoadOp::create(b, loc, type, kept.mins, channel),
                      max = vector::LoadOp::create(b, loc, type, kept.maxs, channel);
                MinMax next = combine(b, loc, {min, max}, seen);
                vector::StoreOp::create(b, loc, next.min, kept.mins, channel);
                vector::StoreOp::create(b, loc, next.max, kept.maxs, channel);
                return {};
              });
    first += count * lanes;
  }
}

/// Channels lie apart: one after the other, vectors inside.
static void emitOneByOne(OpBuilder &builder, Location loc, const FlatTensor &tensor,
                         KeptRanges kept, EmitCombined combine) {
  emitLoops(builder, loc, StridedDim{tensor.channel->size, 1}, emitIndex(builder, loc, 0), {},
            [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
              Value base =
                  arith::MulIOp::create(b, loc, channel, emitIndex(b, loc, tensor.channel->stride));
              MinMax seen = emitMinMax(b, loc, tensor, base);
              Value min = memref::LoadOp::create(b, loc, kept.mins, channel),
                    max = memref::LoadOp::create(b, loc, kept.maxs, channel);
              MinMax next = combine(b, loc, {min, max}, seen);
              memref::StoreOp::create(b, loc, next.min, kept.mins, channel);
              memref::StoreOp::create(b, loc, next.max, kept.maxs, channel);
              return {};
            });
}

void octet::emitUpdateOfChannels(OpBuilder &builder, Location loc, Value data, int64_t axis,
                                 Value state, EmitCombined combine) {
  FlatTensor tensor = flatten(builder, loc, data, axis);
  int64_t numChannels = tensor.channel->size;
  KeptRanges kept{emitStateView(builder, loc, state, builder.getF32Type(), numChannels),
                  emitStateView(builder, loc, state, builder.getF32Type(), numChannels,
                                sizeof(float) * numChannels)};
  if (tensor.channel->stride == 1)
    emitSideBySide(builder, loc, tensor, kept, combine);
  else
    emitOneByOne(builder, loc, tensor, kept, combine);
}
