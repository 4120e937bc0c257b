//===- ChannelValues.cpp - some values of every channel -------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.values] State: the kept floats of channel 0, then those of channel 1, and so on, filled
// up with a zero to a multiple of 8 bytes. Positions count in logical dimensions, whatever the
// layout in memory, so that two networks keep the same ones.
//
//===----------------------------------------------------------------------===//

#include "EmitReduction.h"
#include "Range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
using namespace octet;

/// The kept elements in the order in which they are kept, as loops over a tensor of these strides:
/// over the channels, then over the other dimensions. Steps are odd, so that patterns of 2, 4, ...
/// positions are kept whole.
static SmallVector<StridedDim> getLoops(RankedTensorType observed, ArrayRef<int64_t> strides,
                                        int64_t axis, int64_t count) {
  SmallVector<int64_t> steps(observed.getRank(), 1);
  auto getSize = [&](int64_t i) { return llvm::divideCeil(observed.getDimSize(i), steps[i]); };
  while (true) {
    int64_t kept = 1, longest = axis == 0 ? 1 : 0;
    for (int64_t i = 0; i < observed.getRank(); ++i) {
      if (i == axis)
        continue;
      kept *= getSize(i);
      if (getSize(i) > getSize(longest))
        longest = i;
    }
    if (kept <= count)
      break;
    steps[longest] += 2;
  }
  SmallVector<StridedDim> loops;
  if (axis < observed.getRank())
    loops.push_back({observed.getDimSize(axis), strides[axis]});
  for (int64_t i = 0; i < observed.getRank(); ++i)
    if (i != axis)
      loops.push_back({(int64_t)getSize(i), strides[i] * steps[i]});
  return loops;
}

static SmallVector<int64_t> getStrides(RankedTensorType observed) {
  SmallVector<int64_t> strides(observed.getRank(), 1);
  for (int64_t i = observed.getRank() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * observed.getDimSize(i);
  return strides;
}

/// Values in all loops.
static int64_t getNumKept(ArrayRef<StridedDim> loops) {
  int64_t kept = 1;
  for (StridedDim loop : loops)
    kept *= loop.size;
  return kept;
}

LogicalResult ChannelValuesObserverAttr::verify(EmitError emitError, int64_t axis, int64_t count) {
  if (axis < 0 || count < 1)
    return emitError() << "expected an axis from 0 and a count from 1, but got " << axis << " and "
                       << count;
  return success();
}

int64_t ChannelValuesObserverAttr::getNumPerChannel(RankedTensorType observed) const {
  auto loops = getLoops(observed, getStrides(observed), getAxis(), getCount());
  return getNumKept(getAxis() < observed.getRank() ? ArrayRef(loops).drop_front() : loops);
}

ObserverSpec ChannelValuesObserverAttr::getSpec() const { return {}; }

int64_t ChannelValuesObserverAttr::getStateBytes(RankedTensorType observed) const {
  auto loops = getLoops(observed, getStrides(observed), getAxis(), getCount());
  return llvm::alignTo(getNumKept(loops) * sizeof(float), 8);
}

void ChannelValuesObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  memset(state.data(), 0, state.size());
}

/// Keeps the elements behind `data`, from `values` on; returns the end of what was kept.
static float *keep(ArrayRef<StridedDim> loops, const float *data, float *values) {
  if (loops.empty()) {
    *values = *data;
    return values + 1;
  }
  for (int64_t i = 0; i < loops[0].size; ++i)
    values = keep(loops.drop_front(), data + i * loops[0].stride, values);
  return values;
}

void ChannelValuesObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                            MutableArrayRef<char> state) const {
  keep(getLoops(observed, getStrides(observed), getAxis(), getCount()), data.data(),
       stateAs<float>(state));
}

LogicalResult ChannelValuesObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char>,
                                                    ArrayRef<char>) const {
  return failure();
}

void ChannelValuesObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                           RankedTensorType observed, Value data,
                                           Value state) const {
  auto [strides, offset] = cast<MemRefType>(data.getType()).getStridesAndOffset();
  auto loops = getLoops(observed, strides, getAxis(), getCount());
  Value memory = flatten(builder, loc, data).memory, first = emitIndex(builder, loc, 0);
  Value values = emitStateView(builder, loc, state, builder.getF32Type(), getNumKept(loops));
  emitLoops(builder, loc, loops, first, first,
            [&](OpBuilder &b, Location loc, Value index, ValueRange next) -> SmallVector<Value> {
              Value x = memref::LoadOp::create(b, loc, memory, index);
              memref::StoreOp::create(b, loc, x, values, next[0]);
              return {arith::AddIOp::create(b, loc, next[0], emitIndex(b, loc, 1))};
            });
}

FailureOr<quant::QuantizedType> ChannelValuesObserverAttr::getQuantizedType(EmitError emitError,
                                                                            RankedTensorType,
                                                                            ArrayRef<char>) const {
  return emitError() << "values of one run mean no quantized type";
}
