//===- Padding.cpp - Pad, Tile, Expand ---------------------------------------- ===//
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
// Repetition
//===----------------------------------------------------------------------===//

/// Copies of copies: as many operations as the count has binary digits.
MaybeValue octet::onnx_import::repeatAlong(Node &node, MaybeValue x, int64_t axis, int64_t count) {
  auto append = [&](MaybeValue front, MaybeValue back) -> MaybeValue {
    if (failed(front) || failed(back))
      return failure();
    return node.create<nn::ConcatOp>(ValueRange{*front, *back}, axis);
  };
  if (count == 1)
    return x;
  auto half = repeatAlong(node, x, axis, count / 2);
  auto even = append(half, half);
  return count % 2 ? append(even, x) : even;
}

/// A constant with each dimension behind one of its repeats.
static HostTensor tile(const HostTensor &tensor, ShapeRef repeats, ShapeRef result) {
  Shape split, repeated;
  for (auto [size, count] : llvm::zip(tensor.shape, repeats)) {
    split.append({1, size});
    repeated.append({count, size});
  }
  return reshape(broadcastTo(reshape(tensor, split), repeated), result);
}

LogicalResult octet::onnx_import::importTile(Node &node) {
  auto repeats = node.integers(1, "repeats");
  if (failed(repeats))
    return failure();
  Shape shape = node.shape(0);
  if (repeats->size() != shape.size())
    return node.invalid("has " + Twine(repeats->size()) + " repeats for an input of shape " +
                        printShape(shape));
  for (auto [size, count] : llvm::zip(shape, *repeats))
    size *= count < 1 || count > kMaxElements ? kMaxElements : count;
  if (llvm::any_of(*repeats, [](int64_t count) { return count < 1; }) || !countElements(shape))
    return node.unsupported("repeats of [" + printShape(*repeats) + "]");
  const HostTensor *constant = node.constant(0);
  if (constant && countElements(shape, kMaxSmallElements))
    return node.setResult(tile(*constant, *repeats, shape));
  MaybeValue result = node.any(0);
  for (auto [axis, count] : llvm::enumerate(*repeats))
    result = repeatAlong(node, result, axis, count);
  return node.setResult(result);
}

/// Constants are expanded at once.
LogicalResult octet::onnx_import::importExpand(Node &node) {
  auto target = node.integers(1, "a shape");
  if (failed(target))
    return failure();
  Shape shape = node.shape(0);
  auto result = broadcast(shape, *target);
  if (!result || !countElements(*result, node.constant(0) ? kMaxConstantElements : kMaxElements))
    return node.invalid("cannot expand " + printShape(shape) + " to " + printShape(*target));
  if (llvm::is_contained(*result, 0) && !node.constant(0))
    return node.unsupported("a result without elements, of shape " + printShape(*result));
  if (*result == shape)
    return node.setResult(node.entry(0));
  if (node.constant(0))
    return node.setResult(broadcastTo(*node.constant(0), *result));
  auto input = node.any(0);
  if (failed(input))
    return failure();
  shape.insert(shape.begin(), result->size() - shape.size(), 1);
  MaybeValue value = node.reshape(*input, shape);
  for (auto [axis, size] : llvm::enumerate(*result))
    if (size != shape[axis])
      value = repeatAlong(node, value, axis, size);
  return node.setResult(value);
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

/// Pads of every dimension, begins then ends; from opset 18 on they may be given for some axes
/// only.
static FailureOr<Shape> getPads(Node &node) {
  int64_t rank = node.rank(0);
  auto pads = node.integersFrom("pads", 1);
  if (failed(pads))
    return failure();
  Shape axes = allAxes(rank);
  if (node.has(3)) {
    auto given = node.integers(3, "axes");
    if (failed(given) || failed(node.normalizeAxes(*given, rank)))
      return failure();
    axes = *given;
  }
  if (!*pads || (*pads)->size() != 2 * axes.size())
    return node.invalid("needs two pads for each of " + Twine(axes.size()) + " dimensions");
  Shape result(2 * rank, 0);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    result[axis] = (**pads)[i];
    result[rank + axis] = (**pads)[axes.size() + i];
  }
  if (llvm::any_of(result, [](int64_t pad) { return pad < -kMaxElements || pad > kMaxElements; }))
    return node.invalid("has pads out of range");
  return result;
}

/// Negative pads cut elements off.
static FailureOr<Value> cutOff(Node &node, Value input, Shape &pads) {
  Shape shape(shapeOf(input));
  unsigned rank = shape.size();
  Shape starts(rank, 0), sizes(shape), steps(rank, 1);
  for (unsigned i = 0; i < rank; ++i) {
    starts[i] = std::max<int64_t>(0, -pads[i]);
    sizes[i] += std::min<int64_t>(0, pads[i]) + std::min<int64_t>(0, pads[rank + i]);
    if (sizes[i] < 1)
      return node.unsupported("pads that leave nothing of its input");
  }
  for (int64_t &pad : pads)
    pad = std::max<int64_t>(0, pad);
  if (sizes == shape)
    return input;
  return node.create<nn::SliceOp>(input, starts, sizes, steps);
}

/// Which of `size` elements stands at `position` of a row that goes on before and behind them.
static int64_t getSource(int64_t position, int64_t size, StringRef mode) {
  auto modulo = [](int64_t value, int64_t period) { return (value % period + period) % period; };
  if (mode == "edge")
    return std::clamp<int64_t>(position, 0, size - 1);
  if (mode == "wrap")
    return modulo(position, size);
  if (size == 1)
    return 0;
  int64_t folded = modulo(position, 2 * (size - 1)); // reflect: there and back again
  return std::min(folded, 2 * (size - 1) - folded);
}

