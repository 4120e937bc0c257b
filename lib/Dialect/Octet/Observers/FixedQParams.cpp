//===- FixedQParams.cpp - the observer that knows its answer --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/Octet/Octet.h"

using namespace mlir;
using namespace octet;

ObserverSpec FixedQParamsObserverAttr::getSpec() const {
  ObserverSpec spec;
  spec.dtype = getDtype();
  spec.fixedScale = getScale().getValueAsDouble();
  spec.fixedZeroPoint = getZeroPoint();
  return spec;
}

void FixedQParamsObserverAttr::updateState(RankedTensorType, ArrayRef<float>, MutableArrayRef<char>) const {}

int64_t FixedQParamsObserverAttr::getStateBytes(RankedTensorType) const { return 0; }

void FixedQParamsObserverAttr::initState(RankedTensorType, MutableArrayRef<char>) const {}

void FixedQParamsObserverAttr::emitUpdate(OpBuilder &, Location, RankedTensorType, Value, Value) const {}

LogicalResult FixedQParamsObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char>, ArrayRef<char>) const {
  return success();
}

FailureOr<quant::QuantizedType>
FixedQParamsObserverAttr::getQuantizedType(llvm::function_ref<InFlightDiagnostic()> emitError, RankedTensorType,
                                           ArrayRef<char>) const {
  IntegerType storage = getDtype();
  bool isSigned = !storage.isUnsigned();
  unsigned width = storage.getWidth();
  return cast<quant::QuantizedType>(quant::UniformQuantizedType::getChecked(
      emitError, isSigned ? quant::QuantizationFlags::Signed : 0, IntegerType::get(getContext(), width),
      Float32Type::get(getContext()), getScale().getValueAsDouble(), getZeroPoint(),
      quant::QuantizedType::getDefaultMinimumForInteger(isSigned, width),
      quant::QuantizedType::getDefaultMaximumForInteger(isSigned, width)));
}
