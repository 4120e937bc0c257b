//===- ColumnMinMax.cpp - one scale, statistics per column ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.min_max] State: that of a per-channel observer of the last dimension, which for a scalar
// is the one of all its elements; then the number of rows seen, 64 bits, and [N.stat.power].
//
//===----------------------------------------------------------------------===//

#include "CountedState.h"
#include "MagnitudeCounts.h"
#include "Range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "octet/Dialect/Octet/Magnitudes.h"

using namespace mlir;
using namespace octet;

/// The observer that keeps the statistics.
static ObserverAttrInterface getKeeper(const ColumnMinMaxObserverAttr &observer,
                                       RankedTensorType observed) {
  MLIRContext *context = observer.getContext();
  if (observed.getRank() == 0)
    return observer.getPlain();
  return PerChannelMinMaxObserverAttr::get(context, observer.getDtype(), observer.getScheme(),
                                           observer.getRange(), observer.getEps(),
                                           observer.getReduceRange(), observed.getRank() - 1);
}

LogicalResult ColumnMinMaxObserverAttr::verify(EmitError emitError, IntegerType dtype,
                                               Scheme scheme, DenseI64ArrayAttr range,
                                               FloatAttr eps, bool reduceRange) {
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange);
}

ObserverSpec ColumnMinMaxObserverAttr::getSpec() const { return getTarget(*this).getSpec(); }

/// 0 if that is known at run time only.
static int64_t getNumColumns(RankedTensorType observed) {
  int64_t columns = observed.getRank() == 0 ? 1 : observed.getShape().back();
  return ShapedType::isDynamic(columns) ? 0 : columns;
}

/// In a run; 0 if that is known at run time only.
static int64_t countRows(RankedTensorType observed) {
  int64_t columns = getNumColumns(observed);
  return columns == 0 || !observed.hasStaticShape() ? 0 : observed.getNumElements() / columns;
}

/// The keeper's state and the number of rows.
static CountedState getState(const ColumnMinMaxObserverAttr &observer, RankedTensorType observed) {
  return {getKeeper(observer, observed), observed, countRows(observed)};
}

static constexpr int64_t kPowerBytes = kNumMagnitudes * sizeof(int64_t);

static MutableArrayRef<char> getCounted(MutableArrayRef<char> state) {
  return state.drop_back(kPowerBytes);
}
static ArrayRef<char> getCounted(ArrayRef<char> state) { return state.drop_back(kPowerBytes); }
static MutableArrayRef<int64_t> getPowers(MutableArrayRef<char> state) {
  return {stateAs<int64_t>(state.take_back(kPowerBytes)), kNumMagnitudes};
}
static ArrayRef<int64_t> getPowers(ArrayRef<char> state) {
  return {stateAs<int64_t>(state.take_back(kPowerBytes)), kNumMagnitudes};
}

int64_t ColumnMinMaxObserverAttr::getStateBytes(RankedTensorType observed) const {
  return getState(*this, observed).getBytes() + kPowerBytes;
}

void ColumnMinMaxObserverAttr::initState(RankedTensorType observed,
                                         MutableArrayRef<char> state) const {
  getState(*this, observed).init(getCounted(state));
  llvm::fill(getPowers(state), 0);
}

void ColumnMinMaxObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                           MutableArrayRef<char> state) const {
  getState(*this, observed).update(data, getCounted(state));
  for (size_t columns = getNumColumns(observed); columns > 0 && !data.empty();
       data = data.drop_front(columns))
    if (float power = getMeanSquare(data.take_front(columns)); power != 0)
      countMagnitude(power, getPowers(state));
}

LogicalResult ColumnMinMaxObserverAttr::mergeState(RankedTensorType observed,
                                                   MutableArrayRef<char> state,
                                                   ArrayRef<char> other) const {
  for (auto [power, more] : llvm::zip_equal(getPowers(state), getPowers(other)))
    power += more;
  return getState(*this, observed).merge(getCounted(state), getCounted(other));
}

void ColumnMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                          RankedTensorType observed, Value data,
                                          Value state) const {
  CountedState counted = getState(*this, observed);
  counted.emitUpdate(builder, loc, data, state);
  FlatTensor rows = flatten(builder, loc, data, observed.getRank() - 1);
  Value powers =
      emitStateView(builder, loc, state, builder.getI64Type(), kNumMagnitudes, counted.getBytes());
  emitLoops(builder, loc, rows.dims, emitIndex(builder, loc, 0), {},
            [&](OpBuilder &b, Location loc, Value first, ValueRange) -> SmallVector<Value> {
              Value power = emitMeanSquare(b, loc, rows.memory, first,
                                           rows.channel.value_or(StridedDim{1, 1}));
              Value isSome = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, power,
                                                   emitFloat(b, loc, b.getF32Type(), 0));
              emitCountMagnitude(b, loc, power, isSome, powers, 0);
              return {};
            });
}

float octet::getTypicalPower(ColumnMinMaxObserverAttr, ArrayRef<char> state) {
  return getTypicalMagnitude(getPowers(state));
}

SmallVector<std::pair<float, float>, 0>
ColumnMinMaxObserverAttr::getColumns(ArrayRef<char> state) const {
  ArrayRef<char> ranges = CountedState::getKept(getCounted(state));
  const float *values = stateAs<float>(ranges);
  size_t count = ranges.size() / (2 * sizeof(float));
  SmallVector<std::pair<float, float>, 0> columns;
  for (size_t i = 0; i < count; ++i)
    columns.push_back({values[i], values[count + i]});
  return columns;
}

int64_t ColumnMinMaxObserverAttr::getNumRows(ArrayRef<char> state) const {
  return CountedState::getCount(getCounted(state));
}

ObserverAttrInterface ColumnMinMaxObserverAttr::getPlain() const {
  return MinMaxObserverAttr::get(getContext(), getDtype(), getScheme(), getRange(), getEps(),
                                 getReduceRange());
}

/// The range of all columns.
static ValueRange32 getRangeOfAll(ArrayRef<std::pair<float, float>> columns) {
  ValueRange32 all;
  for (auto [min, max] : columns)
    if (!ValueRange32{min, max}.isEmpty()) {
      all.include(min);
      all.include(max);
    }
  return all;
}

FailureOr<quant::QuantizedType>
ColumnMinMaxObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType,
                                           ArrayRef<char> state) const {
  return getQuantizedTypeOfRange(emitError, getTarget(*this), getRangeOfAll(getColumns(state)));
}
