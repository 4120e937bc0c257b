//===- RotaryEmbedding.cpp - rotations of queries and keys -------------------- ===//
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

/// Input `i`, cosines or sines by position, as a value of shape `rows`: the rows of the positions
/// if there are some.
static MaybeValue getAngles(Node &node, unsigned i, ShapeRef rows) {
  constexpr unsigned kPositions = 3;
  Shape shape = node.shape(i);
  int64_t half = rows.back(), count = *countElements(rows.drop_back());
  if (!node.has(kPositions)) {
    if (shape.size() != 3 || shape.back() != half || *countElements(shape) != count * half)
      return node.invalid("has angles of shape " + printShape(shape) + "; expected " +
                          Twine(count) + " times " + Twine(half));
    auto value = node.value(i);
    return failed(value) ? value : node.reshape(*value, rows);
  }
  const HostTensor *positions = node.constant(kPositions), *angles = node.constant(i);
  int64_t given = *countElements(node.shape(kPositions));
  if (shape.size() != 2 || shape.back() != half || given != count)
    return node.invalid("has angles of shape " + printShape(shape) + " and " + Twine(given) +
                        " positions; expected " + Twine(count) + " and rows of " + Twine(half));
  if (!positions || !positions->isInteger() || !angles) {
    auto table = node.value(i), indices = toIndices(node, node.any(kPositions));
    if (failed(table) || failed(indices))
      return failure();
    auto taken = node.create<nn::GatherOp>(*table, *indices, /*axis=*/0);
    return failed(taken) ? taken : node.reshape(*taken, rows);
  }
  std::vector<int64_t> source;
  for (int64_t position : *positions->integers()) {
    if (position < 0 || position >= shape[0])
      return node.invalid("has the position " + Twine(position) + ", but " + Twine(shape[0]) +
                          " rows of angles");
    for (int64_t k = 0; k < half; ++k)
      source.push_back(position * half + k);
  }
  HostTensor chosen = gatherElements(*angles, rows, source);
  chosen.name = node.nameConstant(i == 1 ? "cos" : "sin");
  return node.materialize(std::move(chosen));
}

/// `count` elements of the last dimension.
static MaybeValue takeLast(Node &node, Value x, int64_t start, int64_t count, int64_t step) {
  Shape sizes(shapeOf(x)), starts(sizes.size(), 0), steps(sizes.size(), 1);
  starts.back() = start, sizes.back() = count, steps.back() = step;
  return node.create<nn::SliceOp>(x, starts, sizes, steps);
}

/// Puts `even` and `odd` side by side, element by element or as halves.
static MaybeValue joinHalves(Node &node, MaybeValue even, MaybeValue odd, bool interleaved) {
  if (failed(even) || failed(odd))
    return failure();
  Shape shape(shapeOf(*even)), pairs(shape);
  pairs.push_back(1);
  if (!interleaved)
    return node.create<nn::ConcatOp>(ValueRange{*even, *odd}, int64_t(shape.size()) - 1);
  auto joined = node.create<nn::ConcatOp>(
      ValueRange{node.reshape(*even, pairs), node.reshape(*odd, pairs)}, int64_t(shape.size()));
  shape.back() *= 2;
  return failed(joined) ? joined : node.reshape(*joined, shape);
}

/// Rotates an input of four dimensions, or of three with its heads side by side.
static LogicalResult rotate(Node &node, int64_t heads) {
  Shape shape = node.shape(0), split = shape;
  if (shape.size() == 3 && heads > 0 && shape[2] % heads == 0)
    split = {shape[0], shape[1], heads, shape[2] / heads};
  int64_t rotated = node.getInt("rotary_embedding_dim", 0);
  rotated = rotated ? rotated : split.back();
  if (split.size() != 4 || rotated < 2 || rotated % 2 || rotated > split.back())
    return node.invalid("rotates " + Twine(rotated) + " elements of an input of shape " +
                        printShape(shape) + " with " + Twine(heads) + " heads");
  bool interleaved = node.getInt("interleaved", 0);
  int64_t half = rotated / 2, step = interleaved ? 2 : 1;
  Shape rows =
      shape.size() == 4 ? Shape{shape[0], 1, shape[2], half} : Shape{shape[0], shape[1], 1, half};
  auto input = node.value(0);
  auto cosines = getAngles(node, 1, rows), sines = getAngles(node, 2, rows);
  if (failed(input) || failed(cosines) || failed(sines))
    return failure();
  Value x = node.reshape(*input, split);
  auto first = takeLast(node, x, 0, half, step),
       second = takeLast(node, x, interleaved ? 1 : half, half, step);
  auto real = node.compute<nn::SubOp>(node.compute<nn::MulOp>(first, cosines),
                                      node.compute<nn::MulOp>(second, sines));
  auto imaginary = node.compute<nn::AddOp>(node.compute<nn::MulOp>(first, sines),
                                           node.compute<nn::MulOp>(second, cosines));
  auto result = joinHalves(node, real, imaginary, interleaved);
  if (succeeded(result) && rotated < split.back()) {
    auto rest = takeLast(node, x, rotated, split.back() - rotated, 1);
    result = joinHalves(node, result, rest, /*interleaved=*/false);
  }
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}

