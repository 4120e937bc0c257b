//===- Indexing.cpp - elements by their positions ----------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "ConstantScatter.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Arithmetic of indices
//===----------------------------------------------------------------------===//

MaybeValue onnx_import::toIndices(Node &node, MaybeValue value) {
  if (succeeded(value) && nn::holdsReals(value->getType()))
    return node.invalid("has floats as indices; expected integers");
  return node.cast(value, node.builder().getI64Type());
}

MaybeValue onnx_import::integerConstant(Node &node, StringRef role, ShapeRef shape,
                                        std::vector<int64_t> values) {
  return node.materialize(
      {node.proto.output(0) + "/" + role.str(), Shape(shape), std::move(values)});
}

MaybeValue onnx_import::countFromBeginning(Node &node, MaybeValue indices, int64_t size) {
  auto zero = integerConstant(node, "zero", {}, {0}),
       count = integerConstant(node, "size", {}, {size});
  auto fromEnd = node.compute<nn::AddOp>(indices, count);
  return select(node, compare(node, nn::Predicate::less, indices, zero), fromEnd, indices);
}

/// `base` and `stride` times an index; an index outside of `size` elements gives one that is
/// outside of all of them.
static MaybeValue addPosition(Node &node, MaybeValue base, MaybeValue index, int64_t size,
                              int64_t stride) {
  auto zero = integerConstant(node, "zero", {}, {0}),
       count = integerConstant(node, "size", {}, {size});
  auto position = countFromBeginning(node, index, size);
  auto isInside =
      node.compute<nn::AndOp>(compare(node, nn::Predicate::less_or_equal, zero, position),
                              compare(node, nn::Predicate::less, position, count));
  auto step = integerConstant(node, "stride", {}, {stride});
  auto sum = node.compute<nn::AddOp>(base, node.compute<nn::MulOp>(position, step));
  // So far below zero that no other position makes up for it.
  auto outside = integerConstant(node, "outside", {}, {INT64_MIN / 2});
  return select(node, isInside, sum, outside);
}

/// Offsets in `shape` of all elements of a part of it, but for what their index along `axis` adds.
static MaybeValue makeOffsets(Node &node, ShapeRef part, ShapeRef shape, int64_t axis) {
  Shape strides = getStrides(shape);
  if (axis >= 0)
    strides[axis] = 0;
  if (!countElements(part, kMaxConstantElements))
    return node.unsupported("indices of shape " + printShape(part));
  return integerConstant(node, "offsets", part, enumerateOffsets(part, strides));
}

/// Product of the dimensions [begin, end).
static int64_t countBetween(ShapeRef shape, int64_t begin, int64_t end) {
  return *countElements(shape.slice(begin, end - begin));
}

//===----------------------------------------------------------------------===//
// GatherElements, GatherND and their counterparts
//===----------------------------------------------------------------------===//

/// `data` whose first `count` dimensions are one.
static Value joinDimensions(Node &node, Value data, int64_t count) {
  ShapeRef shape = shapeOf(data);
  Shape joined{countBetween(shape, 0, count)};
  joined.append(shape.begin() + count, shape.end());
  return node.reshape(data, joined);
}

namespace {
/// What GatherElements and ScatterElements have in common: positions in data whose first dimensions
/// are one.
struct Elements {
  MaybeValue data = failure(), positions = failure();
};
} // namespace

/// The axis along which the indices count, if they fit.
static FailureOr<int64_t> readAxis(Node &node) {
  Shape shape = node.shape(0), part = node.shape(1);
  auto axis = node.normalizeAxis(node.getInt("axis", 0), shape.size());
  bool fits = part.size() == shape.size();
  for (int64_t d = 0; succeeded(axis) && fits && d < (int64_t)shape.size(); ++d)
    fits = d == *axis || part[d] <= shape[d];
  if (succeeded(axis) && !fits)
    return node.invalid("has indices of shape " + printShape(part) + " into " + printShape(shape));
  return axis;
}

/// The value of one element along `axis` that `value` has side by side there, or null.
static Value findRepeated(Value value, int64_t axis) {
  if (shapeOf(value)[axis] == 1)
    return value;
  auto concat = value.getDefiningOp<nn::ConcatOp>();
  if (!concat || (int64_t)concat.getAxis() != axis)
    return {};
  Value repeated, before;
  for (Value operand : concat.getOperands()) {
    if (operand == before)
      continue;
    before = operand;
    Value part = findRepeated(operand, axis);
    if (!part || (repeated && part != repeated))
      return {};
    repeated = part;
  }
  return repeated;
}

/// The indices of whole rows: they have all of the dimensions behind `axis` that the data have, in
/// which they are the same. Else null.
static Value findRowIndices(Value indices, ShapeRef shape, int64_t axis) {
  for (int64_t d = shape.size() - 1; d > axis && indices; --d)
    indices = shapeOf(indices)[d] == shape[d] ? findRepeated(indices, d) : Value();
  return indices;
}

