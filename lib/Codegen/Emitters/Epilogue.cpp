//===- Epilogue.cpp - what happens to an accumulator ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Whether one real number stands for all elements.
static bool isOneNumber(Value value) {
  return getTensorType(value).getNumElements() == 1 && !isQuantized(value.getType());
}

bool Epilogue::takesAnyOrder(const FusedOp &fused) {
  return !fused.dynamic && llvm::all_of(fused.getBodyInputs(), [&](Value inner) {
    return isOneNumber(fused.getOuter(inner));
  });
}

Value Epilogue::loadPerChannel(KernelBuilder &b, ValueRange args, int number, Value position,
                               int64_t laneAxis, bool again) const {
  Value block = signature.getValue(number, args);
  if (laneAxis != channelAxis)
    return b.loadSplat(block, position);
  if (period)
    return again ? b.reloadRepeated(block, position, period)
                 : b.loadRepeated(block, position, period);
  if (again)
    return quarterStride ? b.reloadQuarters(block, position, quarterStride)
                         : b.reload(block, position);
  return quarterStride ? b.loadQuarters(block, position, quarterStride) : b.load(block, position);
}

Value Epilogue::getBounds(ValueRange args) const {
  return bounds >= 0 ? signature.getValue(bounds, args)
                     : signature.getTensor(result, args).zeroPoints;
}

std::pair<Value, Value> Epilogue::loadBounds(KernelBuilder &b, ValueRange args) const {
  Value block = getBounds(args);
  return {b.loadSplat(block, b.index(kLow)), b.loadSplat(block, b.index(kHigh))};
}

/// Behind the multiplication: clamp, round, zero point.
Value Epilogue::finish(KernelBuilder &b, ValueRange args, Value scaled, Value position,
                       int64_t laneAxis) const {
  TensorView view = signature.getTensor(result, args);
  auto loadZeroPoint = [&] {
    return byteBounds.getZeroPoint(b, [&] {
      if (zeroPoints >= 0)
        return loadPerChannel(b, args, zeroPoints, position, laneAxis);
      return bounds >= 0 ? b.constI(0) : b.loadSplat(view.zeroPoints, b.index(kZeroPoints));
    });
  };
  if (packClamps && isWord && b.level.convertsByAdding)
    return b.roundToWord(scaled, byteBounds.addsLow ? Value() : loadZeroPoint());
  if (packClamps) {
    Value rounded = b.round(scaled);
    return byteBounds.addsLow ? rounded : b.add(rounded, loadZeroPoint());
  }
  auto [low, high] = loadBounds(b, args);
  Value zeroPoint = loadZeroPoint();
  if (!isWord || !b.level.convertsByAdding)
    return roundAndClamp(b, scaled, low, high, zeroPoint);
  Value clamped = b.minNumber(b.maxNumber(scaled, b.toFloat(b.sub(low, zeroPoint))),
                              b.toFloat(b.sub(high, zeroPoint)));
  return b.roundToWord(clamped, zeroPoint);
}

QuantizeOperands Epilogue::loadQuantizeOperands(KernelBuilder &b, ValueRange args, Value position,
                                                int64_t laneAxis) const {
  TensorView view = signature.getTensor(result, args);
  auto load = [&](int number) { return loadPerChannel(b, args, number, position, laneAxis); };
  QuantizeOperands by;
  by.isSmall = isSmall;
  by.isWord = isWord;
  by.packSaturates = packClamps;
  by.addsZeroPoint = !(packClamps && byteBounds.addsLow);
  std::tie(by.low, by.high) = loadBounds(b, args);
  if (scales < 0) {
    by.scale = b.loadSplat(view.scales, b.index(0));
    if (multipliesByReciprocals)
      by.reciprocal = {b.loadSplat(view.scales, b.index(1)), b.loadSplat(view.scales, b.index(2))};
    by.zeroPoint = byteBounds.getZeroPoint(
        b, [&] { return b.loadSplat(view.zeroPoints, b.index(kZeroPoints)); });
    return by;
  }
  by.scale = load(scales);
  if (multipliesByReciprocals)
    by.reciprocal = {load(reciprocals), load(reciprocals + 1)};
  by.zeroPoint =
      byteBounds.getZeroPoint(b, [&] { return zeroPoints >= 0 ? load(zeroPoints) : b.constI(0); });
  return by;
}

Value Epilogue::sumToFloat(KernelBuilder &b, ValueRange args, Value sum, Value position,
                           int64_t laneAxis) const {
  if (!shifted)
    return b.toFloat(sum);
  Value middle = middles < 0 ? b.constF(KernelBuilder::kMiddle)
                             : loadPerChannel(b, args, middles, position, laneAxis);
  return b.sub(b.bitcast(sum, b.getF32Type()), middle);
}

/// [N.requantize], [N.float_bias] The sum times its multiplier, and what is added; sums below zero
/// may give anything below zero where these begin at the least float.
Value Epilogue::scaleSum(KernelBuilder &b, ValueRange args, Value acc, Value factor, Value addend,
                         Value position, int64_t laneAxis) const {
  if (leastProducts < 0) {
    Value sum = sumToFloat(b, args, acc, position, laneAxis);
    return addend ? b.fma(sum, factor, addend) : b.mul(sum, factor);
  }
  Value least = loadPerChannel(b, args, leastProducts, position, laneAxis, /*again=*/true);
  return b.fma(b.bitcast(acc, b.getF32Type()), factor, least);
}

