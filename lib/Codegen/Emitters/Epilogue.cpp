//===- Epilogue.cpp - what happens to an accumulator ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "EpilogueBounds.h"
#include "octet/Dialect/NN/Constants.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

Value Epilogue::getResidual() const {
  auto add = fused.yielded.getDefiningOp<nn::AddOp>();
  if (!add || fused.body.size() > 2)
    return {};
  Value productResult = fused.product->getResult(0);
  Value other = add.getLhs() == productResult   ? add.getRhs()
                : add.getRhs() == productResult ? add.getLhs()
                                                : Value();
  auto dequantize = other ? other.getDefiningOp<DequantizeOp>() : DequantizeOp();
  if (!dequantize || !isa<BlockArgument>(dequantize.getInput()))
    return {};
  Value outer = fused.getOuter(dequantize.getInput());
  bool sameShape = getTensorType(outer).getShape() == getTensorType(fused.getResult()).getShape();
  return sameShape ? outer : Value();
}

Epilogue::Form Epilogue::chooseForm() const {
  if (!isQuantized(fused.getInput().getType()))
    return Form::floats;
  if (!resultIsQuantized || fused.dynamic)
    return Form::general;
  if (fused.body.empty())
    return Form::requantize;
  return getResidual() ? Form::residual : Form::general;
}

/// Whether one real number stands for all elements.
static bool isOneNumber(Value value) {
  return getTensorType(value).getNumElements() == 1 && !isQuantized(value.getType());
}

bool Epilogue::takesAnyOrder(const FusedOp &fused) {
  return !fused.dynamic && llvm::all_of(fused.getBodyInputs(), [&](Value inner) {
    return isOneNumber(fused.getOuter(inner));
  });
}

/// The sum of the weights of each output.
static SmallVector<int32_t> getFilterSums(Value filter) {
  auto weights = nn::getConstantValues<int8_t>(filter);
  int64_t numOutputs = getTensorType(filter).getDimSize(0), count = weights->size() / numOutputs;
  SmallVector<int32_t> sums;
  for (int64_t o = 0; o < numOutputs; ++o)
    sums.push_back(std::accumulate(weights->begin() + o * count, weights->begin() + (o + 1) * count,
                                   int32_t(0)));
  return sums;
}

/// [N.requantize] of what the body reads dequantized; `factors` become M[c] and `addends` B[c] of
/// that. The range of what it reads.
Interval Epilogue::addRounding(MutableArrayRef<float> factors, MutableArrayRef<float> addends) {
  QuantParams params = paramsOf(fused.getProductValue());
  for (float &factor : factors)
    factor = numerics::requantizeMultiplier(factor, params.scales[0]);
  for (float &addend : addends)
    addend = numerics::addend(addend, params.scales[0]);
  auto isNumber = [](float value) { return std::isfinite(value); };
  roundsNumbers = llvm::all_of(factors, isNumber) && llvm::all_of(addends, isNumber);
  RoundingClamps clamps(fused, getProductBound(fused, factors, addends));
  clampsBelow = clamps.below;
  clampsAbove = clamps.above;
  std::vector<float> values{float(params.low - params.zeroPoints[0]),
                            float(params.high - params.zeroPoints[0]), params.scales[0]};
  std::string key = "rounding";
  for (float value : values)
    key += "/" + llvm::utohexstr(llvm::bit_cast<uint32_t>(value));
  rounding = signature.addWeights<float>(key, [&] { return values; });
  return clamps.range;
}

/// The largest magnitude of what the body yields, or infinity.
float Epilogue::addFactorsOfBody(MutableArrayRef<float> factors, MutableArrayRef<float> addends) {
  if (fused.rounding)
    return getEpilogueRange(fused, addRounding(factors, addends)).getMagnitude();
  if (fused.dynamic)
    return std::numeric_limits<float>::infinity();
  float bound = getProductBound(fused, factors, addends);
  return getEpilogueRange(fused, {-bound, bound}).getMagnitude();
}

/// [N.residual] The operand that is added, and its M. The largest magnitude of their products.
float Epilogue::addResidual(const QuantParams &out, size_t numOutputs) {
  QuantParams skip = paramsOf(getResidual());
  SmallVector<float> factors;
  for (size_t c = 0; c < std::max(skip.scales.size(), out.scales.size()); ++c)
    factors.push_back(numerics::residualMultiplier(skip.getScale(c), out.getScale(c)));
  float bound = 512 * *llvm::max_element(factors);
  if (factors.size() == 1)
    factors.assign(numOutputs, factors[0]);
  residual = signature.addTensor(getResidual());
  residualMultiplier = signature.addParameters(ArrayRef<float>(factors), block);
  return bound;
}