static Elements readElements(Node &node, int64_t axis) {
  Shape shape = node.shape(0), part = node.shape(1);
  Elements elements;
  auto data = node.any(0), indices = node.any(1);
  if (failed(data) || failed(indices))
    return elements;
  if (Value ofRows = findRowIndices(*indices, shape, axis)) {
    shape.truncate(axis + 1);
    part.truncate(axis + 1);
    indices = node.reshape(ofRows, part);
  }
  elements.data = joinDimensions(node, *data, shape.size());
  indices = toIndices(node, indices);
  elements.positions = shape.size() == 1
                           ? indices
                           : addPosition(node, makeOffsets(node, part, shape, axis), indices,
                                         shape[axis], getStrides(shape)[axis]);
  return elements;
}

LogicalResult onnx_import::importGatherElements(Node &node) {
  auto axis = readAxis(node);
  Elements elements = succeeded(axis) ? readElements(node, *axis) : Elements();
  if (failed(elements.data) || failed(elements.positions))
    return failure();
  return node.setResult(node.create<nn::GatherOp>(*elements.data, *elements.positions, 0));
}

/// Positions of tuples of indices, the last dimension of input 1, behind `batch` dimensions that
/// data and indices share. `mayBeNegative`: those of one index, which what reads them counts from
/// the end.
static MaybeValue readTuples(Node &node, int64_t batch, bool mayBeNegative = true) {
  Shape shape = node.shape(0), tuples = node.shape(1);
  int64_t rank = shape.size(), length = tuples.empty() ? 0 : tuples.back();
  bool fits = batch >= 0 && batch < (int64_t)tuples.size() && length >= 1 && batch + length <= rank;
  for (int64_t d = 0; fits && d < batch; ++d)
    fits = shape[d] == tuples[d];
  if (!fits)
    return node.invalid("has indices of shape " + printShape(tuples) + " into " +
                        printShape(shape));
  auto indices = toIndices(node, node.any(1));
  Shape outer(ShapeRef(tuples).drop_back()), rows(shape);
  rows.truncate(batch + length);
  if (rows.size() == 1 && mayBeNegative && succeeded(indices))
    return MaybeValue(node.reshape(*indices, outer));
  Shape strides = getStrides(rows), along(outer.size(), 0);
  std::copy_n(strides.begin(), batch, along.begin());
  auto positions = integerConstant(node, "offsets", outer, enumerateOffsets(outer, along));
  for (int64_t i = 0; succeeded(indices) && i < length; ++i) {
    Shape starts(tuples.size(), 0), sizes(tuples), steps(tuples.size(), 1);
    starts.back() = i;
    sizes.back() = 1;
    auto component = node.create<nn::SliceOp>(*indices, starts, sizes, steps);
    if (failed(component))
      return failure();
    positions = addPosition(node, positions, node.reshape(*component, outer), shape[batch + i],
                            strides[batch + i]);
  }
  return failed(indices) ? indices : positions;
}

LogicalResult onnx_import::importGatherND(Node &node) {
  int64_t batch = node.getInt("batch_dims", 0);
  auto positions = readTuples(node, batch);
  auto data = succeeded(positions) ? node.any(0) : MaybeValue();
  if (failed(positions) || failed(data))
    return failure();
  Value rows = joinDimensions(node, *data, batch + node.shape(1).back());
  return node.setResult(node.create<nn::GatherOp>(rows, *positions, 0));
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// `data` [N, ...] with rows of input 2 at `positions`: [N, elements of a row].
static MaybeValue scatterRows(Node &node, Value data, Value positions) {
  StringRef reduction = node.getString("reduction", "none");
  auto combination = reduction == "none"  ? nn::Combination::replace
                     : reduction == "add" ? nn::Combination::sum
                     : reduction == "mul" ? nn::Combination::product
                     : reduction == "max" ? nn::Combination::max
                                          : nn::Combination::min;
  auto updates = node.any(2);
  if (failed(updates))
    return failure();
  int64_t count = *countElements(shapeOf(positions)), size = shapeOf(data)[0],
          columns = countBetween(shapeOf(data), 1, shapeOf(data).size());
  if (count * columns != *countElements(shapeOf(*updates)))
    return node.invalid("has updates of shape " + printShape(shapeOf(*updates)) + " for " +
                        Twine(count) + " indices");
  return node.create<nn::ScatterOp>(node.reshape(data, {size, columns}),
                                    node.reshape(positions, {count}),
                                    node.reshape(*updates, {count, columns}), combination);
}

/// The same as a tensor of the shape of input 0.
static LogicalResult setScattered(Node &node, Value data, Value positions) {
  auto result = scatterRows(node, data, positions);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, node.shape(0)));
}

