//===- ChosenScatter.cpp - scatters of the rows that a mask chooses -------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "GraphImporter.h"
#include "MaskOrigin.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// The indices of whole rows along the first dimension, as tuples of one, if those of elements are
/// such.
static FailureOr<Entry> findRowTuples(Node &node, const Entry &indices) {
  Shape shape = shapeOf(indices), data = node.shape(0), tuples{shape[0], 1};
  ShapeRef inner = ShapeRef(shape).drop_front();
  int64_t axis = node.getInt("axis", 0);
  if ((axis != 0 && axis != -(int64_t)data.size()) || ShapeRef(data).drop_front() != inner)
    return failure();
  int64_t width = *countElements(inner);
  if (!indices.tensor) {
    Value row = shape.size() == 2 ? findRepeated(indices.value, /*axis=*/1).mask : indices.value;
    if (*countElements(shapeOf(row)) != shape[0])
      return failure();
    return Entry{nullptr, node.reshape(row, tuples)};
  }
  const std::vector<int64_t> &all = *indices.tensor->integers();
  std::vector<int64_t> first;
  for (int64_t i = 0; i < (int64_t)all.size(); ++i)
    if (i % width == 0)
      first.push_back(all[i]);
    else if (all[i] != first.back())
      return failure();
  return Entry{std::make_shared<HostTensor>(HostTensor{"", tuples, std::move(first)}), {}};
}

/// Updates of all elements, where the mask holds, replace the data or are added to it.
static LogicalResult updateAll(Node &node, const Masked &masked, const Entry &updates) {
  int64_t rows = *countElements(shapeOf(masked.mask)), all = *countElements(node.shape(0));
  auto data = node.any(0), given = node.toValue(updates);
  if (failed(data) || failed(given))
    return failure();
  Value before = node.reshape(*data, {rows, all / rows}),
        after = node.reshape(*given, {rows, all / rows});
  MaybeValue mask = node.reshape(masked.mask, {rows, 1}), sum = after;
  if (node.getString("reduction", "none") == "add")
    sum = node.create<nn::AddOp>(before, after);
  auto result = select(node, mask, sum, MaybeValue(before));
  return failed(result) ? failure() : node.setResult(node.reshape(*result, node.shape(0)));
}

/// Chosen updates at chosen indices.
LogicalResult GraphImporter::scatterRows(const onnx::NodeProto &proto, ArrayRef<Entry> inputs,
                                         const Masked &masked) {
  auto isRow = [&](const Entry &input) {
    return input.masked && input.masked->kind == Masked::elements && input.masked->axis == 0 &&
           input.masked->isBySameMask(masked);
  };
  SmallVector<Entry> all(inputs);
  all[1] = listPositions(inputs[1]);
  if (all[0].masked || !isRow(all[1]) || !isRow(all[2]))
    return failure();
  all[1].masked = all[2].masked = nullptr;
  Node node(*this, proto, opset, all);
  if (StringRef(proto.op_type()) != "ScatterND") {
    auto tuples = findRowTuples(node, all[1]);
    if (failed(tuples))
      return failure();
    all[1] = *tuples;
  }
  Node rows(*this, proto, opset, all);
  StringRef reduction = rows.getString("reduction", "none");
  bool isAll = countsAll(all[1], rows.shape(0)) &&
               countElements(shapeOf(all[2])) == countElements(rows.shape(0));
  if (isAll && (reduction == "none" || reduction == "add"))
    return updateAll(rows, masked, all[2]);
  auto mask = flattenMask(rows, masked);
  return failed(mask) ? failure() : scatterChosen(rows, *mask);
}
