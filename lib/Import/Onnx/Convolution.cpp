//===- Convolution.cpp - Conv, CausalConvWithState, BatchNormalization -------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "Window.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Input `i`, a constant of `channels` floats in any shape ([1, n] biases), as a vector.
static FailureOr<Value> getVector(Node &node, unsigned i, int64_t channels, StringRef role) {
  const HostTensor *tensor = node.constant(i);
  if (!tensor)
    return node.unsupported(role + " computed at run time");
  if (tensor->size() != channels)
    return node.invalid("has a " + role + " of shape " + printShape(tensor->shape) + "; expected " +
                        Twine(channels) + " values");
  if (tensor->isInteger())
    return node.invalid("has a " + role + " of integers");
  return tensor->shape.size() == 1 ? node.value(i) : node.materialize(reshape(*tensor, {channels}));
}

static LogicalResult importConvOfVolumes(Node &node, const Window &window) {
  const HostTensor &filter = *node.constant(1);
  auto input = node.value(0);
  auto bias = node.has(2) ? getVector(node, 2, filter.shape[0], "bias") : FailureOr<Value>(Value());
  if (failed(input) || failed(bias))
    return failure();
  return node.setResult(
      convolveVolumes(node, *input, filter, *bias, window, node.getInt("group", 1)));
}

/// The result of a convolution, [N, O, H, W], with a bias, input 2, that is computed.
static MaybeValue addComputedBias(Node &node, Value result) {
  auto bias = node.value(2);
  if (failed(bias))
    return failure();
  int64_t channels = shapeOf(result)[1];
  if (countElements(shapeOf(*bias)) != channels)
    return node.invalid("has a bias of shape " + printShape(shapeOf(*bias)) + "; expected " +
                        Twine(channels) + " values");
  return node.create<nn::AddOp>(result, node.reshape(*bias, {channels, 1, 1}));
}

/// A convolution over one dimension is one over two, the first of size 1.
LogicalResult octet::onnx_import::importConv(Node &node) {
  const HostTensor *filter = node.constant(1);
  if (failed(filter ? checkFilter(node) : checkFilterShape(node)))
    return failure();
  Shape shape = node.shape(0), ofFilter = node.shape(1);
  ShapeRef size = ShapeRef(shape).drop_front(2);
  auto window = readWindow(node, size, ShapeRef(ofFilter).drop_front(2));
  if (failed(window) || failed(checkFits(node, *window, size)))
    return failure();
  if (shape.size() == 5)
    return filter ? importConvOfVolumes(node, *window)
                  : node.unsupported("a filter over three dimensions that is no constant");
  bool addsBias = node.has(2) && (!filter || !node.constant(2));
  auto input = node.value(0);
  auto bias =
      node.has(2) && !addsBias ? getVector(node, 2, ofFilter[0], "bias") : MaybeValue(Value());
  if (failed(input) || failed(bias))
    return failure();
  MaybeValue result;
  if (!filter) {
    result = convolveByComputed(node, *window);
  } else {
    auto weights = shape.size() == 4
                       ? node.value(1)
                       : node.materialize(reshape(*filter, toTwoDimensional(ofFilter)));
    if (failed(weights))
      return failure();
    Window flat = toTwoDimensional(*window);
    result =
        node.create<nn::ConvOp>(node.reshape(*input, toTwoDimensional(shape)), *weights, *bias,
                                flat.strides, flat.pads, flat.dilations, node.getInt("group", 1));
  }
  if (succeeded(result) && addsBias)
    result = addComputedBias(node, *result);
  if (failed(result) || shape.size() == 4)
    return node.setResult(result);
  ShapeRef out = shapeOf(*result);
  return node.setResult(node.reshape(*result, {out[0], out[1], out[3]}));
}

