//===- ConstantScatter.cpp - ScatterElements of constants --------------------- ===//
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

std::optional<HostTensor> onnx_import::scatterConstants(const Node &node, int64_t axis) {
  const HostTensor *data = node.constant(0), *indices = node.constant(1),
                   *updates = node.constant(2);
  if (!data || !indices || !updates || !indices->integers() || updates->shape != indices->shape ||
      updates->elementType() != data->elementType() ||
      node.getString("reduction", "none") != "none")
    return std::nullopt;
  auto positions = findPositions(*indices, data->shape, axis);
  if (!positions)
    return std::nullopt;
  HostTensor result = *data;
  std::visit(
      [&](auto &values) {
        using Values = std::decay_t<decltype(values)>;
        for (auto [position, value] : llvm::zip_equal(*positions, std::get<Values>(updates->data)))
          values[position] = value;
      },
      result.data);
  return result;
}
