//===- ConstantScatter.cpp - scattering of constants --------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantScatter.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Where the updates go in the flattened data; none if an index is outside.
static std::optional<std::vector<int64_t>> findPositions(const HostTensor &indices, ShapeRef shape,
                                                         int64_t axis) {
  Shape strides = getStrides(shape);
  int64_t size = shape[axis], stride = std::exchange(strides[axis], 0);
  std::vector<int64_t> positions = enumerateOffsets(indices.shape, strides);
  for (auto [position, index] : llvm::zip_equal(positions, *indices.integers())) {
    if (index < -size || index >= size)
      return std::nullopt;
    position += (index < 0 ? index + size : index) * stride;
  }
  return positions;
}

/// The elements of rows of `width`, each at the indices in the last dimension of `indices`; none if
/// one is outside.
static std::optional<std::vector<int64_t>> findRows(const HostTensor &indices, ShapeRef shape,
                                                    int64_t width) {
  int64_t depth = indices.shape.back();
  Shape strides = getStrides(shape);
  std::vector<int64_t> positions;
  const std::vector<int64_t> &values = *indices.integers();
  for (size_t first = 0; first < values.size(); first += depth) {
    int64_t row = 0;
    for (int64_t i = 0; i < depth; ++i) {
      int64_t index = values[first + i], size = shape[i];
      if (index < -size || index >= size)
        return std::nullopt;
      row += (index < 0 ? index + size : index) * strides[i];
    }
    for (int64_t i = 0; i < width; ++i)
      positions.push_back(row + i);
  }
  return positions;
}

/// Whether the operands are constants of fitting types, none of whose values are combined.
static bool isKnown(const Node &node) {
  const HostTensor *data = node.constant(0), *indices = node.constant(1),
                   *updates = node.constant(2);
  return data && indices && updates && indices->integers() &&
         updates->elementType() == data->elementType() &&
         node.getString("reduction", "none") == "none";
}

/// The data with the updates at `positions`, if these are known.
static std::optional<HostTensor> write(const Node &node,
                                       const std::optional<std::vector<int64_t>> &positions) {
  if (!positions)
    return std::nullopt;
  HostTensor result = *node.constant(0);
  std::visit(
      [&](auto &values) {
        const auto &updates = std::get<std::decay_t<decltype(values)>>(node.constant(2)->data);
        for (auto [position, value] : llvm::zip_equal(*positions, updates))
          values[position] = value;
      },
      result.data);
  return result;
}

std::optional<HostTensor> onnx_import::scatterConstants(const Node &node, int64_t axis) {
  if (!isKnown(node) || node.constant(2)->shape != node.constant(1)->shape)
    return std::nullopt;
  return write(node, findPositions(*node.constant(1), node.constant(0)->shape, axis));
}

std::optional<HostTensor> onnx_import::scatterConstantRows(const Node &node) {
  if (!isKnown(node) || node.constant(1)->shape.empty())
    return std::nullopt;
  ShapeRef shape = node.constant(0)->shape, indices = node.constant(1)->shape;
  size_t depth = indices.back();
  Shape rows(indices.drop_back());
  if (depth < 1 || depth > shape.size() || !countElements(shape, kMaxSmallElements))
    return std::nullopt;
  llvm::append_range(rows, shape.drop_front(depth));
  if (node.constant(2)->shape != rows)
    return std::nullopt;
  return write(node, findRows(*node.constant(1), shape, *countElements(shape.drop_front(depth))));
}