/// [N.dynamic_product] The zero point of the row moves out of the sum, its scale into the factor.
void Epilogue::applyDynamic(KernelBuilder &b, ValueRange args, Value position, ValueRange indices,
                            int64_t laneAxis, Value &acc, Value &factor) const {
  Value row = b.index(0);
  if (TensorView scales = signature.getTensor(dynamicScale, args); !scales.shape().empty())
    row = b.linearIndex(indices.drop_back(), ArrayRef(scales.strides.steps).drop_back(), 0);
  Value zeroPoint = b.loadSplat(signature.getTensor(dynamicZeroPoint, args).memory, row);
  Value sums = loadPerChannel(b, args, filterSums, position, laneAxis);
  acc = b.sub(acc, b.mul(zeroPoint, sums));
  factor = b.mul(b.loadSplat(signature.getTensor(dynamicScale, args).memory, row), factor);
}

/// Behind the multiplication: [N.dequantize] of what is stored, without storing it.
Value Epilogue::emitRounding(KernelBuilder &b, ValueRange args, Value scaled) const {
  auto load = [&](int64_t i) {
    return b.loadSplat(signature.getValue(rounding, args), b.index(i));
  };
  if (!roundsNumbers) {
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, scaled, scaled);
    scaled = arith::SelectOp::create(b, isNumber, scaled, b.constF(0));
  }
  if (clampsBelow)
    scaled = b.maxF(scaled, load(0));
  if (clampsAbove)
    scaled = b.minF(scaled, load(1));
  if (!b.level.hasFma)
    return b.mul(b.toFloat(b.round(scaled)), load(2));
  // Rounding keeps the sign of a zero, which adding zero takes away.
  return b.fma(math::RoundEvenOp::create(b, scaled), load(2), b.constF(0));
}

Value Epilogue::emit(KernelBuilder &b, ValueRange args, Value acc, Value position,
                     ValueRange indices, int64_t laneAxis) const {
  TensorView view = signature.getTensor(result, args);
  Value factor = multiplier < 0 ? Value() : loadPerChannel(b, args, multiplier, position, laneAxis);
  if (fused.dynamic)
    applyDynamic(b, args, position, indices, laneAxis, acc, factor);
  Value addend = addends < 0 ? Value() : loadPerChannel(b, args, addends, position, laneAxis);
  if (form == Form::requantize)
    return finish(b, args, scaleSum(b, args, acc, factor, addend, position, laneAxis), position,
                  laneAxis);
  if (form == Form::residual) {
    TensorView skip = signature.getTensor(residual, args);
    Value zeroPoint = loadParameter(b, skip.zeroPoints, kZeroPoints, skip.axis, indices, laneAxis);
    Value centred = b.smallToFloat(b.sub(loadRaw(b, skip, indices, laneAxis), zeroPoint));
    Value skipFactor = loadPerChannel(b, args, residualMultiplier, position, laneAxis);
    Value other = addend ? b.fma(centred, skipFactor, addend) : b.mul(centred, skipFactor);
    return finish(b, args, scaleSum(b, args, acc, factor, other, position, laneAxis), position,
                  laneAxis);
  }
  Value value =
      form == Form::floats ? acc : scaleSum(b, args, acc, factor, addend, position, laneAxis);
  if (rounding >= 0)
    value = emitRounding(b, args, value);
  llvm::DenseMap<Value, Value> known{{fused.getProductValue(), value}};
  for (auto [value, number] : inputs) {
    TensorView input = signature.getTensor(number, args);
    // Where one index runs through all rows, dimensions of one element have steps, too.
    if (input.shape() != view.shape() || isOneNumber(fused.getOuter(value)))
      alignView(input, view.shape());
    known[value] = loadReal(b, input, indices, laneAxis);
  }
  b.valuesAreFinite = isBounded;
  Value real = emitBody(b, fused, std::move(known));
  Value result = resultIsQuantized
                     ? quantizeBy(b, real, loadQuantizeOperands(b, args, position, laneAxis))
                     : real;
  b.valuesAreFinite = false;
  return result;
}

Value Epilogue::pack(KernelBuilder &b, ValueRange args, ValueRange values, bool inLanes) const {
  if (!packClamps && isWord && !inLanes && b.level.convertsByAdding) {
    // They are inside the bounds: halves of words are bytes, and nothing saturates.
    auto type = VectorType::get({b.lanes}, b.getI8Type());
    auto parts = llvm::map_to_vector(
        values, [&](Value value) -> Value { return arith::TruncIOp::create(b, type, value); });
    return concatVectors(b, b.getLoc(), parts);
  }
  Value bytes = kernel::PackOp::create(b, values, byteBounds.isSigned, inLanes);
  return packClamps ? byteBounds.clampBytes(b, bytes, getBounds(args)) : bytes;
}

void Epilogue::emitAndStore(KernelBuilder &b, ValueRange args, Value acc, ValueRange indices,
                            int64_t laneAxis) const {
  Value value = emit(b, args, acc, indices[channelAxis], indices, laneAxis);
  if (packClamps)
    value = byteBounds.clampWords(b, value, getBounds(args));
  storeRaw(b, value, signature.getTensor(result, args), indices);
}
