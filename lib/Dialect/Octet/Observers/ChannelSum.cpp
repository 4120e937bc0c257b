//===- ChannelSum.cpp - the sum of every channel --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.sum] State: one f64 per channel. Sums are of any magnitude, so no fixed unit suits them.
//
//===----------------------------------------------------------------------===//

#include "ChannelRanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cstring>

using namespace mlir;
using namespace octet;

LogicalResult ChannelSumObserverAttr::verify(EmitError emitError, int64_t axis) {
  return verifyAxis(emitError, axis);
}

ObserverSpec ChannelSumObserverAttr::getSpec() const { return {}; }

int64_t ChannelSumObserverAttr::getStateBytes(RankedTensorType observed) const {
  return sizeof(double) * getNumChannels(observed, getAxis());
}

void ChannelSumObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  memset(state.data(), 0, state.size());
}

void ChannelSumObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                         MutableArrayRef<char> state) const {
  int64_t numChannels = getNumChannels(observed, getAxis()), inner = 1;
  for (int64_t axis = getAxis() + 1; axis < observed.getRank(); ++axis)
    inner *= observed.getDimSize(axis);
  std::vector<double> sums(numChannels, 0.0);
  for (size_t i = 0; i < data.size(); ++i)
    sums[i / inner % numChannels] += data[i];
  for (int64_t channel = 0; channel < numChannels; ++channel)
    stateAs<double>(state)[channel] += sums[channel];
}

LogicalResult ChannelSumObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char> state,
                                                 ArrayRef<char> other) const {
  for (size_t channel = 0; channel < state.size() / sizeof(double); ++channel)
    stateAs<double>(state)[channel] += stateAs<double>(other)[channel];
  return success();
}

/// Adds f64 sums (a vector of channels) to the state from `channel` on.
static void emitAddToState(OpBuilder &b, Location loc, Value sums, Value state, Value channel) {
  Value old = vector::LoadOp::create(b, loc, cast<VectorType>(sums.getType()), state, channel);
  vector::StoreOp::create(b, loc, arith::AddFOp::create(b, loc, old, sums), state, channel);
}

/// Sums of `lanes` neighbouring elements at a time over `dims`.
static Value emitSums(OpBuilder &b, Location loc, const FlatTensor &tensor,
                      ArrayRef<StridedDim> dims, Value base, int64_t lanes) {
  auto floats = VectorType::get({lanes}, b.getF32Type()),
       doubles = VectorType::get({lanes}, b.getF64Type());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(doubles));
  auto body = [&](OpBuilder &b, Location loc, Value index,
                  ValueRange carried) -> SmallVector<Value> {
    Value x = vector::LoadOp::create(b, loc, floats, tensor.memory, index);
    return {arith::AddFOp::create(b, loc, carried[0], arith::ExtFOp::create(b, loc, doubles, x))};
  };
  return emitLoops(b, loc, dims, base, zero, body)[0];
}

/// Channels lie side by side: vectors of channels, the rest in shorter ones.
static void emitSideBySide(OpBuilder &builder, Location loc, const FlatTensor &tensor,
                           Value state) {
  int64_t numChannels = tensor.channel->size;
  for (int64_t first = 0; first < numChannels;) {
    int64_t lanes = getLanes(numChannels - first), count = (numChannels - first) / lanes;
    emitLoops(builder, loc, StridedDim{count, lanes}, emitIndex(builder, loc, first), {},
              [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
                emitAddToState(b, loc, emitSums(b, loc, tensor, tensor.dims, channel, lanes), state,
                               channel);
                return {};
              });
    first += count * lanes;
  }
}

/// Channels lie apart: one after the other, in order of the elements.
static void emitOneByOne(OpBuilder &builder, Location loc, const FlatTensor &tensor, Value state) {
  emitLoops(builder, loc, StridedDim{tensor.channel->size, 1}, emitIndex(builder, loc, 0), {},
            [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
              Value base =
                  arith::MulIOp::create(b, loc, channel, emitIndex(b, loc, tensor.channel->stride));
              emitAddToState(b, loc, emitSums(b, loc, tensor, tensor.dims, base, 1), state,
                             channel);
              return {};
            });
}

void ChannelSumObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType observed,
                                        Value data, Value state) const {
  if (getAxis() >= observed.getRank())
    return;
  FlatTensor tensor = flatten(builder, loc, data, getAxis());
  Value sums = emitStateView(builder, loc, state, builder.getF64Type(), tensor.channel->size);
  if (tensor.channel->stride == 1)
    emitSideBySide(builder, loc, tensor, sums);
  else
    emitOneByOne(builder, loc, tensor, sums);
}

FailureOr<quant::QuantizedType> ChannelSumObserverAttr::getQuantizedType(EmitError emitError,
                                                                         RankedTensorType,
                                                                         ArrayRef<char>) const {
  return emitError() << "sums mean no quantized type";
}
