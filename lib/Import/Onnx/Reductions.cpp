//===- Reductions.cpp - sums, extremes and norms over axes -------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Of any axes
//===----------------------------------------------------------------------===//

/// The order of dimensions that has the reduced ones last.
static Shape moveBehind(ShapeRef axes, int64_t rank) {
  Shape order;
  for (int64_t axis : allAxes(rank))
    if (!llvm::is_contained(axes, axis))
      order.push_back(axis);
  llvm::append_range(order, axes);
  return order;
}

/// Whether several axes are the last ones, so that their elements are rows; H and W, which images
/// have side by side with their channels, are left as they are.
static bool areRows(ShapeRef axes, int64_t rank) {
  int64_t first = rank - axes.size();
  bool isLast = llvm::equal(axes, ShapeRef(allAxes(rank)).drop_front(first));
  return axes.size() > 1 && isLast && !(rank == 4 && first == 2);
}

/// Integers are combined one by one; truth values as numbers 0 and 1.
static MaybeValue reduceIntegers(Node &node, Value x, Reduction reduction, ShapeRef axes,
                                 bool keepDims) {
  auto combination = reduction == Reduction::sum       ? nn::Combination::sum
                     : reduction == Reduction::product ? nn::Combination::product
                     : reduction == Reduction::max     ? nn::Combination::max
                                                       : nn::Combination::min;
  Type element = getElementTypeOrSelf(x);
  bool isTruth = element.isInteger(1);
  auto numbers = isTruth ? node.cast(x, node.builder().getI8Type()) : MaybeValue(x);
  if (failed(numbers))
    return failure();
  return node.cast(node.create<nn::ReduceOp>(*numbers, combination, axes, keepDims), element);
}

static MaybeValue createReduction(Node &node, Value x, Reduction reduction, ShapeRef axes,
                                  bool keepDims) {
  if (!nn::holdsReals(x.getType()))
    return reduceIntegers(node, x, reduction, axes, keepDims);
  switch (reduction) {
  case Reduction::mean:
    return node.create<nn::ReduceMeanOp>(x, axes, keepDims);
  case Reduction::sum:
    return node.create<nn::ReduceSumOp>(x, axes, keepDims);
  case Reduction::max:
    return node.create<nn::ReduceMaxOp>(x, axes, keepDims);
  case Reduction::min:
    return node.create<nn::ReduceMinOp>(x, axes, keepDims);
  case Reduction::product:
    return node.create<nn::ReduceProdOp>(x, axes, keepDims);
  }
  llvm_unreachable("all reductions are above");
}

MaybeValue onnx_import::reduce(Node &node, MaybeValue x, Reduction reduction, ShapeRef axes,
                               bool keepDims) {
  if (failed(x) || axes.empty())
    return x;
  Shape sorted(axes);
  llvm::sort(sorted);
  ShapeRef shape = shapeOf(*x);
  if (!areRows(sorted, shape.size()))
    return createReduction(node, *x, reduction, sorted, keepDims);
  Shape result(shape.drop_back(sorted.size())), rows(result);
  rows.push_back(*countElements(shape.take_back(sorted.size())));
  result.append(sorted.size(), 1);
  Value viewed = node.reshape(*x, rows);
  auto reduced = createReduction(node, viewed, reduction, {(int64_t)rows.size() - 1},
                                 /*keepDims=*/false);
  return failed(reduced) || !keepDims ? reduced : node.reshape(*reduced, result);
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

static LogicalResult importReduction(Node &node, Reduction reduction) {
  auto axes = readAxes(node);
  auto x = failed(axes) ? MaybeValue() : reduction == Reduction::mean ? node.value(0) : node.any(0);
  return failed(x)
             ? failure()
             : node.setResult(reduce(node, x, reduction, *axes, node.getInt("keepdims", 1) != 0));
}

/// Imports a reduction that `compute` makes of the input, of floats or of any type, and the axes,
/// which it keeps.
template <typename Compute>
static LogicalResult importReduction(Node &node, Compute compute, bool takesIntegers = true) {
  auto axes = readAxes(node);
  auto x = failed(axes) ? MaybeValue() : takesIntegers ? node.any(0) : node.value(0);
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
  return node.setResult(HostTensor{"", result, std::move(rows), tensor.type});
}

static bool readsIntegers(Node &node) { return node.constant(0) && node.constant(0)->isInteger(); }

LogicalResult onnx_import::importReduceSum(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, 0,
                         [](int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); });
  return importReduction(node, Reduction::sum);
}

LogicalResult onnx_import::importReduceProd(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, 1,
                         [](int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); });
  return importReduction(node, Reduction::product);
}

LogicalResult onnx_import::importReduceMax(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, INT64_MIN, [](int64_t a, int64_t b) { return std::max(a, b); });
  return importReduction(node, Reduction::max);
}

LogicalResult onnx_import::importReduceMin(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, INT64_MAX, [](int64_t a, int64_t b) { return std::min(a, b); });
  return importReduction(node, Reduction::min);
}

LogicalResult onnx_import::importReduceMean(Node &node) {
  return importReduction(node, Reduction::mean);
}

LogicalResult onnx_import::importReduceL1(Node &node) {
  return importReduction(node, [&](MaybeValue x, ShapeRef axes) {
    return reduce(node, node.compute<nn::AbsOp>(x), Reduction::sum, axes);
  });
}

LogicalResult onnx_import::importReduceL2(Node &node) {
  return importReduction(
      node,
      [&](MaybeValue x, ShapeRef axes) {
        auto squares = node.compute<nn::MulOp>(x, x);
        return node.compute<nn::SqrtOp>(reduce(node, squares, Reduction::sum, axes));
      },
      /*takesIntegers=*/false);
}

LogicalResult onnx_import::importReduceSumSquare(Node &node) {
  return importReduction(node, [&](MaybeValue x, ShapeRef axes) {
    return reduce(node, node.compute<nn::MulOp>(x, x), Reduction::sum, axes);
  });
}

LogicalResult onnx_import::importReduceLogSum(Node &node) {
  return importReduction(
      node,
      [&](MaybeValue x, ShapeRef axes) {
        return node.compute<nn::LogOp>(reduce(node, x, Reduction::sum, axes));
      },
      /*takesIntegers=*/false);
}

LogicalResult onnx_import::importReduceLogSumExp(Node &node) {
  return importReduction(
      node, [&](MaybeValue x, ShapeRef axes) { return reduceLogSumExp(node, x, axes); },
      /*takesIntegers=*/false);
}
