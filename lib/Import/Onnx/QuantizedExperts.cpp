//===- QuantizedExperts.cpp - QMoE ---------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Experts whose matrices are integers of a few bits: each row has one scale, or one for each block.
//
//===----------------------------------------------------------------------===//

#include "MixtureOfExperts.h"
#include "Operators.h"
#include "StoredWeights.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
class StoredMixture : public MixtureImporter {
public:
  explicit StoredMixture(Node &node)
      : MixtureImporter(node, {2, 4, 5, 7, 8, 10}), bits(node.getInt("expert_weight_bits", 4)),
        blockSize(node.getInt("block_size", 0)) {}

private:
  enum { kFirst = 2, kSecond = 5, kZeroPoints = 11, kWeights = 14 };

  Shape matrixShape(unsigned i) override;
  LogicalResult checkMore() override;
  MaybeValue join(unsigned i, ArrayRef<int64_t> rows, int64_t perRow) override;
  MaybeValue weigh(Value scores, MaybeValue isChosen) override;

  unsigned zeroPointsOf(unsigned i) const { return kZeroPoints + (i == kSecond); }
  LogicalResult checkParameters(unsigned i);
  /// The matrices of all experts, one below the other.
  BlockedMatrix read(unsigned i);

  int64_t bits, blockSize;
};
} // namespace

Shape StoredMixture::matrixShape(unsigned i) {
  Shape shape = node.shape(i);
  if (!shape.empty())
    shape.back() *= 8 / bits;
  return shape;
}

/// Rows of the second matrices lie one behind the other in those that are made of them: a block
/// ends with its row.
LogicalResult StoredMixture::checkMore() {
  if (blockSize != 0 && !isBlockSize(blockSize))
    return node.invalid("has blocks of " + Twine(blockSize));
  if (blockSize != 0 && (columns % blockSize != 0 || hidden % blockSize != 0))
    return node.unsupported("blocks of " + Twine(blockSize) + " in rows of " + Twine(columns) +
                            " and " + Twine(hidden) + " columns");
  if (node.has(kWeights) && node.shape(kWeights) != Shape{rows, experts})
    return node.invalid("has weights of shape " + printShape(node.shape(kWeights)) + " for " +
                        Twine(experts) + " experts of " + Twine(rows) + " rows");
  return success(succeeded(checkParameters(kFirst)) && succeeded(checkParameters(kSecond)));
}

LogicalResult StoredMixture::checkParameters(unsigned i) {
  if (!node.has(i + 1))
    return node.invalid("lacks its input " + Twine(i + 1));
  const HostTensor *scales = node.constant(i + 1), *zeroPoints = node.constant(zeroPointsOf(i));
  if (!scales || (node.has(zeroPointsOf(i)) && !zeroPoints))
    return node.unsupported("scales or zero points computed at run time");
  Shape shape = matrixShape(i);
  int64_t blocks = blockSize ? shape[2] / blockSize : 1;
  int64_t stored = blockSize ? shape[1] * llvm::divideCeil(blocks * bits, 8)
                             : llvm::divideCeil(shape[1] * bits, 8);
  bool fits = node.constant(i)->isInteger() && !scales->isInteger() &&
              scales->size() == shape[0] * shape[1] * blocks &&
              (!zeroPoints || (zeroPoints->isInteger() && zeroPoints->size() == shape[0] * stored));
  return fits ? success()
              : node.invalid("has matrices of shape " + printShape(shape) + " in blocks of " +
                             Twine(blockSize ? blockSize : shape[2]) + ", scales of shape " +
                             printShape(scales->shape) +
                             (zeroPoints
                                  ? " and zero points of shape " + printShape(zeroPoints->shape)
                                  : ""));
}

BlockedMatrix StoredMixture::read(unsigned i) {
  Shape shape = matrixShape(i);
  BlockedMatrix all;
  all.rows = shape[0] * shape[1], all.columns = shape[2];
  all.bits = bits, all.block = blockSize ? blockSize : shape[2];
  all.integers = unpackRows(*node.constant(i)->integers(), bits, all.rows, all.columns);
  all.scales = *node.constant(i + 1)->floats();
  const HostTensor *zeroPoints = node.constant(zeroPointsOf(i));
  if (!zeroPoints) {
    all.zeroPoints.assign(all.scales.size(), float(1 << (bits - 1)));
    return all;
  }
  int64_t packed = blockSize ? all.rows : shape[0];
  auto integers =
      unpackRows(*zeroPoints->integers(), bits, packed, (int64_t)all.scales.size() / packed);
  all.zeroPoints.assign(integers.begin(), integers.end());
  return all;
}

MaybeValue StoredMixture::join(unsigned i, ArrayRef<int64_t> rows, int64_t perRow) {
  BlockedMatrix all = read(i);
  BlockedMatrix joined;
  joined.rows = (int64_t)rows.size() / perRow, joined.columns = all.columns * perRow;
  joined.bits = bits, joined.block = all.block;
  auto append = [](auto &to, const auto &from, int64_t row, int64_t count) {
    to.insert(to.end(), from.begin() + row * count, from.begin() + (row + 1) * count);
  };
  for (int64_t row : rows) {
    append(joined.integers, all.integers, row, all.columns);
    append(joined.scales, all.scales, row, all.countBlocks());
    append(joined.zeroPoints, all.zeroPoints, row, all.countBlocks());
  }
  return makeReal(node, joined, "_" + Twine(i) + "_" + Twine(rows.front()));
}

/// Of scores, onnxruntime's kernel takes the softmax of those that are chosen, whether or not they
/// are normalized; weights of their own are.
MaybeValue StoredMixture::weigh(Value scores, MaybeValue isChosen) {
  if (!node.has(kWeights))
    return softmaxOfChosen(scores, isChosen);
  auto weights = node.compute<nn::MulOp>(node.value(kWeights), isChosen);
  if (!node.getInt("normalize_routing_weights", 0))
    return weights;
  return node.compute<nn::DivOp>(weights, reduce(node, weights, Reduction::sum, {1}));
}

LogicalResult octet::onnx_import::importQMoE(Node &node) { return StoredMixture(node).run(); }
