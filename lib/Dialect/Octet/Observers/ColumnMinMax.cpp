//===- ColumnMinMax.cpp - one scale, statistics per column ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.min_max] State: that of a per-channel observer of the last dimension, which for a scalar
// is the one of all its elements.
//
//===----------------------------------------------------------------------===//

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

int64_t ColumnMinMaxObserverAttr::getStateBytes(RankedTensorType observed) const {
  return getKeeper(*this, observed).getStateBytes(observed);
}

void ColumnMinMaxObserverAttr::initState(RankedTensorType observed,
                                         MutableArrayRef<char> state) const {
  getKeeper(*this, observed).initState(observed, state);
}

void ColumnMinMaxObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                           MutableArrayRef<char> state) const {
  getKeeper(*this, observed).updateState(observed, data, state);
}

LogicalResult ColumnMinMaxObserverAttr::mergeState(RankedTensorType observed,
                                                   MutableArrayRef<char> state,
                                                   ArrayRef<char> other) const {
  return getKeeper(*this, observed).mergeState(observed, state, other);
}

void ColumnMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                          RankedTensorType observed, Value data,
                                          Value state) const {
  getKeeper(*this, observed).emitUpdate(builder, loc, observed, data, state);
}

SmallVector<std::pair<float, float>, 0>
ColumnMinMaxObserverAttr::getColumns(ArrayRef<char> state) const {
  const float *values = stateAs<float>(state);
  size_t count = state.size() / (2 * sizeof(float));
  SmallVector<std::pair<float, float>, 0> columns;
  for (size_t i = 0; i < count; ++i)
    columns.push_back({values[i], values[count + i]});
  return columns;
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
