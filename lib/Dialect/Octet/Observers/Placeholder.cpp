//===- Placeholder.cpp - values that stay floats --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Range.h"

using namespace mlir;
using namespace octet;

ObserverSpec PlaceholderObserverAttr::getSpec() const {
  ObserverSpec spec;
  spec.floatType = getDtype();
  return spec;
}

int64_t PlaceholderObserverAttr::getStateBytes(RankedTensorType) const { return 0; }

void PlaceholderObserverAttr::initState(RankedTensorType, MutableArrayRef<char>) const {}

void PlaceholderObserverAttr::updateState(RankedTensorType, ArrayRef<float>,
                                          MutableArrayRef<char>) const {}

LogicalResult PlaceholderObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char>,
                                                  ArrayRef<char>) const {
  return success();
}

void PlaceholderObserverAttr::emitUpdate(OpBuilder &, Location, RankedTensorType, Value,
                                         Value) const {}

FailureOr<quant::QuantizedType> PlaceholderObserverAttr::getQuantizedType(EmitError emitError,
                                                                          RankedTensorType,
                                                                          ArrayRef<char>) const {
  return emitError() << "a placeholder has no quantized type: the values stay " << getDtype();
}
