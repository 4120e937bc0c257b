//===- HistogramSearch.cpp - least squared error over a histogram ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HistogramSearch.h"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace octet;

/// Spreads the counts over `bins` equal bins of [min, max]: each anchored bin goes evenly to those
/// that it overlaps.
static std::vector<double> spread(const Histogram &histogram, int64_t bins) {
  std::vector<double> result(bins, 0.0);
  double min = histogram.header.range.min, max = histogram.header.range.max;
  double width = histogram.getBinWidth(), perBin = bins / (max - min);
  auto add = [&](double low, double high, int64_t count) {
    low = std::clamp((std::max(low, min) - min) * perBin, 0.0, (double)bins);
    high = std::clamp((std::min(high, max) - min) * perBin, 0.0, (double)bins);
    int64_t first = std::min<int64_t>(low, bins - 1), last = std::min<int64_t>(high, bins - 1);
    if (first == last || high <= low) {
      result[first] += count;
      return;
    }
    double density = count / (high - low);
    result[first] += density * (first + 1 - low);
    for (int64_t bin = first + 1; bin < last; ++bin)
      result[bin] += density;
    result[last] += density * (high - last);
  };
  for (int64_t bin = 0; bin < histogram.getNumBins(); ++bin) {
    if (int64_t count = histogram.positive[bin])
      add(bin * width, (bin + 1) * width, count);
    if (int64_t count = histogram.negative[bin])
      add(-(bin + 1) * width, -bin * width, count);
  }
  return result;
}

/// Integral of density * x^2 from u to v.
static double getNorm(double density, double u, double v) {
  return density * (v * v * v - u * u * u) / 3;
}

/// The squared error of quantizing the values to 256 steps over the bins [start, end]; outside
/// values saturate.
static double getError(const std::vector<double> &counts, double binWidth, int64_t start,
                       int64_t end) {
  constexpr int64_t kSteps = 256;
  double stepWidth = binWidth * (end - start + 1) / kSteps;
  if (stepWidth == 0)
    return 0;
  double error = 0;
  for (int64_t bin = 0, numBins = counts.size(); bin < numBins; ++bin) {
    double low = (bin - start) * binWidth, high = low + binWidth;
    double first = std::clamp<double>(std::floor(low / stepWidth), 0, kSteps - 1);
    double last = std::clamp<double>(std::floor(high / stepWidth), 0, kSteps - 1);
    double density = counts[bin] / binWidth;
    error += getNorm(density, low - (first + 0.5) * stepWidth, stepWidth / 2);
    error += (last - first - 1) * getNorm(density, -stepWidth / 2, stepWidth / 2);
    error += getNorm(density, -stepWidth / 2, high - (last * stepWidth + stepWidth / 2));
  }
  return error;
}

ValueRange32 octet::searchRange(const Histogram &histogram, int64_t bins) {
  float min = histogram.header.range.min, max = histogram.header.range.max;
  if (min == max)
    return histogram.header.range;
  std::vector<double> counts = spread(histogram, bins), cumulative(bins);
  double total = 0;
  for (int64_t bin = 0; bin < bins; ++bin)
    cumulative[bin] = total += counts[bin];
  double binWidth = ((double)max - min) / bins, alpha = 0, beta = 1,
         best = std::numeric_limits<double>::infinity();
  int64_t start = 0, end = bins - 1;
  while (alpha < beta) {
    double nextAlpha = alpha + 1e-5, nextBeta = beta - 1e-5;
    int64_t left = start, right = end;
    while (left < end && cumulative[left] < nextAlpha * total)
      ++left;
    while (right > start && cumulative[right] > nextBeta * total)
      --right;
    int64_t nextStart = start, nextEnd = end;
    if (left - start > end - right) {
      nextStart = left;
      alpha = nextAlpha;
    } else {
      nextEnd = right;
      beta = nextBeta;
    }
    if (nextStart == start && nextEnd == end)
      continue;
    double error = getError(counts, binWidth, nextStart, nextEnd);
    if (error > best)
      break;
    best = error;
    start = nextStart;
    end = nextEnd;
  }
  // The ends of an untouched range are exact.
  return {start == 0 ? min : (float)(min + binWidth * start),
          end == bins - 1 ? max : (float)(min + binWidth * (end + 1))};
}
