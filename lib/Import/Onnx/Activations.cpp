//===- Activations.cpp - activations and softmax ------------------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "Quantization.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Operators of their own
//===----------------------------------------------------------------------===//

template <typename OpTy, typename... Parameters>
static LogicalResult importUnary(Node &node, Parameters... parameters) {
  auto input = node.value(0);
  if (failed(input))
    return failure();
  return node.setSmallComputed(
      node.create<OpTy>(*input, node.builder().getF32FloatAttr(parameters)...));
}

LogicalResult octet::onnx_import::importHardSigmoid(Node &node) {
  return importUnary<nn::HardSigmoidOp>(node, node.getFloat("alpha", 0.2f),
                                        node.getFloat("beta", 0.5f));
}

LogicalResult octet::onnx_import::importLeakyRelu(Node &node) {
  return importUnary<nn::LeakyReluOp>(node, node.getFloat("alpha", 0.01f));
}

LogicalResult octet::onnx_import::importElu(Node &node) {
  return importUnary<nn::EluOp>(node, node.getFloat("alpha", 1.0f));
}

LogicalResult octet::onnx_import::importThresholdedRelu(Node &node) {
  return importUnary<nn::ThresholdedReluOp>(node, node.getFloat("alpha", 1.0f));
}

/// One slope for all elements is a leaky relu.
LogicalResult octet::onnx_import::importPRelu(Node &node) {
  Shape shape = node.shape(0), slopes = node.shape(1);
  if (broadcast(shape, slopes) != shape)
    return node.invalid("has slopes of shape " + printShape(slopes) + " for an input of shape " +
                        printShape(shape));
  const HostTensor *constant = node.constant(1);
  auto values = constant ? constant->floats() : std::nullopt;
  if (constant && !values)
    return node.invalid("has integers as slopes; expected floats");
  if (values && !values->empty() && llvm::all_equal(*values))
    return importUnary<nn::LeakyReluOp>(node, values->front());
  return node.setResult(node.compute<nn::PreluOp>(node.value(0), node.value(1)));
}

/// min(max(x, low), high) with bounds that are no constants, or of integers.
static LogicalResult clipToValues(Node &node) {
  auto x = node.any(0);
  if (node.has(1))
    x = node.compute<nn::MaxOp>(x, node.any(1));
  return node.setResult(node.has(2) ? node.compute<nn::MinOp>(x, node.any(2)) : x);
}

/// Bounds are attributes up to opset 10, optional inputs from 11 on. Without an upper bound, [0,
/// inf) is relu.
LogicalResult octet::onnx_import::importClip(Node &node) {
  if (getQuantizedType(node.entry(0)) || (node.constant(0) && node.constant(0)->isInteger()))
    return importClipOfIntegers(node);
  float infinity = std::numeric_limits<float>::infinity();
  bool isInteger = node.entry(0).value && !nn::holdsReals(node.entry(0).value.getType());
  if (isInteger || (node.has(1) && !node.constant(1)) || (node.has(2) && !node.constant(2)))
    return clipToValues(node);
  float bounds[] = {node.getFloat("min", -infinity), node.getFloat("max", infinity)};
  for (unsigned i = 0; i < 2; ++i) {
    if (!node.has(i + 1))
      continue;
    auto bound = node.scalar(i + 1, i ? "an upper bound" : "a lower bound");
    if (failed(bound))
      return failure();
    bounds[i] = *bound;
  }
  if (std::isnan(bounds[0]) || std::isnan(bounds[1]))
    return node.invalid("has a bound that is not a number");
  bool hasUpper = bounds[1] < std::numeric_limits<float>::max();
  if (bounds[0] == 0 && !hasUpper)
    return importUnary<nn::ReluOp>(node);
  if (bounds[0] <= std::numeric_limits<float>::lowest() && !hasUpper)
    return node.setResult(node.entry(0));
  return importUnary<nn::ClipOp>(node, bounds[0], bounds[1]);
}

//===----------------------------------------------------------------------===//
// Composed
//===----------------------------------------------------------------------===//

/// Elu with alpha, times gamma.
static MaybeValue scaledElu(Node &node, MaybeValue x, float alpha, float gamma) {
  if (failed(x))
    return failure();
  auto elu = node.create<nn::EluOp>(*x, llvm::APFloat(alpha));
  return node.compute<nn::MulOp>(elu, node.number("gamma", gamma));
}

LogicalResult octet::onnx_import::importSelu(Node &node) {
  return node.setResult(scaledElu(node, node.value(0), node.getFloat("alpha", 1.67326319217681885f),
                                  node.getFloat("gamma", 1.05070102214813232f)));
}

