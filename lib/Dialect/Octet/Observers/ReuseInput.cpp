//===- ReuseInput.cpp - results that share their input's observer -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Range.h"

using namespace mlir;
using namespace octet;

ObserverSpec ReuseInputObserverAttr::getSpec() const {
  ObserverSpec spec;
  spec.reusesInput = true;
  return spec;
}

int64_t ReuseInputObserverAttr::getStateBytes(RankedTensorType) const { return 0; }

void ReuseInputObserverAttr::initState(RankedTensorType, MutableArrayRef<char>) const {}

void ReuseInputObserverAttr::updateState(RankedTensorType, ArrayRef<float>,
                                         MutableArrayRef<char>) const {}

LogicalResult ReuseInputObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char>,
                                                 ArrayRef<char>) const {
  return success();
}

void ReuseInputObserverAttr::emitUpdate(OpBuilder &, Location, RankedTensorType, Value,
                                        Value) const {}

FailureOr<quant::QuantizedType> ReuseInputObserverAttr::getQuantizedType(EmitError emitError,
                                                                         RankedTensorType,
                                                                         ArrayRef<char>) const {
  return emitError() << "the observer of the input gives the quantized type";
}