/// `count` elements of `input` along `axis` from `start` on in steps of 1, -1 or 0.
static MaybeValue takeRun(Node &node, Value input, int64_t axis, int64_t start, int64_t count,
                          int64_t step) {
  unsigned rank = shapeOf(input).size();
  Shape starts(rank, 0), sizes(shapeOf(input)), steps(rank, 1);
  starts[axis] = start;
  sizes[axis] = step ? count : 1;
  steps[axis] = step ? step : 1;
  MaybeValue run = node.create<nn::SliceOp>(input, starts, sizes, steps);
  return step ? run : repeatAlong(node, run, axis, count);
}

/// `input` with `low` and `high` elements of itself around it along `axis`: runs of elements one
/// behind the other.
static MaybeValue padAxis(Node &node, Value input, int64_t axis, int64_t low, int64_t high,
                          StringRef mode) {
  int64_t size = shapeOf(input)[axis], end = size + high;
  constexpr size_t kMostRuns = 256;
  auto source = [&](int64_t position) { return getSource(position, size, mode); };
  SmallVector<Value> runs;
  for (int64_t position = -low, next; position < end; position = next) {
    next = position + 1;
    int64_t step = next < end ? source(next) - source(position) : 0;
    if (std::abs(step) > 1)
      step = 0;
    else
      while (next < end && source(next) - source(next - 1) == step)
        ++next;
    auto run = takeRun(node, input, axis, source(position), next - position, step);
    if (failed(run))
      return failure();
    runs.push_back(*run);
    if (runs.size() > kMostRuns)
      return node.unsupported("pads that repeat its input more than " + Twine(kMostRuns) +
                              " times");
  }
  return node.create<nn::ConcatOp>(runs, axis);
}

static MaybeValue padWithElements(Node &node, Value input, ShapeRef pads, StringRef mode) {
  Shape shape(shapeOf(input));
  for (auto [axis, size] : llvm::enumerate(shape))
    size += pads[axis] + pads[shape.size() + axis];
  if (!countElements(shape))
    return node.unsupported("a result of shape " + printShape(shape));
  MaybeValue result = input;
  for (unsigned axis = 0, rank = shape.size(); succeeded(result) && axis < rank; ++axis)
    if (pads[axis] || pads[rank + axis])
      result = padAxis(node, *result, axis, pads[axis], pads[rank + axis], mode);
  return result;
}

/// The number to pad with: a float, or an integer that a float can hold.
static FailureOr<float> getFilling(Node &node) {
  if (!node.has(2))
    return node.getFloat("value", 0);
  const HostTensor *given = node.constant(2);
  if (!given || !given->isInteger())
    return node.scalar(2, "a constant_value");
  if (given->size() != 1)
    return node.invalid("has " + Twine(given->size()) +
                        " values as a constant_value; expected one");
  int64_t value = given->integers()->front();
  if (std::abs(value) > int64_t(1) << 24)
    return node.unsupported("a constant_value of " + Twine(value));
  return static_cast<float>(value);
}

LogicalResult octet::onnx_import::importPad(Node &node) {
  auto pads = getPads(node);
  auto value = getFilling(node);
  auto input = succeeded(pads) && succeeded(value) ? node.any(0) : FailureOr<Value>();
  if (failed(input))
    return failure();
  auto cut = cutOff(node, *input, *pads);
  if (failed(cut))
    return failure();
  if (llvm::all_of(*pads, [](int64_t pad) { return pad == 0; }))
    return node.setResult(*cut);
  StringRef mode = node.getString("mode", "constant");
  if (mode != "constant")
    return node.setResult(padWithElements(node, *cut, *pads, mode));
  ShapeRef all = *pads;
  return node.setResult(node.create<nn::PadOp>(
      *cut, all.take_front(all.size() / 2), all.drop_front(all.size() / 2), llvm::APFloat(*value)));
}

/// As many elements off both ends, or zeros before and behind them; of an odd number, one more at
/// the end.
LogicalResult octet::onnx_import::importCenterCropPad(Node &node) {
  Shape shape = node.shape(0), axes = node.getInts("axes").value_or(allAxes(shape.size()));
  auto target = node.integers(1, "a shape");
  if (failed(target) || failed(node.normalizeAxes(axes, shape.size())))
    return failure();
  if (target->size() != axes.size() || llvm::any_of(*target, [](int64_t size) { return size < 1; }))
    return node.invalid("has the sizes " + printShape(*target) + "; expected " +
                        Twine(axes.size()) + " positive ones");
  unsigned rank = shape.size();
  Shape pads(2 * rank, 0), result = shape;
  for (auto [axis, size] : llvm::zip(axes, *target)) {
    int64_t missing = size - shape[axis];
    pads[axis] = missing / 2;
    pads[rank + axis] = missing - missing / 2;
    result[axis] = size;
  }
  if (result == shape)
    return node.setResult(node.entry(0));
  if (!countElements(result))
    return node.unsupported("a result of shape " + printShape(result));
  auto input = node.any(0);
  auto cut = failed(input) ? input : cutOff(node, *input, pads);
  if (failed(cut) || shapeOf(*cut) == ShapeRef(result))
    return node.setResult(cut);
  ShapeRef all = pads;
  return node.setResult(node.create<nn::PadOp>(*cut, all.take_front(rank), all.drop_front(rank),
                                               llvm::APFloat(0.0f)));
}
