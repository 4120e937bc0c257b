//===- Reductions.cpp - sums, extremes and norms over axes -------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Of one axis of three
//===----------------------------------------------------------------------===//

/// [N, K, M] with rows of `value` behind the others, so that K is a power of two.
static MaybeValue padRows(Node &node, Value x, float value) {
  int64_t count = shapeOf(x)[1], padded = llvm::PowerOf2Ceil(count);
  if (padded == count)
    return x;
  return node.create<nn::PadOp>(x, ArrayRef<int64_t>{0, 0, 0},
                                ArrayRef<int64_t>{0, padded - count, 0}, llvm::APFloat(value));
}

/// The sum along axis 1 of [N, K, M]: the mean times K, a power of two, so that quotient and
/// product are exact.
static MaybeValue sumOfRows(Node &node, Value x) {
  auto rows = padRows(node, x, 0);
  if (failed(rows) || shapeOf(*rows)[1] == 1)
    return rows;
  auto mean = node.create<nn::ReduceMeanOp>(*rows, ArrayRef<int64_t>{1}, /*keep_dims=*/true);
  return node.compute<nn::MulOp>(mean, node.number("count", shapeOf(*rows)[1]));
}

/// The largest number along axis 1 of [N, K, M]: a pool over K of M channels.
static MaybeValue maximumOfRows(Node &node, Value x) {
  ShapeRef shape = shapeOf(x);
  int64_t outer = shape[0], count = shape[1], inner = shape[2];
  auto channels = node.create<nn::TransposeOp>(x, ArrayRef<int64_t>{0, 2, 1});
  if (failed(channels))
    return failure();
  auto pooled = node.create<nn::MaxPoolOp>(node.reshape(*channels, {outer, inner, count, 1}),
                                           ArrayRef<int64_t>{count, 1}, ArrayRef<int64_t>{1, 1},
                                           ArrayRef<int64_t>{0, 0, 0, 0}, ArrayRef<int64_t>{1, 1});
  return failed(pooled) ? pooled : node.reshape(*pooled, {outer, 1, inner});
}

/// `count` rows of [N, K, M] from `start` on.
static MaybeValue takeRows(Node &node, Value x, int64_t start, int64_t count) {
  Shape starts{0, start, 0}, sizes(shapeOf(x));
  sizes[1] = count;
  return node.create<nn::SliceOp>(x, starts, sizes, ArrayRef<int64_t>{1, 1, 1});
}

/// The product along axis 1 of [N, K, M]: the first half times the second, again and again.
static MaybeValue productOfRows(Node &node, Value x) {
  auto rows = padRows(node, x, 1);
  while (succeeded(rows) && shapeOf(*rows)[1] > 1) {
    int64_t half = shapeOf(*rows)[1] / 2;
    rows =
        node.compute<nn::MulOp>(takeRows(node, *rows, 0, half), takeRows(node, *rows, half, half));
  }
  return rows;
}

static MaybeValue reduceRows(Node &node, Value x, Reduction reduction) {
  switch (reduction) {
  case Reduction::sum:
    return sumOfRows(node, x);
  case Reduction::max:
    return maximumOfRows(node, x);
  case Reduction::min: {
    auto negated = node.create<nn::NegOp>(x);
    auto maximum = failed(negated) ? negated : maximumOfRows(node, *negated);
    return node.compute<nn::NegOp>(maximum);
  }
  case Reduction::product:
    return productOfRows(node, x);
  }
  llvm_unreachable("all reductions are above");
}

//===----------------------------------------------------------------------===//
// Of any axes
//===----------------------------------------------------------------------===//

