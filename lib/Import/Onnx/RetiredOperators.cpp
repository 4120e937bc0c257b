//===- RetiredOperators.cpp - operators that ONNX had once -------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Experimental operators of ONNX before 1.5, which onnxruntime still runs: files that were made of
// Core ML's and Caffe2's networks have them.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static MaybeValue getNumber(Node &node, StringRef name, float otherwise) {
  return node.number(name, node.getFloat(name, otherwise));
}

/// alpha * x + beta
LogicalResult onnx_import::importAffine(Node &node) {
  return node.setResult(
      node.compute<nn::AddOp>(node.compute<nn::MulOp>(node.value(0), getNumber(node, "alpha", 1)),
                              getNumber(node, "beta", 0)));
}

/// scale * x
LogicalResult onnx_import::importScale(Node &node) {
  return node.setResult(node.compute<nn::MulOp>(node.value(0), getNumber(node, "scale", 1)));
}

/// alpha * tanh(beta * x)
LogicalResult onnx_import::importScaledTanh(Node &node) {
  auto inner = node.compute<nn::MulOp>(node.value(0), getNumber(node, "beta", 1));
  return node.setResult(
      node.compute<nn::MulOp>(node.compute<nn::TanhOp>(inner), getNumber(node, "alpha", 1)));
}

/// alpha * softplus(beta * x)
LogicalResult onnx_import::importParametricSoftplus(Node &node) {
  auto inner = node.compute<nn::MulOp>(node.value(0), getNumber(node, "beta", 1));
  return node.setResult(
      node.compute<nn::MulOp>(node.compute<nn::SoftplusOp>(inner), getNumber(node, "alpha", 1)));
}

/// scale * x + a number of each channel.
LogicalResult onnx_import::importImageScaler(Node &node) {
  const onnx::AttributeProto *list = node.attribute("bias");
  int64_t channels = node.rank(0) == 4 ? node.shape(0)[1] : 0;
  if (!list || channels < 1 || list->floats_size() != channels)
    return node.invalid("has " + Twine(list ? list->floats_size() : 0) +
                        " numbers for the channels of an input of shape " +
                        printShape(node.shape(0)));
  std::vector<float> values(list->floats().begin(), list->floats().end());
  auto bias = node.materialize({node.nameConstant("bias"), {channels, 1, 1}, std::move(values)});
  return node.setResult(node.compute<nn::AddOp>(
      node.compute<nn::MulOp>(node.value(0), getNumber(node, "scale", 1)), bias));
}
