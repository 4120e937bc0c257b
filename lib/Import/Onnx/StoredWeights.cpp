//===- StoredWeights.cpp - weights in blocks of a few bits -------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MatMulNBits, MatMulBnb4 and GatherBlockQuantized of the domain com.microsoft, and
// DequantizeLinear in blocks: matrices whose rows are quantized block by block.
//
//===----------------------------------------------------------------------===//

#include "StoredWeights.h"
#include "Compose.h"
#include "Operators.h"
#include "Quantization.h"
#include "TensorReader.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Octet.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using onnx::TensorProto;

/// Integer `i` of those that lie one behind the other, the first in the lowest bits.
static int64_t unpack(ArrayRef<int64_t> bytes, int64_t bits, int64_t i) {
  int64_t perByte = 8 / bits;
  return (bytes[i / perByte] >> (i % perByte * bits)) & ((1 << bits) - 1);
}

std::vector<uint8_t> onnx_import::unpackRows(ArrayRef<int64_t> bytes, int64_t bits, int64_t rows,
                                             int64_t count) {
  std::vector<uint8_t> integers;
  size_t perRow = bytes.size() / rows;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < count; ++i)
      integers.push_back((uint8_t)unpack(bytes.slice(row * perRow, perRow), bits, i));
  return integers;
}

/// A constant has a byte for each integer; kernels pack them. Zero points in the middle of the
/// range are none of signed integers.
Value onnx_import::makeReal(Node &node, const BlockedMatrix &matrix, const Twine &role) {
  OpBuilder &builder = node.builder();
  int8_t middle = int8_t(1 << (matrix.bits - 1));
  bool isSigned = llvm::all_of(matrix.zeroPoints, [&](float zeroPoint) {
    return zeroPoint == float(1 << (matrix.bits - 1));
  });
  SmallVector<int8_t, 0> stored(matrix.integers.begin(), matrix.integers.end());
  for (int8_t &integer : stored)
    integer -= isSigned ? middle : 0;
  auto integer = IntegerType::get(builder.getContext(), matrix.bits,
                                  isSigned ? IntegerType::Signed : IntegerType::Unsigned);
  auto type = RankedTensorType::get({matrix.rows, matrix.columns}, integer);
  auto addParameters = [&](StringRef name, ArrayRef<float> values) -> Value {
    auto blocks = RankedTensorType::get({matrix.rows, matrix.countBlocks()}, node.f32());
    return nn::createConstant<float>(builder, node.loc(), node.nameConstant(name + role), blocks,
                                     values);
  };
  Value weights = nn::createConstant<int8_t>(builder, node.loc(),
                                             node.nameConstant("stored" + role), type, stored);
  Value scales = addParameters("scales", matrix.scales);
  Value zeroPoints = isSigned ? Value() : addParameters("zero_points", matrix.zeroPoints);
  return DequantizeWeightsOp::create(builder, node.loc(), type.clone(node.f32()), weights, scales,
                                     zeroPoints, builder.getDenseI64ArrayAttr({1, matrix.block}));
}

Value onnx_import::makeOfBlocks(Node &node, const HostTensor &tensor) {
  const Blocks &blocks = *tensor.blocks;
  BlockedMatrix matrix{tensor.shape[0], tensor.shape[1], blocks.bits, blocks.size, {}, {}, {}};
  if (blocks.axis != 1)
    return nullptr;
  float least = blocks.isSigned ? -float(1 << (blocks.bits - 1)) : 0;
  matrix.scales = *blocks.scales.floats();
  matrix.zeroPoints.assign(matrix.scales.size(), -least);
  if (blocks.zeroPoints.size())
    llvm::transform(*blocks.zeroPoints.floats(), matrix.zeroPoints.begin(),
                    [&](float zeroPoint) { return zeroPoint - least; });
  for (auto [i, value] : llvm::enumerate(*tensor.floats())) {
    int64_t row = i / matrix.columns, column = i % matrix.columns;
    size_t block = row * matrix.countBlocks() + column / matrix.block;
    float scale = matrix.scales[block], zeroPoint = matrix.zeroPoints[block];
    float integer = (scale == 0 ? 0 : std::nearbyint(value / scale)) + zeroPoint;
    if (!(integer >= 0 && integer < float(1 << matrix.bits)) ||
        (integer - zeroPoint) * scale != value)
      return nullptr;
    matrix.integers.push_back((uint8_t)integer);
  }
  return makeReal(node, matrix);
}

