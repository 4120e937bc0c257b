//===- MeanSquaredError.cpp - the range with the least expected error -----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// State: one histogram, or a coarser one for each channel.
//
//===----------------------------------------------------------------------===//

#include "ChannelRanges.h"
#include "HistogramState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "octet/Dialect/Octet/Magnitudes.h"
#include <algorithm>

using namespace mlir;
using namespace octet;

/// Of either end of the range seen, so many parts are tried.
static constexpr int64_t kParts = 128;
/// How often each end moves on its own.
static constexpr int kRounds = 4;
/// What the square of an error outside of the range counts: it has one direction and is that of the
/// largest values, while rounding errors cancel out where a later layer adds many.
static constexpr double kSaturation = 4;

static HistogramKind getKind(std::optional<int64_t> axis) {
  return axis ? HistogramKind{8} : kWholeHistogram;
}
static int64_t getNumHistograms(RankedTensorType observed, std::optional<int64_t> axis) {
  return axis ? getNumChannels(observed, *axis) : 1;
}

LogicalResult MeanSquaredErrorObserverAttr::verify(EmitError emitError, IntegerType dtype,
                                                   Scheme scheme, DenseI64ArrayAttr range,
                                                   FloatAttr eps, bool reduceRange,
                                                   std::optional<int64_t> axis) {
  if (axis && failed(verifyAxis(emitError, *axis)))
    return failure();
  return verifyTarget(emitError, dtype, scheme, range, eps, reduceRange);
}

ObserverSpec MeanSquaredErrorObserverAttr::getSpec() const {
  ObserverSpec spec = getTarget(*this).getSpec();
  spec.channelAxis = getAxis();
  return spec;
}

int64_t MeanSquaredErrorObserverAttr::getStateBytes(RankedTensorType observed) const {
  return getKind(getAxis()).getBytes() * getNumHistograms(observed, getAxis());
}

/// The state of one channel.
template <typename Bytes> static Bytes slice(Bytes state, HistogramKind kind, int64_t channel) {
  return state.slice(channel * kind.getBytes(), kind.getBytes());
}

void MeanSquaredErrorObserverAttr::initState(RankedTensorType observed,
                                             MutableArrayRef<char> state) const {
  for (int64_t channel = 0; channel < getNumHistograms(observed, getAxis()); ++channel)
    getKind(getAxis()).init(slice(state, getKind(getAxis()), channel));
}

void MeanSquaredErrorObserverAttr::updateState(RankedTensorType observed, ArrayRef<float> data,
                                               MutableArrayRef<char> state) const {
  int64_t numHistograms = getNumHistograms(observed, getAxis()), inner = 1;
  for (int64_t dim = getAxis().value_or(0) + 1; dim < observed.getRank(); ++dim)
    inner *= observed.getDimSize(dim);
  std::vector<std::vector<float>> channels(numHistograms);
  for (size_t i = 0; i < data.size(); ++i)
    channels[i / inner % numHistograms].push_back(data[i]);
  for (auto [channel, values] : llvm::enumerate(channels))
    getKind(getAxis()).update(values, slice(state, getKind(getAxis()), channel));
}

LogicalResult MeanSquaredErrorObserverAttr::mergeState(RankedTensorType observed,
                                                       MutableArrayRef<char> state,
                                                       ArrayRef<char> other) const {
  HistogramKind kind = getKind(getAxis());
  for (int64_t channel = 0; channel < getNumHistograms(observed, getAxis()); ++channel)
    kind.merge(slice(state, kind, channel), slice(other, kind, channel));
  return success();
}

void MeanSquaredErrorObserverAttr::emitUpdate(OpBuilder &builder, Location loc,
                                              RankedTensorType observed, Value data,
                                              Value state) const {
  Value zero = emitIndex(builder, loc, 0);
  HistogramKind kind = getKind(getAxis());
  if (!getAxis())
    return kind.emitUpdate(builder, loc, flatten(builder, loc, data), zero, state, zero);
  if (*getAxis() >= observed.getRank())
    return;
  FlatTensor tensor = flatten(builder, loc, data, *getAxis());
  emitLoops(builder, loc, StridedDim{tensor.channel->size, 1}, zero, {},
            [&](OpBuilder &b, Location loc, Value channel, ValueRange) -> SmallVector<Value> {
              auto times = [&](int64_t factor) -> Value {
                return arith::MulIOp::create(b, loc, channel, emitIndex(b, loc, factor));
              };
              kind.emitUpdate(b, loc, tensor, times(tensor.channel->stride), state,
                              times(kind.getBytes()));
              return {};
            });
}

/// Integral of the squared distance from `bound` over [low, high], of values of density 1.
static double getSquares(double low, double high, double bound) {
  double u = low - bound, v = high - bound;
  return (v * v * v - u * u * u) / 3;
}

namespace {
/// A bin that holds values, with what does not depend on the range that is tried.
struct Bin {
  double low, high;
  double density; ///< or the number of values where all have one value
  double number;

  Bin(double low, double high, int64_t count)
      : low(low), high(high), density(count), number(count) {
    if (isOneValue())
      return;
    density = count / (high - low);
    number = density * (high - low);
  }
  bool isOneValue() const { return low >= high; }
};
} // namespace

static std::vector<Bin> listBins(const Histogram &histogram) {
  std::vector<Bin> bins;
  histogram.forEachBin(
      [&](double low, double high, int64_t count) { bins.emplace_back(low, high, count); });
  return bins;
}

