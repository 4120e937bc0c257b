//===- MergedViews.cpp - tensors as long rows -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergedViews.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// A dimension of several tensors: its size, and the step of each.
struct Dimension {
  int64_t size;
  SmallVector<int64_t> steps;

  /// Whether this one, of which `inner` is a part, goes on where `inner` ends.
  bool continues(const Dimension &inner) const {
    return llvm::all_of(llvm::zip_equal(steps, inner.steps), [&](auto pair) {
      return std::get<0>(pair) == inner.size * std::get<1>(pair);
    });
  }
};
} // namespace

/// Those with more than one element, the outermost in the first tensor's memory first.
static SmallVector<Dimension> getDimensions(ArrayRef<TensorView> views) {
  SmallVector<Dimension> dimensions;
  for (auto [d, size] : llvm::enumerate(views.front().shape()))
    if (size != 1)
      dimensions.push_back({size, llvm::map_to_vector(views, [d = d](const TensorView &view) {
                              return view.strides.steps[d];
                            })});
  llvm::stable_sort(dimensions, [](const Dimension &a, const Dimension &b) {
    return a.steps.front() > b.steps.front();
  });
  return dimensions;
}

void codegen::mergeDimensions(MutableArrayRef<TensorView> views, int64_t enough) {
  SmallVector<Dimension> dimensions = getDimensions(views), merged; // `merged`: the innermost first
  for (Dimension &next : llvm::reverse(dimensions)) {
    bool isOpen = !merged.empty() && (merged.size() > 1 || merged.back().size < enough);
    if (isOpen && next.continues(merged.back()))
      merged.back().size *= next.size;
    else
      merged.push_back(std::move(next));
  }
  if (merged.empty())
    merged.push_back({1, SmallVector<int64_t>(views.size(), 1)});
  SmallVector<int64_t> shape;
  for (const Dimension &dimension : llvm::reverse(merged))
    shape.push_back(dimension.size);
  for (auto [number, view] : llvm::enumerate(views)) {
    view.type = RankedTensorType::get(shape, view.type.getElementType());
    view.strides.steps.clear();
    for (const Dimension &dimension : llvm::reverse(merged))
      view.strides.steps.push_back(dimension.steps[number]);
  }
}

SmallVector<int64_t> codegen::getRows(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> rows(shape);
  rows.back() = 1;
  return rows;
}
