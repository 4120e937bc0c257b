//===- DecoderBlocks.cpp - small parts of onnxruntime's decoders -------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gates, norms and sums of several streams, each of which is one operator of the domain
// com.microsoft for decoders with linear attention or hyper-connections.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static LogicalResult refuseShapes(Node &node) {
  return node.invalid("has inputs of shape " + node.printInputShapes());
}

/// `x` with its last dimension as [groups, size]; it may have two such dimensions already.
static MaybeValue splitLast(Node &node, Value x, int64_t groups) {
  Shape shape(shapeOf(x));
  if (groups == 0)
    return x;
  if (shape.empty() || groups < 0 || shape.back() % groups)
    return refuseShapes(node);
  shape.back() /= groups;
  shape.insert(shape.end() - 1, groups);
  return MaybeValue(node.reshape(x, shape));
}

static MaybeValue swish(Node &node, MaybeValue x) {
  return failed(x) ? x : node.create<nn::SiluOp>(*x);
}

/// The norm of groups as long as the scale, times an activation of the gate.
LogicalResult onnx_import::importGatedRMSNorm(Node &node) {
  Shape shape = node.shape(0), scale = node.shape(1);
  if (scale.size() != 1 || scale[0] < 1 || shape.empty() || shape.back() % scale[0] ||
      node.shape(2) != shape)
    return refuseShapes(node);
  auto x = node.value(0);
  auto groups = failed(x) ? x : splitLast(node, *x, shape.back() / scale[0]);
  if (failed(groups))
    return failure();
  int64_t axis = shapeOf(*groups).size() - 1;
  Normalized normal = normalizeByMeanSquare(node, groups, {axis}, node.getFloat("epsilon", 1e-5f));
  auto scaled = node.compute<nn::MulOp>(normal.result, node.value(1));
  bool isSwish = node.getString("activation", "silu") != "sigmoid";
  auto gate = isSwish ? swish(node, node.value(2)) : node.compute<nn::SigmoidOp>(node.value(2));
  return failed(scaled) ? failure()
                        : node.setResult(node.compute<nn::MulOp>(
                              MaybeValue(node.reshape(*scaled, shape)), gate));
}

/// Each branch has a norm of its own.
LogicalResult onnx_import::importBranchwiseRMSNorm(Node &node) {
  Shape shape = node.shape(0);
  auto x = node.value(0);
  auto branches = failed(x) ? x : splitLast(node, *x, node.getInt("num_branches", 0));
  if (failed(branches))
    return failure();
  Shape split(shapeOf(*branches));
  if (split.size() < 2)
    return refuseShapes(node);
  int64_t axis = split.size() - 1;
  Normalized normal =
      normalizeByMeanSquare(node, branches, {axis}, node.getFloat("epsilon", 1e-5f));
  auto result = normal.result;
  if (node.has(1)) {
    auto count = countElements(node.shape(1));
    bool isShared = count == split.back();
    if (!isShared && count != split.back() * split[axis - 1])
      return refuseShapes(node);
    auto scale = node.value(1);
    if (failed(scale))
      return failure();
    Shape of = isShared ? Shape{split.back()} : Shape{split[axis - 1], split.back()};
    result = node.compute<nn::MulOp>(result, MaybeValue(node.reshape(*scale, of)));
  }
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}

/// x + y * gate
LogicalResult onnx_import::importGatedAdd(Node &node) {
  return node.setResult(node.compute<nn::AddOp>(
      node.value(0), node.compute<nn::MulOp>(node.value(1), node.value(2))));
}

LogicalResult onnx_import::importScaledSiLU(Node &node) {
  auto scale = node.has(1) ? node.value(1) : node.number("alpha", node.getFloat("alpha", 1));
  return node.setResult(swish(node, node.compute<nn::MulOp>(node.value(0), scale)));
}

/// The decay, scale * softplus(a + bias), and beta, sigmoid(b), of LinearAttention.
LogicalResult onnx_import::importLinearAttentionGate(Node &node) {
  if (node.wants(1) && !node.has(3))
    return node.invalid("lacks its input 3");
  auto softplus =
      node.compute<nn::SoftplusOp>(node.compute<nn::AddOp>(node.value(0), node.value(1)));
  if (failed(node.setResult(node.compute<nn::MulOp>(softplus, node.value(2)))))
    return failure();
  return node.wants(1) ? node.setResult(node.compute<nn::SigmoidOp>(node.value(3)), 1) : success();
}

//===----------------------------------------------------------------------===//
// Hyper-connections
//===----------------------------------------------------------------------===//

namespace {
/// Streams [..., C, H], given so or side by side.
struct Streams {
  explicit Streams(Node &node) : node(node), branches(node.getInt("num_branches", 0)) {}
  LogicalResult read();
  /// Gates of branches, or of their elements, as they broadcast to the streams.
  MaybeValue getGates(unsigned i);

  Node &node;
  int64_t branches;
  Value value;
  Shape shape;
};
} // namespace

LogicalResult Streams::read() {
  auto given = node.value(0);
  auto split = failed(given) ? given : splitLast(node, *given, branches);
  if (failed(split))
    return failure();
  value = *split, shape = Shape(shapeOf(value));
  return shape.size() < 2 ? refuseShapes(node) : success();
}

MaybeValue Streams::getGates(unsigned i) {
  auto gates = node.value(i);
  if (failed(gates))
    return gates;
  Shape one(shape);
  one.back() = 1;
  auto count = countElements(shapeOf(*gates));
  bool isOne = count == countElements(one);
  if (!isOne && count != countElements(shape))
    return refuseShapes(node);
  return MaybeValue(node.reshape(*gates, isOne ? one : shape));
}

/// The sum of all streams times their gates.
LogicalResult onnx_import::importHyperConnectionPreMix(Node &node) {
  Streams streams(node);
  if (failed(streams.read()))
    return failure();
  int64_t axis = streams.shape.size() - 2;
  auto sum = reduce(node, node.compute<nn::MulOp>(MaybeValue(streams.value), streams.getGates(1)),
                    Reduction::sum, {axis}, /*keepDims=*/false);
  return node.setResult(
      node.compute<nn::MulOp>(sum, node.number("scale", node.getFloat("reduction_scale", 1))));
}

/// The streams, perhaps mixed with each other, and a block's result times the gate of each.
LogicalResult onnx_import::importHyperConnectionPostMix(Node &node) {
  Streams streams(node);
  if (failed(streams.read()))
    return failure();
  int64_t rank = streams.shape.size();
  MaybeValue mixed = streams.value;
  if (node.has(3)) {
    auto matrix = node.value(3);
    Shape order = allAxes(rank);
    std::swap(order[rank - 1], order[rank - 2]);
    if (succeeded(matrix) && node.rank(3) != rank)
      return refuseShapes(node);
    auto across = failed(matrix) ? matrix : node.create<nn::TransposeOp>(*matrix, order);
    mixed = node.compute<nn::MatmulOp>(across, mixed);
  }
  auto block = node.value(1);
  if (failed(block))
    return failure();
  Shape one(shapeOf(*block));
  one.insert(one.empty() ? one.end() : one.end() - 1, 1);
  auto added = node.compute<nn::MulOp>(streams.getGates(2), MaybeValue(node.reshape(*block, one)));
  auto result = node.compute<nn::AddOp>(mixed, added);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, node.shape(0)));
}
