//===- HostTensor.h - constant tensors during import ------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Weights and results of shape arithmetic are host tensors until an operator needs them as values.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_HOSTTENSOR_H
#define OCTET_LIB_IMPORT_ONNX_HOSTTENSOR_H

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/LogicalResult.h"
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace octet::onnx_import {

using Shape = llvm::SmallVector<int64_t>;
using ShapeRef = llvm::ArrayRef<int64_t>;

struct Blocks;

/// Every integer type is held as i64, truth values as 0 and 1, every float type but double as f32.
struct HostTensor {
  using Data = std::variant<std::vector<int64_t>, std::vector<float>, std::vector<double>>;

  std::string name; ///< of the source tensor; becomes the resource's key
  Shape shape;
  Data data;
  int32_t type = 0; ///< TensorProto::DataType of the elements; 0: the one that `data` has
  /// Of real numbers that the file holds as integers: the type of these. Whoever changes `data`
  /// need not change this: values that are no such numbers any more are constants of f32.
  mlir::quant::QuantizedType quantized = {};
  /// Of a matrix of real numbers that the file holds as integers in blocks: its blocks, likewise.
  std::shared_ptr<const Blocks> blocks = {};
  std::shared_ptr<void> counted = {}; ///< among the constants that are computed, while it lives

  /// The TensorProto::DataType of the elements.
  int32_t elementType() const;
  int64_t size() const {
    return std::visit([](const auto &values) { return (int64_t)values.size(); }, data);
  }
  bool isInteger() const { return std::holds_alternative<std::vector<int64_t>>(data); }
  const std::vector<int64_t> *integers() const { return std::get_if<std::vector<int64_t>>(&data); }
  /// The values as f32, rounded from double where needed; none for integers.
  std::optional<std::vector<float>> floats() const;
};

using HostTensorRef = std::shared_ptr<const HostTensor>;

/// How a matrix is quantized, with a scale and perhaps a zero point for each block of elements
/// along an axis: real numbers are (integer - zero point) * scale.
struct Blocks {
  int64_t bits, axis, size;
  bool isSigned;
  HostTensor scales, zeroPoints; ///< of floats; zero points may have no elements
};

/// No tensor has more elements than this (2^31), no computed constant more than 2^26.
inline constexpr int64_t kMaxElements = int64_t(1) << 31;
inline constexpr int64_t kMaxConstantElements = int64_t(1) << 26;

/// Loops and recurrences stand in the program step by step, up to so many steps.
inline constexpr int64_t kMaxSteps = 8192;

/// What import need not know of constants is computed at run time if it has more elements.
inline constexpr int64_t kMaxSmallElements = int64_t(1) << 20;

/// Product of the dimensions, or nothing if one is negative or the product is above `limit`.
std::optional<int64_t> countElements(ShapeRef shape, int64_t limit = kMaxElements);

/// "1x3x32x32"
std::string printShape(ShapeRef shape);

/// 0, 1, ..., rank - 1
Shape allAxes(int64_t rank);

/// Row-major strides in elements.
Shape getStrides(ShapeRef shape);

/// NumPy broadcasting of two shapes, or nothing if they do not fit.
std::optional<Shape> broadcast(ShapeRef lhs, ShapeRef rhs);

/// The tensor of `shape` whose element i is the element `source[i]` of `tensor`.
HostTensor gatherElements(const HostTensor &tensor, ShapeRef shape, llvm::ArrayRef<int64_t> source);

/// For every index of `shape` in row-major order: offset + sum of index[d] * strides[d].
std::vector<int64_t> enumerateOffsets(ShapeRef shape, ShapeRef strides, int64_t offset = 0);

/// The tensor of `shape` with the elements of `tensor` at these offsets.
HostTensor takeStrided(const HostTensor &tensor, ShapeRef shape, ShapeRef strides,
                       int64_t offset = 0);

/// `tensor` with its dimensions permuted.
HostTensor transpose(const HostTensor &tensor, ShapeRef permutation);

/// `tensor` broadcast to `shape`, which it must fit.
HostTensor broadcastTo(const HostTensor &tensor, ShapeRef shape);

/// `value`, which has one element, in every place of `shape`.
HostTensor repeat(const HostTensor &value, ShapeRef shape);

/// `tensor` with another shape of as many elements.
HostTensor reshape(const HostTensor &tensor, ShapeRef shape);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_HOSTTENSOR_H
