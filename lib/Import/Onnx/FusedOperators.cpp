//===- FusedOperators.cpp - operators that onnxruntime's optimizers write ----- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several operators of ONNX as one of the domain com.microsoft: here they are those again.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "RecurrentActivations.h"
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Products with activations
//===----------------------------------------------------------------------===//

/// The activation that the node names, of `x`; a Clip has its bounds instead of parameters.
static MaybeValue activate(Node &node, MaybeValue x, std::optional<float> alpha,
                           std::optional<float> beta) {
  StringRef name = node.getString("activation", "");
  if (failed(x) || name.empty())
    return x;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (name == "Clip")
    return node.create<nn::ClipOp>(*x, llvm::APFloat(alpha.value_or(-kInfinity)),
                                   llvm::APFloat(beta.value_or(kInfinity)));
  auto activation = findActivation(node, name, alpha, beta);
  return failed(activation) ? MaybeValue() : activation->apply(node, *x);
}

/// The addend, input 3, comes before the activation.
LogicalResult octet::onnx_import::importFusedConv(Node &node) {
  SmallVector<Entry> inputs{node.entry(0), node.entry(1)};
  if (node.has(2))
    inputs.push_back(node.entry(2));
  auto convolved = node.compose(importConv, inputs);
  if (failed(convolved))
    return failure();
  MaybeValue sum = convolved->value;
  if (node.has(3) && node.shape(3) != shapeOf(*convolved))
    return node.invalid("adds a tensor of shape " + printShape(node.shape(3)) +
                        " to a convolution's result of shape " + printShape(shapeOf(*convolved)));
  if (node.has(3))
    sum = node.compute<nn::AddOp>(sum, node.value(3));
  const onnx::AttributeProto *list = node.attribute("activation_params");
  auto get = [&](int i) {
    return list && i < list->floats_size() ? std::optional(list->floats(i)) : std::nullopt;
  };
  return node.setResult(activate(node, sum, get(0), get(1)));
}

LogicalResult octet::onnx_import::importFusedGemm(Node &node) {
  SmallVector<Entry> inputs{node.entry(0), node.entry(1)};
  if (node.has(2))
    inputs.push_back(node.entry(2));
  auto product = node.compose(importGemm, inputs);
  if (failed(product))
    return failure();
  auto get = [&](StringRef name) {
    const onnx::AttributeProto *given = node.attribute(name);
    return given ? std::optional(given->f()) : std::nullopt;
  };
  return node.setResult(
      activate(node, product->value, get("activation_alpha"), get("activation_beta")));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// GELU of the first input, plus the second if there is one.
static LogicalResult importGeluOfSum(Node &node, nn::GeluForm form) {
  auto x = node.value(0);
  if (node.has(1))
    x = node.compute<nn::AddOp>(x, node.value(1));
  return failed(x) ? failure() : node.setResult(node.create<nn::GeluOp>(*x, form));
}

LogicalResult octet::onnx_import::importFusedGelu(Node &node) {
  return importGeluOfSum(node, nn::GeluForm::none);
}
LogicalResult octet::onnx_import::importFastGelu(Node &node) {
  return importGeluOfSum(node, nn::GeluForm::tanh);
}

/// x * sigmoid(alpha * x)
LogicalResult octet::onnx_import::importQuickGelu(Node &node) {
  auto x = node.value(0);
  auto scaled = node.compute<nn::MulOp>(x, node.number("alpha", node.getFloat("alpha", 1.702f)));
  return node.setResult(node.compute<nn::MulOp>(x, node.compute<nn::SigmoidOp>(scaled)));
}

/// Of the sum of both inputs, over all dimensions from `axis` on as if they were one.
LogicalResult octet::onnx_import::importBiasSoftmax(Node &node) {
  Shape shape = node.shape(0);
  auto axis = node.normalizeAxis(node.getInt("axis", 1), shape.size());
  if (failed(axis))
    return failure();
  if (broadcast(shape, node.shape(1)) != shape)
    return node.unsupported("a bias of shape " + printShape(node.shape(1)) +
                            " for an input of shape " + printShape(shape));
  auto sum = node.compute<nn::AddOp>(node.value(0), node.value(1));
  if (failed(sum))
    return failure();
  Shape rows(ShapeRef(shape).take_front(*axis));
  rows.push_back(*countElements(ShapeRef(shape).drop_front(*axis)));
  auto result = node.create<nn::SoftmaxOp>(node.reshape(*sum, rows), *axis);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}
