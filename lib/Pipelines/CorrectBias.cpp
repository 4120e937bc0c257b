//===- CorrectBias.cpp - mean errors of quantization go into the biases ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.bias_correction] The results of every weighted operator are summed per channel, exactly, in
// the float network and in the reference model, where the error of a layer is corrected before any
// sample goes on to the next. A later product averages what single values miss, so that it gains
// from a mean of zero; but the mean of few samples is uncertain, the more so where a channel has
// few elements, and only what is certain of it is corrected. An output is read value by value,
// behind its activation, and its mean error may be that of a few large ones or of some that the
// activation hides: there a channel is corrected only if its values come closer to the float
// network's, on samples that the mean does not know.
//
//===----------------------------------------------------------------------===//

#include "Scaling.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Quantize/States.h"
#include "octet/Support/Diagnostics.h"
#include <algorithm>
#include <chrono>
#include <cmath>

namespace octet {
#define GEN_PASS_DEF_CORRECTBIASPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {
/// What follows a layer and computes with the elements of its result one by one.
class Activation {
public:
  explicit Activation(const Layer &layer);
  double operator()(double element) const;
  /// The bounds of a clamp, if it begins with one; else null.
  DenseF32ArrayAttr getClamp() const;

private:
  SmallVector<Operation *> ops;
};

/// The errors of a layer, float minus reference: sums of channels, clamped or not.
class SampleErrors {
public:
  /// `sums`: of `tap`, the layer's one of sums, with the samples apart.
  SampleErrors(const Layer &layer, const Tap &tap, const Measured &sums);

  /// What is added to the bias of each channel: the certain part of its mean error.
  SmallVector<float, 0> getCorrections() const;

  /// The same for a layer whose results leave the network: 0 where that does not help. `values`: of
  /// the layer's tap of values.
  SmallVector<float, 0> getJudgedCorrections(const Measured &values) const;

  /// One kept value, in both networks.
  struct Value {
    double floating, reference;
    size_t sample;
  };

private:
  double getMean(size_t channel, std::optional<size_t> without = std::nullopt) const;
  double getVariance(size_t channel) const;
  double getCertainty() const;
  SmallVector<Value> getValues(size_t channel, const Measured &measured) const;
  bool isBetter(size_t channel, ArrayRef<Value> values) const;

  Activation activation;
  size_t numSamples, numChannels;
  size_t numKept;                           ///< values of a channel in one sample
  double count;                             ///< elements of a channel in one sample
  std::vector<SmallVector<double, 0>> sums; ///< by sample and channel
  /// By channel: the part of its elements that a clamp behind it lets through.
  SmallVector<double, 0> shares;
};
} // namespace

Activation::Activation(const Layer &layer) {
  Operation *op = layer.op;
  while (op->getNumResults() == 1 && op->getResult(0).hasOneUse()) {
    op = *op->getResult(0).user_begin();
    if (isa<YieldOp>(op))
      op = op->getParentOp();
    else if (computeElement(op, 1.0f))
      ops.push_back(op);
    else if (!op->hasTrait<nn::DataMovement>() && !isa<ObserveOp>(op))
      break;
  }
}

double Activation::operator()(double element) const {
  for (Operation *op : ops)
    element = *computeElement(op, (float)element);
  return element;
}

DenseF32ArrayAttr Activation::getClamp() const {
  auto clamp = ops.empty() ? std::nullopt : nn::getClamp(ops.front());
  return clamp ? DenseF32ArrayAttr::get(ops.front()->getContext(), {clamp->first, clamp->second})
               : DenseF32ArrayAttr();
}

template <typename T> static ArrayRef<T> getArray(const TapStatistics &statistics) {
  return {reinterpret_cast<const T *>(statistics.data()), statistics.size() / sizeof(T)};
}

/// How many elements of each channel lie between the bounds of a clamp, in all samples.
static SmallVector<double, 0> countBetween(ArrayRef<TapStatistics> samples, size_t numChannels) {
  SmallVector<double, 0> counts(numChannels, 0.0);
  for (const TapStatistics &sample : samples)
    for (auto [count, number] :
         llvm::zip_equal(counts, getArray<double>(sample).drop_front(numChannels)))
      count += number;
  return counts;
}

