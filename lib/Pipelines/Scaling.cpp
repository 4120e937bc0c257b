//===- Scaling.cpp - factors between the channels of layers ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scaling.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/Laws.h"
#include <cmath>

using namespace mlir;
using namespace octet;

OpOperand &octet::getOuterOperand(OpOperand &operand) {
  auto argument = dyn_cast<BlockArgument>(operand.get());
  auto group = argument ? dyn_cast<GroupOp>(argument.getOwner()->getParentOp()) : GroupOp();
  return group ? getOuterOperand(group->getOpOperand(argument.getArgNumber())) : operand;
}

static std::optional<SmallVector<double, 0>> getValues(OpOperand *operand) {
  if (!operand)
    return SmallVector<double, 0>();
  auto values = nn::getConstantValues<float>(getOuterOperand(*operand).get());
  if (failed(values))
    return std::nullopt;
  return SmallVector<double, 0>(values->begin(), values->end());
}

std::optional<ScaledLayer> ScaledLayer::get(nn::ProductOpInterface product) {
  OpOperand *filter = product.getWeightOperand();
  auto weights = getValues(filter), bias = filter ? getValues(product.getBiasOperand()) : weights;
  if (!filter || !weights || !bias || weights->empty())
    return std::nullopt;
  ScaledLayer layer;
  layer.product = product;
  auto input = cast<RankedTensorType>(product->getOperand(0).getType());
  layer.numInputs = input.getDimSize(product.getInputChannelAxis());
  layer.numOutputs = cast<RankedTensorType>(filter->get().getType()).getDimSize(0);
  layer.weights = std::move(*weights);
  layer.bias = std::move(*bias);
  return layer;
}

void ScaledLayer::forEachWeight(
    llvm::function_ref<void(int64_t index, int64_t output, int64_t input)> use) const {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(getProduct().getWeightOperand()->get().getType()).getShape();
  int64_t perOutput = (int64_t)weights.size() / numOutputs, perInput = perOutput / shape[1];
  int64_t numGroups = numInputs / shape[1], outputsPerGroup = numOutputs / numGroups;
  for (int64_t i = 0; i < (int64_t)weights.size(); ++i) {
    int64_t output = i / perOutput;
    use(i, output, output / outputsPerGroup * shape[1] + i % perOutput / perInput);
  }
}

namespace {
struct WeightRange {
  double min = INFINITY, max = -INFINITY;
  void include(double x) {
    min = std::min(min, x);
    max = std::max(max, x);
  }
};
} // namespace

static SmallVector<double, 0> getWidths(ArrayRef<WeightRange> ranges) {
  return SmallVector<double, 0>(
      llvm::map_range(ranges, [](const WeightRange &range) { return range.max - range.min; }));
}

SmallVector<double, 0> ScaledLayer::getOutputRanges() const {
  std::vector<WeightRange> ranges(numOutputs);
  forEachWeight([&](int64_t i, int64_t output, int64_t) { ranges[output].include(weights[i]); });
  return getWidths(ranges);
}

SmallVector<double, 0> ScaledLayer::getInputRanges() const {
  std::vector<WeightRange> ranges(numInputs);
  forEachWeight([&](int64_t i, int64_t, int64_t input) { ranges[input].include(weights[i]); });
  return getWidths(ranges);
}

void ScaledLayer::scaleOutputs(ArrayRef<double> factors) {
  forEachWeight([&](int64_t i, int64_t output, int64_t) { weights[i] *= factors[output]; });
  for (auto [value, factor] : llvm::zip(bias, factors))
    value *= factor;
}

void ScaledLayer::scaleInputs(ArrayRef<double> factors) {
  forEachWeight([&](int64_t i, int64_t, int64_t input) { weights[i] *= factors[input]; });
}

static void writeConstant(OpOperand &operand, ArrayRef<double> values) {
  auto old = operand.get().getDefiningOp<nn::ConstantOp>();
  OpBuilder builder(operand.getOwner());
  SmallVector<float, 0> rounded(values.begin(), values.end());
  auto type = cast<RankedTensorType>(old.getType());
  operand.set(nn::createConstant<float>(
      builder, old.getLoc(), (nn::getConstantName(old) + ".equalized").str(), type, rounded));
  if (old->use_empty())
    old->erase();
}

void ScaledLayer::write() {
  writeConstant(getOuterOperand(*product.getWeightOperand()), weights);
  if (OpOperand *operand = product.getBiasOperand())
    writeConstant(getOuterOperand(*operand), bias);
}

std::optional<float> octet::computeElement(Operation *op, float element) {
  if (!op->hasTrait<nn::Elementwise>() || op->getNumOperands() != 1 || !nn::isOfReals(op))
    return std::nullopt;
  numerics::HostArithmetic arithmetic;
  return nn::applyLaw(arithmetic, op, ArrayRef<float>(element));
}

/// Whether f(s x) = s f(x) for positive s, by the operator's law at every octave of either sign: a
/// bound or a bend anywhere but at 0 shows there.
static bool scalesWithOperand(Operation *op) {
  using kernel::Operators;
  const kernel::OperatorRow *row = &kernel::getOperatorRow(op);
  if (row == &Operators::max_pool || row == &Operators::average_pool)
    return true;
  for (int octave = -40; octave < 40; ++octave)
    for (float sign : {1.0f, -1.0f}) {
      float x = std::ldexp(sign, octave);
      std::optional<float> y = computeElement(op, x), doubled = computeElement(op, 2 * x);
      if (!y || !doubled || *doubled != 2 * *y)
        return false;
    }
  return true;
}

nn::ProductOpInterface octet::getOnlyReader(nn::ProductOpInterface product) {
  Value value = product->getResult(0);
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    Operation *user = use.getOwner();
    if (auto reader = dyn_cast<nn::ProductOpInterface>(user)) {
      bool isInput = use.getOperandNumber() == 0 && reader.getWeightOperand() &&
                     reader.getInputChannelAxis() == product.getResultChannelAxis();
      return isInput ? reader : nn::ProductOpInterface();
    }
    if (auto group = dyn_cast<GroupOp>(user))
      value = group.getBody().getArgument(use.getOperandNumber());
    else if (auto parent = dyn_cast<GroupOp>(user->getParentOp()); parent && isa<YieldOp>(user))
      value = parent.getResult();
    else if (user->getNumResults() == 1 && scalesWithOperand(user))
      value = user->getResult(0);
    else
      return nullptr;
  }
  return nullptr;
}
