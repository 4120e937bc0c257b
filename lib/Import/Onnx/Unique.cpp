//===- Unique.cpp - different elements of constants --------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// A constant as slices along an axis, or as elements one by one.
struct Slices {
  const HostTensor &tensor;
  int64_t outer = 1, size = 1, inner = 1;

  Slices(const HostTensor &tensor, std::optional<int64_t> axis) : tensor(tensor) {
    ShapeRef shape = tensor.shape;
    if (!axis) {
      size = *countElements(shape);
      return;
    }
    outer = *countElements(shape.take_front(*axis));
    size = shape[*axis];
    inner = *countElements(shape.drop_front(*axis + 1));
  }

  /// Whether slice `a` stands before `b` where they are sorted.
  bool isLess(int64_t a, int64_t b) const {
    auto compare = [&](const auto &values) {
      for (int64_t i = 0; i < outer * inner; ++i) {
        int64_t place = i / inner * size * inner + i % inner;
        auto x = values[place + a * inner], y = values[place + b * inner];
        if (x < y || y < x)
          return x < y;
      }
      return false;
    };
    return std::visit(compare, tensor.data);
  }

  /// The elements of some slices.
  std::vector<int64_t> getElements(ArrayRef<int64_t> slices) const {
    std::vector<int64_t> elements;
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t slice : slices)
        for (int64_t j = 0; j < inner; ++j)
          elements.push_back((i * size + slice) * inner + j);
    return elements;
  }
};

/// Different slices: where each comes up first and how often, and of all slices, which it is.
struct Distinct {
  std::vector<int64_t> first, counts, which;
};
} // namespace

/// Sorted by value; else as they come up.
static Distinct findDistinct(const Slices &slices, bool isSorted) {
  std::vector<int64_t> order(slices.size);
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return slices.isLess(a, b); });
  std::vector<int64_t> firstOf(slices.size);
  for (int64_t i = 0; i < slices.size; ++i) {
    bool isNew = i == 0 || slices.isLess(order[i - 1], order[i]);
    firstOf[order[i]] = isNew ? order[i] : firstOf[order[i - 1]];
  }
  Distinct found;
  if (!isSorted)
    std::iota(order.begin(), order.end(), 0);
  llvm::copy_if(order, std::back_inserter(found.first),
                [&](int64_t slice) { return firstOf[slice] == slice; });
  std::vector<int64_t> place(slices.size);
  for (auto [i, slice] : llvm::enumerate(found.first))
    place[slice] = i;
  found.counts.resize(found.first.size());
  for (int64_t slice : firstOf) {
    found.which.push_back(place[slice]);
    ++found.counts[place[slice]];
  }
  return found;
}

LogicalResult onnx_import::importUnique(Node &node) {
  const HostTensor *tensor = node.constant(0);
  if (!tensor)
    return node.unsupported(kShapedByData);
  std::optional<int64_t> axis;
  if (node.attribute("axis")) {
    auto given = node.normalizeAxis(node.getInt("axis", 0), tensor->shape.size());
    if (failed(given))
      return failure();
    axis = *given;
  }
  Slices slices(*tensor, axis);
  Distinct found = findDistinct(slices, node.getInt("sorted", 1));
  int64_t count = found.first.size(), size = slices.size;
  Shape shape = axis ? tensor->shape : Shape{0};
  shape[axis.value_or(0)] = count;
  HostTensor results[] = {gatherElements(*tensor, shape, slices.getElements(found.first)),
                          {"", {count}, found.first},
                          {"", {size}, found.which},
                          {"", {count}, found.counts}};
  for (auto [i, result] : llvm::enumerate(results))
    if (node.wants(i) && failed(node.setResult(std::move(result), /*keepName=*/false, i)))
      return failure();
  return success();
}