SampleErrors::SampleErrors(const Layer &layer, const Tap &tap, const Measured &measured)
    : activation(layer), numSamples(measured.numSamples) {
  auto observer = cast<ChannelSumObserverAttr>(tap.observer);
  auto type = cast<RankedTensorType>(layer.op->getResult(0).getType());
  numChannels = type.getDimSize(observer.getAxis());
  count = (double)(type.getNumElements() / (int64_t)numChannels);
  numKept = cast<ChannelValuesObserverAttr>(layer.getValuesTap().observer).getNumPerChannel(type);
  for (auto [floating, reference] :
       llvm::zip_equal(measured.floatingSamples, measured.referenceSamples)) {
    SmallVector<double, 0> &errors = sums.emplace_back();
    for (auto [a, b] :
         llvm::zip(getArray<double>(floating).take_front(numChannels), getArray<double>(reference)))
      errors.push_back(std::isfinite(a - b) ? a - b : 0);
  }
  shares.assign(numChannels, 1.0);
  if (!observer.getClamp())
    return;
  for (auto [share, a, b] :
       llvm::zip_equal(shares, countBetween(measured.floatingSamples, numChannels),
                       countBetween(measured.referenceSamples, numChannels)))
    share = std::max(a, b) / (count * (double)numSamples);
}

/// The mean error of a channel over all samples but one; a single sample is not left out.
double SampleErrors::getMean(size_t channel, std::optional<size_t> without) const {
  double sum = 0;
  int64_t numUsed = 0;
  for (size_t sample = 0; sample < numSamples; ++sample)
    if (sample != without || numSamples == 1) {
      sum += sums[sample][channel];
      ++numUsed;
    }
  return sum / (count * (double)numUsed);
}

/// A channel's typical magnitude in the float network.
static double getMedian(ArrayRef<SampleErrors::Value> values) {
  auto magnitudes =
      llvm::map_to_vector(values, [](auto &value) { return std::abs(value.floating); });
  auto middle = magnitudes.begin() + magnitudes.size() / 2;
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  return *middle;
}

/// [N.bias_correction] Each sample judges the mean of the others; a single one judges its own.
bool SampleErrors::isBetter(size_t channel, ArrayRef<Value> values) const {
  SmallVector<double, 0> means;
  for (size_t sample = 0; sample < numSamples; ++sample)
    means.push_back(getMean(channel, sample));
  double typical = std::max(getMedian(values), 0x1p-24);
  double before = 0, after = 0;
  for (Value value : values) {
    double weight = typical / (std::abs(value.floating) + typical),
           wanted = activation(value.floating);
    before += weight * std::abs(wanted - activation(value.reference));
    after += weight * std::abs(wanted - activation(value.reference + means[value.sample]));
  }
  return after < before;
}

/// That of the mean error of a channel, by how far samples differ; 0 of a single one.
double SampleErrors::getVariance(size_t channel) const {
  double mean = getMean(channel), sum = 0;
  for (const SmallVector<double, 0> &errors : sums) {
    double deviation = errors[channel] / count - mean;
    sum += deviation * deviation;
  }
  return numSamples == 1 ? 0 : sum / ((double)numSamples * (double)(numSamples - 1));
}

/// [N.bias_correction] The share of the squared mean errors that is not chance.
double SampleErrors::getCertainty() const {
  double squares = 0, variances = 0;
  for (size_t channel = 0; channel < numChannels; ++channel) {
    double mean = getMean(channel);
    squares += mean * mean;
    variances += getVariance(channel);
  }
  return variances < squares ? 1 - variances / squares : 0;
}

SmallVector<float, 0> SampleErrors::getCorrections() const {
  double certainty = getCertainty();
  SmallVector<float, 0> corrections;
  for (auto [channel, share] : llvm::enumerate(shares))
    corrections.push_back(share > 0 ? (float)(certainty * getMean(channel) / share) : 0);
  return corrections;
}

SmallVector<SampleErrors::Value> SampleErrors::getValues(size_t channel,
                                                         const Measured &measured) const {
  SmallVector<Value> values;
  for (size_t sample = 0; sample < numSamples; ++sample) {
    ArrayRef<float> floating = getArray<float>(measured.floatingSamples[sample]);
    ArrayRef<float> reference = getArray<float>(measured.referenceSamples[sample]);
    for (size_t i = channel * numKept; i < (channel + 1) * numKept; ++i)
      values.push_back({floating[i], reference[i], sample});
  }
  return values;
}