//===----------------------------------------------------------------------===//
// MatMulNBits
//===----------------------------------------------------------------------===//

namespace {
/// Reads the matrix of MatMulNBits; the last block of a row is stored whole.
class ProductReader {
public:
  explicit ProductReader(Node &node) : node(node) {}
  /// The real numbers, [N, K]: octet.dequantize_weights of the integers, or, where columns choose
  /// their blocks, a constant.
  MaybeValue read();

private:
  enum { kInput, kMatrix, kScales, kZeroPoints, kGroups };

  LogicalResult checkSizes();
  HostTensor dequantize(ArrayRef<int64_t> groups);
  /// Which block's parameters each column has, where there is an input for that.
  FailureOr<Shape> readGroups();
  LogicalResult readZeroPoints();

  Node &node;
  BlockedMatrix matrix;
};
} // namespace

LogicalResult ProductReader::checkSizes() {
  auto &[rows, columns, bits, block, integers, scales, zeroPoints] = matrix;
  rows = node.getInt("N", 0), columns = node.getInt("K", 0), bits = node.getInt("bits", 4);
  block = node.getInt("block_size", 0);
  if (rows < 1 || columns < 1 || !isBlockSize(block))
    return node.invalid("has a matrix of " + Twine(rows) + " rows and " + Twine(columns) +
                        " columns in blocks of " + Twine(block));
  int64_t blocks = matrix.countBlocks();
  if (!countElements({rows, blocks, block}, kMaxConstantElements))
    return node.unsupported("a matrix of shape " + printShape({rows, columns}));
  const HostTensor *bytes = node.constant(kMatrix), *factors = node.constant(kScales);
  if (!bytes || !factors)
    return node.unsupported("a matrix or scales computed at run time");
  if (!bytes->isInteger() || bytes->size() != rows * blocks * block * bits / 8 ||
      factors->isInteger() || factors->size() != rows * blocks)
    return node.invalid("has a matrix of shape " + printShape(bytes->shape) +
                        " and scales of shape " + printShape(factors->shape) + " for " +
                        Twine(rows) + " rows of " + Twine(blocks) + " blocks of " + Twine(block) +
                        " integers of " + Twine(bits) + " bits");
  integers = unpackRows(*bytes->integers(), bits, rows, columns);
  scales = *factors->floats();
  return success();
}

FailureOr<Shape> ProductReader::readGroups() {
  auto given = node.integers(kGroups, "the columns' blocks");
  if (failed(given))
    return failure();
  auto isInside = [&](int64_t group) { return group >= 0 && group < matrix.countBlocks(); };
  if ((int64_t)given->size() < matrix.columns || !llvm::all_of(*given, isInside))
    return node.invalid("has " + Twine(given->size()) + " columns' blocks for " +
                        Twine(matrix.columns) + " columns, or one outside of " +
                        Twine(matrix.countBlocks()));
  return given;
}

LogicalResult ProductReader::readZeroPoints() {
  int64_t rows = matrix.rows, blocks = matrix.countBlocks();
  matrix.zeroPoints.assign(rows * blocks, float(1 << (matrix.bits - 1)));
  if (!node.has(kZeroPoints))
    return success();
  const HostTensor *given = node.constant(kZeroPoints);
  if (!given)
    return node.unsupported("zero points computed at run time");
  if (node.has(kGroups)) // onnxruntime does not read the zero points then
    return node.unsupported("zero points beside the columns' blocks");
  int64_t bytes = llvm::divideCeil(blocks * matrix.bits, 8);
  if (given->size() != (given->isInteger() ? rows * bytes : rows * blocks))
    return node.invalid("has zero points of shape " + printShape(given->shape));
  if (!given->isInteger()) {
    matrix.zeroPoints = *given->floats();
    return success();
  }
  auto unpacked = unpackRows(*given->integers(), matrix.bits, rows, blocks);
  matrix.zeroPoints.assign(unpacked.begin(), unpacked.end());
  return success();
}

