//===- Slicing.cpp - Slice, Split --------------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Compose.h"
#include "Operators.h"
#include "mlir/IR/TypeUtilities.h"
#include "octet/Support/Constants.h"
#include <numeric>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// A slice of every dimension, as nn.slice has it.
struct Slice {
  Shape starts, sizes, steps;
  explicit Slice(ShapeRef shape) : starts(shape.size(), 0), sizes(shape), steps(shape.size(), 1) {}
};
} // namespace

/// Sets result `i` to a slice of the node's input.
static LogicalResult setSlice(Node &node, const Slice &slice, unsigned i = 0) {
  Shape shape = node.shape(0);
  if (slice.sizes == shape && llvm::all_of(slice.steps, [](int64_t step) { return step == 1; }) &&
      i == 0)
    return node.setResult(node.entry(0));
  if (const HostTensor *tensor = node.constant(0)) {
    Shape strides = getStrides(shape);
    int64_t offset = 0;
    for (auto [stride, start, step] : llvm::zip(strides, slice.starts, slice.steps)) {
      offset += stride * start;
      stride *= step;
    }
    return node.setResult(takeStrided(*tensor, slice.sizes, strides, offset),
                          /*keepName=*/false, i);
  }
  auto input = node.any(0);
  if (failed(input))
    return failure();
  if (llvm::is_contained(slice.sizes, 0))
    return node.setEmpty(slice.sizes, i);
  return node.setResult(node.create<nn::SliceOp>(*input, slice.starts, slice.sizes, slice.steps),
                        i);
}

/// Limits `start` and `end` to the dimension as ONNX does and counts the elements between them.
static void setRange(Slice &slice, int64_t axis, int64_t size, int64_t start, int64_t end,
                     int64_t step) {
  auto limit = [&](int64_t position, int64_t low, int64_t high) {
    if (position < 0)
      position = position < -size ? low : position + size;
    return std::clamp(position, low, high);
  };
  bool forward = step > 0;
  start = forward ? limit(start, 0, size) : limit(start, 0, size - 1);
  end = forward ? limit(end, 0, size) : end < -size ? -1 : limit(end, -1, size - 1);
  int64_t span = forward ? end - start : start - end, stride = forward ? step : -step;
  slice.sizes[axis] = span > 0 ? (span - 1) / stride + 1 : 0;
  slice.starts[axis] = slice.sizes[axis] ? start : 0;
  slice.steps[axis] = step;
}

namespace {
/// A position: `offset` behind an element of a value that is computed, or without a value, itself.
struct Position {
  Value base;
  int64_t element = 0, offset = 0;
};
using Positions = SmallVector<Position>;
} // namespace

static FailureOr<std::vector<int64_t>> getIntegers(Value value) {
  if (auto wide = getConstantValues<int64_t>(value); succeeded(wide))
    return std::vector<int64_t>(wide->begin(), wide->end());
  auto narrow = getConstantValues<int32_t>(value);
  if (failed(narrow))
    return failure();
  return std::vector<int64_t>(narrow->begin(), narrow->end());
}

static Positions getPositions(Value value);

/// Of an nn.select, those of the operand that is chosen, where the condition is known.
static void choosePositions(Operation *select, Positions &positions) {
  BoundsMap known;
  ElementBounds conditions = findBounds(select->getOperand(0), known);
  Positions operands[] = {getPositions(select->getOperand(2)), getPositions(select->getOperand(1))};
  auto fits = [&](size_t size) { return size == 1 || size == positions.size(); };
  if (!fits(conditions.size()) || !fits(operands[0].size()) || !fits(operands[1].size()))
    return;
  for (auto [i, position] : llvm::enumerate(positions)) {
    const Bounds &condition = *conditions[conditions.size() == 1 ? 0 : i];
    if (!condition.isOne())
      continue;
    const Positions &chosen = operands[std::get<bool>(condition.low)];
    position = chosen[chosen.size() == 1 ? 0 : i];
  }
}

/// A cast to integers that hold all numbers of the operand.
static bool isWidening(Operation *op) {
  if (!isa<nn::CastOp>(op))
    return false;
  Type from = getElementTypeOrSelf(op->getOperand(0)), to = getElementTypeOrSelf(op->getResult(0));
  return from.isSignlessInteger() && to.isSignlessInteger() &&
         from.getIntOrFloatBitWidth() <= to.getIntOrFloatBitWidth();
}