LogicalResult octet::onnx_import::importRotaryEmbedding(Node &node) {
  return rotate(node, node.getInt("num_heads", 0));
}

/// Without a number of heads, they have twice as many elements as the angles have columns.
static LogicalResult rotateFused(Node &node) {
  int64_t heads = node.getInt("num_heads", 0), size = 2 * node.shape(1).back();
  return rotate(node, heads || node.rank(0) != 3 ? heads : node.shape(0)[2] / size);
}

/// One position is that of the first row.
static FailureOr<Entry> countPositions(Node &node, int64_t batch, int64_t length) {
  std::vector<int64_t> offsets;
  for (int64_t i = 0; i < batch * length; ++i)
    offsets.push_back(i % length);
  auto steps = integerConstant(node, "steps", {batch, length}, std::move(offsets));
  auto first = toIndices(node, node.any(1));
  auto positions = node.compute<nn::AddOp>(first, steps);
  if (failed(positions))
    return failure();
  if (!node.constant(1))
    return Entry{nullptr, *positions};
  return Entry{std::make_shared<HostTensor>(node.evaluate(*positions)), {}};
}

/// com.microsoft has the positions in front of the angles.
LogicalResult octet::onnx_import::importFusedRotaryEmbedding(Node &node) {
  Shape shape = node.shape(0);
  if (node.getFloat("scale", 1) != 1)
    return node.unsupported("a scale");
  if (shape.size() < 3 || node.rank(2) != 2 || node.shape(2)[1] < 1)
    return node.invalid("has inputs of shape " + printShape(shape) + " and " +
                        printShape(node.shape(2)));
  FailureOr<Entry> positions = node.entry(1);
  if (node.shape(1) == Shape{1})
    positions = countPositions(node, shape[0], shape[shape.size() - 2]);
  if (failed(positions))
    return failure();
  auto result =
      node.compose(rotateFused, {node.entry(0), node.entry(2), node.entry(3), *positions});
  return failed(result) ? failure() : node.setResult(*result);
}

//===----------------------------------------------------------------------===//
// Several positions
//===----------------------------------------------------------------------===//

/// Which of three positions gives angle `k`: sections lie one behind the other, or the second and
/// the third one take every third angle.
static int64_t getStream(ShapeRef sections, int64_t k, bool isInterleaved) {
  if (isInterleaved)
    return k % 3 != 0 && k < 3 * sections[k % 3] ? k % 3 : 0;
  return k < sections[0] ? 0 : k < sections[0] + sections[1] ? 1 : 2;
}

/// Input `i`, a table of angles, at those of three positions that give them: [batch, length, half].
static MaybeValue mixAngles(Node &node, unsigned i, ShapeRef sections, bool isInterleaved) {
  auto rows = node.compose(importGather, {node.entry(i), node.entry(1)});
  auto all = failed(rows) ? MaybeValue() : node.toValue(*rows);
  if (failed(all))
    return failure();
  Shape one(shapeOf(*all)), starts(4, 0), steps(4, 1);
  one[0] = 1;
  MaybeValue mixed;
  for (int64_t stream = 0; stream < 3; ++stream) {
    starts[0] = stream;
    auto part = node.create<nn::SliceOp>(*all, starts, one, steps);
    std::vector<int64_t> isIts;
    for (int64_t k = 0; k < one.back(); ++k)
      isIts.push_back(getStream(sections, k, isInterleaved) == stream);
    auto its = compare(node, nn::Predicate::less, integerConstant(node, "none", {}, {0}),
                       integerConstant(node, "stream", {one.back()}, std::move(isIts)));
    mixed = stream == 0 ? part : select(node, its, part, mixed);
  }
  return failed(mixed) ? mixed : node.reshape(*mixed, ShapeRef(one).drop_front());
}

/// Places in time and in an image.
LogicalResult octet::onnx_import::importMRotaryEmbedding(Node &node) {
  Shape shape = node.shape(0), positions = node.shape(1), angles = node.shape(2);
  Shape sections = node.getInts("mrope_section").value_or(Shape());
  if (node.getFloat("scale", 1) != 1)
    return node.unsupported("a scale");
  bool fits = shape.size() >= 3 && angles.size() == 2 && sections.size() == 3 &&
              positions == Shape{3, shape[0], shape[shape.size() - 2]} && node.shape(3) == angles &&
              sections[0] + sections[1] + sections[2] == angles[1];
  if (!fits)
    return node.invalid("has inputs of shape " + node.printInputShapes() + " and sections of " +
                        printShape(sections));
  bool isInterleaved = node.getInt("mrope_layout", 0);
  auto cosines = mixAngles(node, 2, sections, isInterleaved),
       sines = mixAngles(node, 3, sections, isInterleaved);
  if (failed(cosines) || failed(sines))
    return failure();
  auto result = node.compose(importRotaryEmbedding,
                             {node.entry(0), Entry{nullptr, *cosines}, Entry{nullptr, *sines}});
  return failed(result) ? failure() : node.setResult(*result);
}