namespace {
/// CausalConvWithState: depthwise over [N, C, L]; a result sees its own element and others among
/// the `before` elements in front of it, those of the state or zeros among them. com.microsoft's
/// may leave out elements in between.
struct CausalConvolution {
  enum { kInput, kFilter, kBias, kState };

  explicit CausalConvolution(Node &node) : node(node) {}
  LogicalResult check();
  MaybeValue convolve(Value input);
  /// The last elements of `input`, in front of which there are zeros if it is too short.
  LogicalResult setState(Value input);

  Node &node;
  int64_t batch = 0, channels = 0, dilation = 1, before = 0;
};
} // namespace

LogicalResult CausalConvolution::check() {
  if (failed(checkFilter(node)))
    return failure();
  Shape shape = node.shape(kInput), filter = node.shape(kFilter);
  dilation = node.getInt("dilation", 1);
  batch = shape[0], channels = shape[1], before = (filter.back() - 1) * dilation;
  if (dilation > 0 && shape.size() == 3 && filter == Shape{channels, 1, filter.back()} &&
      (!node.has(kState) || node.shape(kState) == Shape{batch, channels, before}))
    return success();
  return node.invalid("has an input of shape " + printShape(shape) + ", a filter of shape " +
                      printShape(filter) +
                      (node.has(kState) ? " and a state of shape " + printShape(node.shape(kState))
                                        : std::string()));
}

MaybeValue CausalConvolution::convolve(Value input) {
  const HostTensor &filter = *node.constant(kFilter);
  auto weights = node.materialize(reshape(filter, toTwoDimensional(filter.shape)));
  auto bias = node.has(kBias) ? getVector(node, kBias, channels, "bias") : MaybeValue(Value());
  if (failed(weights) || failed(bias))
    return failure();
  Shape ones{1, 1}, pads{0, node.has(kState) ? 0 : before, 0, 0}, dilations{1, dilation};
  auto result = node.create<nn::ConvOp>(node.reshape(input, toTwoDimensional(shapeOf(input))),
                                        *weights, *bias, ones, pads, dilations, channels);
  if (succeeded(result) && node.getString("activation", "none") != "none")
    result = node.create<nn::SiluOp>(*result);
  return failed(result) ? result : node.reshape(*result, node.shape(kInput));
}

LogicalResult CausalConvolution::setState(Value input) {
  Shape sizes{batch, channels, before};
  if (before == 0)
    return node.setEmpty(sizes, 1);
  MaybeValue whole = input;
  if (int64_t missing = before - shapeOf(input).back(); missing > 0)
    whole =
        node.create<nn::PadOp>(input, Shape{0, 0, missing}, Shape{0, 0, 0}, llvm::APFloat(0.0f));
  if (failed(whole))
    return failure();
  int64_t start = shapeOf(*whole).back() - before;
  return node.setResult(node.create<nn::SliceOp>(*whole, Shape{0, 0, start}, sizes, Shape{1, 1, 1}),
                        1);
}

LogicalResult octet::onnx_import::importCausalConvWithState(Node &node) {
  CausalConvolution convolution(node);
  auto input = failed(convolution.check()) ? MaybeValue() : node.value(0);
  if (succeeded(input) && node.has(CausalConvolution::kState)) {
    auto state = node.value(CausalConvolution::kState);
    input =
        failed(state) ? state : node.create<nn::ConcatOp>(ValueRange{*state, *input}, /*axis=*/2);
  }
  if (failed(input) || failed(node.setResult(convolution.convolve(*input))))
    return failure();
  return node.wants(1) ? convolution.setState(*input) : success();
}

/// Refuses a negative or NaN variance, whose effects would show much later and elsewhere.
static LogicalResult checkVariance(Node &node, float epsilon) {
  auto variance = node.floats(4, "variance");
  if (failed(variance))
    return failure();
  for (auto [channel, value] : llvm::enumerate(*variance))
    if (!(value + epsilon > 0))
      return node.invalid("has the variance " + std::to_string(value) + " in channel " +
                              Twine(channel) + "; the file is damaged",
                          "export it again");
  return success();
}

