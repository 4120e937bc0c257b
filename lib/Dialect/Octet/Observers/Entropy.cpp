//===- Entropy.cpp - the range with the least loss of information ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HistogramState.h"
#include <cmath>

using namespace mlir;
using namespace octet;

/// Magnitudes that the search quantizes to: half of 256 values.
static constexpr int64_t kLevels = 128;
/// Neighbouring bins that the search counts as one: few values in many bins look like information.
static constexpr int64_t kBinsPerBin = 4;
/// Distance of the thresholds tried, in these bins.
static constexpr int64_t kStep = 4;

LogicalResult EntropyObserverAttr::verify(EmitError emitError, IntegerType dtype, Scheme scheme,
                                          DenseI64ArrayAttr range, FloatAttr eps,
                                          bool reduceRange) {
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange);
}

ObserverSpec EntropyObserverAttr::getSpec() const { return getTarget(*this).getSpec(); }

/// The natural logarithm of x > 0, the same on every host: 2 artanh((m - 1) / (m + 1)) + n log 2.
static double getLog(double x) {
  int exponent;
  double m = std::frexp(x, &exponent);
  if (m < 0.70710678118654752) {
    m *= 2;
    --exponent;
  }
  double t = (m - 1) / (m + 1), square = t * t, sum = 0;
  for (int k = 23; k >= 1; k -= 2)
    sum = sum * square + 1.0 / k;
  return 2 * t * sum + exponent * 0.69314718055994531;
}

namespace {
/// The divergence of one sign's bins below a threshold, as far as they do not depend on the totals.
struct Divergence {
  double sum = 0;       ///< of p log(p / q), in counts
  double total = 0;     ///< of p: all values of this sign
  double quantized = 0; ///< of q: the values below the threshold
  bool isFinite = true;

  /// `counts`: the bins of one sign. Those above the threshold go to the last bin below it in p,
  /// and nowhere in q, whose bins of one level share their values evenly, empty ones left out.
  void add(ArrayRef<int64_t> counts, int64_t threshold) {
    double outside = 0;
    for (int64_t count : counts.drop_front(threshold))
      outside += count;
    for (int64_t level = 0; level < kLevels; ++level) {
      int64_t first = level * threshold / kLevels, end = (level + 1) * threshold / kLevels;
      double inside = 0;
      int64_t numFilled = 0;
      for (int64_t count : counts.slice(first, end - first)) {
        inside += count;
        numFilled += count != 0;
      }
      quantized += inside;
      for (int64_t bin = first; bin < end; ++bin) {
        double p = counts[bin] + (bin + 1 == threshold ? outside : 0);
        if (p == 0)
          continue;
        total += p;
        if (counts[bin] == 0)
          isFinite = false; // q is 0 where p is not
        else
          sum += p * getLog(p * numFilled / inside);
      }
    }
  }
};
} // namespace

/// The counts of one sign in wider bins. Zeros, which many activations have and every scale holds
/// exactly, say nothing about the threshold: the bin at zero has the count of its neighbour.
static SmallVector<int64_t, 0> getCounts(ArrayRef<int64_t> counts) {
  SmallVector<int64_t, 0> wide(counts.size() / kBinsPerBin, 0);
  for (auto [bin, count] : llvm::enumerate(counts))
    wide[bin / kBinsPerBin] += count;
  wide[0] = wide[1];
  return wide;
}

/// [N.stat.entropy] The range within the threshold of the least divergence.
static ValueRange32 searchThreshold(const Histogram &histogram) {
  SmallVector<int64_t, 0> positive = getCounts(histogram.positive),
                          negative = getCounts(histogram.negative);
  int64_t numUsed = kLevels;
  for (int64_t bin = 0, numBins = positive.size(); bin < numBins; ++bin)
    if (positive[bin] || negative[bin])
      numUsed = std::max(numUsed, bin + 1);
  int64_t best = numUsed;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t threshold = numUsed; threshold >= kLevels; threshold -= kStep) {
    Divergence divergence;
    divergence.add(positive, threshold);
    divergence.add(negative, threshold);
    if (!divergence.isFinite)
      continue;
    double value =
        divergence.sum / divergence.total + getLog(divergence.quantized / divergence.total);
    if (value < least) {
      least = value;
      best = threshold;
    }
  }
  ValueRange32 range = histogram.header.range;
  double bound = best * kBinsPerBin * histogram.getBinWidth();
  return {std::max(range.min, (float)-bound), std::min(range.max, (float)bound)};
}

int64_t EntropyObserverAttr::getStateBytes(RankedTensorType) const {
  return kWholeHistogram.getBytes();
}

void EntropyObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  kWholeHistogram.init(state);
}

void EntropyObserverAttr::updateState(RankedTensorType, ArrayRef<float> data,
                                      MutableArrayRef<char> state) const {
  kWholeHistogram.update(data, state);
}

LogicalResult EntropyObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char> state,
                                              ArrayRef<char> other) const {
  kWholeHistogram.merge(state, other);
  return success();
}

void EntropyObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType, Value data,
                                     Value state) const {
  Value zero = emitIndex(builder, loc, 0);
  kWholeHistogram.emitUpdate(builder, loc, flatten(builder, loc, data), zero, state, zero);
}

FailureOr<quant::QuantizedType> EntropyObserverAttr::getQuantizedType(EmitError emitError,
                                                                      RankedTensorType,
                                                                      ArrayRef<char> state) const {
  FailureOr<Histogram> histogram = kWholeHistogram.read(emitError, state);
  if (failed(histogram))
    return failure();
  ValueRange32 range = histogram->header.range;
  return getQuantizedTypeOfRange(emitError, getTarget(*this),
                                 range.isEmpty() ? range : searchThreshold(*histogram));
}
