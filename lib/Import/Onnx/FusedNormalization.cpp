//===- FusedNormalization.cpp - normalized sums and embeddings ---------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators of the domain com.microsoft that onnxruntime's optimizers write for transformers.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static constexpr float kEpsilon = 1e-12f; ///< the operators' default

/// `x`, normalized along its last dimension, times input `scale` plus input `bias`.
static MaybeValue scaleAndShift(Node &node, MaybeValue x, unsigned scale, unsigned bias) {
  for (unsigned i : {scale, bias})
    if (succeeded(x) && node.has(i) && node.shape(i) != Shape{shapeOf(*x).back()})
      return node.invalid("has a scale or bias of shape " + printShape(node.shape(i)) +
                          "; expected " + Twine(shapeOf(*x).back()));
  auto scaled = node.compute<nn::MulOp>(x, node.value(scale));
  return node.has(bias) ? node.compute<nn::AddOp>(scaled, node.value(bias)) : scaled;
}

/// Input 0, plus inputs 1 and `bias`, which broadcast to it.
static MaybeValue addSkip(Node &node, unsigned bias) {
  Shape shape = node.shape(0);
  auto sum = node.value(0);
  for (unsigned i : {1u, bias}) {
    if (!node.has(i))
      continue;
    if (shape.empty() || broadcast(shape, node.shape(i)) != shape)
      return node.invalid("adds a tensor of shape " + printShape(node.shape(i)) +
                          " to one of shape " + printShape(shape));
    sum = node.compute<nn::AddOp>(sum, node.value(i));
  }
  return sum;
}

/// The sum of input, skip and bias is the fourth result.
static LogicalResult setNormalizedSum(Node &node, MaybeValue sum, const Normalized &x,
                                      unsigned bias) {
  if (failed(node.setResult(scaleAndShift(node, x.result, 2, bias))))
    return failure();
  if (node.wants(1) && succeeded(x.mean) && failed(node.setResult(x.mean, 1)))
    return failure();
  if (node.wants(2) && failed(node.setResult(x.inverse, 2)))
    return failure();
  return node.wants(3) ? node.setResult(sum, 3) : success();
}

LogicalResult onnx_import::importSkipLayerNormalization(Node &node) {
  auto sum = addSkip(node, 4);
  if (failed(sum))
    return failure();
  Normalized x = normalize(node, sum, {node.rank(0) - 1}, node.getFloat("epsilon", kEpsilon));
  return setNormalizedSum(node, sum, x, 3);
}

LogicalResult onnx_import::importSkipSimplifiedLayerNormalization(Node &node) {
  constexpr unsigned kNone = 9; // there is no bias behind the scale
  auto sum = addSkip(node, 3);
  if (failed(sum))
    return failure();
  Normalized x =
      normalizeByMeanSquare(node, sum, {node.rank(0) - 1}, node.getFloat("epsilon", kEpsilon));
  return setNormalizedSum(node, sum, x, kNone);
}

//===----------------------------------------------------------------------===//
// EmbedLayerNormalization
//===----------------------------------------------------------------------===//

namespace {
class EmbeddingImporter {
public:
  explicit EmbeddingImporter(Node &node) : node(node) {}
  LogicalResult run();

private:
  enum {
    kIds,
    kSegments,
    kWordTable,
    kPositionTable,
    kSegmentTable,
    kScale,
    kBias,
    kMask,
    kPositions
  };

  LogicalResult checkInputs();
  /// The rows of a table that input `ids` names.
  MaybeValue lookUp(unsigned table, unsigned ids);
  MaybeValue takePositions();
  LogicalResult setLengths();

  Node &node;
  Shape shape;
};
} // namespace

LogicalResult EmbeddingImporter::checkInputs() {
  for (unsigned i : {kWordTable, kPositionTable, kScale, kBias})
    if (!node.has(i))
      return node.invalid("lacks its input " + Twine(i));
  shape = node.shape(kIds);
  Shape words = node.shape(kWordTable), positions = node.shape(kPositionTable);
  if (shape.size() != 2 || words.size() != 2 || positions.size() != 2 || positions[1] != words[1] ||
      (!node.has(kPositions) && positions[0] < shape[1]))
    return node.invalid("has words of shape " + printShape(shape) + " and tables of shape " +
                        printShape(words) + " and " + printShape(positions));
  return success();
}

MaybeValue EmbeddingImporter::lookUp(unsigned table, unsigned ids) {
  auto rows = node.compose(importGather, {node.entry(table), node.entry(ids)});
  return failed(rows) ? MaybeValue() : node.toValue(*rows);
}

/// Positions count from 0 unless they are given.
MaybeValue EmbeddingImporter::takePositions() {
  if (node.has(kPositions))
    return lookUp(kPositionTable, kPositions);
  auto table = node.value(kPositionTable);
  int64_t columns = node.shape(kPositionTable)[1];
  if (failed(table))
    return table;
  return node.create<nn::SliceOp>(*table, Shape{0, 0}, Shape{shape[1], columns}, Shape{1, 1});
}

/// The second result: how many words of each row the mask keeps, 0 without a mask.
LogicalResult EmbeddingImporter::setLengths() {
  Type i32 = node.builder().getI32Type();
  auto nothing = node.materialize({node.nameConstant("lengths"),
                                   {shape[0]},
                                   std::vector<int64_t>(shape[0], 0),
                                   onnx::TensorProto::INT32});
  if (!node.has(kMask))
    return node.setResult(nothing, 1);
  auto mask = node.cast(node.any(kMask), i32);
  auto one = node.materialize(
      {node.nameConstant("kept"), {}, std::vector<int64_t>{1}, onnx::TensorProto::INT32});
  if (failed(mask) || failed(one))
    return failure();
  auto isKept =
      node.createAs<nn::CompareOp>(node.builder().getI1Type(), nn::Predicate::equal, *mask, *one);
  return node.setResult(reduce(node, node.cast(isKept, i32), Reduction::sum, {1}, false), 1);
}

LogicalResult EmbeddingImporter::run() {
  if (failed(checkInputs()))
    return failure();
  auto sum = node.compute<nn::AddOp>(lookUp(kWordTable, kIds), takePositions());
  if (node.has(kSegments) && node.has(kSegmentTable))
    sum = node.compute<nn::AddOp>(sum, lookUp(kSegmentTable, kSegments));
  if (failed(sum))
    return failure();
  if (shapeOf(*sum) != ShapeRef{shape[0], shape[1], node.shape(kWordTable)[1]})
    return node.invalid("adds embeddings of words, positions and segments to one of shape " +
                        printShape(shapeOf(*sum)));
  Normalized x = normalize(node, sum, {2}, node.getFloat("epsilon", kEpsilon));
  if (failed(node.setResult(scaleAndShift(node, x.result, kScale, kBias))))
    return failure();
  if (node.wants(1) && failed(setLengths()))
    return failure();
  return node.wants(2) ? node.setResult(sum, 2) : success();
}

LogicalResult onnx_import::importEmbedLayerNormalization(Node &node) {
  return EmbeddingImporter(node).run();
}