/// What the elements of `value` are made of by reshapes, casts between integers, concatenations,
/// sums with constants and choices whose conditions are known.
static Positions getPositions(Value value) {
  Positions positions;
  if (auto constants = getIntegers(value); succeeded(constants)) {
    for (int64_t number : *constants)
      positions.push_back({Value(), 0, number});
    return positions;
  }
  Operation *op = value.getDefiningOp();
  if (op && (isa<nn::ReshapeOp>(op) || isWidening(op)))
    return getPositions(op->getOperand(0));
  if (isa_and_nonnull<nn::ConcatOp>(op) && shapeOf(value).size() == 1) {
    for (Value part : op->getOperands())
      llvm::append_range(positions, getPositions(part));
    return positions;
  }
  int64_t count = *countElements(shapeOf(value));
  for (int64_t i = 0; i < count; ++i)
    positions.push_back({value, i, 0});
  if (isa_and_nonnull<nn::SelectOp>(op)) {
    choosePositions(op, positions);
    return positions;
  }
  if (!isa_and_nonnull<nn::AddOp, nn::SubOp>(op))
    return positions;
  bool isSum = isa<nn::AddOp>(op);
  auto numbers = getIntegers(op->getOperand(1));
  bool isFirst = failed(numbers) && isSum;
  if (isFirst)
    numbers = getIntegers(op->getOperand(0));
  if (failed(numbers))
    return positions;
  Positions bases = getPositions(op->getOperand(isFirst ? 1 : 0));
  auto fits = [&](size_t size) { return size == 1 || size == positions.size(); };
  if (!fits(numbers->size()) || !fits(bases.size()))
    return positions;
  for (auto [i, position] : llvm::enumerate(positions)) {
    int64_t number = (*numbers)[numbers->size() == 1 ? 0 : i];
    position = bases[bases.size() == 1 ? 0 : i];
    position.offset += isSum ? number : -number;
  }
  return positions;
}

/// Positions that are bounded by two numbers that are the same are constants.
static void replaceKnown(Positions &positions) {
  BoundsMap known;
  for (Position &position : positions) {
    auto bounds = position.base ? findBounds(position.base, known)[position.element] : std::nullopt;
    if (bounds && bounds->isOne())
      position = {Value(), 0, std::get<int64_t>(bounds->low) + position.offset};
  }
}

/// Whether element `i` of `end` is behind `size` elements, if the position `start` is one of them.
static bool endsBehind(Value end, int64_t i, const Position &start, int64_t size) {
  constexpr int64_t kMost = 1 << 30; // so that other sums do not wrap around to one of them
  if (std::abs(start.offset) >= kMost || size >= kMost)
    return false;
  BoundsMap known;
  ElementBounds assumed(*countElements(shapeOf(start.base)));
  assumed[start.element] = Bounds{-size - start.offset, size - 1 - start.offset};
  known[start.base] = assumed;
  auto bounds = findBounds(end, known)[i];
  return bounds && std::get<int64_t>(bounds->low) >= size;
}

/// `size` elements of `data` from the position that element `i` of `start` is; one may be counted
/// from the end.
static MaybeValue takeWindow(Node &node, Value data, Value start, int64_t i, int64_t axis,
                             std::optional<int64_t> size) {
  auto first = node.create<nn::SliceOp>(start, Shape{i}, Shape{1}, Shape{1});
  if (failed(first) || !size)
    return failed(first) ? first : node.create<nn::GatherOp>(data, *first, axis);
  std::vector<int64_t> numbers(*size);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto places = integerConstant(node, "window", {*size}, std::move(numbers));
  // Positions before the beginning would be some at the end.
  auto zero = integerConstant(node, "zero", {1}, {0}),
       outside = integerConstant(node, "outside", {1}, {shapeOf(data)[axis]});
  auto from = select(node, compare(node, nn::Predicate::less, first, zero), outside, first);
  auto indices = node.compute<nn::AddOp>(from, places);
  return failed(indices) ? indices : node.create<nn::GatherOp>(data, *indices, axis);
}

namespace {
/// What a slice takes of one axis, if its start or its end is computed.
struct AxisRange {
  Value start, end;
  Position first, last;
  int64_t i, axis, step; ///< the element of `start` and `end`
};
} // namespace

/// From a position that is computed to one so many elements behind it; or one element, because the
/// next one would be behind all.
static MaybeValue takeRange(Node &node, Value data, const AxisRange &range) {
  const auto &[start, end, first, last, i, axis, step] = range;
  int64_t whole = shapeOf(data)[axis], size = last.offset - first.offset;
  if (!first.base && !last.base) {
    Slice slice(shapeOf(data));
    setRange(slice, axis, whole, first.offset, last.offset, step);
    if (slice.sizes[axis] == 0)
      return node.unsupported("a window without elements");
    return node.create<nn::SliceOp>(data, slice.starts, slice.sizes, slice.steps);
  }
  if (first.base && step >= whole && endsBehind(end, i, first, whole))
    return takeWindow(node, data, start, i, axis, std::nullopt);
  if (first.base != last.base || first.element != last.element || size <= 0 || step != 1)
    return node.unsupported("a start or an end that is computed in the run; expected steps of 1, "
                            "and ends that are the starts and constants");
  if (size > whole)
    return node.invalid("takes " + Twine(size) + " elements of " + Twine(whole));
  return takeWindow(node, data, start, i, axis, size);
}

