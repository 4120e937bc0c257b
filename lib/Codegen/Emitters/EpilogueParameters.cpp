//===- EpilogueParameters.cpp - the form of an epilogue, and what it reads ===//
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
      isProvenWord = most < KernelBuilder::kMostInWord;
    }
  } else {
    QuantParams out = paramsOf(fused.getResult());
    for (auto [c, factor] : llvm::enumerate(factors))
      factor = numerics::requantizeMultiplier(factor, out.getScale(c));
    for (auto [c, addend] : llvm::enumerate(added))
      addend = numerics::addend(addend, out.getScale(c));
    float otherBound = form == Form::residual ? addResidual(out, factors.size()) : 0;
    bound = otherBound + (shifted ? shifted.getProductBound(factors, added)
                                  : getProductBound(fused, factors, added));
    isProvenWord = bound < KernelBuilder::kMostInWord;
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
    packClamps = (isSmall || clampsItself) && isByte(getTensorType(fused.getResult()));
    // Behind a clamp, which needs numbers: their bound is one.
    bool isWordOnceClamped =
        form == Form::general ? clampsItself : bound < std::numeric_limits<float>::infinity();
    isWord = fitsInWords(out) && (isSmall ? isProvenWord : isWordOnceClamped);
  }
}

void Epilogue::addResultParameters() {
  QuantParams out = paramsOf(fused.getResult());
  byteBounds = ByteBounds(out);
  if (out.axis < 0)
    return; // they are in the tensor's own parameter block
  bounds = signature.addWeights<int32_t>(
      "bounds/" + std::to_string(out.low) + "," + std::to_string(out.high),
      [&] { return std::vector<int32_t>{(int32_t)out.low, (int32_t)out.high}; });
  if (form == Form::general) {
    scales = signature.addParameters(ArrayRef<float>(out.scales), block);
    reciprocals = signature.addReciprocals(out.scales, block);
  }
  if (!byteBounds.hasLeastZeroPoints &&
      llvm::any_of(out.zeroPoints, [](int32_t z) { return z != 0; }))
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
