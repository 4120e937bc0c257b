//===- Signature.cpp - arguments of a kernel function ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signature.h"
#include "octet/Numerics/Quantize.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Parameters are shared by all tensors that have the same ones.
static std::string keyOf(const QuantParams &params) {
  std::string key = "params/";
  llvm::raw_string_ostream os(key);
  os << params.low << ',' << params.high << ',' << params.axis;
  for (auto [scale, zeroPoint] : llvm::zip(params.scales, params.zeroPoints))
    os << ';' << llvm::utohexstr(llvm::bit_cast<uint32_t>(scale)) << ':' << zeroPoint;
  return key;
}

bool codegen::hasReciprocals(const QuantParams &params) {
  auto isNear = [&](int64_t zeroPoint) {
    return params.high - zeroPoint < 256 && zeroPoint - params.low < 256;
  };
  return llvm::all_of(params.scales,
                      [](float scale) { return scale >= 0x1p-80f && scale <= 0x1p80f; }) &&
         llvm::all_of(params.zeroPoints, isNear);
}

bool codegen::fitsInWords(const QuantParams &params) {
  return hasReciprocals(params) && params.low >= -128 && params.high <= 255;
}

/// A saturating pack clamps to the storage bounds.
static bool hasFullRange(const QuantParams &params) { return params.high - params.low == 255; }

int Signature::addTensor(Value value, Parameters parameters) {
  return addTensor(getTensorType(value), add(emitter.getBuffer(value)), parameters);
}

int Signature::addTensor(RankedTensorType type, int memory, Parameters parameters) {
  Tensor tensor{type, memory};
  auto quantized = dyn_cast<quant::QuantizedType>(tensor.type.getElementType());
  if (quantized && quantized.getStorageTypeIntegralWidth() <= 16 &&
      parameters != Parameters::none) {
    QuantParams params = numerics::getParams(quantized);
    std::string key = keyOf(params);
    tensor.axis = params.axis;
    if (parameters == Parameters::all)
      tensor.scales = addWeights<float>(key + "/scales", [&] {
        std::vector<float> block(params.scales.begin(), params.scales.end());
        for (float scale : params.scales)
          block.push_back(1.0f / scale);
        for (float scale : params.scales)
          block.push_back(numerics::reciprocalRest(scale));
        return block;
      });
    tensor.zeroPoints = addWeights<int32_t>(key + "/zero-points", [&] {
      std::vector<int32_t> block{(int32_t)params.low, (int32_t)params.high};
      block.insert(block.end(), params.zeroPoints.begin(), params.zeroPoints.end());
      return block;
    });
  }
  tensors.push_back(tensor);
  return tensors.size() - 1;
}

int Signature::addShifted(ArrayRef<int32_t> sums, bool beginAtLeast, int64_t block) {
  assert(!parameters && "expected shifted sums to be the first parameters");
  parameters.emplace(block).addShifted(sums, beginAtLeast);
  return addArray(emitter.getBuilder().getI32Type());
}

int Signature::addLeastProducts() {
  parameters->addLeastProducts();
  return addArray(emitter.getBuilder().getF32Type());
}

int Signature::addReciprocals(ArrayRef<float> perChannel, int64_t block) {
  if (block) {
    parameters->addReciprocals();
    int first = addArray(emitter.getBuilder().getF32Type());
    addArray(emitter.getBuilder().getF32Type());
    return first;
  }
  int first = addInNaturalOrder<float>(
      llvm::map_to_vector(perChannel, [](float value) { return 1.0f / value; }));
  addInNaturalOrder<float>(llvm::map_to_vector(perChannel, numerics::reciprocalRest));
  return first;
}

void Signature::prepareParameters() {
  if (!parameters)
    return;
  kernel::ArgAttr all = parameters->prepare(emitter).address;
  for (auto [i, number] : llvm::enumerate(arrays))
    arguments[number].address = kernel::ArgAttr::get(
        all.getContext(), all.getSpace(), all.getOffset() + i * parameters->getPositions() * 4);
}