/// Whether no dimension of more than one element that stays lies between reduced ones.
static bool areTogether(ShapeRef shape, ShapeRef axes) {
  int64_t numChanges = 0;
  bool wasReduced = false;
  for (auto [axis, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    bool isReduced = llvm::is_contained(axes, (int64_t)axis);
    numChanges += isReduced && !wasReduced;
    wasReduced = isReduced;
  }
  return numChanges <= 1;
}

/// The order of dimensions that has the reduced ones last.
static Shape moveBehind(ShapeRef axes, int64_t rank) {
  Shape order;
  for (int64_t axis : allAxes(rank))
    if (!llvm::is_contained(axes, axis))
      order.push_back(axis);
  llvm::append_range(order, axes);
  return order;
}

/// [N, K, M] with all elements of the reduced axes along K.
static Shape viewRows(ShapeRef shape, ShapeRef axes) {
  Shape view{1, 1, 1};
  for (auto [axis, size] : llvm::enumerate(shape)) {
    bool isReduced = llvm::is_contained(axes, (int64_t)axis);
    view[isReduced ? 1 : view[1] == 1 ? 0 : 2] *= size;
  }
  return view;
}

MaybeValue onnx_import::reduce(Node &node, MaybeValue x, Reduction reduction, ShapeRef axes) {
  if (failed(x))
    return failure();
  Shape shape(shapeOf(*x)), result(shape), sorted(axes);
  llvm::sort(sorted);
  for (int64_t axis : sorted)
    result[axis] = 1;
  if (!areTogether(shape, sorted)) {
    Shape order = moveBehind(sorted, shape.size());
    x = node.create<nn::TransposeOp>(*x, order);
    if (failed(x))
      return failure();
    shape = Shape(shapeOf(*x));
    for (auto [i, axis] : llvm::enumerate(sorted))
      axis = shape.size() - sorted.size() + i;
  }
  auto reduced = reduceRows(node, node.reshape(*x, viewRows(shape, sorted)), reduction);
  return failed(reduced) ? reduced : node.reshape(*reduced, result);
}

MaybeValue onnx_import::reduceMean(Node &node, MaybeValue x, ShapeRef axes) {
  Shape sorted(axes);
  llvm::sort(sorted);
  return failed(x) ? x : node.create<nn::ReduceMeanOp>(*x, sorted, /*keep_dims=*/true);
}

MaybeValue onnx_import::reduceLogSumExp(Node &node, MaybeValue x, ShapeRef axes) {
  auto maximum = reduce(node, x, Reduction::max, axes);
  auto exponentials = node.compute<nn::ExpOp>(node.compute<nn::SubOp>(x, maximum));
  auto sum = reduce(node, exponentials, Reduction::sum, axes);
  return node.compute<nn::AddOp>(node.compute<nn::LogOp>(sum), maximum);
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

/// The axes of a reduction: an attribute or input 1; all if there are none, unless that is to do
/// nothing.
static FailureOr<Shape> readAxes(Node &node) {
  auto given = node.integersFrom("axes", 1);
  if (failed(given))
    return failure();
  Shape axes = given->value_or(Shape());
  if (failed(node.normalizeAxes(axes, node.rank(0))))
    return failure();
  if (axes.empty() && !node.getInt("noop_with_empty_axes", 0))
    axes = allAxes(node.rank(0));
  llvm::sort(axes);
  return axes;
}

/// Sets the result, whose reduced axes `value` still has, with or without them.
static LogicalResult setReduced(Node &node, MaybeValue value, ShapeRef axes) {
  if (failed(value) || node.getInt("keepdims", 1))
    return node.setResult(value);
  Shape shape;
  for (auto [axis, size] : llvm::enumerate(shapeOf(*value)))
    if (!llvm::is_contained(axes, (int64_t)axis))
      shape.push_back(size);
  return node.setResult(node.reshape(*value, shape));
}

/// Imports a reduction that `compute` makes of the input and the axes.
template <typename Compute> static LogicalResult importReduction(Node &node, Compute compute) {
  auto axes = readAxes(node);
  auto x = succeeded(axes) ? node.value(0) : MaybeValue();
  return failed(x) ? failure() : setReduced(node, compute(x, *axes), *axes);
}

/// Combines integers of a constant (sizes of shapes) over axes, from `first` on.
template <typename Combine>
static LogicalResult foldReduction(Node &node, int64_t first, Combine combine) {
  auto axes = readAxes(node);
  if (failed(axes))
    return failure();
  const HostTensor &tensor = *node.constant(0);
  Shape order = moveBehind(*axes, tensor.shape.size()), result;
  for (auto [axis, size] : llvm::enumerate(tensor.shape)) {
    bool isReduced = llvm::is_contained(*axes, (int64_t)axis);
    if (!isReduced || node.getInt("keepdims", 1))
      result.push_back(isReduced ? 1 : size);
  }
  std::vector<int64_t> rows(*countElements(result), first);
  HostTensor moved = transpose(tensor, order);
  ArrayRef<int64_t> values = *moved.integers();
  size_t length = rows.empty() ? 0 : values.size() / rows.size();
  for (auto [i, row] : llvm::enumerate(rows))
    for (int64_t value : values.slice(i * length, length))
      row = combine(row, value);
  return node.setResult(HostTensor{"", result, std::move(rows)});
}

static bool readsIntegers(Node &node) { return node.constant(0) && node.constant(0)->isInteger(); }

LogicalResult onnx_import::importReduceSum(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, 0,
                         [](int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); });
  return importReduction(
      node, [&](MaybeValue x, ShapeRef axes) { return reduce(node, x, Reduction::sum, axes); });
}

