//===- Reductions.cpp - sums, extremes and norms over axes -------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>
#include <limits>

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

/// Combines the numbers of a constant over axes, from `first` on: integers (sizes of shapes) as
/// they are, reals (weights that are normalized) in double; `finish` has the last word about the
/// latter.
template <typename Number, typename Combine>
static LogicalResult foldReduction(
    Node &node, Number first, Combine combine,
    llvm::function_ref<double(double, size_t)> finish = [](double x, size_t) { return x; }) {
  auto axes = readAxes(node);
  if (failed(axes))
    return failure();
  const HostTensor &tensor = *node.constant(0);
  Shape order = moveBehind(*axes, tensor.shape.size()), shape;
  for (auto [axis, size] : llvm::enumerate(tensor.shape)) {
    bool isReduced = llvm::is_contained(*axes, (int64_t)axis);
    if (!isReduced || node.getInt("keepdims", 1))
      shape.push_back(isReduced ? 1 : size);
  }
  std::vector<Number> rows(*countElements(shape), first);
  HostTensor moved = transpose(tensor, order), result{"", shape, {}, tensor.type};
  size_t length = rows.empty() ? 0 : moved.size() / rows.size();
  auto combineRows = [&](const auto &values) {
    for (size_t i = 0; i < rows.size() * length; ++i)
      rows[i / length] = combine(rows[i / length], Number(values[i]));
  };
  std::visit(combineRows, moved.data);
  if constexpr (std::is_same_v<Number, int64_t>) {
    result.data = std::move(rows);
  } else {
    for (double &row : rows)
      row = finish(row, length);
    if (std::holds_alternative<std::vector<double>>(moved.data))
      result.data = std::move(rows);
    else
      result.data = std::vector<float>(rows.begin(), rows.end());
  }
  return node.setResult(std::move(result));
}

static bool readsIntegers(Node &node) { return node.constant(0) && node.constant(0)->isInteger(); }
static bool readsReals(Node &node) { return node.constant(0) && !node.constant(0)->isInteger(); }

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// NaN if one is NaN.
static double lesser(double a, double b) { return std::isnan(a) || a < b ? a : b; }

LogicalResult onnx_import::importReduceSum(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, int64_t(0),
                         [](int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); });
  if (readsReals(node))
    return foldReduction(node, 0.0, std::plus<double>());
  return importReduction(node, Reduction::sum);
}

LogicalResult onnx_import::importReduceProd(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, int64_t(1),
                         [](int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); });
  if (readsReals(node))
    return foldReduction(node, 1.0, std::multiplies<double>());
  return importReduction(node, Reduction::product);
}

LogicalResult onnx_import::importReduceMax(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, INT64_MIN, [](int64_t a, int64_t b) { return std::max(a, b); });
  if (readsReals(node))
    return foldReduction(node, -kInfinity, [](double a, double b) { return -lesser(-a, -b); });
  return importReduction(node, Reduction::max);
}

LogicalResult onnx_import::importReduceMin(Node &node) {
  if (readsIntegers(node))
    return foldReduction(node, INT64_MAX, [](int64_t a, int64_t b) { return std::min(a, b); });
  if (readsReals(node))
    return foldReduction(node, kInfinity, [](double a, double b) { return lesser(a, b); });
  return importReduction(node, Reduction::min);
}

LogicalResult onnx_import::importReduceMean(Node &node) {
  if (readsReals(node))
    return foldReduction(node, 0.0, std::plus<double>(),
                         [](double sum, size_t count) { return sum / count; });
  return importReduction(node, Reduction::mean);
}

LogicalResult onnx_import::importReduceL1(Node &node) {
  if (readsReals(node))
    return foldReduction(node, 0.0, [](double sum, double x) { return sum + std::abs(x); });
  return importReduction(node, [&](MaybeValue x, ShapeRef axes) {
    return reduce(node, node.compute<nn::AbsOp>(x), Reduction::sum, axes);
  });
}

static double addSquare(double sum, double x) { return sum + x * x; }

LogicalResult onnx_import::importReduceL2(Node &node) {
  if (readsReals(node))
    return foldReduction(node, 0.0, addSquare, [](double sum, size_t) { return std::sqrt(sum); });
  return importReduction(
      node,
      [&](MaybeValue x, ShapeRef axes) {
        auto squares = node.compute<nn::MulOp>(x, x);
        return node.compute<nn::SqrtOp>(reduce(node, squares, Reduction::sum, axes));
      },
      /*takesIntegers=*/false);
}

LogicalResult onnx_import::importReduceSumSquare(Node &node) {
  if (readsReals(node))
    return foldReduction(node, 0.0, addSquare);
  return importReduction(node, [&](MaybeValue x, ShapeRef axes) {
    return reduce(node, node.compute<nn::MulOp>(x, x), Reduction::sum, axes);
  });
}

static double logOfSum(double sum, size_t) { return std::log(sum); }

LogicalResult onnx_import::importReduceLogSum(Node &node) {
  if (readsReals(node))
    return foldReduction(node, 0.0, std::plus<double>(), logOfSum);
  return importReduction(
      node,
      [&](MaybeValue x, ShapeRef axes) {
        return node.compute<nn::LogOp>(reduce(node, x, Reduction::sum, axes));
      },
      /*takesIntegers=*/false);
}

LogicalResult onnx_import::importReduceLogSumExp(Node &node) {
  if (readsReals(node) && node.constant(0)->size() == 0) // of numbers, no exponential overflows
    return foldReduction(node, 0.0, std::plus<double>(), logOfSum);
  return importReduction(
      node, [&](MaybeValue x, ShapeRef axes) { return reduceLogSumExp(node, x, axes); },
      /*takesIntegers=*/false);
}
