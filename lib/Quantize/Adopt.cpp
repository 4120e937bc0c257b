//===- Adopt.cpp - networks that are quantized already --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Numerics/Requantize.h"
#include "octet/Quantize/Passes.h"
#include <algorithm>

using namespace mlir;
using namespace octet;
using numerics::QuantParams;
using quant::QuantizedType;

namespace octet {
#define GEN_PASS_DEF_ADOPTPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

/// The product that `op` is, if it has weights, or null.
static nn::ProductOpInterface getProduct(Operation *op) {
  auto product = dyn_cast_if_present<nn::ProductOpInterface>(op);
  return product && product.getWeightOperand() ? product : nullptr;
}

/// The quantized tensor behind a real value, or null.
static Value getQuantizedSource(Value real) {
  auto dequantize = real.getDefiningOp<DequantizeOp>();
  return dequantize ? dequantize.getInput() : Value();
}

static QuantizedType getQuantizedType(Value quantized) {
  return cast<QuantizedType>(cast<RankedTensorType>(quantized.getType()).getElementType());
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The distances of stored weights from their zero points.
static SmallVector<int16_t, 0> getDistances(ArrayRef<int8_t> stored, ArrayRef<int64_t> shape,
                                            QuantizedType type) {
  SmallVector<int16_t, 0> distances(stored.size());
  QuantParams params = numerics::getParams(type);
  numerics::forEachElement(shape, params, [&](int64_t i, int64_t channel) {
    int64_t q = type.isSigned() ? stored[i] : (uint8_t)stored[i];
    distances[i] = q - params.getZeroPoint(channel);
  });
  return distances;
}

/// The number of signed bytes whose sum is any of `weights`: 1, 2, or 3 for 255.
static int64_t countParts(ArrayRef<int16_t> weights) {
  int64_t numParts = 1;
  for (int16_t weight : weights)
    numParts = std::max<int64_t>(numParts, weight < -128 ? 2 : (weight + 126) / 127);
  return numParts;
}

/// Each weight as the part of it that a signed byte holds and, behind all input channels (the
/// second dimension), `numParts` - 1 times the part of the rest.
static SmallVector<int8_t, 0> splitWeights(ArrayRef<int16_t> weights, ArrayRef<int64_t> shape,
                                           int64_t numParts) {
  SmallVector<int8_t, 0> parts;
  int64_t size = weights.size() / std::max<int64_t>(shape[0], 1);
  for (int64_t output = 0; output < shape[0]; ++output) {
    SmallVector<int16_t> rest(weights.slice(output * size, size));
    for (int64_t part = 0; part < numParts; ++part)
      for (int16_t &weight : rest) {
        parts.push_back((int8_t)std::clamp<int16_t>(weight, -128, 127));
        weight -= parts.back();
      }
  }
  return parts;
}

/// What quantizes the product's input in each run, with scale and zero point of the tensor, or
/// null.
static QuantizeDynamicOp getDynamicSource(nn::ProductOpInterface product) {
  auto input = product->getOperand(0).getDefiningOp<DequantizeDynamicOp>();
  auto quantize = input ? input.getInput().getDefiningOp<QuantizeDynamicOp>() : nullptr;
  return quantize && quantize.getScale().getType().getRank() == 0 ? quantize : nullptr;
}

/// The product's input `numTimes`, side by side along the channels, with the same quantized type.
static Value repeatInput(OpBuilder &builder, nn::ProductOpInterface product, int64_t numTimes) {
  Value input = product->getOperand(0);
  Location loc = product->getLoc();
  QuantizeDynamicOp dynamic = getDynamicSource(product);
  SmallVector<Value> values(numTimes, dynamic ? dynamic.getInput() : input);
  Value repeated = nn::createInferred<nn::ConcatOp>(builder, loc, builder.getF32Type(), values,
                                                    product.getInputChannelAxis());
  auto type = cast<RankedTensorType>(repeated.getType());
  if (dynamic) {
    auto own = input.getDefiningOp<DequantizeDynamicOp>();
    Value stored =
        QuantizeDynamicOp::create(builder, loc, type.clone(getQuantizedType(own.getInput())),
                                  repeated, dynamic.getScale(), dynamic.getZeroPoint());
    return DequantizeDynamicOp::create(builder, loc, type, stored, own.getScale(),
                                       own.getZeroPoint());
  }
  Value stored = QuantizeOp::create(
      builder, loc, type.clone(getQuantizedType(getQuantizedSource(input))), repeated);
  return DequantizeOp::create(builder, loc, type, stored);
}

/// `type` for filters: signed bytes with zero points of 0.
static QuantizedType getCenteredType(QuantizedType type) {
  QuantParams params = numerics::getParams(type);
  llvm::fill(params.zeroPoints, 0);
  params.low = -128;
  params.high = 127;
  return numerics::withParams(
      quant::UniformQuantizedType::get(quant::QuantizationFlags::Signed, type.getStorageType(),
                                       type.getExpressedType(), 1.0, 0, -128, 127),
      params);
}

/// Whether the input of a product may be repeated along its channels.
static bool mayRepeatInput(nn::ProductOpInterface product) {
  auto conv = dyn_cast<nn::ConvOp>(product.getOperation());
  Value input = getQuantizedSource(product->getOperand(0));
  bool hasOneScale = input && isa<quant::UniformQuantizedType>(getQuantizedType(input));
  return (!conv || conv.getGroups() == 1) && (hasOneScale || getDynamicSource(product));
}

/// [N.centered] Filters have zero points of 0: their integers become distances from the zero
/// points. Where these are no signed bytes, the product has two or three filters, side by side, for
/// its input as many times.
static bool centerWeights(OpBuilder &builder, nn::ProductOpInterface product) {
  Value weights = getQuantizedSource(product.getWeightOperand()->get());
  auto constant = weights ? weights.getDefiningOp<nn::ConstantOp>() : nullptr;
  if (!constant)
    return false;
  auto stored = nn::getConstantValues<int8_t>(weights);
  if (failed(stored))
    return false;
  QuantizedType type = getQuantizedType(weights);
  if (type.isSigned() &&
      llvm::all_of(numerics::getParams(type).zeroPoints, [](int32_t z) { return z == 0; }))
    return false;
  SmallVector<int64_t> shape(cast<ShapedType>(weights.getType()).getShape());
  auto distances = getDistances(*stored, shape, type);
  int64_t numParts = countParts(distances);
  auto bytes = splitWeights(distances, shape, numParts);
  if (numParts > 1) {
    if (!mayRepeatInput(product))
      return false;
    shape[1] *= numParts;
    product->setOperand(0, repeatInput(builder, product, numParts));
  }
  Value centered = nn::createConstant<int8_t>(
      builder, constant.getLoc(), (nn::getConstantName(constant) + ".i8").str(),
      RankedTensorType::get(shape, getCenteredType(type)), bytes);
  product.getWeightOperand()->set(DequantizeOp::create(
      builder, constant.getLoc(), RankedTensorType::get(shape, builder.getF32Type()), centered));
  return true;
}

//===----------------------------------------------------------------------===//
// Biases
//===----------------------------------------------------------------------===//

/// The real numbers of a constant, dequantized or not; failure if it is none.
static FailureOr<SmallVector<float, 0>> getRealValues(Value bias) {
  Value source = getQuantizedSource(bias);
  if (!source)
    return nn::getConstantValues<float>(bias);
  QuantizedType type = getQuantizedType(source);
  ArrayRef<int64_t> shape = cast<ShapedType>(source.getType()).getShape();
  QuantParams params = numerics::getParams(type);
  SmallVector<float, 0> values;
  auto dequantize = [&](auto stored) {
    values.resize(stored.size());
    numerics::forEachElement(shape, params, [&](int64_t i, int64_t channel) {
      bool isUnsigned = !type.isSigned() && sizeof(stored[i]) == 1;
      int64_t q = isUnsigned ? (uint8_t)stored[i] : stored[i];
      values[i] = numerics::dequantize(q, params, channel);
    });
  };
  if (auto bytes = nn::getConstantValues<int8_t>(source); succeeded(bytes))
    dequantize(*bytes);
  else if (auto wide = nn::getConstantValues<int32_t>(source); succeeded(wide))
    dequantize(*wide);
  else
    return failure();
  return values;
}

/// Whether the bias counts in units of the accumulator.
static bool isAtScaleOfProduct(Value source, const numerics::ProductTypes &types) {
  if (getQuantizedType(source).getStorageTypeIntegralWidth() != 32)
    return false;
  QuantParams params = numerics::getParams(getQuantizedType(source));
  return llvm::all_of(llvm::seq(types.numOutputs), [&](int64_t output) {
    return params.getZeroPoint(output) == 0 && params.getScale(output) == types.scale(output);
  });
}

/// [N.float_bias] Another bias is added as the real numbers that it is.
static bool makeBiasReal(OpBuilder &builder, nn::ProductOpInterface product) {
  Value input = getQuantizedSource(product->getOperand(0)),
        weights = getQuantizedSource(product.getWeightOperand()->get());
  OpOperand *bias = product.getBiasOperand();
  Value stored = bias ? getQuantizedSource(bias->get()) : Value();
  if (!input || !weights || !stored)
    return false;
  int64_t numOutputs = cast<ShapedType>(weights.getType()).getDimSize(0);
  numerics::ProductTypes types(getQuantizedType(input), getQuantizedType(weights), numOutputs);
  auto values = getRealValues(bias->get());
  if (types.filter.axis > 0 || isAtScaleOfProduct(stored, types) || failed(values))
    return false;
  std::string name = (getConstantName(getConstantElements(stored)) + ".f32").str();
  bias->set(nn::createConstant<float>(builder, stored.getLoc(), name,
                                      cast<RankedTensorType>(bias->get().getType()), *values));
  return true;
}

//===----------------------------------------------------------------------===//
// Other constants
//===----------------------------------------------------------------------===//

/// Whether an operator reads a constant as the integers that it is dequantized from: weights,
/// biases, parts of a concatenation, tables.
static bool readsIntegers(OpOperand &use) {
  auto dequantize = use.get().getDefiningOp<DequantizeOp>();
  return (getProduct(use.getOwner()) && use.getOperandNumber() > 0) ||
         &kernel::getOperatorRow(use.getOwner()) == &kernel::Operators::movement ||
         (dequantize && kernel::readsStored(use, getStoredElementType(dequantize.getInput())));
}

/// Constants of other operators are real numbers.
static bool foldConstant(OpBuilder &builder, DequantizeOp dequantize) {
  auto constant = dequantize.getInput().getDefiningOp<nn::ConstantOp>();
  if (!constant || llvm::all_of(dequantize->getUses(), readsIntegers))
    return false;
  auto values = getRealValues(dequantize.getResult());
  if (failed(values))
    return false;
  builder.setInsertionPoint(dequantize);
  Value reals = nn::createConstant<float>(
      builder, constant.getLoc(), (nn::getConstantName(constant) + ".f32").str(),
      cast<RankedTensorType>(dequantize.getResult().getType()), *values);
  dequantize.getResult().replaceUsesWithIf(reals,
                                           [](OpOperand &use) { return !readsIntegers(use); });
  return true;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct Adopt : octet::impl::AdoptPassBase<Adopt> {
  void runOnOperation() override {
    OriginPropagation origins;
    OpBuilder builder(&getContext(), &origins);
    SmallVector<nn::ProductOpInterface> ofEachRun;
    getOperation().walk([&](nn::ProductOpInterface product) { ofEachRun.push_back(product); });
    for (nn::ProductOpInterface product : ofEachRun) {
      origins.setSource(getOrigin(product));
      reshapeBeforeQuantize(builder, product);
      numScales += takeDynamicScales(builder, product);
    }
    if (describeDecisions(getOperation()).empty()) // else the pass has run
      decide();
    numSpread += spreadQuantization(getOperation());
    SmallVector<nn::ProductOpInterface> products;
    getOperation().walk([&](Operation *op) {
      if (nn::ProductOpInterface product = getProduct(op))
        products.push_back(product);
    });
    for (nn::ProductOpInterface product : products) {
      builder.setInsertionPoint(product);
      origins.setSource(getOrigin(product));
      numCentered += centerWeights(builder, product);
      numBiases += makeBiasReal(builder, product);
    }
    getOperation().walk([&](DequantizeOp op) { numFolded += foldConstant(builder, op); });
  }

  void decide() {
    for (auto [op, decision] : readDecisions(getOperation())) {
      op->setAttr(kDecisionAttr, decision);
      ++(decision.getVerdict() == Verdict::Float ? numFloat : numQuantized);
    }
  }
};
} // namespace