TensorView Signature::getTensor(int number, ValueRange args) const {
  const Tensor &tensor = tensors[number];
  TensorView view(tensor.memory >= 0 ? args[tensor.memory] : Value(), tensor.type);
  view.axis = tensor.axis;
  view.scales = tensor.scales >= 0 ? args[tensor.scales] : Value();
  view.zeroPoints = tensor.zeroPoints >= 0 ? args[tensor.zeroPoints] : Value();
  return view;
}

Value codegen::loadParameter(KernelBuilder &b, Value block, int64_t base, int64_t axis,
                             ValueRange indices, int64_t laneAxis) {
  Value index = axis < 0 ? b.index(base) : b.addIndex(indices[axis], base);
  return axis >= 0 && axis == laneAxis ? b.load(block, index) : b.loadSplat(block, index);
}

/// The same for a parameter of a tensor, `base` elements into its block.
static Value loadParameterOf(KernelBuilder &b, const TensorView &view, Value block, int64_t base,
                             ValueRange indices, int64_t laneAxis) {
  if (view.axis >= 0 && view.period)
    return b.loadRepeated(block, b.index(base), view.period);
  return loadParameter(b, block, base, view.axis, indices, laneAxis);
}

static Value extend(KernelBuilder &b, Value value, Type wider, bool isSigned) {
  if (isSigned)
    return arith::ExtSIOp::create(b, b.ofLanes(wider), value);
  return arith::ExtUIOp::create(b, b.ofLanes(wider), value);
}

/// A stored value as the laws have it: f32, i64 or i1.
static Value widen(KernelBuilder &b, Value stored, Type element) {
  if (element.isF16() || element.isBF16())
    return widenHalf(b, stored, element.isBF16());
  if (element.isF64())
    return arith::TruncFOp::create(b, b.f32(), stored);
  if (!isa<IntegerType>(element) || element.getIntOrFloatBitWidth() == 64)
    return stored;
  if (element.isInteger(1)) {
    Value zero = b.splat(arith::ConstantOp::create(b, b.getI8IntegerAttr(0)));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, stored, zero);
  }
  return extend(b, stored, b.getI64Type(), !element.isUnsignedInteger());
}

/// The other way round: integers wrap to their type [N.integer], reals are rounded [N.cast].
static Value narrow(KernelBuilder &b, Value value, Type element) {
  if (element.isF16() || element.isBF16())
    return narrowToHalf(b, value, element.isBF16());
  if (element.isF64())
    return arith::ExtFOp::create(b, b.ofLanes(element), value);
  if (!isa<IntegerType>(element) || element.getIntOrFloatBitWidth() == 64)
    return value;
  if (element.isInteger(1))
    return extend(b, value, b.getI8Type(), /*isSigned=*/false);
  Type stored = b.getIntegerType(element.getIntOrFloatBitWidth());
  return arith::TruncIOp::create(b, b.ofLanes(stored), value);
}

Value codegen::loadRaw(KernelBuilder &b, const TensorView &view, ValueRange indices,
                       int64_t laneAxis) {
  Value index = b.linearIndex(indices, view.strides.steps, view.strides.offset);
  bool isBroadcast = laneAxis < 0 || view.strides.steps[laneAxis] != 1;
  Value raw = !isBroadcast  ? b.load(view.memory, index)
              : view.period ? b.loadRepeated(view.memory, index, view.period)
                            : b.loadSplat(view.memory, index);
  if (!view.isQuantized())
    return widen(b, raw, view.type.getElementType());
  if (getElementTypeOrSelf(raw.getType()).isInteger(32))
    return raw;
  return extend(b, raw, b.getI32Type(), isSigned(view.type));
}

Value codegen::extendByte(KernelBuilder &b, Value byte, bool isSigned) {
  return extend(b, byte, b.getI32Type(), isSigned);
}

Value codegen::truncate(KernelBuilder &b, Value value) {
  return arith::TruncIOp::create(b, b.ofLanes(b.getI8Type()), value);
}

