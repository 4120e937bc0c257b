//===- Percentile.cpp - the range of most of the values -------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HistogramState.h"

using namespace mlir;
using namespace octet;

LogicalResult PercentileObserverAttr::verify(EmitError emitError, IntegerType dtype, Scheme scheme,
                                             DenseI64ArrayAttr range, FloatAttr eps,
                                             bool reduceRange, FloatAttr percentile) {
  if (percentile && !(percentile.getValueAsDouble() > 0 && percentile.getValueAsDouble() <= 100))
    return emitError() << "expected a percentile above 0 and at most 100, but got " << percentile;
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange);
}

ObserverSpec PercentileObserverAttr::getSpec() const { return getTarget(*this).getSpec(); }

/// [N.stat.percentile] The bounds of the outermost bins that are not wholly cut off.
static ValueRange32 cut(const Histogram &histogram, double percentile) {
  double cutOff = (1 - percentile / 100) / 2 * histogram.getTotal();
  double total = histogram.getTotal(), below = 0;
  ValueRange32 range = histogram.header.range, kept = range;
  bool isFirst = true;
  histogram.forEachBin([&](double low, double high, int64_t count) {
    if (isFirst && below + count > cutOff) {
      kept.min = low;
      isFirst = false;
    }
    if (total - below > cutOff)
      kept.max = high;
    below += count;
  });
  return kept;
}

static double getPercentileOrDefault(FloatAttr percentile) {
  return percentile ? percentile.getValueAsDouble() : 99.99;
}

int64_t PercentileObserverAttr::getStateBytes(RankedTensorType) const {
  return kWholeHistogram.getBytes();
}

void PercentileObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  kWholeHistogram.init(state);
}

void PercentileObserverAttr::updateState(RankedTensorType, ArrayRef<float> data,
                                         MutableArrayRef<char> state) const {
  kWholeHistogram.update(data, state);
}

LogicalResult PercentileObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char> state,
                                                 ArrayRef<char> other) const {
  kWholeHistogram.merge(state, other);
  return success();
}

void PercentileObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType,
                                        Value data, Value state) const {
  Value zero = emitIndex(builder, loc, 0);
  kWholeHistogram.emitUpdate(builder, loc, flatten(builder, loc, data), zero, state, zero);
}

FailureOr<quant::QuantizedType>
PercentileObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType,
                                         ArrayRef<char> state) const {
  FailureOr<Histogram> histogram = kWholeHistogram.read(emitError, state);
  if (failed(histogram))
    return failure();
  ValueRange32 range = histogram->header.range;
  return getQuantizedTypeOfRange(
      emitError, getTarget(*this),
      range.isEmpty() ? range : cut(*histogram, getPercentileOrDefault(getPercentile())));
}
