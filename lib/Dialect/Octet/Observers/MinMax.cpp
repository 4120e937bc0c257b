//===- MinMax.cpp - the smallest and the largest value --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.min_max] State: ValueRange32.
//
//===----------------------------------------------------------------------===//

#include "EmitReduction.h"
#include "Range.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace octet;

LogicalResult MinMaxObserverAttr::verify(EmitError emitError, IntegerType dtype, Scheme scheme,
                                         DenseI64ArrayAttr range, FloatAttr eps, bool reduceRange) {
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange, /*mayBeFloat=*/true);
}

ObserverSpec MinMaxObserverAttr::getSpec() const { return getTarget(*this).getSpec(); }

int64_t MinMaxObserverAttr::getStateBytes(RankedTensorType) const { return sizeof(ValueRange32); }

void MinMaxObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  *stateAs<ValueRange32>(state) = ValueRange32();
}

void MinMaxObserverAttr::updateState(RankedTensorType, ArrayRef<float> data,
                                     MutableArrayRef<char> state) const {
  for (float x : data)
    stateAs<ValueRange32>(state)->include(x);
}

LogicalResult MinMaxObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char> state,
                                             ArrayRef<char> other) const {
  const ValueRange32 &more = *stateAs<ValueRange32>(other);
  if (more.isEmpty())
    return success();
  stateAs<ValueRange32>(state)->include(more.min);
  stateAs<ValueRange32>(state)->include(more.max);
  return success();
}

void MinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType, Value data,
                                    Value state) const {
  Value zero = emitIndex(builder, loc, 0), one = emitIndex(builder, loc, 1);
  MinMax seen = emitMinMax(builder, loc, flatten(builder, loc, data), zero);
  Value range = emitStateView(builder, loc, state, builder.getF32Type(), 2);
  Value min = memref::LoadOp::create(builder, loc, range, zero),
        max = memref::LoadOp::create(builder, loc, range, one);
  memref::StoreOp::create(
      builder, loc, emitPlusZero(builder, loc, emitMin(builder, loc, min, seen.min)), range, zero);
  memref::StoreOp::create(
      builder, loc, emitPlusZero(builder, loc, emitMax(builder, loc, max, seen.max)), range, one);
}

FailureOr<quant::QuantizedType> MinMaxObserverAttr::getQuantizedType(EmitError emitError,
                                                                     RankedTensorType,
                                                                     ArrayRef<char> state) const {
  return getQuantizedTypeOfRange(emitError, getTarget(*this), *stateAs<ValueRange32>(state));
}

FailureOr<FloatQParams> MinMaxObserverAttr::getFloatQParams(EmitError emitError, RankedTensorType,
                                                            ArrayRef<char> state) const {
  return getFloatQParamsOfRanges(emitError, getTarget(*this), *stateAs<ValueRange32>(state), -1);
}
