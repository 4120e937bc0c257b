//===- Epilogue.cpp - what happens to an accumulator ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Epilogue.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Numerics/Requantize.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static quant::QuantizedType quantizedTypeOf(Value value) {
  return cast<quant::QuantizedType>(getTensorType(value).getElementType());
}

static QuantParams paramsOf(Value value) { return numerics::getParams(quantizedTypeOf(value)); }

static numerics::ProductTypes getProductTypes(Value input, Value filter) {
  return {quantizedTypeOf(input), quantizedTypeOf(filter), getTensorType(filter).getDimSize(0)};
}

SmallVector<float> codegen::getAccumulatorScales(Value input, Value filter) {
  numerics::ProductTypes types = getProductTypes(input, filter);
  SmallVector<float> scales;
  for (int64_t o = 0; o < types.numOutputs; ++o)
    scales.push_back(types.scale(o));
  return scales;
}

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

/// The largest |f32(acc) * factor[c]|, or infinity.
static float getProductBound(const FusedOp &fused, ArrayRef<float> factors) {
  Value input = fused.getInput(), filter = fused.getOuter(fused.product->getOperand(1));
  FailureOr<SmallVector<int8_t, 0>> weights = nn::getConstantValues<int8_t>(filter);
  auto bias = getBiasValues<int32_t>(fused);
  if (failed(weights) || failed(bias))
    return std::numeric_limits<float>::infinity();
  float bound = 0;
  auto sums = numerics::accumulatorBounds(getProductTypes(input, filter), *weights, *bias);
  for (auto [sum, factor] : llvm::zip(sums, factors))
    bound = std::max(bound, numerics::productBound(sum, factor));
  return bound;
}

/// getBodyBound, from the bound of the product. Dequantized bytes are within 512 scales.
static float getEpilogueBound(const FusedOp &fused, float productBound) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  llvm::DenseMap<Value, float> bounds{{fused.product->getResult(0), productBound}};
  for (Value inner : fused.getBodyInputs()) {
    Value outer = fused.getOuter(inner);
    if (isQuantized(outer.getType()))
      bounds[inner] = 512 * *llvm::max_element(paramsOf(outer).scales);
    else if (auto values = nn::getConstantValues<float>(outer); succeeded(values))
      for (float value : *values)
        bounds[inner] =
            std::max(bounds.lookup(inner), std::isnan(value) ? kInfinity : std::abs(value));
  }
  return getBodyBound(fused, bounds);
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

/// M[c] or S[c], the residual's M, and whether their products are small enough to be rounded
/// without a clamp.
void Epilogue::addMultipliers() {
  Value input = fused.getInput(), filter = fused.getOuter(fused.product->getOperand(1));
  SmallVector<float> factors = getAccumulatorScales(input, filter);
  float bound = 0; ///< of what is rounded
  if (form == Form::general) {
    bound = fused.dynamic ? std::numeric_limits<float>::infinity()
                          : getEpilogueBound(fused, getProductBound(fused, factors));
    isBounded = bound < std::numeric_limits<float>::infinity();
    if (resultIsQuantized)
      bound /= *llvm::min_element(paramsOf(fused.getResult()).scales);
  } else {
    QuantParams out = paramsOf(fused.getResult());
    for (auto [c, factor] : llvm::enumerate(factors))
      factor = numerics::requantizeMultiplier(factor, out.getScale(c));
    if (form == Form::residual) {
      QuantParams skip = paramsOf(getResidual());
      SmallVector<float> skipFactors;
      for (size_t c = 0; c < std::max(skip.scales.size(), out.scales.size()); ++c)
        skipFactors.push_back(numerics::residualMultiplier(skip.getScale(c), out.getScale(c)));
      bound = 512 * *llvm::max_element(skipFactors);
      if (skipFactors.size() == 1)
        skipFactors.assign(factors.size(), skipFactors[0]);
      residual = signature.addTensor(getResidual());
      residualMultiplier = signature.addParameters(ArrayRef<float>(skipFactors), block);
    }
    bound = std::max(bound, getProductBound(fused, factors));
  }
  multiplier = signature.addParameters(ArrayRef<float>(factors), block);
  if (fused.dynamic)
    filterSums = signature.addParameters(getFilterSums(filter), block);
  isSmall = bound < float(1 << 29);
  if (resultIsQuantized) {
    QuantParams out = paramsOf(fused.getResult());
    multipliesByReciprocals = hasReciprocals(out);
    bool clampsItself = form == Form::general && multipliesByReciprocals;
    packClamps = (isSmall || clampsItself) && out.low == 0 && out.high == 255;
  }
}

