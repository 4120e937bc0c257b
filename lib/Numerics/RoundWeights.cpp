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
/// Columns whose errors are made up for at a time.
static constexpr size_t kTogether = 8;

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

/// The covariances of a block's columns in this order, damped; empty if all are zero.
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
  return trace > 0 ? products : std::vector<double>();
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

WeightRounder::WeightRounder(const InputProducts &inputs) : numColumns(inputs.getNumColumns()) {
  for (const InputProducts::Block &block : inputs.getBlocks()) {
    std::vector<int64_t> order = getOrder(block);
    std::vector<double> products = getDamped(inputs, block, order);
    if (products.empty())
      continue;
    int64_t n = block.size;
    factorize(products, n);
    std::vector<double> inverse = invert(products, n);
    Block &own = blocks.emplace_back();
    for (int64_t column : order)
      own.columns.push_back(block.begin + column);
    own.shares.resize(n * n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i; j < n; ++j)
        own.shares[i * n + j] = (float)(inverse[i * n + j] / inverse[i * n + i]);
  }
}

void WeightRounder::round(MutableArrayRef<float> weights, ArrayRef<double> scales,
                          int64_t quantMax) const {
  auto getRow = [&](size_t output) { return weights.slice(output * numColumns, numColumns); };
  SmallVector<float, 0> largest(scales.size(), 0.0f);
  for (size_t output = 0; output < scales.size(); ++output)
    for (float weight : getRow(output))
      largest[output] = std::max(largest[output], std::abs(weight));
  for (const Block &block : blocks)
    for (auto [output, scale] : llvm::enumerate(scales))
      block.round(getRow(output), scale, largest[output], (double)quantMax);
}

/// Takes shares of errors from what is wanted, in the order of the errors: each of the wanted is
/// loaded and stored once.
static void makeUp(MutableArrayRef<float> wanted, const std::array<float, kTogether> &errors,
                   const float *shares, size_t rowOfShares) {
  for (size_t j = 0; j < wanted.size(); ++j) {
    float rest = wanted[j];
    for (size_t k = 0; k < kTogether; ++k)
      rest -= errors[k] * shares[k * rowOfShares + j];
    wanted[j] = rest;
  }
}

/// One weight after the other; those behind it make up for what it was changed by.
void WeightRounder::Block::round(MutableArrayRef<float> row, double scale, float largest,
                                 double quantMax) const {
  size_t n = columns.size();
  std::vector<float> wanted;
  for (int64_t column : columns)
    wanted.push_back(row[column]);
  for (size_t first = 0; first < n; first += kTogether) {
    size_t end = std::min(first + kTogether, n);
    std::array<float, kTogether> errors = {};
    for (size_t i = first; i < end; ++i) {
      float &weight = row[columns[i]];
      if (std::abs(weight) != largest)
        weight =
            (float)(scale * std::clamp(std::nearbyint(wanted[i] / scale), -quantMax, quantMax));
      float error = errors[i - first] = wanted[i] - weight;
      for (size_t j = i + 1; j < end; ++j)
        wanted[j] -= error * shares[i * n + j];
    }
    if (end < n)
      makeUp(MutableArrayRef(wanted).drop_front(end), errors, &shares[first * n + end], n);
  }
}