void codegen::storeRaw(KernelBuilder &b, Value value, const TensorView &view, ValueRange indices) {
  Value index = b.linearIndex(indices, view.strides.steps, view.strides.offset);
  if (!view.isQuantized())
    value = narrow(b, value, view.type.getElementType());
  else if (!getStorageType(view.type).isInteger(32))
    value = arith::TruncIOp::create(b, b.ofLanes(getStorageType(view.type)), value);
  b.store(value, view.memory, index);
}

void codegen::storeFirst(KernelBuilder &b, int64_t count, Value value, const TensorView &view,
                         ValueRange indices) {
  if (count >= b.lanes)
    return storeRaw(b, value, view, indices);
  value = count == 1 ? vector::ExtractOp::create(b, value, int64_t(0)) : b.slice(value, 0, count);
  std::swap(b.lanes, count);
  storeRaw(b, value, view, indices);
  std::swap(b.lanes, count);
}

Value codegen::loadReal(KernelBuilder &b, const TensorView &view, ValueRange indices,
                        int64_t laneAxis) {
  Value raw = loadRaw(b, view, indices, laneAxis);
  if (!view.isQuantized())
    return raw;
  Value zeroPoint = loadParameterOf(b, view, view.zeroPoints, kZeroPoints, indices, laneAxis);
  Value scale = loadParameterOf(b, view, view.scales, 0, indices, laneAxis);
  Value centred = b.sub(raw, zeroPoint);
  bool isSmall = getStorageType(view.type).isInteger(8);
  return b.mul(isSmall ? b.smallToFloat(centred) : b.toFloat(centred), scale);
}

Value codegen::roundAndClamp(KernelBuilder &b, Value scaled, Value low, Value high,
                             Value zeroPoint) {
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, scaled, scaled);
  Value number = arith::SelectOp::create(b, isNumber, scaled, b.constF(0));
  Value clamped = b.minNumber(b.maxNumber(number, b.toFloat(b.sub(low, zeroPoint))),
                              b.toFloat(b.sub(high, zeroPoint)));
  return b.add(b.round(clamped), zeroPoint);
}

ByteBounds::ByteBounds(const QuantParams &params) : isSigned(params.low < 0) {
  auto areAll = [&](int64_t zeroPoint) {
    return llvm::all_of(params.zeroPoints, [&](int32_t z) { return z == zeroPoint; });
  };
  isLowLeast = params.low == least();
  isHighFull = params.high == least() + 255;
  addsLow = !isSigned && areAll(params.low);
  hasLeastZeroPoints = isSigned && areAll(least());
}

Value ByteBounds::clampBytes(KernelBuilder &b, Value bytes, Value bounds) const {
  auto load = [&](int64_t bound) -> Value {
    return memref::LoadOp::create(b, bounds, b.index(bound));
  };
  auto spread = [&](Value word) -> Value {
    Value byte = arith::TruncIOp::create(b, b.getI8Type(), word);
    return vector::BroadcastOp::create(b, bytes.getType(), byte);
  };
  if (isSigned) {
    if (!isLowLeast)
      bytes = arith::MaxSIOp::create(b, bytes, spread(load(kLow)));
    return isHighFull ? bytes : arith::MinSIOp::create(b, bytes, spread(load(kHigh))).getResult();
  }
  if (addsLow && !isLowLeast) {
    // Two instructions of any port instead of a saturating one, which fewer ports have.
    Value low = load(kLow), most = arith::SubIOp::create(b, load(kHigh), low);
    return b.add(arith::MinUIOp::create(b, bytes, spread(most)), spread(low));
  }
  if (!isLowLeast)
    bytes = arith::MaxUIOp::create(b, bytes, spread(load(kLow)));
  return isHighFull ? bytes : arith::MinUIOp::create(b, bytes, spread(load(kHigh))).getResult();
}

Value ByteBounds::clampWords(KernelBuilder &b, Value words, Value bounds) const {
  Value low = isLowLeast ? b.constI(least()) : b.loadSplat(bounds, b.index(kLow));
  Value high = isHighFull ? b.constI(least() + 255) : b.loadSplat(bounds, b.index(kHigh));
  if (addsLow && !isLowLeast)
    words = b.add(words, low);
  return arith::MinSIOp::create(b, arith::MaxSIOp::create(b, words, low), high);
}

