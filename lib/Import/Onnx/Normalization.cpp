//===- Normalization.cpp - normalization by statistics of the input ----------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// sqrt(x + epsilon)
static MaybeValue getDeviation(Node &node, MaybeValue variance, float epsilon) {
  return node.compute<nn::SqrtOp>(
      node.compute<nn::AddOp>(variance, node.number("epsilon", epsilon)));
}

/// Its reciprocal: one division for each row, in place of one for each element.
static MaybeValue invertDeviation(Node &node, MaybeValue variance, float epsilon) {
  return raiseTo(node, getDeviation(node, variance, epsilon), -1);
}

Normalized onnx_import::normalize(Node &node, MaybeValue x, ShapeRef axes, float epsilon) {
  auto mean = reduce(node, x, Reduction::mean, axes);
  auto centered = node.compute<nn::SubOp>(x, mean);
  auto variance = reduce(node, node.compute<nn::MulOp>(centered, centered), Reduction::mean, axes);
  auto inverse = invertDeviation(node, variance, epsilon);
  return {mean, inverse, node.compute<nn::MulOp>(centered, inverse)};
}

Normalized onnx_import::normalizeByMeanSquare(Node &node, MaybeValue x, ShapeRef axes,
                                              float epsilon) {
  auto meanSquare = reduce(node, node.compute<nn::MulOp>(x, x), Reduction::mean, axes);
  auto inverse = invertDeviation(node, meanSquare, epsilon);
  return {MaybeValue(), inverse, node.compute<nn::MulOp>(x, inverse)};
}

/// `x` times input 1, plus input 2 if there is one; both in a shape that broadcasts.
static MaybeValue applyScale(Node &node, MaybeValue x, ShapeRef shape) {
  auto view = [&](unsigned i) -> MaybeValue {
    auto value = node.value(i);
    return failed(value) ? value : node.reshape(*value, shape);
  };
  auto scaled = node.compute<nn::MulOp>(x, view(1));
  return node.has(2) ? node.compute<nn::AddOp>(scaled, view(2)) : scaled;
}

/// The axes from the attribute `axis` on.
static FailureOr<Shape> readTrailingAxes(Node &node) {
  auto axis = node.normalizeAxis(node.getInt("axis", -1), node.rank(0));
  if (failed(axis))
    return failure();
  return Shape(ArrayRef(allAxes(node.rank(0))).drop_front(*axis));
}

/// Whether the inputs 1 and 2 broadcast to the first; else an error.
static LogicalResult checkScales(Node &node) {
  for (unsigned i = 1; i <= 2; ++i)
    if (node.has(i) && broadcast(node.shape(0), node.shape(i)) != node.shape(0))
      return node.invalid("has a scale or bias of shape " + printShape(node.shape(i)) +
                          " for an input of shape " + printShape(node.shape(0)));
  return success();
}

/// Whether the inputs 1 and 2 have `count` elements in one dimension; else an error.
static LogicalResult checkVectors(Node &node, int64_t count) {
  for (unsigned i : {1, 2})
    if (!node.has(i))
      return node.invalid("lacks its input " + Twine(i));
    else if (node.shape(i) != Shape{count})
      return node.invalid("has a scale or bias of shape " + printShape(node.shape(i)) +
                          "; expected " + Twine(count));
  return success();
}

/// The number of channels of an input of three or more dimensions (two for a network of vectors).
static FailureOr<int64_t> readChannels(Node &node) {
  Shape shape = node.shape(0);
  if (shape.size() < 2)
    return node.invalid("has an input of shape " + printShape(shape) +
                        "; expected two or more dimensions");
  return shape[1];
}