HostTensor ProductReader::dequantize(ArrayRef<int64_t> groups) {
  std::vector<float> values;
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (int64_t column = 0; column < matrix.columns; ++column) {
      int64_t group = row * matrix.countBlocks() + groups[column];
      auto stored = (float)matrix.integers[row * matrix.columns + column];
      values.push_back((stored - matrix.zeroPoints[group]) * matrix.scales[group]);
    }
  return HostTensor{node.constant(kMatrix)->name, {matrix.rows, matrix.columns}, std::move(values)};
}

MaybeValue ProductReader::read() {
  if (failed(checkSizes()) || failed(readZeroPoints()))
    return failure();
  if (!node.has(kGroups))
    return makeReal(node, matrix);
  auto groups = readGroups();
  return failed(groups) ? MaybeValue() : node.materialize(dequantize(*groups));
}

LogicalResult octet::onnx_import::importMatMulNBits(Node &node) {
  constexpr unsigned kBias = 5;
  auto filter = ProductReader(node).read();
  auto input = failed(filter) ? MaybeValue() : node.value(0);
  if (failed(input))
    return failure();
  auto bias = node.has(kBias) ? node.value(kBias) : MaybeValue(Value());
  if (failed(bias))
    return failure();
  return node.setResult(node.create<nn::LinearOp>(*input, *filter, *bias));
}

//===----------------------------------------------------------------------===//
// MatMulBnb4
//===----------------------------------------------------------------------===//

