//===- MatrixProducts.cpp - Gemm and MatMul ----------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "Quantization.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// `tensor` with every value multiplied by `factor`.
static HostTensor scale(HostTensor tensor, float factor) {
  std::vector<float> values = *tensor.floats();
  for (float &value : values)
    value *= factor;
  tensor.data = std::move(values);
  return tensor;
}

/// Larger products of constants are computed at run time.
constexpr int64_t kMostMultiplyAdds = 1 << 26;

/// [N.linear] `lhs` [..., K] times `rhs` [K, N]: exporters leave networks that compute tables from
/// their weights alone, such as that of the distances between Swin v2's pixels.
static std::optional<HostTensor> multiply(const HostTensor &lhs, const HostTensor &rhs) {
  auto *left = std::get_if<std::vector<float>>(&lhs.data),
       *right = std::get_if<std::vector<float>>(&rhs.data);
  if (!left || !right || lhs.shape.empty() || rhs.shape.size() != 2 ||
      lhs.shape.back() != rhs.shape[0] || lhs.size() == 0)
    return std::nullopt;
  int64_t depth = rhs.shape[0], columns = rhs.shape[1], rows = lhs.size() / depth;
  if (!countElements({rows, columns}, kMaxSmallElements) ||
      !countElements({rows, columns, depth}, kMostMultiplyAdds))
    return std::nullopt;
  Shape shape(lhs.shape);
  shape.back() = columns;
  std::vector<float> sums(rows * columns, 0);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t column = 0; column < columns; ++column) {
        float &sum = sums[row * columns + column];
        sum = std::fma((*left)[row * depth + k], (*right)[k * columns + column], sum);
      }
  return HostTensor{"", shape, std::move(sums)};
}

/// Gemm of constants.
static std::optional<HostTensor> computeGemm(Node &node) {
  auto isFloat = [&](unsigned i) {
    return !node.has(i) || std::holds_alternative<std::vector<float>>(node.constant(i)->data);
  };
  if (!node.allConstant() || !llvm::all_of(llvm::seq(node.numInputs()), isFloat))
    return std::nullopt;
  auto arrange = [&](unsigned i, StringRef attribute) {
    const HostTensor &tensor = *node.constant(i);
    return node.getInt(attribute, 0) ? transpose(tensor, {1, 0}) : tensor;
  };
  auto product =
      multiply(arrange(0, "transA"), scale(arrange(1, "transB"), node.getFloat("alpha", 1)));
  if (!product || !node.has(2))
    return product;
  auto addend = broadcastTo(scale(*node.constant(2), node.getFloat("beta", 1)), product->shape);
  auto &sums = std::get<std::vector<float>>(product->data);
  for (auto [sum, value] : llvm::zip_equal(sums, std::get<std::vector<float>>(addend.data)))
    sum += value;
  return product;
}

/// Input `i` as a matrix value, transposed if asked for.
static FailureOr<Value> getMatrix(Node &node, unsigned i, bool transposed) {
  auto value = node.value(i);
  if (failed(value) || !transposed)
    return value;
  return node.create<nn::TransposeOp>(*value, ArrayRef<int64_t>{1, 0});
}

/// Input `i`, a constant [K, N] (or [N, K] if `transposed`), as the filter [N, K] of nn.linear
/// times `factor`.
static FailureOr<Value> getFilter(Node &node, unsigned i, bool transposed, float factor) {
  const HostTensor &tensor = *node.constant(i);
  if (tensor.isInteger())
    return node.invalid("multiplies by a matrix of integers");
  if (factor == 1 && tensor.blocks)
    if (Value matrix = makeOfBlocks(node, transposed ? tensor : transpose(tensor, {1, 0})))
      return matrix;
  if (transposed && factor == 1)
    return node.value(i);
  if (factor == 1)
    return node.materializeTransposed(i);
  return node.materialize(scale(transposed ? tensor : transpose(tensor, {1, 0}), factor));
}

