//===- Adopt.cpp - networks that are quantized already --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "QuantizeConstants.h"
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

/// The number of signed bytes whose sum is `weight`: 1, 2, or 3 for 255.
static int64_t countParts(int64_t weight) {
  return weight < -128 ? 2 : std::max<int64_t>(1, (weight + 126) / 127);
}

/// Runs of input channels that are copied one by one; where there would be more, all channels are.
static constexpr int64_t kMostRuns = 16;

/// Calls `run(first, count)` for each run of channels one behind the other.
static void forEachRun(ArrayRef<int64_t> channels, function_ref<void(int64_t, int64_t)> run) {
  for (size_t i = 0, next; i < channels.size(); i = next) {
    for (next = i + 1; next < channels.size() && channels[next] == channels[next - 1] + 1;)
      ++next;
    run(channels[i], next - i);
  }
}

/// The input channels (the second dimension) of weights that no signed byte holds, as often as the
/// product has to read them again; where their number is a multiple of four, it stays one.
static SmallVector<int64_t> findRepeated(ArrayRef<int16_t> weights, ArrayRef<int64_t> shape) {
  int64_t numChannels = shape[1], size = 1, most = 0, numRuns = 0;
  for (int64_t dim : shape.drop_front(2))
    size *= dim;
  SmallVector<int64_t> numTimes(numChannels, 0), repeated;
  for (auto [i, weight] : llvm::enumerate(weights)) {
    int64_t &count = numTimes[i / size % numChannels];
    count = std::max(count, countParts(weight) - 1);
    most = std::max(most, count);
  }
  for (auto [channel, count] : llvm::enumerate(numTimes))
    repeated.append(count, channel);
  while (numChannels % 4 == 0 && repeated.size() % 4)
    repeated.push_back((repeated.back() + 1) % numChannels); // nothing is left for these
  forEachRun(repeated, [&](int64_t, int64_t) { ++numRuns; });
  if (numRuns <= kMostRuns)
    return repeated;
  repeated.clear();
  for (int64_t i = 0; i < most; ++i)
    llvm::append_range(repeated, llvm::seq(numChannels));
  return repeated;
}

/// Each weight as the part of it that a signed byte holds and, behind all input channels, parts of
/// the rest for those that are repeated.
static SmallVector<int8_t, 0> splitWeights(ArrayRef<int16_t> weights, ArrayRef<int64_t> shape,
                                           ArrayRef<int64_t> repeated) {
  SmallVector<int8_t, 0> parts;
  int64_t size = weights.size() / std::max<int64_t>(shape[0] * shape[1], 1);
  for (int64_t output = 0; output < shape[0]; ++output) {
    SmallVector<int16_t> rest(weights.slice(output * shape[1] * size, shape[1] * size));
    auto takePart = [&](int64_t channel) {
      for (int16_t &weight : MutableArrayRef<int16_t>(rest).slice(channel * size, size)) {
        parts.push_back((int8_t)std::clamp<int16_t>(weight, -128, 127));
        weight -= parts.back();
      }
    };
    llvm::for_each(llvm::seq(shape[1]), takePart);
    llvm::for_each(repeated, takePart);
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

/// A value of integers of `type` that moved on as real numbers: those integers again.
static Value restore(OpBuilder &builder, Location loc, Value moved, QuantizedType type) {
  auto real = cast<RankedTensorType>(moved.getType());
  Value stored = QuantizeOp::create(builder, loc, real.clone(type), moved);
  return DequantizeOp::create(builder, loc, real, stored);
}

static Value takeChannels(OpBuilder &builder, Location loc, Value value, int64_t axis,
                          int64_t first, int64_t count) {
  SmallVector<int64_t> sizes(cast<ShapedType>(value.getType()).getShape()), starts(sizes.size(), 0),
      steps(sizes.size(), 1);
  if (sizes[axis] == count)
    return value;
  starts[axis] = first, sizes[axis] = count;
  return nn::createInferred<nn::SliceOp>(builder, loc, builder.getF32Type(), value, starts, sizes,
                                         steps);
}

/// The product's input with some channels again behind all, with the same quantized type.
static Value repeatInput(OpBuilder &builder, nn::ProductOpInterface product,
                         ArrayRef<int64_t> channels) {
  Value input = product->getOperand(0);
  Location loc = product->getLoc();
  int64_t axis = product.getInputChannelAxis();
  QuantizeDynamicOp dynamic = getDynamicSource(product);
  QuantizedType type = dynamic ? nullptr : getQuantizedType(getQuantizedSource(input));
  SmallVector<Value> values{dynamic ? dynamic.getInput() : input};
  forEachRun(channels, [&](int64_t first, int64_t count) {
    Value taken = takeChannels(builder, loc, values[0], axis, first, count);
    values.push_back(dynamic || taken == input ? taken : restore(builder, loc, taken, type));
  });
  Value repeated =
      nn::createInferred<nn::ConcatOp>(builder, loc, builder.getF32Type(), values, axis);
  if (!dynamic)
    return restore(builder, loc, repeated, type);
  auto own = input.getDefiningOp<DequantizeDynamicOp>();
  auto real = cast<RankedTensorType>(repeated.getType());
  Value stored =
      QuantizeDynamicOp::create(builder, loc, real.clone(getQuantizedType(own.getInput())),
                                repeated, dynamic.getScale(), dynamic.getZeroPoint());
  return DequantizeDynamicOp::create(builder, loc, real, stored, own.getScale(),
                                     own.getZeroPoint());
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
/// points. Where these are no signed bytes, the filter has more input channels, for what is left.
static bool centerWeights(OpBuilder &builder, nn::ProductOpInterface product) {
  Value weights = getQuantizedSource(product.getWeightOperand()->get());
  auto constant = weights ? weights.getDefiningOp<nn::ConstantOp>() : nullptr;
  if (!constant)
    return false;
  auto stored = nn::getConstantValues<int8_t>(weights);
  if (failed(stored))
    return false;
  QuantizedType type = getQuantizedType(weights);
  if (isCentered(type))
    return false;
  SmallVector<int64_t> shape(cast<ShapedType>(weights.getType()).getShape());
  auto distances = getDistances(*stored, shape, type);
  SmallVector<int64_t> repeated = findRepeated(distances, shape);
  auto bytes = splitWeights(distances, shape, repeated);
  if (!repeated.empty()) {
    if (!mayRepeatInput(product))
      return false;
    shape[1] += repeated.size();
    product->setOperand(0, repeatInput(builder, product, repeated));
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
  bool isBias =
      dequantize && getQuantizedType(dequantize.getInput()).getStorageTypeIntegralWidth() == 32;
  return (getProduct(use.getOwner()) && use.getOperandNumber() > 0) ||
         (&kernel::getOperatorRow(use.getOwner()) == &kernel::Operators::movement && !isBias) ||
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