void Epilogue::addResultParameters() {
  QuantParams out = paramsOf(fused.getResult());
  bool perChannel = out.axis >= 0;
  zeroPointIsZero = llvm::all_of(out.zeroPoints, [](int32_t z) { return z == 0; });
  if (!perChannel)
    return; // they are in the tensor's own parameter block
  bounds = signature.addWeights<int32_t>(
      "bounds/" + std::to_string(out.low) + "," + std::to_string(out.high),
      [&] { return std::vector<int32_t>{(int32_t)out.low, (int32_t)out.high}; });
  if (form == Form::general) {
    scales = signature.addParameters(ArrayRef<float>(out.scales), block);
    reciprocals = signature.addReciprocals(out.scales, block);
  }
  if (!zeroPointIsZero)
    zeroPoints = signature.addParameters(ArrayRef<int32_t>(out.zeroPoints), block);
}

Epilogue::Epilogue(const FusedOp &fused, Signature &signature, int64_t block)
    : fused(fused), signature(signature), block(block),
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
                               int64_t laneAxis) const {
  Value block = signature.getValue(number, args);
  if (laneAxis != channelAxis)
    return b.loadSplat(block, position);
  return quarterStride ? b.loadQuarters(block, position, quarterStride) : b.load(block, position);
}

std::pair<Value, Value> Epilogue::loadBounds(KernelBuilder &b, ValueRange args) const {
  Value block =
      bounds >= 0 ? signature.getValue(bounds, args) : signature.getTensor(result, args).zeroPoints;
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
  if (packClamps) {
    Value rounded = b.round(scaled);
    return zeroPointIsZero ? rounded : b.add(rounded, loadZeroPoint());
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
  by.packSaturates = packClamps;
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

Value Epilogue::emit(KernelBuilder &b, ValueRange args, Value acc, Value position,
                     ValueRange indices, int64_t laneAxis) const {
  TensorView view = signature.getTensor(result, args);
  Value factor = multiplier < 0 ? Value() : loadPerChannel(b, args, multiplier, position, laneAxis);
  if (fused.dynamic)
    applyDynamic(b, args, position, indices, laneAxis, acc, factor);
  if (form == Form::requantize)
    return finish(b, args, b.mul(b.toFloat(acc), factor), position, laneAxis);
  if (form == Form::residual) {
    TensorView skip = signature.getTensor(residual, args);
    Value zeroPoint = loadParameter(b, skip.zeroPoints, kZeroPoints, skip.axis, indices, laneAxis);
    Value centred = b.toFloat(b.sub(loadRaw(b, skip, indices, laneAxis), zeroPoint));
    Value skipFactor = loadPerChannel(b, args, residualMultiplier, position, laneAxis);
    return finish(b, args, b.fma(b.toFloat(acc), factor, b.mul(centred, skipFactor)), position,
                  laneAxis);
  }
  llvm::DenseMap<Value, Value> known;
  known[fused.product->getResult(0)] = form == Form::floats ? acc : b.mul(b.toFloat(acc), factor);
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

void Epilogue::emitAndStore(KernelBuilder &b, ValueRange args, Value acc, ValueRange indices,
                            int64_t laneAxis) const {
  Value value = emit(b, args, acc, indices[channelAxis], indices, laneAxis);
  if (packClamps) {
    value = arith::MaxSIOp::create(b, value, b.constI(0));
    value = arith::MinSIOp::create(b, value, b.constI(255));
  }
  storeRaw(b, value, signature.getTensor(result, args), indices);
}
