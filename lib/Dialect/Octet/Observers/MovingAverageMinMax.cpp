//===- MovingAverageMinMax.cpp - averages of smallest and largest value ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.moving_average] State: ValueRange32, empty before the first run.
//
//===----------------------------------------------------------------------===//

#include "EmitReduction.h"
#include "Range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace octet;

static QuantTarget getTarget(const MovingAverageMinMaxObserverAttr &observer) {
  return {observer.getDtype(), observer.getScheme(), observer.getRange(), observer.getEps()};
}

static float getConstantOrDefault(FloatAttr constant) {
  return constant ? (float)constant.getValueAsDouble() : 0.01f;
}

LogicalResult MovingAverageMinMaxObserverAttr::verify(EmitError emitError, IntegerType dtype,
                                                      Scheme, DenseI64ArrayAttr range,
                                                      FloatAttr eps, FloatAttr constant) {
  if (constant && !(constant.getValueAsDouble() > 0 && constant.getValueAsDouble() <= 1))
    return emitError() << "expected a constant above 0 and at most 1";
  return verifyTarget(emitError, dtype, range, eps);
}

ObserverSpec MovingAverageMinMaxObserverAttr::getSpec() const { return getTarget(*this).getSpec(); }

int64_t MovingAverageMinMaxObserverAttr::getStateBytes(RankedTensorType) const {
  return sizeof(ValueRange32);
}

void MovingAverageMinMaxObserverAttr::initState(RankedTensorType,
                                                MutableArrayRef<char> state) const {
  *stateAs<ValueRange32>(state) = ValueRange32();
}

void MovingAverageMinMaxObserverAttr::updateState(RankedTensorType, ArrayRef<float> data,
                                                  MutableArrayRef<char> state) const {
  ValueRange32 seen;
  for (float x : data)
    seen.include(x);
  ValueRange32 &average = *stateAs<ValueRange32>(state);
  float constant = getConstantOrDefault(getConstant());
  if (seen.isEmpty())
    return;
  if (average.isEmpty()) {
    average = seen;
    return;
  }
  average.min += constant * (seen.min - average.min);
  average.max += constant * (seen.max - average.max);
}

LogicalResult MovingAverageMinMaxObserverAttr::mergeState(RankedTensorType,
                                                          MutableArrayRef<char> state,
                                                          ArrayRef<char> other) const {
  if (stateAs<ValueRange32>(other)->isEmpty())
    return success();
  if (!stateAs<ValueRange32>(state)->isEmpty())
    return failure(); // An average depends on the order of the samples.
  *stateAs<ValueRange32>(state) = *stateAs<ValueRange32>(other);
  return success();
}

void MovingAverageMinMaxObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType,
                                                 Value data, Value state) const {
  Value zero = emitIndex(builder, loc, 0), one = emitIndex(builder, loc, 1);
  MinMax seen = emitMinMax(builder, loc, flatten(builder, loc, data), zero);
  Value range = emitStateView(builder, loc, state, builder.getF32Type(), 2);
  Value min = memref::LoadOp::create(builder, loc, range, zero),
        max = memref::LoadOp::create(builder, loc, range, one);
  Value isFirst = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, min, max);
  Value constant = arith::ConstantOp::create(
      builder, loc, builder.getF32FloatAttr(getConstantOrDefault(getConstant())));
  auto average = [&](Value old, Value seen, Value index) {
    Value difference = arith::SubFOp::create(builder, loc, seen, old);
    Value step = arith::MulFOp::create(builder, loc, constant, difference);
    Value moved = arith::AddFOp::create(builder, loc, old, step);
    memref::StoreOp::create(
        builder, loc, arith::SelectOp::create(builder, loc, isFirst, seen, moved), range, index);
  };
  average(min, emitPlusZero(builder, loc, seen.min), zero);
  average(max, emitPlusZero(builder, loc, seen.max), one);
}

FailureOr<quant::QuantizedType>
MovingAverageMinMaxObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType,
                                                  ArrayRef<char> state) const {
  return getQuantizedTypeOfRange(emitError, getTarget(*this), *stateAs<ValueRange32>(state));
}