/// [C] as it broadcasts along dimension 1 of a tensor of `rank` dimensions.
static Shape alongChannels(int64_t count, int64_t rank) {
  Shape shape(rank - 1, 1);
  shape[0] = count;
  return shape;
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

LogicalResult onnx_import::importLayerNormalization(Node &node) {
  auto axes = readTrailingAxes(node);
  if (failed(axes) || failed(checkScales(node)))
    return failure();
  Normalized x = normalize(node, node.value(0), *axes, node.getFloat("epsilon", 1e-5f));
  auto scaled = node.compute<nn::MulOp>(x.result, node.value(1));
  if (node.has(2))
    scaled = node.compute<nn::AddOp>(scaled, node.value(2));
  if (failed(node.setResult(scaled)))
    return failure();
  if (node.wants(1) && failed(node.setResult(x.mean, 1)))
    return failure();
  return node.wants(2) ? node.setResult(x.inverse, 2) : success();
}

/// onnxruntime's SimplifiedLayerNormalization has the inverse deviation as its second result.
LogicalResult onnx_import::importRMSNormalization(Node &node) {
  auto axes = readTrailingAxes(node);
  if (failed(axes) || failed(checkScales(node)))
    return failure();
  Normalized x = normalizeByMeanSquare(node, node.value(0), *axes, node.getFloat("epsilon", 1e-5f));
  if (failed(node.setResult(node.compute<nn::MulOp>(x.result, node.value(1)))))
    return failure();
  return node.wants(1) ? node.setResult(x.inverse, 1) : success();
}

LogicalResult onnx_import::importInstanceNormalization(Node &node) {
  auto channels = readChannels(node);
  if (failed(channels) || failed(checkVectors(node, *channels)))
    return failure();
  Shape axes = allAxes(node.rank(0));
  Normalized x =
      normalize(node, node.value(0), ShapeRef(axes).drop_front(2), node.getFloat("epsilon", 1e-5f));
  return node.setResult(applyScale(node, x.result, alongChannels(*channels, axes.size())));
}

/// Scale and bias are those of the groups up to opset 20, those of the channels from 21 on.
LogicalResult onnx_import::importGroupNormalization(Node &node) {
  Shape shape = node.shape(0);
  auto channels = readChannels(node);
  int64_t groups = node.getInt("num_groups", 0);
  if (failed(channels))
    return failure();
  if (groups < 1 || *channels % groups)
    return node.invalid("has " + Twine(*channels) + " channels in " + Twine(groups) + " groups");
  bool scalesGroups = node.opset() < 21;
  auto x = node.value(0);
  if (failed(x) || failed(checkVectors(node, scalesGroups ? groups : *channels)))
    return failure();
  Shape rows{shape[0], groups, *countElements(shape) / (shape[0] * groups)};
  auto result =
      normalize(node, node.reshape(*x, rows), {2}, node.getFloat("epsilon", 1e-5f)).result;
  if (scalesGroups)
    result = applyScale(node, result, {groups, 1});
  if (failed(result))
    return failure();
  Value image = node.reshape(*result, shape);
  return node.setResult(scalesGroups
                            ? MaybeValue(image)
                            : applyScale(node, image, alongChannels(*channels, shape.size())));
}

/// (x - mean) / (sqrt(variance) + 1e-9)
LogicalResult onnx_import::importMeanVarianceNormalization(Node &node) {
  Shape axes = node.getInts("axes").value_or(Shape{0, 2, 3});
  if (failed(node.normalizeAxes(axes, node.rank(0))))
    return failure();
  auto x = node.value(0);
  auto centered = node.compute<nn::SubOp>(x, reduce(node, x, Reduction::mean, axes));
  auto variance = reduce(node, node.compute<nn::MulOp>(centered, centered), Reduction::mean, axes);
  auto deviation =
      node.compute<nn::AddOp>(node.compute<nn::SqrtOp>(variance), node.number("epsilon", 1e-9f));
  return node.setResult(node.compute<nn::DivOp>(centered, deviation));
}

/// x over its norm along one axis; a norm of zero leaves zeros, so that the divisor is kept above.
LogicalResult onnx_import::importLpNormalization(Node &node) {
  auto axis = node.normalizeAxis(node.getInt("axis", -1), node.rank(0));
  if (failed(axis))
    return failure();
  auto x = node.value(0);
  bool isManhattan = node.getInt("p", 2) == 1;
  auto terms = isManhattan ? node.compute<nn::AbsOp>(x) : node.compute<nn::MulOp>(x, x);
  auto norm = reduce(node, terms, Reduction::sum, {*axis});
  if (!isManhattan)
    norm = node.compute<nn::SqrtOp>(norm);
  auto least = node.number("least", std::numeric_limits<float>::min());
  return node.setResult(node.compute<nn::DivOp>(x, node.compute<nn::MaxOp>(norm, least)));
}

/// x / (bias + alpha * mean)^beta with the mean of the squares of `size` neighbouring channels:
/// those are rows of an image, and what lies outside counts as 0.
LogicalResult onnx_import::importLRN(Node &node) {
  Shape shape = node.shape(0);
  auto channels = readChannels(node);
  int64_t size = node.getInt("size", 0);
  if (failed(channels))
    return failure();
  if (size < 1)
    return node.invalid("has size=" + Twine(size) + "; expected 1 or more");
  auto x = node.value(0);
  auto squares = node.compute<nn::MulOp>(x, x);
  if (failed(squares))
    return failure();
  Shape plane{shape[0], 1, *channels, *countElements(ShapeRef(shape).drop_front(2))};
  auto mean = node.create<nn::AvgPoolOp>(
      node.reshape(*squares, plane), ArrayRef<int64_t>{size, 1}, ArrayRef<int64_t>{1, 1},
      ArrayRef<int64_t>{(size - 1) / 2, 0, size / 2, 0}, ArrayRef<int64_t>{1, 1},
      /*count_include_pad=*/true);
  if (failed(mean))
    return failure();
  auto scaled = node.compute<nn::MulOp>(MaybeValue(node.reshape(*mean, shape)),
                                        node.number("alpha", node.getFloat("alpha", 1e-4f)));
  auto sum = node.compute<nn::AddOp>(scaled, node.number("bias", node.getFloat("bias", 1)));
  return node.setResult(
      node.compute<nn::DivOp>(x, raiseTo(node, sum, node.getFloat("beta", 0.75f))));
}
