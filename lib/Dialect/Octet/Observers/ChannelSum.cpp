//===- ChannelSum.cpp - the sum of every channel --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.sum] State: one f64 per channel, and with bounds a second one. Sums are of any magnitude,
// so no fixed unit suits them.
//
//===----------------------------------------------------------------------===//

#include "ChannelRanges.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace octet;

LogicalResult ChannelSumObserverAttr::verify(EmitError emitError, int64_t axis,
                                             DenseF32ArrayAttr clamp) {
  if (clamp && (clamp.size() != 2 || !(clamp[0] < clamp[1])))
    return emitError() << "expected two bounds in ascending order, but got " << clamp;
  return verifyAxis(emitError, axis);
}

ObserverSpec ChannelSumObserverAttr::getSpec() const { return {}; }

int64_t ChannelSumObserverAttr::getStateBytes(RankedTensorType observed) const {
  return sizeof(double) * getNumChannels(observed, getAxis()) * (getClamp() ? 2 : 1);
}

void ChannelSumObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  memset(state.data(), 0, state.size());
}

void ChannelSumObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                         MutableArrayRef<char> state) const {
  int64_t numChannels = getNumChannels(observed, getAxis()), inner = 1;
  for (int64_t axis = getAxis() + 1; axis < observed.getRank(); ++axis)
    inner *= observed.getDimSize(axis);
  std::vector<double> sums(state.size() / sizeof(double), 0.0);
  for (size_t i = 0; i < data.size(); ++i) {
    int64_t channel = i / inner % numChannels;
    if (!getClamp()) {
      sums[channel] += data[i];
      continue;
    }
    float low = getClamp()[0], high = getClamp()[1];
    sums[channel] += std::clamp(data[i], low, high);
    sums[numChannels + channel] += data[i] > low && data[i] < high;
  }
  for (auto [i, sum] : llvm::enumerate(sums))
    stateAs<double>(state)[i] += sum;
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

/// What is summed of a vector of elements.
using Term = function_ref<Value(OpBuilder &, Location, Value)>;

/// Sums of `lanes` neighbouring elements at a time over `dims`.
static Value emitSums(OpBuilder &b, Location loc, const FlatTensor &tensor,
                      ArrayRef<StridedDim> dims, Value base, int64_t lanes, Term term) {
  auto floats = VectorType::get({lanes}, b.getF32Type()),
       doubles = VectorType::get({lanes}, b.getF64Type());
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(doubles));
  auto body = [&](OpBuilder &b, Location loc, Value index,
                  ValueRange carried) -> SmallVector<Value> {
    Value x = term(b, loc, vector::LoadOp::create(b, loc, floats, tensor.memory, index));
    return {arith::AddFOp::create(b, loc, carried[0], arith::ExtFOp::create(b, loc, doubles, x))};
  };
  return emitLoops(b, loc, dims, base, zero, body)[0];
}

/// Channels lie side by side: vectors of channels, the rest in shorter ones.
static void emitSideBySide(OpBuilder &builder, Location loc, const FlatTensor &tensor, Value state,
                           Term term) {
  int64_t numChannels = tensor.channel->size;
  for (int64_t first = 0; first < numChannels;) {
    int64_t lanes = getLanes(numChannels - first), count = (numChannels - first) / lanes;
    emitLoops(builder, loc, StridedDim{count, lanes}, emitIndex(builder, loc, first), {},
              [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
                Value sums = emitSums(b, loc, tensor, tensor.dims, channel, lanes, term);
                emitAddToState(b, loc, sums, state, channel);
                return {};
              });
    first += count * lanes;
  }
}

/// Channels lie apart: one after the other, in order of the elements.
static void emitOneByOne(OpBuilder &builder, Location loc, const FlatTensor &tensor, Value state,
                         Term term) {
  emitLoops(builder, loc, StridedDim{tensor.channel->size, 1}, emitIndex(builder, loc, 0), {},
            [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
              Value base =
                  arith::MulIOp::create(b, loc, channel, emitIndex(b, loc, tensor.channel->stride));
              emitAddToState(b, loc, emitSums(b, loc, tensor, tensor.dims, base, 1, term), state,
                             channel);
              return {};
            });
}

void ChannelSumObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType observed,
                                        Value data, Value state) const {
  if (getAxis() >= observed.getRank())
    return;
  FlatTensor tensor = flatten(builder, loc, data, getAxis());
  int64_t numChannels = tensor.channel->size;
  auto emit = [&](int64_t first, Term term) {
    Value sums = emitStateView(builder, loc, state, builder.getF64Type(), numChannels,
                               first * sizeof(double));
    if (tensor.channel->stride == 1)
      emitSideBySide(builder, loc, tensor, sums, term);
    else
      emitOneByOne(builder, loc, tensor, sums, term);
  };
  if (!getClamp())
    return emit(0, [](OpBuilder &, Location, Value x) { return x; });
  auto number = [](OpBuilder &b, Value like, float value) {
    return emitFloat(b, like.getLoc(), like.getType(), value);
  };
  float low = getClamp()[0], high = getClamp()[1];
  emit(0, [&](OpBuilder &b, Location loc, Value x) -> Value {
    return emitMin(b, loc, emitMax(b, loc, x, number(b, x, low)), number(b, x, high));
  });
  emit(numChannels, [&](OpBuilder &b, Location loc, Value x) -> Value {
    auto compare = [&](arith::CmpFPredicate predicate, float bound) -> Value {
      return arith::CmpFOp::create(b, loc, predicate, x, number(b, x, bound));
    };
    Value isInside = arith::AndIOp::create(b, loc, compare(arith::CmpFPredicate::OGT, low),
                                           compare(arith::CmpFPredicate::OLT, high));
    return arith::SelectOp::create(b, loc, isInside, number(b, x, 1), number(b, x, 0));
  });
}

FailureOr<quant::QuantizedType> ChannelSumObserverAttr::getQuantizedType(EmitError emitError,
                                                                         RankedTensorType,
                                                                         ArrayRef<char>) const {
  return emitError() << "sums mean no quantized type";
}
