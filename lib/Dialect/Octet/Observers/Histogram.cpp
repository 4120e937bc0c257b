//===- Histogram.cpp - the range that loses least -------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HistogramSearch.h"

using namespace mlir;
using namespace octet;

LogicalResult HistogramObserverAttr::verify(EmitError emitError, IntegerType dtype, Scheme scheme,
                                            DenseI64ArrayAttr range, FloatAttr eps,
                                            bool reduceRange, int64_t bins) {
  if (bins < 1 || bins > kWholeHistogram.getNumBins())
    return emitError() << "expected 1 to " << kWholeHistogram.getNumBins() << " bins, but got "
                       << bins;
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange);
}

ObserverSpec HistogramObserverAttr::getSpec() const { return getTarget(*this).getSpec(); }

int64_t HistogramObserverAttr::getStateBytes(RankedTensorType) const {
  return kWholeHistogram.getBytes();
}

void HistogramObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  kWholeHistogram.init(state);
}

void HistogramObserverAttr::updateState(RankedTensorType, ArrayRef<float> data,
                                        MutableArrayRef<char> state) const {
  kWholeHistogram.update(data, state);
}

LogicalResult HistogramObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char> state,
                                                ArrayRef<char> other) const {
  kWholeHistogram.merge(state, other);
  return success();
}

void HistogramObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType,
                                       Value data, Value state) const {
  Value zero = emitIndex(builder, loc, 0);
  kWholeHistogram.emitUpdate(builder, loc, flatten(builder, loc, data), zero, state, zero);
}

FailureOr<quant::QuantizedType>
HistogramObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType,
                                        ArrayRef<char> state) const {
  FailureOr<Histogram> histogram = kWholeHistogram.read(emitError, state);
  if (failed(histogram))
    return failure();
  ValueRange32 range = histogram->header.range;
  return getQuantizedTypeOfRange(emitError, getTarget(*this),
                                 range.isEmpty() ? range : searchRange(*histogram, getBins()));
}
