//===- FoldAffine.cpp - affine operators into weights ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldAffine.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Numerics/FloatOps.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Support/Constants.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using numerics::QuantParams;
using quant::QuantizedType;

namespace {

/// k and b of y = k * x + b, per channel.
struct Affine {
  SmallVector<double> scale, shift;
};

/// The operand that a leaf of the fold matched.
OpOperand *lookupLeaf(const Match &match, Value leaf) {
  for (auto [bound, operand] : match.leaves)
    if (leaf && bound == leaf.getDefiningOp())
      return operand;
  return nullptr;
}

/// The elements of a parameter per channel: a vector, a scalar, or a tensor whose only dimension of
/// more than one element is broadcast to the channel axis.
FailureOr<SmallVector<double>> getPerChannel(Value parameter, std::optional<int64_t> vectorAxis,
                                             int64_t channelAxis, ArrayRef<int64_t> shape) {
  auto type = dyn_cast<RankedTensorType>(parameter.getType());
  auto values = getConstantValues<float>(parameter);
  if (!type || failed(values) || vectorAxis.value_or(channelAxis) != channelAxis)
    return failure();
  int64_t numChannels = shape[channelAxis];
  SmallVector<double> result(values->begin(), values->end());
  if (result.size() == 1 && type.getRank() <= (int64_t)shape.size())
    result.assign(numChannels, result[0]);
  int64_t axis = vectorAxis ? 0 : channelAxis - (int64_t)shape.size() + type.getRank();
  bool fits = (int64_t)result.size() == numChannels &&
              (type.getNumElements() == 1 ||
               (axis >= 0 && axis < type.getRank() && type.getDimSize(axis) == numChannels));
  if (!fits)
    return failure();
  return result;
}

/// [N.batch_norm] k = scale / sqrt(variance + epsilon) as f32, or 1 / divisor; b = shift - mean *
/// k.
FailureOr<Affine> getAffine(AffineOp op, const Match &match, int64_t channelAxis,
                            ArrayRef<int64_t> shape) {
  auto read = [&](Value leaf, double missing) -> FailureOr<SmallVector<double>> {
    if (!leaf)
      return SmallVector<double>(shape[channelAxis], missing);
    return getPerChannel(lookupLeaf(match, leaf)->get(),
                         leaf.getDefiningOp<ParameterOp>().getVectorAxis(), channelAxis, shape);
  };
  auto scale = read(op.getScale(), 1), shift = read(op.getShift(), 0), mean = read(op.getMean(), 0);
  auto variance = read(op.getVariance(), 1), divisor = read(op.getDivisor(), 1);
  if (failed(scale) || failed(shift) || failed(mean) || failed(variance) || failed(divisor))
    return failure();
  double epsilon = 0;
  if (op.getEpsilon()) {
    auto attribute = match.getRoot()->getAttrOfType<FloatAttr>(*op.getEpsilon());
    if (!attribute)
      return failure();
    epsilon = attribute.getValueAsDouble();
  }
  Affine affine{*scale, *shift};
  for (size_t c = 0; c < affine.scale.size(); ++c) {
    numerics::Affine channel =
        numerics::batchNorm((*scale)[c], (*shift)[c], (*mean)[c], (*variance)[c], epsilon);
    affine.scale[c] = channel.scale / (*divisor)[c];
    affine.shift[c] = channel.shift;
  }
  return affine;
}

/// The weights of a fold: a constant, and the type that it was trained with, or null.
struct Weight {
  Value constant;
  QuantizedType trained;
  SmallVector<float, 0> values;
};

FailureOr<Weight> readWeight(Value value) {
  Weight weight{value, {}, {}};
  if (auto trained = value.getDefiningOp<FakeQuantizeOp>()) {
    weight.constant = trained.getInput();
    weight.trained = cast<QuantizedType>(trained.getQuantizedType());
  }
  auto values = getConstantValues<float>(weight.constant);
  if (failed(values))
    return failure();
  weight.values = std::move(*values);
  return weight;
}

/// weight[c, ...] * k[c] along `axis`.
void scaleWeight(Weight &weight, ArrayRef<int64_t> shape, int64_t axis, ArrayRef<double> scale) {
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(axis + 1))
    inner *= size;
  for (auto [i, value] : llvm::enumerate(weight.values))
    value = (float)(value * scale[i / inner % scale.size()]);
  numerics::flushTiny(weight.values.data(), weight.values.size());
}

/// The type's scales times k; of one scale again where they are equal as f32. They keep more digits
/// than f32 has, so that a division and a multiplication by the same k undo each other.
QuantizedType scaleType(QuantizedType type, int64_t axis, ArrayRef<double> k) {
  SmallVector<double> scales(k.size());
  auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(type);
  for (auto [c, scale] : llvm::enumerate(scales))
    scale = std::abs(k[c]) *
            (perAxis ? perAxis.getScales()[c] : cast<quant::UniformQuantizedType>(type).getScale());
  auto toFloat = [](double scale) { return (float)scale; };
  if (llvm::all_equal(llvm::map_range(scales, toFloat)))
    return quant::UniformQuantizedType::get(type.getFlags(), type.getStorageType(),
                                            type.getExpressedType(), (float)scales.front(), 0,
                                            type.getStorageTypeMin(), type.getStorageTypeMax());
  return quant::UniformQuantizedPerAxisType::get(
      type.getFlags(), type.getStorageType(), type.getExpressedType(), scales,
      SmallVector<int64_t>(k.size(), 0), axis, type.getStorageTypeMin(), type.getStorageTypeMax());
}