LogicalResult onnx_import::importReduceProd(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, 1,
                         [](int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); });
  return importReduction(
      node, [&](MaybeValue x, ShapeRef axes) { return reduce(node, x, Reduction::product, axes); });
}

LogicalResult onnx_import::importReduceMax(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, INT64_MIN, [](int64_t a, int64_t b) { return std::max(a, b); });
  return importReduction(
      node, [&](MaybeValue x, ShapeRef axes) { return reduce(node, x, Reduction::max, axes); });
}

LogicalResult onnx_import::importReduceMin(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, INT64_MAX, [](int64_t a, int64_t b) { return std::min(a, b); });
  return importReduction(
      node, [&](MaybeValue x, ShapeRef axes) { return reduce(node, x, Reduction::min, axes); });
}

LogicalResult onnx_import::importReduceMean(Node &node) {
  auto axes = readAxes(node);
  if (failed(axes))
    return failure();
  if (axes->empty() && node.getInt("noop_with_empty_axes", 0))
    return node.setResult(node.entry(0));
  auto x = node.value(0);
  return failed(x) ? failure()
                   : node.setResult(
                         node.create<nn::ReduceMeanOp>(*x, *axes, node.getInt("keepdims", 1) != 0));
}

LogicalResult onnx_import::importReduceL1(Node &node) {
  return importReduction(node, [&](MaybeValue x, ShapeRef axes) {
    return reduce(node, node.compute<nn::AbsOp>(x), Reduction::sum, axes);
  });
}

LogicalResult onnx_import::importReduceL2(Node &node) {
  return importReduction(node, [&](MaybeValue x, ShapeRef axes) {
    auto squares = node.compute<nn::MulOp>(x, x);
    return node.compute<nn::SqrtOp>(reduce(node, squares, Reduction::sum, axes));
  });
}

LogicalResult onnx_import::importReduceSumSquare(Node &node) {
  return importReduction(node, [&](MaybeValue x, ShapeRef axes) {
    return reduce(node, node.compute<nn::MulOp>(x, x), Reduction::sum, axes);
  });
}

LogicalResult onnx_import::importReduceLogSum(Node &node) {
  return importReduction(node, [&](MaybeValue x, ShapeRef axes) {
    return node.compute<nn::LogOp>(reduce(node, x, Reduction::sum, axes));
  });
}

LogicalResult onnx_import::importReduceLogSumExp(Node &node) {
  return importReduction(
      node, [&](MaybeValue x, ShapeRef axes) { return reduceLogSumExp(node, x, axes); });
}