LogicalResult onnx_import::importScatterElements(Node &node) {
  auto axis = readAxis(node);
  if (succeeded(axis))
    if (auto constant = scatterConstants(node, *axis))
      return node.setResult(std::move(*constant));
  Elements elements = succeeded(axis) ? readElements(node, *axis) : Elements();
  if (failed(elements.data) || failed(elements.positions))
    return failure();
  return setScattered(node, *elements.data, *elements.positions);
}

LogicalResult onnx_import::importScatterND(Node &node) {
  if (countElements(node.shape(1)) == 0) // an assignment to a slice without elements
    return node.setResult(node.entry(0));
  if (auto constant = scatterConstantRows(node))
    return node.setResult(std::move(*constant));
  auto positions = readTuples(node, /*batch=*/0);
  auto data = succeeded(positions) ? node.any(0) : MaybeValue();
  if (failed(positions) || failed(data))
    return failure();
  return setScattered(node, joinDimensions(node, *data, node.shape(1).back()), *positions);
}

/// Other updates go to a row behind the data, which is dropped.
LogicalResult onnx_import::scatterChosen(Node &node, Value mask) {
  ShapeRef chosen = shapeOf(mask);
  if (node.rank(1) == 0 || ShapeRef(node.shape(1)).drop_back() != chosen ||
      ShapeRef(node.shape(2)).take_front(chosen.size()) != chosen)
    return failure();
  auto positions = readTuples(node, /*batch=*/0, /*mayBeNegative=*/false);
  auto data = succeeded(positions) ? node.any(0) : MaybeValue();
  if (failed(positions) || failed(data))
    return failure();
  Value rows = joinDimensions(node, *data, node.shape(1).back());
  Shape row(shapeOf(rows)), starts(row.size(), 0), steps(row.size(), 1);
  int64_t size = row[0];
  row[0] = 1;
  auto spare = node.create<nn::SliceOp>(rows, starts, row, steps);
  auto places = select(node, mask, positions, integerConstant(node, "dropped", {}, {size}));
  if (failed(spare) || failed(places))
    return failure();
  auto longer = node.create<nn::ConcatOp>(ValueRange{rows, *spare}, /*axis=*/0);
  auto result = failed(longer) ? longer : scatterRows(node, *longer, *places);
  if (failed(result))
    return failure();
  Shape all(shapeOf(*result));
  all[0] = size;
  auto kept = node.create<nn::SliceOp>(*result, Shape(2, 0), all, Shape(2, 1));
  return failed(kept) ? failure() : node.setResult(node.reshape(*kept, node.shape(0)));
}

/// A part of a cache, from an index of each batch on, becomes the update.
LogicalResult onnx_import::importTensorScatter(Node &node) {
  Shape cache = node.shape(0), update = node.shape(1), fitting = cache;
  auto axis = node.normalizeAxis(node.getInt("axis", -2), cache.size());
  if (failed(axis))
    return failure();
  int64_t length = cache[*axis], count = update.size() == cache.size() ? update[*axis] : 0;
  fitting[*axis] = count;
  if (*axis == 0 || count < 1 || count > length || update != fitting ||
      (node.has(2) && node.shape(2) != Shape{cache[0]}))
    return node.invalid("writes " + printShape(update) + " into a cache of shape " +
                        printShape(cache) + " at one index of each batch");
  Shape outer(ShapeRef(update).take_front(*axis + 1)), whole(ShapeRef(cache).take_front(*axis + 1)),
      batches(outer.size(), 1), steps = allAxes(count);
  batches[0] = cache[0];
  auto data = node.any(0), values = node.any(1),
       first =
           node.has(2) ? toIndices(node, node.any(2)) : integerConstant(node, "start", {1}, {0}),
       step = integerConstant(node, "steps", {count}, {steps.begin(), steps.end()});
  if (failed(data) || failed(values) || failed(first))
    return failure();
  auto index = node.compute<nn::AddOp>(
      MaybeValue(node.has(2) ? node.reshape(*first, batches) : *first), step);
  if (node.getString("mode", "linear") == "circular")
    index = node.compute<nn::ModOp>(index, integerConstant(node, "length", {}, {length}));
  auto positions =
      addPosition(node, makeOffsets(node, outer, whole, *axis), index, length, /*stride=*/1);
  if (failed(positions))
    return failure();
  int64_t rows = *countElements(whole), written = *countElements(outer),
          width = *countElements(cache) / rows;
  auto result = node.create<nn::ScatterOp>(
      node.reshape(*data, {rows, width}), node.reshape(*positions, {written}),
      node.reshape(*values, {written, width}), nn::Combination::replace);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, cache));
}