SmallVector<float, 0> SampleErrors::getJudgedCorrections(const Measured &measured) const {
  SmallVector<float, 0> corrections = getCorrections();
  for (size_t channel = 0; channel < numChannels; ++channel)
    if (!isBetter(channel, getValues(channel, measured)))
      corrections[channel] = 0;
  return corrections;
}

namespace {
/// See Passes.td.
struct CorrectBias : octet::impl::CorrectBiasPassBase<CorrectBias> {
  using CorrectBiasPassBase::CorrectBiasPassBase;

  void runOnOperation() override {
    const MeasureContext &context = getAnalysis<MeasureContext>();
    auto layers = findLayers(getOperation(), getAnalysis<PolicyAnalysis>().getBackend());
    if (failed(layers))
      return signalPassFailure();
    if (context.isCalibratedElsewhere)
      return;
    if (context.files.empty()) {
      getOperation().emitWarning("the biases are not corrected: octet-correct-bias needs samples, "
                                 "not only statistics of them")
          << Remedy("give some with --calibration-data, too");
      return;
    }
    if (judged) { // a mean over all steps is wrong for most, and a state adds up what it is given
      auto main = getOperation().lookupSymbol<func::FuncOp>("main");
      auto sources = findStateSources(main.getBody().front());
      sources.insert_range(findRecurrentUnits(
          llvm::map_to_vector(*layers, [](const Layer &layer) { return &layer.unit; })));
      llvm::erase_if(*layers, [&](const Layer &layer) { return sources.contains(layer.unit.op); });
    }
    llvm::Expected<int64_t> corrected = correct(*layers, context);
    if (!corrected) {
      emitError(UnknownLoc::get(&getContext())) << Cause(corrected.takeError());
      return signalPassFailure();
    }
    numCorrected += *corrected;
    if (context.progress.onFigure)
      context.progress.onFigure("corrected_biases", *corrected);
  }

  /// A layer's taps: one of sums, and where it is judged one of values behind it.
  SmallVector<Tap> getTaps(const Layer &layer) {
    bool isLeaving = layer.isLeaving();
    Tap sums = layer.getSumTap(judged && !isLeaving ? Activation(layer).getClamp() : nullptr);
    sums.keepsSamples = judged;
    if (!judged || !isLeaving)
      return {sums};
    sums.offsetAxis.reset();
    return {sums, layer.getValuesTap()};
  }

  /// Returns how many layers got another bias.
  llvm::Expected<int64_t> correct(ArrayRef<Layer> layers, const MeasureContext &context) {
    SmallVector<Tap> taps;
    SmallVector<const Layer *> layerOfTap;
    for (const Layer &layer : layers) {
      llvm::append_range(taps, getTaps(layer));
      layerOfTap.resize(taps.size(), &layer);
    }
    auto start = std::chrono::steady_clock::now();
    std::optional<SampleErrors> errors;
    SmallVector<SmallVector<float, 0>, 0> corrections;
    auto use = [&](const Measured &measured) {
      const Tap &tap = taps[measured.tap];
      bool isOfSums = isa<ChannelSumObserverAttr>(tap.observer);
      if (isOfSums && tap.keepsSamples)
        errors.emplace(*layerOfTap[measured.tap], tap, measured);
      if (!tap.offsetAxis)
        return;
      corrections.push_back(!tap.keepsSamples ? getMeanErrors(tap, measured)
                            : isOfSums        ? errors->getCorrections()
                                              : errors->getJudgedCorrections(measured));
      llvm::copy(corrections.back(), measured.offset.begin());
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      if (context.progress.onWork)
        context.progress.onWork({"correct", "layers", (int64_t)corrections.size(),
                                 (int64_t)layers.size(), seconds.count()});
    };
    if (llvm::Error error = measureBoth(getOperation(), taps, context, use))
      return std::move(error);
    int64_t corrected = 0;
    for (auto [layer, correction] : llvm::zip_equal(layers, corrections)) {
      numKept += llvm::count(correction, 0.0f);
      if (judged && layer.isLeaving() && llvm::all_of(correction, [](float x) { return x == 0; }))
        continue;
      addToBias(layer, correction, "corrected");
      ++corrected;
    }
    return corrected;
  }
};
} // namespace