/// The numbers that four bits name, as bitsandbytes has them: floats, and quantiles of the normal
/// distribution (Dettmers et al., "QLoRA", 2023).
static constexpr float kFloat4[] = {
    0,     5.208333333e-03f,  0.66666667f,  1,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    -0.0f, -5.208333333e-03f, -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
static constexpr float kNormalFloat4[] = {-1.0f,
                                          -0.6961928009986877f,
                                          -0.5250730514526367f,
                                          -0.39491748809814453f,
                                          -0.28444138169288635f,
                                          -0.18477343022823334f,
                                          -0.09105003625154495f,
                                          0.0f,
                                          0.07958029955625534f,
                                          0.16093020141124725f,
                                          0.24611230194568634f,
                                          0.33791524171829224f,
                                          0.44070982933044434f,
                                          0.5626170039176941f,
                                          0.7229568362236023f,
                                          1.0f};

/// Blocks run across rows; the first of two integers lies in the upper bits of a byte.
LogicalResult octet::onnx_import::importMatMulBnb4(Node &node) {
  int64_t rows = node.getInt("N", 0), columns = node.getInt("K", 0),
          block = node.getInt("block_size", 0);
  const HostTensor *bytes = node.constant(1), *factors = node.constant(2);
  auto count = countElements({rows, columns}, kMaxConstantElements);
  if (!bytes || !factors)
    return node.unsupported("a matrix or scales computed at run time");
  if (!isBlockSize(block) || count.value_or(0) == 0 || !bytes->isInteger() ||
      factors->isInteger() || bytes->size() != (*count + 1) / 2 ||
      factors->size() != (*count + block - 1) / block)
    return node.invalid("has a matrix of shape " + printShape(bytes->shape) +
                        " and scales of shape " + printShape(factors->shape) + " for " +
                        Twine(rows) + " rows and " + Twine(columns) + " columns in blocks of " +
                        Twine(block));
  ArrayRef<float> numbers = node.getInt("quant_type", 0) ? ArrayRef(kNormalFloat4) : kFloat4;
  std::vector<float> scales = *factors->floats(), values;
  for (int64_t i = 0; i < *count; ++i) {
    int64_t byte = (*bytes->integers())[i / 2];
    values.push_back(numbers[i % 2 ? byte & 15 : byte >> 4] * scales[i / block]);
  }
  auto filter = node.materialize({bytes->name, {rows, columns}, std::move(values)});
  auto input = failed(filter) ? filter : node.value(0);
  return failed(input) ? failure()
                       : node.setResult(node.create<nn::LinearOp>(*input, *filter, Value()));
}

//===----------------------------------------------------------------------===//
// GatherBlockQuantized
//===----------------------------------------------------------------------===//

namespace {
/// Reads the table of GatherBlockQuantized.
class TableReader {
public:
  explicit TableReader(Node &node) : node(node) {}
  /// octet.dequantize_weights, [rows, columns].
  MaybeValue read();

private:
  enum { kTable, kIndices, kScales, kZeroPoints };

  LogicalResult checkAxes();
  /// Sizes and integers, by how the file stores them.
  LogicalResult readIntegers();
  LogicalResult readParameters();
  /// Integers that the file stores like those of the table, `count` in each row, as not negative.
  std::vector<uint8_t> readRows(const HostTensor &stored, int64_t count);

  Node &node;
  BlockedMatrix matrix;
  bool isPacked = false;
  int64_t lowest = 0;
};
} // namespace

LogicalResult TableReader::checkAxes() {
  auto gathered = node.normalizeAxis(node.getInt("gather_axis", 0), node.rank(kTable)),
       quantized = node.normalizeAxis(node.getInt("quantize_axis", 1), node.rank(kTable));
  if (failed(gathered) || failed(quantized))
    return failure();
  if (node.rank(kTable) != 2 || *gathered != 0 || *quantized != 1)
    return node.unsupported("a table of shape " + printShape(node.shape(kTable)) +
                            " that is quantized along axis " + Twine(*quantized) +
                            " and gathered along axis " + Twine(*gathered));
  return success();
}

std::vector<uint8_t> TableReader::readRows(const HostTensor &stored, int64_t count) {
  if (isPacked)
    return unpackRows(*stored.integers(), matrix.bits, matrix.rows, count);
  std::vector<uint8_t> integers;
  for (int64_t integer : *stored.integers())
    integers.push_back(uint8_t(integer - lowest));
  return integers;
}

LogicalResult TableReader::readIntegers() {
  const HostTensor *table = node.constant(kTable);
  if (!table)
    return node.unsupported("a table computed at run time");
  bool isSigned = table->type == kInt4 || table->type == TensorProto::INT8,
       isByte = table->type == TensorProto::UINT8 || table->type == TensorProto::INT8;
  if (!table->isInteger() || !(isByte || table->type == kUInt4 || table->type == kInt4))
    return node.unsupported("a table of " + printElementType(table->elementType()));
  isPacked = table->type == TensorProto::UINT8;
  matrix.bits = isPacked ? node.getInt("bits", 4) : isByte ? 8 : 4;
  lowest = isSigned ? -(1 << (matrix.bits - 1)) : 0;
  matrix.rows = table->shape[0];
  matrix.columns = table->shape[1] * (isPacked ? 8 / matrix.bits : 1);
  matrix.block = node.getInt("block_size", 128);
  if (!isBlockSize(matrix.block))
    return node.invalid("has blocks of " + Twine(matrix.block));
  if (!countElements({matrix.rows, matrix.columns}, kMaxElements))
    return node.unsupported("a table of shape " + printShape({matrix.rows, matrix.columns}));
  matrix.integers = readRows(*table, matrix.columns);
  return success();
}

/// Without zero points, packed integers have the middle of their range, others 0.
LogicalResult TableReader::readParameters() {
  int64_t rows = matrix.rows, blocks = matrix.countBlocks();
  const HostTensor *scales = node.constant(kScales), *zeroPoints = node.constant(kZeroPoints);
  if (!scales || (node.has(kZeroPoints) && !zeroPoints))
    return node.unsupported("scales or zero points computed at run time");
  int64_t stored = isPacked ? llvm::divideCeil(blocks * matrix.bits, 8) : blocks;
  if (scales->isInteger() || scales->shape != Shape{rows, blocks} ||
      (zeroPoints && (!zeroPoints->isInteger() || zeroPoints->shape != Shape{rows, stored})))
    return node.invalid("has scales or zero points of other shapes than " +
                        printShape({rows, blocks}) + ", one for each block");
  matrix.scales = *scales->floats();
  if (!zeroPoints) {
    matrix.zeroPoints.assign(rows * blocks, isPacked ? float(1 << (matrix.bits - 1)) : -lowest);
    return success();
  }
  auto integers = readRows(*zeroPoints, blocks);
  matrix.zeroPoints.assign(integers.begin(), integers.end());
  return success();
}

MaybeValue TableReader::read() {
  if (failed(checkAxes()) || failed(readIntegers()) || failed(readParameters()))
    return failure();
  return makeReal(node, matrix);
}

LogicalResult octet::onnx_import::importGatherBlockQuantized(Node &node) {
  auto table = TableReader(node).read();
  if (failed(table))
    return failure();
  auto rows = node.composeAs(importGather, {}, {Entry{nullptr, *table}, node.entry(1)});
  return failed(rows) ? failure() : node.setResult(*rows);
}