/// Gemm's C as the bias [N] of nn.linear times `beta`, if it is a constant that is the same for
/// every row.
static FailureOr<Value> getRowBias(Node &node, int64_t columns, float beta) {
  const HostTensor *tensor = node.constant(2);
  if (!tensor || tensor->isInteger())
    return Value();
  ShapeRef shape = tensor->shape;
  bool sameRows =
      shape.empty() || llvm::all_of(shape.drop_back(), [](int64_t size) { return size == 1; });
  if (!sameRows || (!shape.empty() && shape.back() != 1 && shape.back() != columns))
    return Value();
  if (beta == 1 && shape == ShapeRef{columns})
    return node.value(2);
  return node.materialize(scale(broadcastTo(reshape(*tensor, {tensor->size()}), {columns}), beta));
}

/// `product` + beta * C with broadcasting.
static LogicalResult addMatrix(Node &node, Value product, float beta) {
  auto addend = node.value(2);
  if (failed(addend))
    return failure();
  if (beta != 1) {
    auto factor = node.number("beta", beta);
    addend = node.create<nn::MulOp>(*addend, *factor);
  }
  return failed(addend) ? failure() : node.setResult(node.create<nn::AddOp>(product, *addend));
}

LogicalResult octet::onnx_import::importGemm(Node &node) {
  float alpha = node.getFloat("alpha", 1), beta = node.getFloat("beta", 1);
  bool transA = node.getInt("transA", 0), transB = node.getInt("transB", 0);
  if (node.rank(0) != 2 || node.rank(1) != 2)
    return node.invalid("has inputs of shape " + printShape(node.shape(0)) + " and " +
                        printShape(node.shape(1)) + "; expected matrices");
  int64_t rows = node.shape(0)[transA ? 1 : 0], columns = node.shape(1)[transB ? 0 : 1];
  if (node.has(2) && broadcast(node.shape(2), {rows, columns}) != Shape{rows, columns})
    return node.invalid("adds a C of shape " + printShape(node.shape(2)) +
                        " to a product of shape " + printShape({rows, columns}) +
                        "; expected one that broadcasts to it");
  if (auto computed = computeGemm(node))
    return node.setResult(std::move(*computed));
  auto lhs = getMatrix(node, 0, transA);
  if (failed(lhs))
    return failure();
  if (node.constant(1)) {
    auto filter = getFilter(node, 1, transB, alpha);
    auto bias = node.has(2) ? getRowBias(node, columns, beta) : FailureOr<Value>(Value());
    if (failed(filter) || failed(bias))
      return failure();
    auto product = node.create<nn::LinearOp>(*lhs, *filter, *bias);
    return succeeded(product) && node.has(2) && !*bias ? addMatrix(node, *product, beta)
                                                       : node.setResult(product);
  }
  auto rhs = getMatrix(node, 1, transB);
  if (failed(rhs))
    return failure();
  auto product = node.create<nn::MatmulOp>(*lhs, *rhs);
  if (succeeded(product) && alpha != 1) {
    auto factor = node.number("alpha", alpha);
    product = node.create<nn::MulOp>(*product, *factor);
  }
  return succeeded(product) && node.has(2) ? addMatrix(node, *product, beta)
                                           : node.setResult(product);
}

/// A constant matrix on the right makes nn.linear; vectors are matrices of one row or column, whose
/// dimension goes again.
LogicalResult octet::onnx_import::importMatMul(Node &node) {
  Shape left = node.shape(0), right = node.shape(1);
  if (left.empty() || right.empty())
    return node.invalid("multiplies a scalar; expected vectors or matrices");
  if (node.allConstant())
    if (auto computed = multiply(*node.constant(0), *node.constant(1)))
      return node.setResult(std::move(*computed));
  auto lhs = node.value(0);
  if (failed(lhs))
    return failure();
  if (node.constant(1) && right.size() == 2) {
    auto filter = getFilter(node, 1, /*transposed=*/false, 1);
    return failed(filter) ? failure()
                          : node.setResult(node.create<nn::LinearOp>(*lhs, *filter, Value()));
  }
  auto rhs = node.value(1);
  if (failed(rhs))
    return failure();
  Value row = left.size() == 1 ? node.reshape(*lhs, {1, left[0]}) : *lhs;
  Value column = right.size() == 1 ? node.reshape(*rhs, {right[0], 1}) : *rhs;
  auto product = node.create<nn::MatmulOp>(row, column);
  if (failed(product))
    return failure();
  Shape shape(shapeOf(*product));
  if (right.size() == 1)
    shape.pop_back();
  if (left.size() == 1)
    shape.erase(shape.end() - (right.size() == 1 ? 1 : 2));
  return node.setResult(node.reshape(*product, shape));
}

