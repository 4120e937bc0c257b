//===- DistinctRows.cpp - different rows of a value ----------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many rows differ depends on data, but which of all rows are those that Unique gives does not
// need a shape. Every row is compared with every other.
//
//===----------------------------------------------------------------------===//

#include "DistinctRows.h"
#include "Compose.h"
#include "mlir/IR/TypeUtilities.h"
#include <numeric>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// The comparisons are as many as the square of this.
static constexpr int64_t kMostRows = 1024;

/// The rows [N, C] that the operator compares, if they are integers along the first axis.
static MaybeValue getRows(Node &node) {
  Value x = node.entry(0).value;
  ShapeRef shape = shapeOf(x);
  Type element = getElementTypeOrSelf(x);
  bool isFlat = !node.attribute("axis");
  int64_t axis = node.getInt("axis", 0), rank = shape.size();
  int64_t count = isFlat ? *countElements(shape) : rank > 0 ? shape[0] : 0;
  bool isFirst = isFlat || axis == 0 || axis == -rank;
  if (!element.isSignlessInteger() || element.isInteger(1) || !isFirst || count < 1 ||
      count > kMostRows)
    return failure();
  return node.reshape(x, {count, *countElements(shape) / count});
}

namespace {
/// Of each pair of rows, [N, N], whether the second is the same as the first, or sorted before it.
struct Comparison {
  MaybeValue same = failure(), before = failure();
};
} // namespace

static Comparison compareRows(Node &node, Value rows) {
  int64_t count = shapeOf(rows)[0], columns = shapeOf(rows)[1];
  Comparison all;
  for (int64_t i = columns - 1; i >= 0; --i) {
    auto column = node.create<nn::SliceOp>(rows, Shape{0, i}, Shape{count, 1}, Shape{1, 1});
    if (failed(column))
      return {};
    MaybeValue across = node.reshape(*column, {1, count});
    auto same = compare(node, nn::Predicate::equal, across, column),
         before = compare(node, nn::Predicate::less, across, column);
    bool isLast = i == columns - 1;
    all.before =
        isLast ? before : node.compute<nn::OrOp>(before, node.compute<nn::AndOp>(same, all.before));
    all.same = isLast ? same : node.compute<nn::AndOp>(same, all.same);
  }
  return all;
}

/// How often each row of truth values [N, N] holds.
static MaybeValue countTrue(Node &node, MaybeValue truths) {
  return reduce(node, node.cast(truths, node.builder().getI64Type()), Reduction::sum, {1},
                /*keepDims=*/false);
}

FailureOr<DistinctRows> onnx_import::findDistinctRows(Node &node) {
  bool isSorted = node.getInt("sorted", 1);
  auto rows = getRows(node);
  if (failed(rows) || (node.wants(2) && !isSorted))
    return failure();
  int64_t count = shapeOf(*rows)[0];
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto places = integerConstant(node, "places", {count}, std::move(numbers));
  auto [same, before] = compareRows(node, *rows);
  if (failed(places) || failed(same) || failed(before))
    return failure();
  MaybeValue earlier =
      compare(node, nn::Predicate::less, places, node.reshape(*places, {count, 1}));
  auto repeated = node.compute<nn::AndOp>(same, earlier);
  auto isFirst = compare(node, nn::Predicate::equal, countTrue(node, repeated),
                         integerConstant(node, "zero", {}, {0}));
  auto counts = countTrue(node, same),
       which = countTrue(node, node.compute<nn::AndOp>(before, isFirst)),
       rank = countTrue(node, node.compute<nn::OrOp>(before, repeated));
  if (failed(isFirst) || failed(counts) || failed(which) || failed(rank))
    return failure();
  if (!isSorted)
    return DistinctRows{*isFirst, *rows, *places, *counts, *which};
  auto order = node.create<nn::ScatterOp>(*places, *rank, *places, nn::Combination::replace);
  if (failed(order))
    return failure();
  auto sort = [&](MaybeValue x) { return node.create<nn::GatherOp>(*x, *order, /*axis=*/0); };
  auto mask = sort(isFirst), sorted = sort(rows), sortedCounts = sort(counts);
  if (failed(mask) || failed(sorted) || failed(sortedCounts))
    return failure();
  return DistinctRows{*mask, *sorted, *order, *sortedCounts, *which};
}