/// Trained weights keep their integers, up to the sign; the scales change. Fails where no scale
/// does that.
LogicalResult scaleTrained(Weight &weight, ArrayRef<int64_t> shape, int64_t axis,
                           ArrayRef<double> k) {
  QuantParams before = numerics::getParams(weight.trained);
  bool fits = (before.axis < 0 || before.axis == axis) &&
              llvm::all_of(before.zeroPoints, [](int32_t z) { return z == 0; });
  for (double factor : k)
    fits &= std::isnormal((float)factor);
  if (!fits)
    return failure();
  weight.trained = scaleType(weight.trained, axis, k);
  QuantParams after = numerics::getParams(weight.trained), channels = after;
  channels.axis = axis;
  channels.scales.resize(k.size(), after.scales.front());
  numerics::forEachElement(shape, channels, [&](int64_t i, int64_t c) {
    int64_t q = numerics::quantizeWeight(weight.values[i], before, c) * (k[c] < 0 ? -1 : 1);
    fits &= q >= after.low && q <= after.high && std::isnormal(after.getScale(c));
    weight.values[i] = (float)q * after.getScale(c);
  });
  return success(fits);
}

std::string getName(Value constant) { return getConstantName(getConstantElements(constant)).str(); }

/// Multiplies the weight by k along `axis`; the new operand, or null. Names are combined from those
/// of the source: "conv1.weight+bn1".
Value foldIntoWeight(OpBuilder &builder, Value operand, int64_t axis, ArrayRef<double> k,
                     StringRef suffix) {
  auto type = cast<RankedTensorType>(operand.getType());
  auto weight = readWeight(operand);
  if (failed(weight))
    return {};
  if (!weight->trained)
    scaleWeight(*weight, type.getShape(), axis, k);
  else if (failed(scaleTrained(*weight, type.getShape(), axis, k)))
    return {};
  Value constant =
      createConstantLike<float>(builder, operand.getLoc(), weight->constant,
                                getName(weight->constant) + suffix.str(), type, weight->values);
  if (!constant || !weight->trained)
    return constant;
  return FakeQuantizeOp::create(builder, operand.getLoc(), type, constant,
                                TypeAttr::get(weight->trained));
}

} // namespace

LogicalResult octet::foldAffine(FoldOp fold, const Match &match) {
  auto affineOp = cast<AffineOp>(fold.getBody().front().getTerminator());
  auto weightLeaf = *fold.getBody().getOps<WeightOp>().begin();
  auto biasLeaf = *fold.getBody().getOps<BiasOp>().begin();
  OpOperand *weight = lookupLeaf(match, weightLeaf), *bias = lookupLeaf(match, biasLeaf);
  Operation *op = weight->getOwner(), *root = match.getRoot();
  auto resultType = dyn_cast<RankedTensorType>(root->getResult(0).getType());
  auto weightType = dyn_cast<RankedTensorType>(weight->get().getType());
  if (!resultType || !weightType)
    return failure();
  int64_t channelAxis = fold.getChannelAxis();
  channelAxis += channelAxis < 0 ? resultType.getRank() : 0;
  if (op->getResult(0).getType() != resultType || channelAxis < 0 ||
      channelAxis >= resultType.getRank())
    return failure();

  auto affine = getAffine(affineOp, match, channelAxis, resultType.getShape());
  int64_t numChannels = resultType.getDimSize(channelAxis), axis = weightLeaf.getAxis();
  if (failed(affine) || axis >= weightType.getRank() || weightType.getDimSize(axis) != numChannels)
    return failure();
  SmallVector<float, 0> biasValues(numChannels, 0);
  if (bias) {
    auto values = getConstantValues<float>(bias->get());
    if (failed(values) || (int64_t)values->size() != numChannels)
      return failure();
    biasValues = std::move(*values);
  }
  for (int64_t c = 0; c < numChannels; ++c)
    biasValues[c] = (float)(biasValues[c] * affine->scale[c] + affine->shift[c]);

  OpBuilder builder(op);
  std::string suffix = ("+" + getSourceName(root)).str();
  auto trained = weight->get().getDefiningOp<FakeQuantizeOp>();
  Value newWeight = weight->get(), constant = trained ? trained.getInput() : newWeight;
  if (affineOp.getScale() || affineOp.getVariance() || affineOp.getDivisor())
    newWeight = foldIntoWeight(builder, newWeight, axis, affine->scale, suffix);
  else if (failed(getConstantValues<float>(constant)))
    return failure();
  std::string biasName = bias ? getName(bias->get()) : (getSourceName(op) + ".bias").str();
  Value newBias = createConstantLike<float>(
      builder, op->getLoc(), bias ? bias->get() : constant, biasName + suffix,
      RankedTensorType::get({numChannels}, builder.getF32Type()), biasValues);
  if (!newWeight || !newBias)
    return failure(); // a dialect that makes no constants, or trained weights that cannot be scaled
  weight->set(newWeight);
  if (bias)
    bias->set(newBias);
  else
    op->insertOperands(op->getNumOperands(), newBias);
  root->getResult(0).replaceAllUsesWith(op->getResult(0));
  root->erase();
  return success();
}
