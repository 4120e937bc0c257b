//===- Splits.cpp - which columns are split, and where --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Splits.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace octet;

std::optional<Ends> octet::getWholeRange(ColumnRanges columns) {
  float min = 0, max = 0;
  for (auto [low, high] : columns) {
    if (!std::isfinite(low) || !std::isfinite(high))
      return std::nullopt;
    min = std::min(min, low);
    max = std::max(max, high);
  }
  return Ends(min, max);
}

SmallVector<Ends, 0> octet::joinRanges(ArrayRef<ColumnRanges> values, ArrayRef<float> wholes) {
  SmallVector<Ends, 0> joined(values.front().size(), Ends(0, 0));
  for (auto [columns, whole] : llvm::zip_equal(values, wholes))
    for (auto [own, range] : llvm::zip_equal(columns, joined)) {
      range.first = std::min(range.first, own.first / whole);
      range.second = std::max(range.second, own.second / whole);
    }
  return joined;
}

/// How many parts of size `step` are behind the first one.
static double countParts(double reach, double step) {
  return reach > step ? std::ceil(reach / step) - 1 : 0;
}

/// The smallest step for which all reaches, the largest first, need at most `budget` further parts.
static float findStep(ArrayRef<float> reaches, int64_t budget) {
  auto fits = [&](double step) {
    double count = 0;
    for (float reach : reaches) {
      double parts = countParts(reach, step);
      count += parts;
      if (parts == 0 || count > (double)budget)
        break;
    }
    return count <= (double)budget;
  };
  double low = 0, high = reaches.front();
  for (int i = 0; i < 40 && high > 0; ++i) {
    double middle = (low + high) / 2;
    (fits(middle) ? high : low) = middle;
  }
  // The largest part of a reach that is cut as often as that.
  float step = 0;
  for (float reach : reaches)
    step = std::max(step, (float)(reach / (1 + countParts(reach, high))));
  return fits(step) ? step : std::nextafter(step, INFINITY);
}

/// The parts of all columns beyond the step, of the size `own` each.
static void addParts(SmallVectorImpl<Part> &parts, ArrayRef<float> reaches, float step, float own,
                     bool isAbove) {
  for (auto [column, reach] : llvm::enumerate(reaches))
    for (int64_t i = 1, n = (int64_t)countParts(reach, step); i <= n; ++i)
      parts.push_back(isAbove ? Part{(int64_t)column, (float)i * own, 0, own}
                              : Part{(int64_t)column, -((float)i * own), -own, 0});
}

/// How far columns reach to one side.
static SmallVector<float, 0> getReaches(ColumnRanges columns, bool isAbove) {
  return llvm::map_to_vector<0>(
      columns, [&](auto range) { return std::max(isAbove ? range.second : -range.first, 0.0f); });
}

Ends octet::chooseRange(ColumnRanges columns, int64_t budget) {
  SmallVector<float, 0> above = getReaches(columns, true), below = getReaches(columns, false);
  for (SmallVector<float, 0> *reaches : {&above, &below})
    llvm::sort(*reaches, std::greater<float>());
  float high = 0, low = 0, least = INFINITY;
  for (int64_t i = 0; i <= budget; ++i) {
    float up = findStep(above, i), down = findStep(below, budget - i);
    if (up + down < least)
      std::tie(high, low, least) = std::tuple(up, down, up + down);
  }
  return {-low, high};
}

Ends octet::alignRange(Ends range, quant::UniformQuantizedType type) {
  auto above = (float)(type.getStorageTypeMax() - type.getZeroPoint()),
       below = (float)(type.getZeroPoint() - type.getStorageTypeMin());
  float scale =
      std::max(above > 0 ? range.second / above : 0, below > 0 ? -range.first / below : 0);
  return {-(scale * below), scale * above};
}

Split octet::makeSplit(ColumnRanges columns, Ends range, Ends own) {
  Split split{own.first, own.second, {}};
  addParts(split.parts, getReaches(columns, true), range.second, own.second,
           /*isAbove=*/true);
  addParts(split.parts, getReaches(columns, false), -range.first, -own.first,
           /*isAbove=*/false);
  // Kernels read columns in fours; further ones are always zero.
  constexpr int64_t kFour = 4;
  if (!split.parts.empty() && columns.size() % kFour == 0)
    split.parts.resize(llvm::alignTo(split.parts.size(), kFour), Part{0, 0, 0, 0});
  return split;
}
