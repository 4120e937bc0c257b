//===- Gather.cpp - elements along an axis by their positions ----------------- ===//
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

/// The distance of positions that follow each other evenly, as those of a slice do; else 0.
static int64_t getStep(ShapeRef positions) {
  if (positions.empty())
    return 0;
  int64_t step = positions.size() == 1 ? 1 : positions[1] - positions[0];
  for (size_t i = 1; i < positions.size(); ++i)
    if (positions[i] - positions[i - 1] != step)
      return 0;
  return std::max<int64_t>(step, 0);
}

/// A slice with the dimensions of the indices in place of its own.
static LogicalResult sliceValue(Node &node, int64_t axis, ShapeRef positions, int64_t step) {
  Shape starts(node.rank(0), 0), sizes = node.shape(0), steps(node.rank(0), 1);
  auto input = node.any(0);
  if (failed(input))
    return failure();
  starts[axis] = positions.front();
  sizes[axis] = positions.size();
  steps[axis] = step;
  auto slice = node.create<nn::SliceOp>(*input, starts, sizes, steps);
  Shape indices = node.shape(1);
  sizes.erase(sizes.begin() + axis);
  sizes.insert(sizes.begin() + axis, indices.begin(), indices.end());
  return failed(slice) ? failure() : node.setResult(node.reshape(*slice, sizes));
}

/// Elements at positions that are no constants, or no even ones.
static LogicalResult gatherAtRunTime(Node &node, int64_t axis) {
  auto data = node.any(0), indices = toIndices(node, node.any(1));
  if (failed(data) || failed(indices))
    return failure();
  return node.setResult(node.create<nn::GatherOp>(*data, *indices, axis));
}

/// Indices that are constants, counted from the beginning.
static FailureOr<Shape> readIndices(Node &node, int64_t size) {
  auto indices = node.integers(1, "indices");
  if (failed(indices))
    return failure();
  for (int64_t &index : *indices) {
    if (index < -size || index >= size)
      return node.invalid("has the index " + Twine(index) + " into " + Twine(size) + " elements");
    index += index < 0 ? size : 0;
  }
  return indices;
}

LogicalResult onnx_import::importGather(Node &node) {
  Shape shape = node.shape(0);
  auto axis = node.normalizeAxis(node.getInt("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  if (!node.constant(1))
    return gatherAtRunTime(node, *axis);
  auto indices = readIndices(node, shape[*axis]);
  if (failed(indices))
    return failure();
  Shape result(ShapeRef(shape).take_front(*axis));
  result.append(node.shape(1));
  result.append(shape.begin() + *axis + 1, shape.end());
  if (indices->empty())
    return node.setEmpty(result, 0);
  const HostTensor *tensor = node.constant(0);
  if (int64_t step = tensor ? 0 : getStep(*indices))
    return sliceValue(node, *axis, *indices, step);
  if (!tensor)
    return gatherAtRunTime(node, *axis);
  int64_t outer = *countElements(ShapeRef(shape).take_front(*axis));
  int64_t inner = *countElements(ShapeRef(shape).drop_front(*axis + 1));
  if (!countElements(result, kMaxConstantElements))
    return node.unsupported("a computed constant of shape " + printShape(result));
  std::vector<int64_t> source;
  for (int64_t row = 0; row < outer; ++row)
    for (int64_t index : *indices)
      for (int64_t i = 0; i < inner; ++i)
        source.push_back((row * shape[*axis] + index) * inner + i);
  return node.setResult(gatherElements(*tensor, result, source));
}

//===----------------------------------------------------------------------===//
// Compress, ReverseSequence
//===----------------------------------------------------------------------===//

/// The elements at the places where a condition holds, of all elements if there is no axis.
LogicalResult onnx_import::importCompress(Node &node) {
  const HostTensor *condition = node.constant(1);
  if (!condition || !condition->isInteger())
    return node.unsupported(
        "a condition computed at run time, on which the result's shape depends");
  Entry data = node.entry(0);
  Shape shape = node.shape(0);
  bool isFlat = !node.attribute("axis");
  auto axis =
      isFlat ? FailureOr<int64_t>(0) : node.normalizeAxis(node.getInt("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  int64_t size = isFlat ? *countElements(shape) : shape[*axis];
  std::vector<int64_t> places;
  for (auto [place, holds] : llvm::enumerate(*condition->integers()))
    if (holds)
      places.push_back(place);
  if (places.empty() || places.back() >= size)
    return node.unsupported("a condition that holds for none of " + Twine(size) +
                            " elements, or for one behind them");
  if (isFlat && data.tensor)
    data.tensor = std::make_shared<HostTensor>(reshape(*data.tensor, {size}));
  else if (isFlat)
    data.value = node.reshape(data.value, {size});
  int64_t count = places.size();
  HostTensor indices{node.nameConstant("places"), {count}, std::move(places)};
  auto result = node.compose(importGather,
                             {data, Entry{std::make_shared<HostTensor>(std::move(indices)), {}}});
  return failed(result) ? failure() : node.setResult(*result);
}

/// Of each sequence, where its elements come from among those of all: the first `length` ones are
/// reversed.
static MaybeValue reversePositions(Node &node, int64_t batch, int64_t time) {
  auto lengths = toIndices(node, node.any(1));
  if (failed(lengths))
    return failure();
  std::vector<int64_t> places, starts;
  for (int64_t i = 0; i < time; ++i)
    places.push_back(i);
  for (int64_t i = 0; i < batch; ++i)
    starts.push_back(i * time);
  auto place = integerConstant(node, "places", {1, time}, std::move(places)),
       start = integerConstant(node, "starts", {batch, 1}, std::move(starts)),
       one = integerConstant(node, "one", {}, {1});
  MaybeValue length = node.reshape(*lengths, {batch, 1});
  auto last = node.compute<nn::SubOp>(length, one);
  auto source = select(node, compare(node, nn::Predicate::less, place, length),
                       node.compute<nn::SubOp>(last, place), place);
  return node.compute<nn::AddOp>(source, start);
}

LogicalResult onnx_import::importReverseSequence(Node &node) {
  Shape shape = node.shape(0);
  int64_t batchAxis = node.getInt("batch_axis", 1), timeAxis = node.getInt("time_axis", 0);
  if (shape.size() < 2 || batchAxis == timeAxis || node.shape(1) != Shape{shape[batchAxis]})
    return node.invalid("has an input of shape " + printShape(shape) + " and lengths of shape " +
                        printShape(node.shape(1)));
  Shape order = allAxes(shape.size());
  if (batchAxis == 1)
    std::swap(order[0], order[1]);
  auto x = node.any(0);
  auto moved = failed(x) || batchAxis == 0 ? x : node.create<nn::TransposeOp>(*x, order);
  auto positions = reversePositions(node, shape[batchAxis], shape[timeAxis]);
  if (failed(moved) || failed(positions))
    return failure();
  Shape sequences(shapeOf(*moved)), elements(ShapeRef(sequences).drop_front());
  elements[0] *= sequences[0];
  auto result = node.create<nn::GatherOp>(node.reshape(*moved, elements), *positions, /*axis=*/0);
  return node.setResult(
      failed(result) || batchAxis == 0 ? result : node.create<nn::TransposeOp>(*result, order));
}
