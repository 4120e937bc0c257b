//===- HostTensor.cpp - constant tensors during import ------------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostTensor.h"
#include "octet/Numerics/Quantize.h"
#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace octet::onnx_import;
using mlir::quant::QuantizedType;

int32_t HostTensor::elementType() const {
  constexpr int32_t types[] = {onnx::TensorProto::INT64, onnx::TensorProto::FLOAT,
                               onnx::TensorProto::DOUBLE};
  return type ? type : types[data.index()];
}

std::optional<std::vector<float>> HostTensor::floats() const {
  if (auto *single = std::get_if<std::vector<float>>(&data))
    return *single;
  if (auto *wide = std::get_if<std::vector<double>>(&data))
    return std::vector<float>(wide->begin(), wide->end());
  return std::nullopt;
}

std::optional<int64_t> octet::onnx_import::countElements(ShapeRef shape, int64_t limit) {
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || (count != 0 && size > limit / count))
      return std::nullopt;
    count *= size;
  }
  return count;
}

std::string octet::onnx_import::printShape(ShapeRef shape) {
  if (shape.empty())
    return "scalar";
  return llvm::join(llvm::map_range(shape, [](int64_t size) { return std::to_string(size); }), "x");
}

Shape octet::onnx_import::allAxes(int64_t rank) {
  Shape axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Shape octet::onnx_import::getStrides(ShapeRef shape) {
  Shape strides(shape.size(), 1);
  for (int64_t i = (int64_t)shape.size() - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

std::optional<Shape> octet::onnx_import::broadcast(ShapeRef lhs, ShapeRef rhs) {
  Shape result(std::max(lhs.size(), rhs.size()), 1);
  for (ShapeRef shape : {lhs, rhs}) {
    for (auto [i, size] : llvm::enumerate(shape)) {
      int64_t &out = result[result.size() - shape.size() + i];
      if (out != 1 && size != 1 && out != size)
        return std::nullopt;
      out = out == 1 ? size : out;
    }
  }
  return result;
}

HostTensor octet::onnx_import::gatherElements(const HostTensor &tensor, ShapeRef shape,
                                              llvm::ArrayRef<int64_t> source) {
  HostTensor result{tensor.name, Shape(shape), {}, tensor.type};
  std::visit(
      [&](const auto &values) {
        std::decay_t<decltype(values)> picked;
        picked.reserve(source.size());
        for (int64_t i : source)
          picked.push_back(values[i]);
        result.data = std::move(picked);
      },
      tensor.data);
  return result;
}

/// Calls `use` with the first offset and the stride of each row: all indices but the last.
static void forEachRow(ShapeRef shape, ShapeRef strides, int64_t offset,
                       llvm::function_ref<void(int64_t first, int64_t stride)> use) {
  if (shape.size() > 1)
    for (int64_t i = 0; i < shape.front(); ++i)
      forEachRow(shape.drop_front(), strides.drop_front(), offset + i * strides.front(), use);
  else
    use(offset, shape.empty() ? 0 : strides.front());
}

std::vector<int64_t> octet::onnx_import::enumerateOffsets(ShapeRef shape, ShapeRef strides,
                                                          int64_t offset) {
  std::vector<int64_t> offsets;
  offsets.reserve(*countElements(shape));
  forEachRow(shape, strides, offset, [&](int64_t first, int64_t stride) {
    for (int64_t i = 0; i < (shape.empty() ? 1 : shape.back()); ++i)
      offsets.push_back(first + i * stride);
  });
  return offsets;
}

HostTensor octet::onnx_import::takeStrided(const HostTensor &tensor, ShapeRef shape,
                                           ShapeRef strides, int64_t offset) {
  HostTensor result{tensor.name, Shape(shape), {}, tensor.type};
  std::visit(
      [&](const auto &values) {
        std::decay_t<decltype(values)> picked;
        picked.reserve(*countElements(shape));
        forEachRow(shape, strides, offset, [&](int64_t first, int64_t stride) {
          for (int64_t i = 0; i < (shape.empty() ? 1 : shape.back()); ++i)
            picked.push_back(values[first + i * stride]);
        });
        result.data = std::move(picked);
      },
      tensor.data);
  return result;
}

/// `type` with its axis at the place that `getAxis` gives; null if that is negative.
static QuantizedType moveAxis(QuantizedType type, llvm::function_ref<int64_t(int64_t)> getAxis) {
  auto perAxis = llvm::dyn_cast_if_present<mlir::quant::UniformQuantizedPerAxisType>(type);
  if (!perAxis)
    return type;
  auto params = octet::numerics::getParams(type);
  params.axis = getAxis(params.axis);
  return params.axis < 0 ? QuantizedType() : octet::numerics::withParams(type, params);
}

/// The dimension of `size` behind dimensions with the product `front`, or -1.
static int64_t findAxis(ShapeRef shape, int64_t front, int64_t size) {
  int64_t product = 1;
  for (auto [axis, own] : llvm::enumerate(shape)) {
    if (product == front && own == size)
      return axis;
    product *= own;
  }
  return -1;
}

/// Those of the transposed matrix.
static std::shared_ptr<const Blocks> transposeBlocks(const Blocks &blocks) {
  Blocks result = blocks;
  result.axis = 1 - blocks.axis;
  for (HostTensor *parameter : {&result.scales, &result.zeroPoints})
    if (parameter->size())
      *parameter = octet::onnx_import::transpose(*parameter, {1, 0});
  return std::make_shared<Blocks>(std::move(result));
}

HostTensor octet::onnx_import::transpose(const HostTensor &tensor, ShapeRef permutation) {
  Shape shape, strides, sourceStrides = getStrides(tensor.shape);
  for (int64_t axis : permutation) {
    shape.push_back(tensor.shape[axis]);
    strides.push_back(sourceStrides[axis]);
  }
  HostTensor result = takeStrided(tensor, shape, strides);
  if (tensor.blocks && permutation == ShapeRef{1, 0})
    result.blocks = transposeBlocks(*tensor.blocks);
  result.quantized = moveAxis(tensor.quantized, [&](int64_t axis) {
    return llvm::find(permutation, axis) - permutation.begin();
  });
  return result;
}

HostTensor octet::onnx_import::broadcastTo(const HostTensor &tensor, ShapeRef shape) {
  Shape strides(shape.size(), 0), own = getStrides(tensor.shape);
  for (size_t i = 0, lead = shape.size() - own.size(); i < own.size(); ++i)
    strides[lead + i] = tensor.shape[i] == 1 ? 0 : own[i];
  return takeStrided(tensor, shape, strides);
}

HostTensor octet::onnx_import::repeat(const HostTensor &value, ShapeRef shape) {
  HostTensor result{value.name, Shape(shape), {}, value.type};
  std::visit(
      [&](const auto &values) {
        result.data = std::decay_t<decltype(values)>(*countElements(shape), values.front());
      },
      value.data);
  return result;
}

HostTensor octet::onnx_import::reshape(const HostTensor &tensor, ShapeRef shape) {
  HostTensor result = tensor;
  result.shape = Shape(shape);
  result.blocks = nullptr;
  result.quantized = moveAxis(tensor.quantized, [&](int64_t axis) {
    auto front = ShapeRef(tensor.shape).take_front(axis);
    return findAxis(shape,
                    std::accumulate(front.begin(), front.end(), int64_t(1), std::multiplies<>()),
                    tensor.shape[axis]);
  });
  return result;
}
