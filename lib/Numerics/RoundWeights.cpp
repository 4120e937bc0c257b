//===- RoundWeights.cpp - weights are rounded against data ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.round_weights] Loops are written so that compilers vectorize them without reordering sums.
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/RoundWeights.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>

using namespace llvm;
using namespace octet::numerics;

/// Columns of a block: the time for the factors grows with the square, the gain slowly.
static constexpr int64_t kMaxBlock = 512;
/// What is added to the products of a column with itself, in parts of their mean.
static constexpr double kDamping = 0.01;
static constexpr int64_t kQuantMax = 127;

InputProducts::InputProducts(int64_t numColumns) : sums(numColumns, 0) {
  int64_t most = divideCeil(numColumns, divideCeil(numColumns, kMaxBlock));
  for (int64_t begin = 0; begin < numColumns; begin += most) {
    int64_t size = std::min(most, numColumns - begin);
    blocks.push_back({begin, size, std::vector<int64_t>(size * size, 0)});
  }
}

/// Adds up the products of one column with four others: sums that a compiler keeps apart.
static std::array<int32_t, 4> multiply(const int16_t *column, std::array<const int16_t *, 4> others,
                                       int64_t rows) {
  int32_t first = 0, second = 0, third = 0, fourth = 0;
#pragma clang loop vectorize_width(8) // pmaddwd, smlal: products of 16 bits, sums of 32
  for (int64_t row = 0; row < rows; ++row) {
    first += column[row] * others[0][row];
    second += column[row] * others[1][row];
    third += column[row] * others[2][row];
    fourth += column[row] * others[3][row];
  }
  return {first, second, third, fourth};
}

void InputProducts::add(ArrayRef<int16_t> values) {
  int64_t rows = (int64_t)values.size() / getNumColumns();
  assert((int64_t)values.size() == rows * getNumColumns() && "expected whole rows");
  numRows += rows;
  for (size_t i = 0; i < values.size(); ++i)
    sums[i / rows] += values[i];
  for (Block &block : blocks) {
    auto getColumn = [&](int64_t i) { return &values[(block.begin + i) * rows]; };
    for (int64_t i = 0; i < block.size; ++i)
      for (int64_t j = 0; j <= i; j += 4) { // beyond the last one: that one again
        std::array<int32_t, 4> products =
            multiply(getColumn(i),
                     {getColumn(j), getColumn(std::min(j + 1, i)), getColumn(std::min(j + 2, i)),
                      getColumn(std::min(j + 3, i))},
                     rows);
        for (int64_t k = 0; k < std::min<int64_t>(4, i - j + 1); ++k)
          block.products[i * block.size + j + k] += products[k];
      }
  }
}

/// The columns of a block, those with the largest inputs first: what rounding them costs is made up
/// for by all others.
static std::vector<int64_t> getOrder(const InputProducts::Block &block) {
  std::vector<int64_t> order(block.size);
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](int64_t a, int64_t b) {
    return block.products[a * block.size + a] > block.products[b * block.size + b];
  });
  return order;
}

/// The covariances of a block's columns in this order, damped; empty if there are none.
static std::vector<double> getDamped(const InputProducts &inputs, const InputProducts::Block &block,
                                     ArrayRef<int64_t> order) {
  int64_t n = block.size, rows = inputs.getNumRows();
  ArrayRef<int64_t> sums = inputs.getSums().drop_front(block.begin);
  std::vector<double> products(n * n);
  double trace = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      auto [low, high] = std::minmax(order[i], order[j]);
      products[i * n + j] =
          (double)(rows * block.products[high * n + low] - sums[low] * sums[high]);
    }
    trace += products[i * n + i];
  }
  for (int64_t i = 0; i < n; ++i)
    products[i * n + i] += kDamping * trace / (double)n;
  return trace > 0 && rows >= n ? products : std::vector<double>();
}

/// The upper triangular R with A = R R^T, in place of the lower triangle of A, transposed: element
/// (i, j) of R at j * n + i.
static void factorize(std::vector<double> &a, int64_t n) {
  for (int64_t j = n - 1; j >= 0; --j) {
    double *column = &a[j * n];
    double root = std::sqrt(column[j]);
    for (int64_t i = 0; i <= j; ++i)
      column[i] /= root;
    for (int64_t i = 0; i < j; ++i)
      for (int64_t k = 0; k <= i; ++k)
        a[i * n + k] -= column[i] * column[k];
  }
}

/// The inverse of R, row by row.
static std::vector<double> invert(ArrayRef<double> columns, int64_t n) {
  std::vector<double> inverse(n * n, 0.0);
  for (int64_t i = n - 1; i >= 0; --i) {
    double *row = &inverse[i * n];
    row[i] = 1;
    for (int64_t k = i + 1; k < n; ++k)
      for (int64_t j = k; j < n; ++j)
        row[j] -= columns[k * n + i] * inverse[k * n + j];
    for (int64_t j = i; j < n; ++j)
      row[j] /= columns[i * n + i];
  }
  return inverse;
}

namespace {
/// One row's weights of a block, in its order.
struct Row {
  double scale;
  float largest; ///< magnitude in the whole row
  std::vector<float> values;

  /// Rounds a weight; returns by how much it was too large.
  float round(int64_t i, float original) {
    double quotient = std::nearbyint(values[i] / scale);
    double rounded = scale * std::clamp<double>(quotient, -kQuantMax, kQuantMax);
    float kept = std::abs(original) == largest ? original : (float)rounded;
    float error = values[i] - kept;
    values[i] = kept;
    return error;
  }
};
} // namespace

/// Rounds one weight after the other; those behind it make up for what it was changed by.
static void roundBlock(MutableArrayRef<float> weights, ArrayRef<double> scales,
                       ArrayRef<float> largest, const InputProducts &inputs,
                       const InputProducts::Block &block) {
  std::vector<int64_t> order = getOrder(block);
  std::vector<double> products = getDamped(inputs, block, order);
  if (products.empty())
    return;
  int64_t n = block.size;
  factorize(products, n);
  std::vector<double> inverse = invert(products, n);
  std::vector<float> shares(n * n); // what each weight behind takes of an error
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i; j < n; ++j)
      shares[i * n + j] = (float)(inverse[i * n + j] / inverse[i * n + i]);
  Row row;
  for (size_t output = 0; output < scales.size(); ++output) {
    float *own = &weights[output * inputs.getNumColumns() + block.begin];
    row = {scales[output], largest[output], {}};
    for (int64_t column : order)
      row.values.push_back(own[column]);
    for (int64_t i = 0; i < n; ++i) {
      float error = row.round(i, own[order[i]]);
      for (int64_t j = i + 1; j < n; ++j)
        row.values[j] -= error * shares[i * n + j];
    }
    for (int64_t i = 0; i < n; ++i)
      own[order[i]] = row.values[i];
  }
}

void octet::numerics::roundWeights(MutableArrayRef<float> weights, ArrayRef<double> scales,
                                   const InputProducts &inputs) {
  int64_t numColumns = inputs.getNumColumns();
  std::vector<float> largest(scales.size(), 0.0f);
  for (size_t i = 0; i < weights.size(); ++i)
    largest[i / numColumns] = std::max(largest[i / numColumns], std::abs(weights[i]));
  for (const InputProducts::Block &block : inputs.getBlocks())
    roundBlock(weights, scales, largest, inputs, block);
}