Value codegen::quantizeBy(KernelBuilder &b, Value value, const QuantizeOperands &by) {
  if (!by.reciprocal.first)
    return roundAndClamp(b, b.div(value, by.scale), by.low, by.high, by.zeroPoint);
  bool roundsNaN = !b.valuesAreFinite && by.isWord && b.roundsNaNToZero();
  if (!b.valuesAreFinite && !roundsNaN) {
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, value, value);
    value = arith::SelectOp::create(b, isNumber, value, b.constF(0));
  }
  if (!by.isSmall) {
    // Between the values that the bounds stand for, which are quantized to the bounds.
    auto valueOf = [&](Value bound) {
      return b.mul(b.toFloat(b.sub(bound, by.zeroPoint)), by.scale);
    };
    value = b.minNumber(b.maxNumber(value, valueOf(by.low)), valueOf(by.high));
  }
  // Levels without fused multiply-add divide: emulating it takes longer.
  Value quotient = b.level.hasFma
                       ? b.mulReciprocal(value, by.reciprocal.first, by.reciprocal.second)
                       : b.div(value, by.scale);
  Value stored;
  if (by.isWord) {
    Value zeroPoint = by.addsZeroPoint ? by.zeroPoint : Value();
    stored = roundsNaN ? b.roundNaNToWord(quotient, zeroPoint) : b.roundToWord(quotient, zeroPoint);
  } else {
    stored = b.round(quotient);
    if (by.addsZeroPoint)
      stored = b.add(stored, by.zeroPoint);
  }
  if (by.packSaturates || !by.isSmall)
    return stored;
  return arith::MinSIOp::create(b, arith::MaxSIOp::create(b, stored, by.low), by.high);
}

QuantizeOperands codegen::loadQuantizeOperands(KernelBuilder &b, const TensorView &view,
                                               ValueRange indices, int64_t laneAxis) {
  auto params = numerics::getParams(cast<quant::QuantizedType>(view.type.getElementType()));
  QuantizeOperands by;
  by.isSmall = hasReciprocals(params) && b.quotientBound < float(1 << 29);
  by.isWord = fitsInWords(params) && (!by.isSmall || b.quotientBound < b.kMostInWord);
  auto loadScale = [&](int64_t part) {
    return loadParameterOf(b, view, view.scales, part * params.scales.size(), indices, laneAxis);
  };
  by.scale = loadScale(0);
  if (hasReciprocals(params))
    by.reciprocal = {loadScale(1), loadScale(2)};
  by.zeroPoint = ByteBounds(params).getZeroPoint(
      b, [&] { return loadParameterOf(b, view, view.zeroPoints, kZeroPoints, indices, laneAxis); });
  by.low = b.loadSplat(view.zeroPoints, b.index(kLow));
  by.high = b.loadSplat(view.zeroPoints, b.index(kHigh));
  return by;
}

Value codegen::quantize(KernelBuilder &b, Value value, const TensorView &view, ValueRange indices,
                        int64_t laneAxis, bool packSaturates) {
  QuantizeOperands by = loadQuantizeOperands(b, view, indices, laneAxis);
  by.packSaturates = packSaturates;
  return quantizeBy(b, value, by);
}

bool codegen::storesPacked(KernelBuilder &b, const TensorView &view) {
  return b.lanes == 16 && !b.level.isScalar() && view.isQuantized() && isByte(view.type) &&
         hasFullRange(numerics::getParams(cast<quant::QuantizedType>(view.type.getElementType())));
}

void codegen::storeReal(KernelBuilder &b, Value value, const TensorView &view, ValueRange indices,
                        int64_t laneAxis) {
  if (!view.isQuantized())
    return storeRaw(b, value, view, indices);
  bool packs = storesPacked(b, view);
  value = quantize(b, value, view, indices, laneAxis, packs);
  if (!packs)
    return storeRaw(b, value, view, indices);
  Value packed = kernel::PackOp::create(b, ValueRange{value}, isSigned(view.type));
  b.store(packed, view.memory, b.linearIndex(indices, view.strides.steps, view.strides.offset));
}