/// The expected squared error of the counted values: a step's twelfth inside of what the integers
/// stand for, more than the squared distance from it outside. Once it is `enough`, it only grows.
static double getError(ArrayRef<Bin> bins, const QuantTarget &target, ScaleAndZeroPoint params,
                       double enough) {
  double least = (double)(target.quantMin - params.zeroPoint) * params.scale,
         most = (double)(target.quantMax - params.zeroPoint) * params.scale,
         rounding = (double)params.scale * params.scale / 12, error = 0;
  auto addOuter = [&](const Bin &bin) {
    auto [low, high, density, number] = bin;
    if (bin.isOneValue()) {
      double distance = std::max({least - low, low - most, 0.0});
      error += number * (distance > 0 ? kSaturation * distance * distance : rounding);
      return;
    }
    double first = std::clamp(least, low, high), last = std::clamp(most, low, high);
    error += density * (last - first) * rounding;
    double outside = getSquares(low, first, least) + getSquares(last, high, most);
    error += density * kSaturation * outside;
  };
  // Most bins lie inside, where this sum is all that is left of the above, to the last bit.
  const Bin *inner = llvm::partition_point(bins, [&](const Bin &bin) { return bin.low < least; });
  const Bin *outer =
      std::partition_point(inner, bins.end(), [&](const Bin &bin) { return bin.high <= most; });
  for (const Bin *bin = bins.begin(); bin != inner && error < enough; ++bin)
    addOuter(*bin);
  for (const Bin &bin : llvm::make_range(inner, outer))
    error += bin.number * rounding;
  for (const Bin *bin = outer; bin != bins.end() && error < enough; ++bin)
    addOuter(*bin);
  return error;
}

namespace {
/// [N.stat.squared_error] The search for the best parts of the ends of the range.
struct Search {
  const Histogram &histogram;
  const QuantTarget &target;
  std::vector<Bin> bins = listBins(histogram);
  int64_t low = kParts, high = kParts;
  double least = std::numeric_limits<double>::infinity();

  static float getPart(float end, int64_t part) { return (float)((double)end * part / kParts); }
  ValueRange32 getRange(int64_t low, int64_t high) const {
    ValueRange32 whole = histogram.header.range;
    return {getPart(whole.min, low), getPart(whole.max, high)};
  }

  /// Tries all parts of the ends that move, from the whole on; whether one is better.
  bool run(bool movesLow, bool movesHigh) {
    bool isBetter = false;
    int64_t keptLow = low, keptHigh = high;
    for (int64_t part = kParts; part >= 1; --part) {
      int64_t nextLow = movesLow ? part : keptLow, nextHigh = movesHigh ? part : keptHigh;
      double error = getError(bins, target, target.compute(getRange(nextLow, nextHigh)), least);
      if (!(error < least))
        continue;
      least = error;
      low = nextLow;
      high = nextHigh;
      isBetter = true;
    }
    return isBetter;
  }
};
} // namespace

static ValueRange32 searchParts(const Histogram &histogram, const QuantTarget &target) {
  if (histogram.header.range.isEmpty())
    return histogram.header.range;
  Search search{histogram, target};
  search.run(true, true);
  bool isBetter = true;
  for (int round = 0; isBetter && round < kRounds; ++round) {
    isBetter = search.run(false, true);
    isBetter |= search.run(true, false);
  }
  return search.getRange(search.low, search.high);
}

/// Refuses what a smaller range would hide: values, or a range, beyond the largest f32.
static LogicalResult checkFinite(EmitError emitError, const QuantTarget &target,
                                 const Histogram &histogram) {
  if (histogram.infinities)
    return emitError() << "expected finite values, but the observer has seen "
                       << histogram.infinities << " infinite ones";
  return success(succeeded(getQuantizedTypeOfRange(emitError, target, histogram.header.range)));
}

FailureOr<quant::QuantizedType>
MeanSquaredErrorObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType observed,
                                               ArrayRef<char> state) const {
  if (getAxis() && failed(checkAxis(emitError, observed, *getAxis())))
    return failure();
  HistogramKind kind = getKind(getAxis());
  QuantTarget target = getTarget(*this);
  SmallVector<ValueRange32> ranges;
  for (int64_t channel = 0; channel < getNumHistograms(observed, getAxis()); ++channel) {
    FailureOr<Histogram> histogram = kind.read(emitError, slice(state, kind, channel));
    if (failed(histogram) || failed(checkFinite(emitError, target, *histogram)))
      return failure();
    ranges.push_back(searchParts(*histogram, target));
  }
  return getAxis() ? getQuantizedTypeOfRanges(emitError, target, ranges, *getAxis())
                   : getQuantizedTypeOfRange(emitError, target, ranges.front());
}

/// Fails for statistics per channel, and for those that cannot be read.
static FailureOr<Histogram> getHistogram(MeanSquaredErrorObserverAttr observer,
                                         ArrayRef<char> state) {
  auto ignore = [] { return InFlightDiagnostic(); };
  if (observer.getAxis())
    return failure();
  return kWholeHistogram.read(ignore, state);
}

float octet::getTypicalPeak(MeanSquaredErrorObserverAttr observer, ArrayRef<char> state) {
  FailureOr<Histogram> histogram = getHistogram(observer, state);
  return succeeded(histogram) ? getTypicalMagnitude(histogram->peaks) : 0;
}

double octet::getMeanSquare(MeanSquaredErrorObserverAttr observer, ArrayRef<char> state) {
  FailureOr<Histogram> histogram = getHistogram(observer, state);
  if (failed(histogram) || histogram->getTotal() == 0)
    return 0;
  double sum = 0;
  histogram->forEachBin([&](double low, double high, int64_t count) {
    double middle = (low + high) / 2;
    sum += (double)count * middle * middle;
  });
  return sum / (double)histogram->getTotal();
}