/// The mean and variance of each channel of values [N, channels, size].
static void computeStatistics(ArrayRef<float> values, int64_t channels, int64_t size,
                              MutableArrayRef<double> means, MutableArrayRef<double> variances) {
  double count = (double)values.size() / (double)channels;
  auto forEach = [&](auto function) {
    for (auto [i, value] : llvm::enumerate(values))
      function(i / size % channels, value);
  };
  forEach([&](int64_t c, float value) { means[c] += value / count; });
  forEach([&](int64_t c, float value) {
    variances[c] += (value - means[c]) * (value - means[c]) / count;
  });
}

/// Of a constant. Exporters write filters that each have the mean 0 and the variance 1 (Qiao et
/// al., "Weight Standardization", 2019) as a batch norm that computes its statistics, or with the
/// statistics computed in front of it.
static LogicalResult importNormOfConstant(Node &node, bool isTraining) {
  const HostTensor &input = *node.constant(0);
  auto values = input.floats();
  int64_t channels = input.shape[1];
  auto size = countElements(ShapeRef(input.shape).drop_front(2));
  SmallVector<SmallVector<double>> parameters;
  for (auto [i, role] : llvm::enumerate(ArrayRef<StringRef>{"scale", "bias", "mean", "variance"})) {
    if (isTraining && i >= 2) {
      parameters.emplace_back(channels, 0.0);
      continue;
    }
    auto read = node.floats(i + 1, role);
    if (failed(read) || !values || (int64_t)read->size() != channels)
      return node.invalid("needs floats, and a " + role + " of " + Twine(channels) + " elements");
    parameters.emplace_back(read->begin(), read->end());
  }
  if (isTraining)
    computeStatistics(*values, channels, *size, parameters[2], parameters[3]);
  float epsilon = node.getFloat("epsilon", 1e-5f);
  if (!isTraining && failed(checkVariance(node, epsilon)))
    return failure();
  for (auto [i, value] : llvm::enumerate(*values)) {
    int64_t c = i / *size % channels;
    double factor = parameters[0][c] / std::sqrt(parameters[3][c] + (double)epsilon);
    value = (value - parameters[2][c]) * factor + parameters[1][c];
  }
  return node.setResult(HostTensor{"", input.shape, std::move(*values)});
}

LogicalResult octet::onnx_import::importBatchNorm(Node &node) {
  if (node.rank(0) < 2)
    return node.invalid("has an input of shape " + printShape(node.shape(0)) +
                        "; expected two or more dimensions");
  bool isTraining = node.getInt("training_mode", 0);
  auto inputs = llvm::seq<unsigned>(isTraining ? 3 : 5);
  if (llvm::all_of(inputs, [&](unsigned i) { return node.constant(i); }))
    return importNormOfConstant(node, isTraining);
  if (isTraining)
    return node.unsupported("training_mode=1 on values computed at run time");
  int64_t channels = node.shape(0)[1];
  auto input = node.value(0);
  if (failed(input))
    return failure();
  SmallVector<Value> parameters;
  for (StringRef role : {"scale", "bias", "mean", "variance"}) {
    auto parameter = getVector(node, parameters.size() + 1, channels, role);
    if (failed(parameter))
      return failure();
    parameters.push_back(*parameter);
  }
  float epsilon = node.getFloat("epsilon", 1e-5f);
  if (failed(checkVariance(node, epsilon)))
    return failure();
  // One spatial dimension becomes two, as for the convolutions that it is fused with.
  Shape shape = node.shape(0);
  Value images = shape.size() == 3 ? node.reshape(*input, toTwoDimensional(shape)) : *input;
  auto result =
      node.create<nn::BatchNormOp>(images, parameters[0], parameters[1], parameters[2],
                                   parameters[3], node.builder().getF32FloatAttr(epsilon));
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}
