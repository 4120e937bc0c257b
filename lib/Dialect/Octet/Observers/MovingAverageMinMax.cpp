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

#include "MovingAverage.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// Moving averages
//===----------------------------------------------------------------------===//

LogicalResult MovingAverage::verify(EmitError emitError, FloatAttr constant) {
  if (constant && !(constant.getValueAsDouble() > 0 && constant.getValueAsDouble() <= 1))
    return emitError() << "expected a constant above 0 and at most 1";
  return success();
}

void MovingAverage::update(ValueRange32 &average, ValueRange32 seen) const {
  if (seen.isEmpty())
    return;
  if (average.isEmpty()) {
    average = seen;
    return;
  }
  average.min += constant * (seen.min - average.min);
  average.max += constant * (seen.max - average.max);
}

MinMax MovingAverage::emit(OpBuilder &builder, Location loc, MinMax average, MinMax seen) const {
  Type type = average.min.getType();
  TypedAttr value = builder.getF32FloatAttr(constant);
  if (auto vector = dyn_cast<VectorType>(type))
    value = DenseElementsAttr::get(vector, APFloat(constant));
  Value part = arith::ConstantOp::create(builder, loc, value);
  Value isFirst =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, average.min, average.max);
  auto move = [&](Value old, Value seen) -> Value {
    seen = emitPlusZero(builder, loc, seen);
    Value difference = arith::SubFOp::create(builder, loc, seen, old);
    Value step = arith::MulFOp::create(builder, loc, part, difference);
    Value moved = arith::AddFOp::create(builder, loc, old, step);
    return arith::SelectOp::create(builder, loc, isFirst, seen, moved);
  };
  return {move(average.min, seen.min), move(average.max, seen.max)};
}

//===----------------------------------------------------------------------===//
// The observer
//===----------------------------------------------------------------------===//

LogicalResult MovingAverageMinMaxObserverAttr::verify(EmitError emitError, IntegerType dtype,
                                                      Scheme scheme, DenseI64ArrayAttr range,
                                                      FloatAttr eps, bool reduceRange,
                                                      FloatAttr constant) {
  if (failed(MovingAverage::verify(emitError, constant)))
    return failure();
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange);
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
  MovingAverage(getConstant()).update(*stateAs<ValueRange32>(state), seen);
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
  MinMax moved = MovingAverage(getConstant()).emit(builder, loc, {min, max}, seen);
  memref::StoreOp::create(builder, loc, moved.min, range, zero);
  memref::StoreOp::create(builder, loc, moved.max, range, one);
}

FailureOr<quant::QuantizedType>
MovingAverageMinMaxObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType,
                                                  ArrayRef<char> state) const {
  return getQuantizedTypeOfRange(emitError, getTarget(*this), *stateAs<ValueRange32>(state));
}
