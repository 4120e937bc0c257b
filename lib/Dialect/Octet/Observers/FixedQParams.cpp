//===- FixedQParams.cpp - the observer that knows its answer --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Range.h"

using namespace mlir;
using namespace octet;

LogicalResult FixedQParamsObserverAttr::verify(EmitError emitError, IntegerType dtype,
                                               FloatAttr scale, int64_t zeroPoint) {
  if (failed(verifyDType(emitError, dtype)))
    return failure();
  if (!scale.getType().isF32() || !(scale.getValueAsDouble() > 0) || !scale.getValue().isFinite())
    return emitError() << "expected a positive finite f32 as the scale, but got " << scale;
  auto [low, high] = getStorageRange(dtype);
  if (zeroPoint < low || zeroPoint > high)
    return emitError() << "expected a zero point within " << dtype << ", but got " << zeroPoint;
  return success();
}

ObserverSpec FixedQParamsObserverAttr::getSpec() const {
  ObserverSpec spec;
  spec.dtype = getDtype();
  spec.fixedScale = getScale().getValueAsDouble();
  spec.fixedZeroPoint = getZeroPoint();
  return spec;
}

void FixedQParamsObserverAttr::updateState(RankedTensorType, ArrayRef<float>,
                                           MutableArrayRef<char>) const {}

int64_t FixedQParamsObserverAttr::getStateBytes(RankedTensorType) const { return 0; }

void FixedQParamsObserverAttr::initState(RankedTensorType, MutableArrayRef<char>) const {}

void FixedQParamsObserverAttr::emitUpdate(OpBuilder &, Location, RankedTensorType, Value,
                                          Value) const {}

LogicalResult FixedQParamsObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char>,
                                                   ArrayRef<char>) const {
  return success();
}

FailureOr<quant::QuantizedType>
FixedQParamsObserverAttr::getQuantizedType(llvm::function_ref<InFlightDiagnostic()>,
                                           RankedTensorType, ArrayRef<char>) const {
  return getPerTensorType(getDtype(), {(float)getScale().getValueAsDouble(), getZeroPoint()});
}
