//===- ShapeArithmetic.cpp - constants and what computes shapes --------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "Operators.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Decodes a tensor attribute (whose data cannot be external).
static FailureOr<HostTensorRef> readTensor(Node &node, const onnx::AttributeProto &attribute) {
  TensorReader reader("");
  auto tensor = reader.read(attribute.t());
  if (tensor)
    return *tensor;
  return node.invalid("has a value that " + llvm::toString(tensor.takeError()));
}

/// A constant in any of the forms of the value_* attributes.
LogicalResult octet::onnx_import::importConstant(Node &node) {
  if (node.proto.attribute_size() != 1)
    return node.invalid("needs exactly one value");
  const auto &attribute = node.proto.attribute(0);
  HostTensor::Data data;
  bool isScalar = false;
  switch (attribute.type()) {
  case onnx::AttributeProto::TENSOR: {
    auto tensor = readTensor(node, attribute);
    return failed(tensor) ? failure() : node.setStored(HostTensor(**tensor));
  }
  case onnx::AttributeProto::INT:
  case onnx::AttributeProto::FLOAT:
    isScalar = true;
    if (attribute.type() == onnx::AttributeProto::INT)
      data = std::vector<int64_t>{attribute.i()};
    else
      data = std::vector<float>{attribute.f()};
    break;
  case onnx::AttributeProto::INTS:
    data = std::vector<int64_t>(attribute.ints().begin(), attribute.ints().end());
    break;
  default:
    data = std::vector<float>(attribute.floats().begin(), attribute.floats().end());
  }
  HostTensor tensor{"", {}, std::move(data)};
  if (!isScalar)
    tensor.shape = {tensor.size()};
  return node.setStored(std::move(tensor));
}

LogicalResult octet::onnx_import::importConstantOfShape(Node &node) {
  auto shape = node.integers(0, "a shape");
  if (failed(shape))
    return failure();
  if (!countElements(*shape, kMaxConstantElements))
    return node.invalid("makes a constant of shape " + printShape(*shape));
  HostTensor value{"", {1}, std::vector<float>{0}};
  if (auto *attribute = node.attribute("value")) {
    auto tensor = readTensor(node, *attribute);
    if (failed(tensor))
      return failure();
    if ((*tensor)->size() != 1)
      return node.invalid("has a value of " + Twine((*tensor)->size()) + " elements; expected one");
    value = reshape(**tensor, {1});
  }
  return node.setResult(repeat(value, *shape));
}

/// Shapes are static, so they are constants; `start` and `end` (opset 15) cut out a range.
LogicalResult octet::onnx_import::importShape(Node &node) {
  Shape shape = node.shape(0);
  int64_t rank = shape.size();
  auto limit = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + rank : position, 0, rank);
  };
  int64_t start = limit(node.getInt("start", 0)),
          end = std::max(start, limit(node.getInt("end", rank)));
  std::vector<int64_t> values(shape.begin() + start, shape.begin() + end);
  return node.setResult(HostTensor{"", {end - start}, std::move(values)});
}

LogicalResult octet::onnx_import::importSize(Node &node) {
  return node.setResult(HostTensor{"", {}, std::vector<int64_t>{*countElements(node.shape(0))}});
}

/// That of com.microsoft may lack its step, which is 1.
LogicalResult octet::onnx_import::importRange(Node &node) {
  if (!node.allConstant())
    return node.unsupported("bounds computed at run time");
  HostTensor result = *node.constant(0);
  LogicalResult status = std::visit(
      [&](auto &values) -> LogicalResult {
        using Vector = std::decay_t<decltype(values)>;
        Vector one{1};
        auto *end = std::get_if<Vector>(&node.constant(1)->data),
             *step = node.has(2) ? std::get_if<Vector>(&node.constant(2)->data) : &one;
        if (!end || !step || values.size() != 1 || end->size() != 1 || step->size() != 1)
          return node.invalid("needs three scalars of one type");
        auto first = values[0], delta = (*step)[0];
        double count = std::ceil(((double)(*end)[0] - (double)first) / (double)delta);
        if (delta == 0 || !(count <= (double)kMaxConstantElements))
          return node.invalid("has a step of zero or more than " + Twine(kMaxConstantElements) +
                              " elements");
        values.clear();
        for (int64_t i = 0; i < (int64_t)count; ++i)
          values.push_back(first + i * delta);
        return success();
      },
      result.data);
  if (failed(status))
    return failure();
  result.shape = {result.size()};
  return node.setResult(std::move(result));
}

/// The indices of a constant's elements that are not zero, a row for each dimension: exporters
/// write positions that they know so, as those of a constant of ones.
LogicalResult octet::onnx_import::importNonZero(Node &node) {
  const HostTensor *tensor = node.constant(0);
  if (!tensor)
    return node.unsupported(kShapedByData);
  std::vector<int64_t> found = std::visit(
      [](const auto &values) {
        std::vector<int64_t> places;
        for (auto [place, value] : llvm::enumerate(values))
          if (value != 0)
            places.push_back(place);
        return places;
      },
      tensor->data);
  int64_t rank = tensor->shape.size(), count = found.size();
  if (!countElements({rank, count}, kMaxConstantElements))
    return node.unsupported("a computed constant of shape " + printShape({rank, count}));
  std::vector<int64_t> indices;
  for (auto [stride, size] : llvm::zip(getStrides(tensor->shape), tensor->shape))
    for (int64_t place : found)
      indices.push_back(place / stride % size);
  return node.setResult(HostTensor{"", {rank, count}, std::move(indices)});
}
