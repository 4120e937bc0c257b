//===- ColumnMinMax.cpp - one scale, statistics per column ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.min_max] State: that of a per-channel observer of the last dimension, which for a scalar
// is the one of all its elements; then the number of rows seen, 64 bits.
//
//===----------------------------------------------------------------------===//

#include "CountedState.h"
#include "Range.h"

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

/// In a run; 0 if that is known at run time only.
static int64_t countRows(RankedTensorType observed) {
  if (!observed.hasStaticShape())
    return 0;
  int64_t numColumns = observed.getRank() == 0 ? 1 : observed.getShape().back();
  return numColumns == 0 ? 0 : observed.getNumElements() / numColumns;
}

/// The keeper's state and the number of rows.
static CountedState getState(const ColumnMinMaxObserverAttr &observer, RankedTensorType observed) {
  return {getKeeper(observer, observed), observed, countRows(observed)};
}

int64_t ColumnMinMaxObserverAttr::getStateBytes(RankedTensorType observed) const {
  return getState(*this, observed).getBytes();
}

void ColumnMinMaxObserverAttr::initState(RankedTensorType observed,
                                         MutableArrayRef<char> state) const {
  getState(*this, observed).init(state);
}

void ColumnMinMaxObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                           MutableArrayRef<char> state) const {
  getState(*this, observed).update(data, state);
}

LogicalResult ColumnMinMaxObserverAttr::mergeState(RankedTensorType observed,
                                                   MutableArrayRef<char> state,
                                                   ArrayRef<char> other) const {
  return getState(*this, observed).merge(state, other);
}

void ColumnMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                          RankedTensorType observed, Value data,
                                          Value state) const {
  getState(*this, observed).emitUpdate(builder, loc, data, state);
}

SmallVector<std::pair<float, float>, 0>
ColumnMinMaxObserverAttr::getColumns(ArrayRef<char> state) const {
  ArrayRef<char> ranges = CountedState::getKept(state);
  const float *values = stateAs<float>(ranges);
  size_t count = ranges.size() / (2 * sizeof(float));
  SmallVector<std::pair<float, float>, 0> columns;
  for (size_t i = 0; i < count; ++i)
    columns.push_back({values[i], values[count + i]});
  return columns;
}

int64_t ColumnMinMaxObserverAttr::getNumRows(ArrayRef<char> state) const {
  return CountedState::getCount(state);
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