/// Windows that move: from positions that are computed.
static LogicalResult importMovingWindow(Node &node) {
  auto axes = node.integersFrom("axes", 3);
  auto steps = node.has(4) ? node.integers(4, "steps") : FailureOr<Shape>(Shape());
  auto data = node.any(0), start = toIndices(node, node.any(1)), end = toIndices(node, node.any(2));
  if (failed(axes) || failed(steps) || failed(data) || failed(start) || failed(end))
    return failure();
  int64_t count = *countElements(shapeOf(*start));
  Shape along = axes->value_or(allAxes(count));
  if (steps->empty())
    steps->assign(count, 1);
  if (shapeOf(*start).size() != 1 || shapeOf(*end) != shapeOf(*start) ||
      count != int64_t(along.size()) || count != int64_t(steps->size()) || count > node.rank(0))
    return node.invalid("needs as many axes, ends and steps as starts");
  if (failed(node.normalizeAxes(along, node.rank(0))))
    return failure();
  Positions first = getPositions(*start), last = getPositions(*end);
  replaceKnown(first);
  replaceKnown(last);
  MaybeValue result = *data;
  for (int64_t i = 0; i < count && succeeded(result); ++i) {
    if ((*steps)[i] == 0)
      return node.invalid("has a step of zero");
    int64_t step = std::clamp<int64_t>((*steps)[i], -kMaxElements, kMaxElements);
    result = takeRange(node, *result, {*start, *end, first[i], last[i], i, along[i], step});
  }
  return node.setResult(result);
}

/// Ranges are attributes up to opset 9, inputs from 10 on.
LogicalResult octet::onnx_import::importSlice(Node &node) {
  if (node.has(1) && node.has(2) && !(node.constant(1) && node.constant(2)))
    return importMovingWindow(node);
  Shape shape = node.shape(0);
  auto starts = node.integersFrom("starts", 1), ends = node.integersFrom("ends", 2);
  auto axes = node.integersFrom("axes", 3);
  auto steps = node.has(4) ? node.integers(4, "steps") : FailureOr<Shape>(Shape());
  if (failed(starts) || failed(ends) || failed(axes) || failed(steps))
    return failure();
  if (!*starts || !*ends || (*starts)->size() != (*ends)->size())
    return node.invalid("needs as many starts as ends");
  size_t count = (*starts)->size();
  if (!*axes)
    *axes = allAxes(count);
  if (steps->empty())
    steps->assign(count, 1);
  if ((*axes)->size() != count || steps->size() != count)
    return node.invalid("needs as many axes and steps as starts");
  if (failed(node.normalizeAxes(**axes, shape.size())))
    return failure();
  Slice slice(shape);
  for (size_t i = 0; i < count; ++i) {
    int64_t step = (*steps)[i];
    if (step == 0)
      return node.invalid("has a step of zero");
    step = std::clamp<int64_t>(step, -kMaxElements, kMaxElements);
    setRange(slice, (**axes)[i], shape[(**axes)[i]], (**starts)[i], (**ends)[i], step);
  }
  return setSlice(node, slice);
}

/// Sizes of the pieces: given, or equal; from opset 18 on the last one may be smaller.
static FailureOr<Shape> getSplitSizes(Node &node, int64_t size) {
  auto given = node.integersFrom("split", 1);
  if (failed(given))
    return failure();
  int64_t count = node.numOutputs();
  if (node.getInt("num_outputs", count) != count)
    return node.invalid("has " + Twine(count) + " outputs, but num_outputs " +
                        Twine(node.getInt("num_outputs", count)));
  if (!*given) {
    if (node.opset() < 18 && size % count != 0)
      return node.invalid("splits " + Twine(size) + " elements into " + Twine(count) +
                          " equal pieces");
    int64_t piece = (size + count - 1) / count;
    Shape sizes(count, piece);
    sizes.back() = size - piece * (count - 1);
    given = std::optional(sizes);
  }
  int64_t total = 0;
  for (int64_t piece : **given)
    total += piece >= 0 && piece <= size ? piece : kMaxElements;
  if ((int64_t)(*given)->size() != count || total != size || (*given)->back() < 0)
    return node.invalid("splits " + Twine(size) + " elements into " + Twine(count) +
                        " pieces of [" + printShape(**given) + "]");
  return **given;
}

LogicalResult octet::onnx_import::importSplit(Node &node) {
  Shape shape = node.shape(0);
  auto axis = node.normalizeAxis(node.getInt("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  auto sizes = getSplitSizes(node, shape[*axis]);
  if (failed(sizes))
    return failure();
  int64_t start = 0;
  for (unsigned i = 0; i < node.numOutputs(); ++i) {
    Slice slice(shape);
    slice.starts[*axis] = start;
    slice.sizes[*axis] = (*sizes)[i];
    start += (*sizes)[i];
    if (!node.proto.output(i).empty() && failed(setSlice(node, slice, i)))
      return failure();
  }
  return success();
}
