//===- FusedOperators.cpp - operators that onnxruntime's optimizers write ----- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several operators of ONNX as one of the domain com.microsoft: here they are those again.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "RecurrentActivations.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// Products with activations
//===----------------------------------------------------------------------===//

/// The activation that the node names, of `x`; a Clip has its bounds instead of parameters.
static MaybeValue activate(Node &node, MaybeValue x, std::optional<float> alpha,
                           std::optional<float> beta) {
  StringRef name = node.getString("activation", "");
  if (failed(x) || name.empty())
    return x;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (name == "Clip")
    return node.create<nn::ClipOp>(*x, llvm::APFloat(alpha.value_or(-kInfinity)),
                                   llvm::APFloat(beta.value_or(kInfinity)));
  auto activation = findActivation(node, name, alpha, beta);
  return failed(activation) ? MaybeValue() : activation->apply(node, *x);
}

/// The addend, input 3, comes before the activation.
LogicalResult octet::onnx_import::importFusedConv(Node &node) {
  SmallVector<Entry> inputs{node.entry(0), node.entry(1)};
  if (node.has(2))
    inputs.push_back(node.entry(2));
  auto convolved = node.compose(importConv, inputs);
  if (failed(convolved))
    return failure();
  MaybeValue sum = convolved->value;
  if (node.has(3) && node.shape(3) != shapeOf(*convolved))
    return node.invalid("adds a tensor of shape " + printShape(node.shape(3)) +
                        " to a convolution's result of shape " + printShape(shapeOf(*convolved)));
  if (node.has(3))
    sum = node.compute<nn::AddOp>(sum, node.value(3));
  const onnx::AttributeProto *list = node.attribute("activation_params");
  auto get = [&](int i) {
    return list && i < list->floats_size() ? std::optional(list->floats(i)) : std::nullopt;
  };
  return node.setResult(activate(node, sum, get(0), get(1)));
}

