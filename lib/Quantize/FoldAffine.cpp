//===- FoldAffine.cpp - affine operators into weights ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldAffine.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Numerics/FloatOps.h"
#include "octet/Support/Constants.h"

using namespace mlir;
using namespace octet;

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

/// [N.batch_norm] k = scale / sqrt(variance + epsilon) as f32, b = shift - mean * k.
FailureOr<Affine> getAffine(AffineOp op, const Match &match, int64_t channelAxis,
                            ArrayRef<int64_t> shape) {
  auto read = [&](Value leaf, double missing) -> FailureOr<SmallVector<double>> {
    if (!leaf)
      return SmallVector<double>(shape[channelAxis], missing);
    return getPerChannel(lookupLeaf(match, leaf)->get(),
                         leaf.getDefiningOp<ParameterOp>().getVectorAxis(), channelAxis, shape);
  };
  auto scale = read(op.getScale(), 1), shift = read(op.getShift(), 0), mean = read(op.getMean(), 0);
  auto variance = read(op.getVariance(), 1);
  if (failed(scale) || failed(shift) || failed(mean) || failed(variance))
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
    affine.scale[c] = channel.scale;
    affine.shift[c] = channel.shift;
  }
  return affine;
}

/// weight[c, ...] * k[c] along `axis`.
SmallVector<float, 0> scaleWeight(ArrayRef<float> weight, ArrayRef<int64_t> shape, int64_t axis,
                                  ArrayRef<double> scale) {
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(axis + 1))
    inner *= size;
  SmallVector<float, 0> result(weight.size());
  for (auto [i, value] : llvm::enumerate(weight))
    result[i] = (float)(value * scale[i / inner % scale.size()]);
  return result;
}

std::string getName(Value constant) { return getConstantName(getConstantElements(constant)).str(); }

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
  auto weightValues = getConstantValues<float>(weight->get());
  int64_t numChannels = resultType.getDimSize(channelAxis), axis = weightLeaf.getAxis();
  if (failed(affine) || failed(weightValues) || axis >= weightType.getRank() ||
      weightType.getDimSize(axis) != numChannels)
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

  // Names are combined from those of the source: "conv1.weight+bn1".
  OpBuilder builder(op);
  std::string suffix = ("+" + getSourceName(root)).str();
  auto create = [&](Location loc, Value like, std::string name, RankedTensorType type,
                    ArrayRef<float> values) {
    return createConstantLike<float>(builder, loc, like, name + suffix, type, values);
  };
  Value newWeight = weight->get();
  if (affineOp.getScale() || affineOp.getVariance()) {
    auto scaled = scaleWeight(*weightValues, weightType.getShape(), axis, affine->scale);
    numerics::flushTiny(scaled.data(), scaled.size());
    newWeight = create(newWeight.getLoc(), newWeight, getName(newWeight), weightType, scaled);
  }
  auto biasType = RankedTensorType::get({numChannels}, builder.getF32Type());
  std::string biasName = bias ? getName(bias->get()) : (getSourceName(op) + ".bias").str();
  Value newBias =
      create(op->getLoc(), bias ? bias->get() : weight->get(), biasName, biasType, biasValues);
  if (!newWeight || !newBias)
    return failure(); // a dialect that makes no constants
  weight->set(newWeight);
  if (bias)
    bias->set(newBias);
  else
    op->insertOperands(op->getNumOperands(), newBias);
  root->getResult(0).replaceAllUsesWith(op->getResult(0));
  root->erase();
  return success();
}