/// Input `i` with its last two dimensions exchanged, or with the first in front of the last.
static FailureOr<Entry> arrange(Node &node, unsigned i, bool transposed, bool hasBatchesInside) {
  int64_t rank = node.rank(i);
  if (rank < 2)
    return node.entry(i);
  Shape order = allAxes(rank);
  if (hasBatchesInside)
    std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
  if (transposed)
    std::swap(order[rank - 2], order[rank - 1]);
  if (llvm::is_sorted(order))
    return node.entry(i);
  if (const HostTensor *tensor = node.constant(i))
    return Entry{std::make_shared<HostTensor>(transpose(*tensor, order)), {}};
  auto value = node.value(i);
  auto moved = failed(value) ? value : node.create<nn::TransposeOp>(*value, order);
  return failed(moved) ? FailureOr<Entry>() : Entry{nullptr, *moved};
}

/// The factor goes into a constant on the right.
LogicalResult octet::onnx_import::importFusedMatMul(Node &node) {
  auto lhs = arrange(node, 0, node.getInt("transA", 0), node.getInt("transBatchA", 0)),
       rhs = arrange(node, 1, node.getInt("transB", 0), node.getInt("transBatchB", 0));
  if (failed(lhs) || failed(rhs))
    return failure();
  float alpha = node.getFloat("alpha", 1);
  bool isScaled = alpha == 1;
  if (!isScaled && rhs->tensor && !rhs->tensor->isInteger()) {
    rhs->tensor = std::make_shared<HostTensor>(scale(*rhs->tensor, alpha));
    isScaled = true;
  }
  auto product = node.compose(importMatMul, {*lhs, *rhs});
  if (failed(product) || isScaled)
    return failed(product) ? failure() : node.setResult(*product);
  return node.setResult(
      node.compute<nn::MulOp>(FailureOr<Value>(product->value), node.number("alpha", alpha)));
}

/// Element (row, column) of the matrices in the last two dimensions.
static MaybeValue getElement(Node &node, Value x, int64_t row, int64_t column) {
  Shape sizes(shapeOf(x)), steps(sizes.size(), 1), starts(sizes.size(), 0);
  size_t rank = sizes.size();
  starts[rank - 2] = row, starts[rank - 1] = column;
  sizes[rank - 2] = sizes[rank - 1] = 1;
  auto element = node.create<nn::SliceOp>(x, starts, sizes, steps);
  return failed(element) ? element : node.reshape(*element, ShapeRef(sizes).drop_back(2));
}

/// The determinant of the last rows of `columns`, by minors of the first of these rows.
static MaybeValue getMinor(Node &node, Value x, ShapeRef columns) {
  int64_t row = shapeOf(x).back() - (int64_t)columns.size();
  MaybeValue sum = getElement(node, x, row, columns[0]);
  for (size_t i = 0; columns.size() > 1 && i < columns.size(); ++i) {
    Shape others(columns);
    others.erase(others.begin() + i);
    auto product = node.compute<nn::MulOp>(i ? getElement(node, x, row, columns[i]) : sum,
                                           getMinor(node, x, others));
    sum = !i      ? product
          : i % 2 ? node.compute<nn::SubOp>(sum, product)
                  : node.compute<nn::AddOp>(sum, product);
  }
  return sum;
}

LogicalResult octet::onnx_import::importDet(Node &node) {
  constexpr int64_t kMaxRows = 4;
  Shape shape = node.shape(0);
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2])
    return node.invalid("has an input of shape " + printShape(shape) +
                        "; expected square matrices");
  if (shape.back() > kMaxRows)
    return node.unsupported("matrices of more than " + Twine(kMaxRows) + " rows");
  auto input = node.value(0);
  return failed(input) ? failure() : node.setResult(getMinor(node, *input, allAxes(shape.back())));
}
