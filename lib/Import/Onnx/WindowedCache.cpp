//===- WindowedCache.cpp - keys of a window only ------------------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowedCache.h"
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

MaybeValue WindowedCache::number(StringRef role, int64_t value) {
  return integerConstant(node, role, {}, {value});
}

MaybeValue WindowedCache::numbers(StringRef role, ShapeRef shape,
                                  llvm::function_ref<int64_t(int64_t)> get) {
  std::vector<int64_t> values;
  for (int64_t i = 0, count = *countElements(shape); i < count; ++i)
    values.push_back(get(i));
  return integerConstant(node, role, shape, std::move(values));
}

/// T, less the fewest steps of eviction that leave no more than the capacity.
MaybeValue WindowedCache::countRows(Value positions) {
  int64_t step = capacity - window + 1;
  MaybeValue all = positions;
  auto excess = node.compute<nn::MaxOp>(node.compute<nn::SubOp>(all, number("capacity", capacity)),
                                        number("none", 0));
  auto steps = node.compute<nn::DivOp>(
      node.compute<nn::AddOp>(excess, number("rounded_up", step - 1)), number("step", step));
  return node.compute<nn::SubOp>(all, node.compute<nn::MulOp>(steps, number("step", step)));
}

LogicalResult WindowedCache::setCounts(MaybeValue countBefore, MaybeValue countNow) {
  if (failed(countBefore) || failed(countNow))
    return failure();
  before = node.reshape(*countBefore, {batch, 1}), now = node.reshape(*countNow, {batch, 1});
  auto rows = countRows(before);
  if (failed(rows))
    return failure();
  rowsBefore = *rows;
  return success();
}

/// A query sees those of the last rows of the cache that lie inside of its window.
MaybeValue WindowedCache::makeMask() {
  constexpr int64_t kMany = std::numeric_limits<int32_t>::max();
  int64_t keys = capacity + queries;
  MaybeValue rows = node.reshape(rowsBefore, {batch, 1, 1, 1});
  auto places =
      numbers("places", {keys}, [&](int64_t key) { return key < capacity ? key : -kMany; });
  auto ends = numbers("window_ends", {queries, keys}, [&](int64_t i) {
    int64_t query = i / keys, key = i % keys, ahead = capacity + query - key;
    return key < capacity ? key - query + window : ahead >= 0 && ahead < window ? kMany : -kMany;
  });
  return node.compute<nn::AndOp>(compare(node, nn::Predicate::less, places, rows),
                                 compare(node, nn::Predicate::less, rows, ends));
}

MaybeValue WindowedCache::evict(Value rows) {
  auto kept = countRows(now);
  auto first = node.compute<nn::SubOp>(node.compute<nn::SubOp>(MaybeValue(now), kept),
                                       MaybeValue(before)); // of those that stay, from now on
  auto distance =
      node.compute<nn::AddOp>(first, numbers("rows", {capacity}, [](int64_t row) { return row; }));
  auto start = select(node, compare(node, nn::Predicate::less, distance, number("none", 0)),
                      MaybeValue(rowsBefore), number("capacity", capacity));
  auto places = node.compute<nn::MinOp>(node.compute<nn::AddOp>(distance, start),
                                        number("last", capacity + queries - 1));
  SmallVector<Value> parts;
  for (int64_t i = 0; succeeded(places) && i < batch; ++i) {
    Shape sizes(shapeOf(rows));
    sizes[0] = 1;
    auto part = node.create<nn::SliceOp>(rows, Shape{i, 0, 0, 0}, sizes, Shape(4, 1));
    auto own = node.create<nn::SliceOp>(*places, Shape{i, 0}, Shape{1, capacity}, Shape{1, 1});
    auto stay = failed(part) || failed(own)
                    ? MaybeValue()
                    : node.create<nn::GatherOp>(*part, node.reshape(*own, {capacity}), /*axis=*/2);
    if (failed(stay))
      return failure();
    parts.push_back(*stay);
  }
  return failed(places) ? places
         : batch == 1   ? MaybeValue(parts[0])
                        : node.create<nn::ConcatOp>(parts, /*axis=*/0);
}
