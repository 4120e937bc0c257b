//===- Wide.cpp - products of 16-bit activations --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.wide] Integers of 16 bits are 256 h + l of two bytes: a product with weights is the sum of
// its products with the bytes, each of which stands for real numbers with a scale and zero point of
// its own.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using quant::UniformQuantizedType;

bool lower::isWide(Value integers) {
  return integers && numerics::isWide(getQuantizedType(integers));
}

/// Bytes that `compute` makes of the real numbers that `inputs`, if quantized, stand for.
static Value makeBytes(OpBuilder &builder, Location loc, ValueRange inputs, Type type,
                       llvm::function_ref<Value(ValueRange)> compute) {
  auto group = GroupOp::create(builder, loc, type, /*pattern=*/nullptr, inputs);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&group.getBody());
  SmallVector<Value> reals;
  for (Value input : inputs) {
    Value argument = body->addArgument(input.getType(), loc);
    bool isReal = getElementTypeOrSelf(input.getType()).isF32();
    reals.push_back(isReal ? argument
                           : DequantizeOp::create(builder, loc,
                                                  withElementType(input, builder.getF32Type()),
                                                  argument));
  }
  YieldOp::create(builder, loc, compute(reals));
  return group.getResult();
}

std::pair<Value, Value> Lowering::splitBytes(Value integers) {
  auto [known, isNew] = bytesOf.try_emplace(integers);
  if (!isNew)
    return known->second;
  auto type = cast<UniformQuantizedType>(getQuantizedType(integers));
  int64_t zeroPoint = type.getZeroPoint() - (type.isSigned() ? INT16_MIN : 0);
  auto withBytes = [&](double scale, int64_t zeroPoint) {
    auto byte = UniformQuantizedType::get(/*flags=*/0, builder.getI8Type(), type.getExpressedType(),
                                          scale, zeroPoint, 0, UINT8_MAX);
    return withElementType(integers, byte);
  };
  Location loc = integers.getLoc();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(integers);
  // Rounding to the nearest multiple of 256, half a byte below the number, rounds down.
  float scale = (float)type.getScale(), half = scale * (127.5f - (float)(zeroPoint % 256));
  Value offset = nn::createConstant<float>(builder, loc, "half_a_byte",
                                           RankedTensorType::get({}, builder.getF32Type()), {half});
  auto subtract = [&](ValueRange reals) -> Value {
    return nn::SubOp::create(builder, loc, reals[0].getType(), reals[0], reals[1]);
  };
  Value high = makeBytes(builder, loc, {integers, offset},
                         withBytes(256 * (double)scale, zeroPoint / 256), subtract);
  Value low =
      makeBytes(builder, loc, {integers, high}, withBytes(scale, zeroPoint % 256), subtract);
  return bytesOf[integers] = {high, low};
}

Outcome Lowering::lowerWide(Operation *unit, nn::ProductOpInterface product,
                            ArrayRef<Value> operands) {
  auto [high, low] = splitBytes(operands[0]);
  SmallVector<Value> ofHigh = {high, operands[1]}, ofLow(operands.begin(), operands.end());
  ofLow[0] = low;
  for (ArrayRef<Value> part : {ArrayRef(ofHigh), ArrayRef(ofLow)})
    if (Outcome outcome = checkProduct(product, part); outcome != Outcome::Lowered)
      return outcome;
  if (auto group = dyn_cast<GroupOp>(unit)) {
    group.inlineBody(); // what is behind the sum is absorbed again
    builder.setInsertionPoint(product);
  }
  Value result = product->getResult(0);
  Value upper = cloneOnto(builder, product, ofHigh, result.getType()),
        lower = cloneOnto(builder, product, ofLow, result.getType());
  upper.getDefiningOp()->removeAttr(kDecisionAttr); // the network has one layer here
  auto sum = nn::AddOp::create(builder, product->getLoc(), result.getType(), lower, upper);
  result.replaceAllUsesWith(sum);
  absorbReaders(lower.getDefiningOp(), product.getResultChannelAxis(), /*givesFloats=*/true);
  ++numLowered;
  return Outcome::Lowered;
}