LogicalResult octet::onnx_import::importFusedGemm(Node &node) {
  SmallVector<Entry> inputs{node.entry(0), node.entry(1)};
  if (node.has(2))
    inputs.push_back(node.entry(2));
  auto product = node.compose(importGemm, inputs);
  if (failed(product))
    return failure();
  auto get = [&](StringRef name) {
    const onnx::AttributeProto *given = node.attribute(name);
    return given ? std::optional(given->f()) : std::nullopt;
  };
  return node.setResult(
      activate(node, product->value, get("activation_alpha"), get("activation_beta")));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// GELU of the first input, plus the second if there is one.
static LogicalResult importGeluOfSum(Node &node, nn::GeluForm form) {
  auto x = node.value(0);
  if (node.has(1))
    x = node.compute<nn::AddOp>(x, node.value(1));
  return failed(x) ? failure() : node.setResult(node.create<nn::GeluOp>(*x, form));
}

LogicalResult octet::onnx_import::importFusedGelu(Node &node) {
  return importGeluOfSum(node, nn::GeluForm::none);
}
LogicalResult octet::onnx_import::importFastGelu(Node &node) {
  return importGeluOfSum(node, nn::GeluForm::tanh);
}

/// x * sigmoid(alpha * x)
LogicalResult octet::onnx_import::importQuickGelu(Node &node) {
  auto x = node.value(0);
  auto scaled = node.compute<nn::MulOp>(x, node.number("alpha", node.getFloat("alpha", 1.702f)));
  return node.setResult(node.compute<nn::MulOp>(x, node.compute<nn::SigmoidOp>(scaled)));
}

/// Of the sum of both inputs, over all dimensions from `axis` on as if they were one.
LogicalResult octet::onnx_import::importBiasSoftmax(Node &node) {
  Shape shape = node.shape(0);
  auto axis = node.normalizeAxis(node.getInt("axis", 1), shape.size());
  if (failed(axis))
    return failure();
  if (broadcast(shape, node.shape(1)) != shape)
    return node.unsupported("a bias of shape " + printShape(node.shape(1)) +
                            " for an input of shape " + printShape(shape));
  auto sum = node.compute<nn::AddOp>(node.value(0), node.value(1));
  if (failed(sum))
    return failure();
  Shape rows(ShapeRef(shape).take_front(*axis));
  rows.push_back(*countElements(ShapeRef(shape).drop_front(*axis)));
  auto result = node.create<nn::SoftmaxOp>(node.reshape(*sum, rows), *axis);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

namespace {

/// A matrix of integers of a few bits, row by row in blocks, each with its scale and zero point.
class BlockedMatrix {
public:
  explicit BlockedMatrix(Node &node) : node(node) {}
  /// The real numbers, [N, K]: octet.dequantize_weights of the integers, or, where columns choose
  /// their blocks, a constant.
  MaybeValue read();

private:
  enum { kInput, kMatrix, kScales, kZeroPoints, kGroups };

  LogicalResult checkSizes();
  Value store(ArrayRef<float> scales, ArrayRef<float> zeroPoints);
  HostTensor dequantize(ArrayRef<int64_t> groups, ArrayRef<float> scales,
                        ArrayRef<float> zeroPoints);
  /// Which block's parameters each column has, where there is an input for that.
  FailureOr<Shape> readGroups();
  FailureOr<std::vector<float>> readZeroPoints();
  int64_t unpack(ArrayRef<int64_t> bytes, int64_t i) const {
    int64_t perByte = 8 / bits;
    return (bytes[i / perByte] >> (i % perByte * bits)) & ((1 << bits) - 1);
  }

  Node &node;
  int64_t rows = 0, columns = 0, bits = 0, block = 0, blocks = 0;
};

} // namespace

LogicalResult BlockedMatrix::checkSizes() {
  rows = node.getInt("N", 0), columns = node.getInt("K", 0), bits = node.getInt("bits", 4);
  block = node.getInt("block_size", 0);
  if (rows < 1 || columns < 1 || block < 16 || !llvm::isPowerOf2_64(block))
    return node.invalid("has a matrix of " + Twine(rows) + " rows and " + Twine(columns) +
                        " columns in blocks of " + Twine(block));
  blocks = llvm::divideCeil(columns, block);
  if (!countElements({rows, blocks, block}, kMaxConstantElements))
    return node.unsupported("a matrix of shape " + printShape({rows, columns}));
  const HostTensor *matrix = node.constant(kMatrix), *scales = node.constant(kScales);
  if (!matrix || !scales)
    return node.unsupported("a matrix or scales computed at run time");
  if (!matrix->isInteger() || matrix->size() != rows * blocks * block * bits / 8 ||
      scales->isInteger() || scales->size() != rows * blocks)
    return node.invalid("has a matrix of shape " + printShape(matrix->shape) +
                        " and scales of shape " + printShape(scales->shape) + " for " +
                        Twine(rows) + " rows of " + Twine(blocks) + " blocks of " + Twine(block) +
                        " integers of " + Twine(bits) + " bits");
  return success();
}

FailureOr<Shape> BlockedMatrix::readGroups() {
  auto given = node.integers(kGroups, "the columns' blocks");
  if (failed(given))
    return failure();
  auto isInside = [&](int64_t group) { return group >= 0 && group < blocks; };
  if ((int64_t)given->size() < columns || !llvm::all_of(*given, isInside))
    return node.invalid("has " + Twine(given->size()) + " columns' blocks for " + Twine(columns) +
                        " columns, or one outside of " + Twine(blocks));
  return given;
}

FailureOr<std::vector<float>> BlockedMatrix::readZeroPoints() {
  std::vector<float> zeroPoints(rows * blocks, float(1 << (bits - 1)));
  if (!node.has(kZeroPoints))
    return zeroPoints;
  const HostTensor *given = node.constant(kZeroPoints);
  if (!given)
    return node.unsupported("zero points computed at run time");
  if (node.has(kGroups)) // onnxruntime does not read the zero points then
    return node.unsupported("zero points beside the columns' blocks");
  int64_t bytes = llvm::divideCeil(blocks * bits, 8);
  if (given->size() != (given->isInteger() ? rows * bytes : rows * blocks))
    return node.invalid("has zero points of shape " + printShape(given->shape));
  if (!given->isInteger())
    return *given->floats();
  for (int64_t i = 0; i < rows * blocks; ++i)
    zeroPoints[i] =
        unpack(ArrayRef(*given->integers()).slice(i / blocks * bytes, bytes), i % blocks);
  return zeroPoints;
}

HostTensor BlockedMatrix::dequantize(ArrayRef<int64_t> groups, ArrayRef<float> scales,
                                     ArrayRef<float> zeroPoints) {
  ArrayRef<int64_t> bytes = *node.constant(kMatrix)->integers();
  std::vector<float> values;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t group = row * blocks + groups[column];
      auto stored = (float)unpack(bytes, row * blocks * block + column);
      values.push_back((stored - zeroPoints[group]) * scales[group]);
    }
  return HostTensor{node.constant(kMatrix)->name, {rows, columns}, std::move(values)};
}

/// A constant has a byte for each integer; kernels pack them.
Value BlockedMatrix::store(ArrayRef<float> scales, ArrayRef<float> zeroPoints) {
  ArrayRef<int64_t> bytes = *node.constant(kMatrix)->integers();
  SmallVector<int8_t, 0> stored;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      stored.push_back(static_cast<int8_t>(unpack(bytes, row * blocks * block + column)));
  OpBuilder &builder = node.builder();
  auto integer = IntegerType::get(builder.getContext(), bits, IntegerType::Unsigned);
  auto parameterType = RankedTensorType::get({rows, blocks}, node.f32());
  Value weights =
      nn::createConstant<int8_t>(builder, node.loc(), node.nameConstant("stored"),
                                 RankedTensorType::get({rows, columns}, integer), stored);
  Value scale = nn::createConstant<float>(builder, node.loc(), node.nameConstant("scales"),
                                          parameterType, scales);
  Value zeroPoint = nn::createConstant<float>(builder, node.loc(), node.nameConstant("zero_points"),
                                              parameterType, zeroPoints);
  return DequantizeWeightsOp::create(builder, node.loc(),
                                     RankedTensorType::get({rows, columns}, node.f32()), weights,
                                     scale, zeroPoint, builder.getDenseI64ArrayAttr({1, block}));
}

MaybeValue BlockedMatrix::read() {
  if (failed(checkSizes()))
    return failure();
  auto zeroPoints = readZeroPoints();
  if (failed(zeroPoints))
    return failure();
  std::vector<float> scales = *node.constant(kScales)->floats();
  if (!node.has(kGroups))
    return store(scales, *zeroPoints);
  auto groups = readGroups();
  return failed(groups) ? MaybeValue() : node.materialize(dequantize(*groups, scales, *zeroPoints));
}

LogicalResult octet::onnx_import::importMatMulNBits(Node &node) {
  constexpr unsigned kBias = 5;
  auto filter = BlockedMatrix(node).read();
  auto input = failed(filter) ? MaybeValue() : node.value(0);
  if (failed(input))
    return failure();
  auto bias = node.has(kBias) ? node.value(kBias) : MaybeValue(Value());
  if (failed(bias))
    return failure();
  return node.setResult(node.create<nn::LinearOp>(*input, *filter, *bias));
}
