//===- ChannelsLast.cpp - operators of images whose channels come last -------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators of the domain com.microsoft that onnxruntime's optimizers write for diffusion and for
// quantized networks: here they are those of ONNX between transposes again.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

FailureOr<Entry> onnx_import::moveChannels(Node &node, const Entry &image, bool toLast) {
  auto value = node.toValue(image);
  if (failed(value))
    return failure();
  if (shapeOf(*value).size() < 3)
    return node.invalid("has an input that is no image");
  Shape order = allAxes(shapeOf(*value).size());
  auto second = order.begin() + 1, last = order.end() - 1;
  std::rotate(second, toLast ? second + 1 : last, order.end());
  auto moved = node.create<nn::TransposeOp>(*value, order);
  return failed(moved) ? FailureOr<Entry>() : Entry{nullptr, *moved};
}

/// What `import` makes of the first `numImages` inputs with channels as the second dimension.
static LogicalResult importBetween(Node &node, LogicalResult (*import)(Node &),
                                   unsigned numImages) {
  SmallVector<Entry> inputs;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    auto moved = i < numImages ? moveChannels(node, node.entry(i), /*toLast=*/false)
                               : FailureOr<Entry>(node.entry(i));
    if (failed(moved))
      return failure();
    inputs.push_back(*moved);
  }
  auto result = node.compose(import, inputs);
  if (succeeded(result))
    result = moveChannels(node, *result, /*toLast=*/true);
  return failed(result) ? failure() : node.setResult(*result);
}

/// The channels of the filter come last, too.
LogicalResult onnx_import::importNhwcConv(Node &node) {
  return importBetween(node, importConv, /*numImages=*/2);
}
LogicalResult onnx_import::importNhwcMaxPool(Node &node) {
  return importBetween(node, importMaxPool, /*numImages=*/1);
}

//===----------------------------------------------------------------------===//
// Group normalization
//===----------------------------------------------------------------------===//

/// Of an image, by groups of channels along `axis`; then scale, bias and SiLU.
static MaybeValue normalizeGroups(Node &node, Value x, int64_t axis) {
  Shape shape(shapeOf(x)), parts = shape, vector(shape.size(), 1);
  int64_t groups = node.getInt("groups", 0), channels = shape[axis];
  for (unsigned i : {1, 2})
    if (node.shape(i) != Shape{channels})
      return node.invalid("has a scale or bias of shape " + printShape(node.shape(i)) +
                          "; expected " + Twine(channels));
  if (groups < 1 || channels % groups)
    return node.invalid("has " + Twine(channels) + " channels in " + Twine(groups) + " groups");
  parts[axis] = groups;
  parts.insert(parts.begin() + axis + 1, channels / groups);
  Shape axes = allAxes(parts.size());
  axes.erase(axes.begin() + axis);
  axes.erase(axes.begin());
  auto result =
      normalize(node, node.reshape(x, parts), axes, node.getFloat("epsilon", 1e-5f)).result;
  auto scale = node.value(1), bias = node.value(2);
  if (failed(result) || failed(scale) || failed(bias))
    return failure();
  vector[axis] = channels;
  auto scaled = node.create<nn::MulOp>(node.reshape(*result, shape), node.reshape(*scale, vector));
  auto sum = node.compute<nn::AddOp>(scaled, MaybeValue(node.reshape(*bias, vector)));
  return node.getInt("activation", 0) ? node.compute<nn::SiluOp>(sum) : sum;
}

static int64_t getChannelAxis(Node &node) {
  return node.getInt("channels_last", 1) ? node.rank(0) - 1 : 1;
}

LogicalResult onnx_import::importGroupNorm(Node &node) {
  auto x = node.value(0);
  if (node.rank(0) != 4)
    return node.invalid("has an input that is no image");
  return failed(x) ? failure() : node.setResult(normalizeGroups(node, *x, getChannelAxis(node)));
}

/// The sum of image, skip (an image, or a number for each channel) and bias is the second result.
LogicalResult onnx_import::importSkipGroupNorm(Node &node) {
  Shape shape = node.shape(0);
  if (shape.size() != 4)
    return node.invalid("has an input that is no image");
  int64_t axis = getChannelAxis(node);
  auto sum = node.value(0);
  for (unsigned i : {3u, 4u}) {
    if (!node.has(i))
      continue;
    Shape added = node.shape(i), vector(4, 1);
    vector[axis] = shape[axis];
    if (added.size() == 2)
      vector[0] = shape[0];
    if (added.size() < 3)
      added = vector;
    auto value = node.value(i);
    if (failed(value) || broadcast(shape, added) != shape ||
        countElements(added) != countElements(node.shape(i)))
      return node.invalid("adds a tensor of shape " + printShape(node.shape(i)) +
                          " to one of shape " + printShape(shape));
    sum = node.compute<nn::AddOp>(sum, MaybeValue(node.reshape(*value, added)));
  }
  if (failed(sum) || failed(node.setResult(normalizeGroups(node, *sum, axis))))
    return failure();
  return node.wants(1) ? node.setResult(sum, 1) : success();
}

//===----------------------------------------------------------------------===//
// Sums with a bias
//===----------------------------------------------------------------------===//

/// x + bias + skip
LogicalResult onnx_import::importBiasAdd(Node &node) {
  if (node.shape(2) != node.shape(0) || broadcast(node.shape(0), node.shape(1)) != node.shape(0))
    return node.invalid("adds tensors of shapes " + node.printInputShapes());
  auto sum = node.compute<nn::AddOp>(node.value(0), node.value(1));
  return node.setResult(node.compute<nn::AddOp>(sum, node.value(2)));
}

/// The first half of x + bias, times GELU of the second.
LogicalResult onnx_import::importBiasSplitGelu(Node &node) {
  Shape half = node.shape(0), starts(half.size(), 0), steps(half.size(), 1);
  if (half.empty() || half.back() % 2 || node.shape(1) != Shape{half.back()})
    return node.invalid("has inputs of shapes " + node.printInputShapes());
  auto sum = node.compute<nn::AddOp>(node.value(0), node.value(1));
  half.back() /= 2;
  auto take = [&](int64_t start) -> MaybeValue {
    starts.back() = start;
    return failed(sum) ? sum : node.create<nn::SliceOp>(*sum, starts, half, steps);
  };
  auto value = take(0), gate = take(half.back());
  if (failed(value) || failed(gate))
    return failure();
  return node.setResult(
      node.compute<nn::MulOp>(value, node.create<nn::GeluOp>(*gate, nn::GeluForm::none)));
}