/// alpha * elu(x / alpha)
LogicalResult octet::onnx_import::importCelu(Node &node) {
  float alpha = node.getFloat("alpha", 1);
  if (!(alpha > 0))
    return node.unsupported("an alpha that is not positive");
  if (alpha == 1)
    return importUnary<nn::EluOp>(node, 1.0f);
  auto ratio = node.compute<nn::DivOp>(node.value(0), node.number("alpha", alpha));
  return node.setResult(scaledElu(node, ratio, 1, alpha));
}

/// x / (1 + |x|)
LogicalResult octet::onnx_import::importSoftsign(Node &node) {
  auto x = node.value(0);
  auto divisor = node.compute<nn::AddOp>(node.compute<nn::AbsOp>(x), node.number("one", 1));
  return node.setResult(node.compute<nn::DivOp>(x, divisor));
}

/// x * tanh(softplus(x))
LogicalResult octet::onnx_import::importMish(Node &node) {
  auto x = node.value(0);
  auto gate = node.compute<nn::TanhOp>(node.compute<nn::SoftplusOp>(x));
  return node.setResult(node.compute<nn::MulOp>(x, gate));
}

/// x * sigmoid(alpha * x)
LogicalResult octet::onnx_import::importSwish(Node &node) {
  float alpha = node.getFloat("alpha", 1);
  if (alpha == 1)
    return importUnary<nn::SiluOp>(node);
  auto x = node.value(0);
  auto gate = node.compute<nn::SigmoidOp>(node.compute<nn::MulOp>(x, node.number("alpha", alpha)));
  return node.setResult(node.compute<nn::MulOp>(x, gate));
}

/// Swish of the first input, which is the gate, times the second.
LogicalResult octet::onnx_import::importSwiGLU(Node &node) {
  if (node.shape(0) != node.shape(1))
    return node.invalid("has a gate of shape " + printShape(node.shape(0)) +
                        " for values of shape " + printShape(node.shape(1)));
  auto gate = node.compose(importSwish, {node.entry(0)});
  if (failed(gate))
    return failure();
  return node.setResult(node.compute<nn::MulOp>(node.toValue(*gate), node.value(1)));
}

/// What is further from 0 than lambd, by bias nearer to it; 0 else.
LogicalResult octet::onnx_import::importShrink(Node &node) {
  float lambda = node.getFloat("lambd", 0.5f), bias = node.getFloat("bias", 0);
  if (!(lambda >= 0))
    return node.unsupported("a negative lambd");
  auto x = node.value(0);
  auto negated = node.compute<nn::NegOp>(x);
  if (failed(negated))
    return failure();
  llvm::APFloat alpha(lambda);
  auto kept = node.compute<nn::SubOp>(node.create<nn::ThresholdedReluOp>(*x, alpha),
                                      node.create<nn::ThresholdedReluOp>(*negated, alpha));
  if (bias == 0)
    return node.setResult(kept);
  auto offset = node.compute<nn::MulOp>(node.compute<nn::SignOp>(kept), node.number("bias", bias));
  return node.setResult(node.compute<nn::SubOp>(kept, offset));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Up to opset 12, softmax runs over all dimensions from `axis` (default 1) on as if they were one.
template <typename Compute> static LogicalResult importAlongAxis(Node &node, Compute compute) {
  Shape shape = node.shape(0);
  bool flattens = node.opset() < 13;
  auto axis = node.normalizeAxis(node.getInt("axis", flattens ? 1 : -1), shape.size());
  auto input = succeeded(axis) ? node.value(0) : MaybeValue();
  if (failed(input))
    return failure();
  int64_t columns = *countElements(ShapeRef(shape).drop_front(*axis));
  if (!flattens || columns == shape[*axis])
    return node.setResult(compute(*input, *axis));
  MaybeValue result = compute(node.reshape(*input, {*countElements(shape) / columns, columns}), 1);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}

LogicalResult octet::onnx_import::importSoftmax(Node &node) {
  return importAlongAxis(
      node, [&](Value x, int64_t axis) { return node.create<nn::SoftmaxOp>(x, axis); });
}

/// (x - m) - log(sum(exp(x - m))) with the maximum m.
LogicalResult octet::onnx_import::importLogSoftmax(Node &node) {
  return importAlongAxis(node, [&](Value x, int64_t axis) {
    auto centered = node.compute<nn::SubOp>(MaybeValue(x), reduce(node, x, Reduction::max, {axis}));
    auto sum = reduce(node, node.compute<nn::ExpOp>(centered), Reduction::sum, {axis});
    return node.compute<nn::SubOp>(centered, node.compute<nn::LogOp>(sum));
  });
}
