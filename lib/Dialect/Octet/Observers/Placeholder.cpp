//===- Placeholder.cpp - values without statistics ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Range.h"

using namespace mlir;
using namespace octet;

LogicalResult PlaceholderObserverAttr::verify(EmitError emitError, Type dtype, bool dynamic,
                                              DenseI64ArrayAttr range, bool reduceRange,
                                              bool perRow) {
  if (isa<FloatType>(dtype)) {
    if (range || reduceRange || perRow)
      return emitError() << "expected an integer dtype beside range, reduce_range or per_row, "
                            "but got "
                         << dtype;
    return success();
  }
  auto integer = dyn_cast<IntegerType>(dtype);
  if (!integer)
    return emitError() << "expected a float or an integer dtype, but got " << dtype;
  if (!dynamic)
    return emitError() << "expected dynamic = true beside the integer dtype " << dtype;
  return verifyTarget(emitError, integer, Scheme::affine, range, /*eps=*/nullptr, reduceRange);
}

ObserverSpec PlaceholderObserverAttr::getSpec() const {
  ObserverSpec spec;
  if (auto integer = dyn_cast<IntegerType>(getDtype())) {
    spec = QuantTarget(integer, Scheme::affine, getRange(), /*eps=*/nullptr, getReduceRange())
               .getSpec();
    spec.eps = std::nullopt;
  }
  spec.floatType = dyn_cast<FloatType>(getDtype());
  spec.isDynamic = getDynamic();
  spec.isPerRow = getPerRow();
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
  if (getDynamic())
    return emitError() << "a placeholder has no quantized type: each run has its own";
  return emitError() << "a placeholder has no quantized type: the values stay " << getDtype();
}