/// M[c] or S[c], B[c] or b[c], the residual's M, and whether their products are small enough to be
/// rounded without a clamp.
void Epilogue::addMultipliers() {
  Value input = fused.getInput(), filter = fused.getOuter(fused.product->getOperand(1));
  SmallVector<float> factors = getAccumulatorScales(input, filter);
  SmallVector<float, 0> added = *getAddends(fused);
  float bound = 0; ///< of what is rounded
  bool isProvenWord = false;
  constexpr float kMostInWord = (1 << 15) - 512; // a zero point is added
  if (form == Form::general) {
    bound = addFactorsOfBody(factors, added);
    isBounded = bound < std::numeric_limits<float>::infinity();
    if (resultIsQuantized) {
      float scale = *llvm::min_element(paramsOf(fused.getResult()).scales);
      bound /= scale;
      float most = bound;
      if (shifted && !fused.rounding) {
        float product = shifted.getProductBound(factors, added);
        most = getEpilogueRange(fused, {-product, product}).getMagnitude() / scale;
      }
      isProvenWord = most < kMostInWord;
    }
  } else {
    QuantParams out = paramsOf(fused.getResult());
    for (auto [c, factor] : llvm::enumerate(factors))
      factor = numerics::requantizeMultiplier(factor, out.getScale(c));
    for (auto [c, addend] : llvm::enumerate(added))
      addend = numerics::addend(addend, out.getScale(c));
    float residualBound = form == Form::residual ? addResidual(out, factors.size()) : 0;
    bound = std::max(residualBound, getProductBound(fused, factors, added));
    shifted.replaceMultipliers(factors);
    float most = shifted ? shifted.getProductBound(factors, added) : bound;
    isProvenWord = residualBound + most < kMostInWord;
  }
  multiplier = signature.addParameters(ArrayRef<float>(factors), block);
  if (!added.empty())
    addends = signature.addParameters(ArrayRef<float>(added), block);
  if (shifted.hasMiddles())
    middles = signature.addParameters(shifted.getMiddles(), block);
  if (shifted.beginsAtLeast()) {
    auto products =
        llvm::map_to_vector(factors, [](float factor) { return -ShiftedSums::kLeast * factor; });
    leastProducts = block ? signature.addLeastProducts()
                          : signature.addParameters(ArrayRef<float>(products), block);
  }
  if (fused.dynamic)
    filterSums = signature.addParameters(getFilterSums(filter), block);
  isSmall = bound < float(1 << 29);
  if (resultIsQuantized) {
    QuantParams out = paramsOf(fused.getResult());
    multipliesByReciprocals = hasReciprocals(out);
    bool clampsItself = form == Form::general && multipliesByReciprocals;
    packClamps = (isSmall || clampsItself) && isUnsignedByte(getTensorType(fused.getResult()));
    byteBounds = ByteBounds(out);
    isWord = fitsInWords(out) && (isSmall ? isProvenWord : clampsItself);
  }
}

void Epilogue::addResultParameters() {
  QuantParams out = paramsOf(fused.getResult());
  if (out.axis < 0)
    return; // they are in the tensor's own parameter block
  bounds = signature.addWeights<int32_t>(
      "bounds/" + std::to_string(out.low) + "," + std::to_string(out.high),
      [&] { return std::vector<int32_t>{(int32_t)out.low, (int32_t)out.high}; });
  if (form == Form::general) {
    scales = signature.addParameters(ArrayRef<float>(out.scales), block);
    reciprocals = signature.addReciprocals(out.scales, block);
  }
  if (llvm::any_of(out.zeroPoints, [](int32_t z) { return z != 0; }))
    zeroPoints = signature.addParameters(ArrayRef<int32_t>(out.zeroPoints), block);
}

Epilogue::Epilogue(const FusedOp &fused, Signature &signature, int64_t block,
                   const ShiftedSums &shifted)
    : fused(fused), signature(signature), block(block), shifted(shifted),
      resultIsQuantized(isQuantized(fused.getResult().getType())) {
  form = chooseForm();
  channelAxis = fused.getProduct().getResultChannelAxis();
  bool perChannel = resultIsQuantized && paramsOf(fused.getResult()).axis >= 0;
  bool hasBody = form == Form::general || form == Form::floats;
  if (form != Form::floats)
    addMultipliers();
  if (resultIsQuantized)
    addResultParameters();
  // Behind the parameters of channels, which are one record where they follow one another.
  result = signature.addTensor(fused.getResult(), perChannel ? Signature::Parameters::none
                                                             : Signature::Parameters::all);
  if (fused.dynamic) {
    dynamicScale = signature.addTensor(fused.getOuter(fused.dynamic->getOperand(1)));
    dynamicZeroPoint = signature.addTensor(fused.getOuter(fused.dynamic->getOperand(2)));
  }
  if (hasBody)
    for (Value input : fused.getBodyInputs())
      inputs.push_back({input, signature.addTensor(fused.getOuter(input))});
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
    if (zeroPoints >= 0)
      return loadPerChannel(b, args, zeroPoints, position, laneAxis);
    return bounds >= 0 ? b.constI(0) : b.loadSplat(view.zeroPoints, b.index(kZeroPoints));
  };
  if (packClamps && isWord && b.level.convertsByAdding)
    return b.roundToWord(scaled, byteBounds.addsLow ? Value() : loadZeroPoint());
  if (packClamps) {
    Value rounded = b.round(scaled);
    return byteBounds.addsLow ? rounded : b.add(rounded, loadZeroPoint());
  }
  auto [low, high] = loadBounds(b, args);
  return roundAndClamp(b, scaled, low, high, loadZeroPoint());
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
    by.zeroPoint = b.loadSplat(view.zeroPoints, b.index(kZeroPoints));
    return by;
  }
  by.scale = load(scales);
  if (multipliesByReciprocals)
    by.reciprocal = {load(reciprocals), load(reciprocals + 1)};
  by.zeroPoint = zeroPoints >= 0 ? load(zeroPoints) : b.constI(0);
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
    if (isOneNumber(fused.getOuter(value))) { // in any order of lanes
      known[value] = b.loadSplat(input.memory, b.index(input.strides.offset));
      continue;
    }
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
  Value bytes = kernel::PackOp::create(b, values, inLanes);
  return packClamps ? byteBounds.clampBytes(b, bytes, getBounds(args)) : bytes;
}

void Epilogue::emitAndStore(KernelBuilder &b, ValueRange args, Value acc, ValueRange indices,
                            int64_t laneAxis) const {
  Value value = emit(b, args, acc, indices[channelAxis], indices, laneAxis);
  if (packClamps)
    value = byteBounds.clampWords(b, value, getBounds(args));
  storeRaw(b, value, signature.getTensor(result, args), indices);
}
