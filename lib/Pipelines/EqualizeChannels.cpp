//===- EqualizeChannels.cpp - channels of unequal ranges share a scale ----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.equalize_channels] Behind the calibration: its statistics are those of the network as it was,
// and can be saved, merged and loaded. The factors stand behind the operator that computes the
// value, which scales its results by constants anyway.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace octet {
#define GEN_PASS_DEF_EQUALIZECHANNELSPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {
/// A layer whose input and weights nothing else reads, and whose input's scale is that of no other
/// value.
struct Candidate {
  Layer layer;
  mutable nn::ProductOpInterface product;
  mutable ObserveOp input;
  mutable ObserverOp observer;
  double scale; ///< of the input as it was calibrated
};
struct Ranges {
  SmallVector<double, 0> low, high;
  double getWidth(size_t c) const { return high[c] - low[c]; }
};
} // namespace

/// What `op` scales or shifts by a constant, if nothing else reads it; else null.
static Value getScaled(Operation *op) {
  if (!isa<nn::AddOp, nn::SubOp, nn::MulOp, nn::DivOp>(op))
    return {};
  for (auto [value, other] : {std::pair(0, 1), std::pair(1, 0)})
    if (op->getOperand(other).getDefiningOp<nn::ConstantOp>() && op->getOperand(value).hasOneUse())
      return op->getOperand(value);
  return {};
}

/// Whether constants for each channel behind `op` cost nothing: it computes its result element by
/// element, or is a product, and writes it in integers.
static bool takesFactors(Operation *op) {
  while (Value scaled = op ? getScaled(op) : Value())
    op = scaled.getDefiningOp();
  DecisionAttr decision = op ? getDecision(op) : DecisionAttr();
  if (!decision || decision.getVerdict() == Verdict::Float)
    return false;
  WalkResult result = op->walk([](Operation *inner) {
    bool isProduct = isa<nn::ProductOpInterface>(inner);
    return isProduct || inner->hasTrait<nn::Elementwise>() || isa<GroupOp, YieldOp>(inner)
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

/// The observer of the extremes with the type and range of one of a whole value; else null.
static MinMaxObserverAttr getPlain(ObserverAttrInterface observer) {
  return llvm::TypeSwitch<Attribute, MinMaxObserverAttr>(observer)
      .Case<MinMaxObserverAttr>([](auto attr) { return attr; })
      .Case<MeanSquaredErrorObserverAttr>([](auto attr) {
        return attr.getAxis()
                   ? MinMaxObserverAttr()
                   : MinMaxObserverAttr::get(attr.getContext(), attr.getDtype(), attr.getScheme(),
                                             attr.getRange(), attr.getEps(), attr.getReduceRange());
      })
      .Default([](Attribute) { return MinMaxObserverAttr(); });
}

/// The scale of a value that an observer has seen so; 0 if there is none.
static double getScale(ObserverAttrInterface observer, RankedTensorType observed,
                       ArrayRef<char> state) {
  auto uniform =
      dyn_cast_or_null<quant::UniformQuantizedType>(getTypeByStatistics(observer, observed, state));
  return uniform ? uniform.getScale() : 0;
}

static std::optional<Candidate> getCandidate(const Layer &layer, const SymbolUserMap &users) {
  auto product = dyn_cast<nn::ProductOpInterface>(layer.op);
  OpOperand *operand = layer.unit.getWeightedActivation();
  auto observe = operand ? operand->get().getDefiningOp<ObserveOp>() : ObserveOp();
  if (!product || !observe || !isa<nn::ConvOp>(layer.op) || !observe.getResult().hasOneUse() ||
      !observe.getInput().hasOneUse() || !observe.getInput().getDefiningOp() ||
      !takesFactors(observe.getInput().getDefiningOp()) ||
      !layer.unit.getOperand<WeightOp>()->get().hasOneUse())
    return std::nullopt;
  auto observer =
      SymbolTable::lookupNearestSymbolFrom<ObserverOp>(observe, observe.getObserverAttr());
  if (!observer.getStatisticsAttr() || !getPlain(observer.getObserver()) ||
      users.getUsers(observer).size() != 1)
    return std::nullopt;
  double scale = getScale(observer.getObserver(), observe.getObservedType(), observer.getState());
  if (scale == 0)
    return std::nullopt;
  return Candidate{layer, product, observe, observer, scale};
}

namespace {
/// The weights of a layer without groups: of each output channel, of each input channel.
struct Weights {
  SmallVector<float, 0> values;
  int64_t numOutputs, numInputs, size; ///< `size`: of the kernel

  static std::optional<Weights> get(const Candidate &candidate) {
    auto observe = candidate.layer.unit.getOperand<WeightOp>()->get().getDefiningOp<ObserveOp>();
    auto values = nn::getConstantValues<float>(observe.getInput());
    if (failed(values))
      return std::nullopt;
    ArrayRef<int64_t> shape = cast<RankedTensorType>(observe.getInput().getType()).getShape();
    auto input = cast<RankedTensorType>(candidate.input.getInput().getType());
    if (input.getDimSize(candidate.product.getInputChannelAxis()) != shape[1])
      return std::nullopt; // groups
    int64_t size = (int64_t)values->size() / (shape[0] * shape[1]);
    return Weights{std::move(*values), shape[0], shape[1], size};
  }
  template <typename Function> void forEach(Function use) const {
    for (int64_t i = 0; i < (int64_t)values.size(); ++i)
      use(i, i / (numInputs * size), i / size % numInputs);
  }
};
} // namespace

/// [N.equalize_channels] The error of the layer's results that rounding its input and its weights
/// causes, with channels multiplied by `factors`.
static double estimateError(const Weights &weights, const Ranges &ranges, double scale,
                            ArrayRef<double> factors) {
  SmallVector<double, 0> largest(weights.numOutputs, 0);
  double squares = 0, inputs = 0, outputs = 0;
  weights.forEach([&](int64_t i, int64_t output, int64_t input) {
    double w = weights.values[i] / factors[input];
    squares += w * w;
    largest[output] = std::max(largest[output], std::abs(w));
  });
  for (int64_t c = 0; c < weights.numInputs; ++c)
    inputs += std::pow(ranges.getWidth(c) * factors[c], 2) / 12;
  for (double w : largest)
    outputs += std::pow(w / 127, 2);
  return scale * scale * squares + outputs * inputs * (double)weights.size;
}

/// [N.equalize_channels]
static SmallVector<double, 0> getFactors(const Weights &weights, const Ranges &ranges) {
  SmallVector<double, 0> largest(weights.numInputs, 0), factors;
  weights.forEach([&](int64_t i, int64_t, int64_t input) {
    largest[input] = std::max(largest[input], (double)std::abs(weights.values[i]));
  });
  for (auto [c, w] : llvm::enumerate(largest)) {
    double factor = std::sqrt(w / ranges.getWidth(c));
    factors.push_back(factor > 0 && std::isfinite(factor) ? (double)(float)factor : 1);
  }
  return factors;
}

/// The range over all channels, multiplied by their factors, and zero.
static std::pair<double, double> getRange(const Ranges &ranges, ArrayRef<double> factors) {
  double low = 0, high = 0;
  for (auto [c, factor] : llvm::enumerate(factors)) {
    low = std::min(low, ranges.low[c] * factor);
    high = std::max(high, ranges.high[c] * factor);
  }
  return {low, high};
}

/// The same as the statistics of #octet.min_max.
static SmallVector<char> getExtremes(const Ranges &ranges, ArrayRef<double> factors) {
  auto [low, high] = getRange(ranges, factors);
  std::array<float, 2> extremes{(float)low, (float)high};
  auto *bytes = reinterpret_cast<const char *>(extremes.data());
  return SmallVector<char>(bytes, bytes + sizeof(extremes));
}

/// The ranges of all samples, or of all but one.
static Ranges join(ArrayRef<Ranges> samples, std::optional<size_t> without = std::nullopt) {
  size_t count = samples.front().low.size();
  Ranges joined{SmallVector<double, 0>(count, INFINITY), SmallVector<double, 0>(count, -INFINITY)};
  for (size_t s = 0; s < samples.size(); ++s)
    for (size_t c = 0; s != without && c < count; ++c) {
      joined.low[c] = std::min(joined.low[c], samples[s].low[c]);
      joined.high[c] = std::max(joined.high[c], samples[s].high[c]);
    }
  return joined;
}

/// [N.equalize_channels] How much wider the range is with a sample than without, where the others
/// choose the factors; the mean of all samples. Infinite for a single one.
static double getExcess(const Weights &weights, ArrayRef<Ranges> samples) {
  if (samples.size() < 2)
    return INFINITY;
  double sum = 0;
  for (size_t left = 0; left < samples.size(); ++left) {
    Ranges others = join(samples, left);
    SmallVector<double, 0> factors = getFactors(weights, others);
    auto [low, high] = getRange(others, factors);
    auto [ownLow, ownHigh] = getRange(samples[left], factors);
    sum += high > low ? (std::max(high, ownHigh) - std::min(low, ownLow)) / (high - low) : 1;
  }
  return sum / (double)samples.size();
}

static Ranges readRanges(const TapStatistics &statistics) {
  ArrayRef<float> bounds(reinterpret_cast<const float *>(statistics.data()),
                         statistics.size() / sizeof(float));
  size_t count = bounds.size() / 2;
  return {SmallVector<double, 0>(bounds.take_front(count)),
          SmallVector<double, 0>(bounds.drop_front(count))};
}

/// Multiplies the input by the factors in front of its observer, which has the range of the result.
static void insertFactors(const Candidate &candidate, ArrayRef<double> factors,
                          ArrayRef<char> extremes) {
  ObserveOp observe = candidate.input;
  Value input = observe.getInput();
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[candidate.product.getInputChannelAxis()] = factors.size();
  OriginPropagation origins(getOrigin(candidate.layer.op));
  OpBuilder builder(input.getContext(), &origins);
  builder.setInsertionPoint(observe);
  Location loc = observe.getLoc();
  std::string name = (getSourceName(candidate.layer.op) + ".factors").str();
  Value constant = nn::createConstant<float>(builder, loc, name, type.clone(shape),
                                             SmallVector<float, 0>(factors.begin(), factors.end()));
  auto product = nn::MulOp::create(builder, loc, type, input, constant);
  auto reason =
      ReasonAttr::get(builder.getContext(), "OCT122",
                      "octet-equalize-channels put it there, in front of the quantize", "");
  product->setAttr(kDecisionAttr,
                   DecisionAttr::get(builder.getContext(), /*number=*/std::nullopt, Verdict::Float,
                                     SymbolRefAttr(), reason, /*note=*/ReasonAttr(),
                                     /*refused=*/false));
  observe.getInputMutable().assign(product);
  candidate.observer.setObserverAttr(getPlain(candidate.observer.getObserver()));
  candidate.observer.setState(extremes);
}

static void divideWeights(const Candidate &candidate, Weights &weights, ArrayRef<double> factors) {
  auto observe = candidate.layer.unit.getOperand<WeightOp>()->get().getDefiningOp<ObserveOp>();
  auto constant = observe.getInput().getDefiningOp<nn::ConstantOp>();
  weights.forEach([&](int64_t i, int64_t, int64_t input) {
    weights.values[i] = (float)(weights.values[i] / factors[input]);
  });
  OpBuilder builder(constant);
  observe.getInputMutable().assign(nn::createConstant<float>(
      builder, constant.getLoc(), (nn::getConstantName(constant) + ".equalized").str(),
      cast<RankedTensorType>(constant.getType()), ArrayRef<float>(weights.values)));
  if (constant->use_empty())
    constant.erase();
}

namespace {
/// See Passes.td.
struct EqualizeChannels : octet::impl::EqualizeChannelsPassBase<EqualizeChannels> {
  using EqualizeChannelsPassBase::EqualizeChannelsPassBase;

  void runOnOperation() override {
    const MeasureContext &context = getAnalysis<MeasureContext>();
    auto layers = findLayers(getOperation(), getAnalysis<PolicyAnalysis>().getBackend());
    if (failed(layers))
      return signalPassFailure();
    // Factors of one bucket would be other weights than those of the next.
    if (context.files.empty() || getOperation()->hasAttr(kBucketAttr))
      return;
    SmallVector<Candidate, 0> candidates = findCandidates(*layers);
    if (candidates.empty())
      return;
    std::vector<SmallVector<Ranges, 0>> samples(candidates.size());
    auto ranges = measureRanges(candidates, context, samples);
    if (!ranges) {
      emitError(UnknownLoc::get(&getContext())) << Cause(ranges.takeError());
      return signalPassFailure();
    }
    int64_t numLayers = 0;
    for (auto [candidate, ofAll, ofEach] : llvm::zip_equal(candidates, *ranges, samples))
      numLayers += equalize(candidate, ofAll, ofEach);
    numEqualized += numLayers;
    if (numLayers && context.progress.onFigure)
      context.progress.onFigure("equalized_layers", numLayers);
  }

  SmallVector<Candidate, 0> findCandidates(ArrayRef<Layer> layers) {
    SymbolTableCollection tables;
    SymbolUserMap users(tables, getOperation());
    SmallVector<Candidate, 0> candidates;
    for (const Layer &layer : layers)
      if (DecisionAttr decision = getDecision(layer.unit.op);
          decision && decision.getVerdict() != Verdict::Float)
        if (auto candidate = getCandidate(layer, users))
          candidates.push_back(std::move(*candidate));
    return candidates;
  }

  static SmallVector<Tap> getTaps(ArrayRef<Candidate> candidates) {
    return llvm::map_to_vector(candidates, [](const Candidate &candidate) {
      ObserverSpec spec = candidate.observer.getObserver().getSpec();
      auto observer = PerChannelMinMaxObserverAttr::get(candidate.observer.getContext(), spec.dtype,
                                                        Scheme::affine, nullptr, nullptr, false,
                                                        candidate.product.getInputChannelAxis());
      Operation *op = candidate.input.getInput().getDefiningOp();
      if (auto group = dyn_cast<GroupOp>(op))
        op = group.getBody().front().getTerminator()->getOperand(0).getDefiningOp();
      return Tap{op, observer, /*offsetAxis=*/std::nullopt};
    });
  }

  /// The ranges of all samples; those of some of them go to `samples`.
  llvm::Expected<std::vector<Ranges>> measureRanges(ArrayRef<Candidate> candidates,
                                                    const MeasureContext &context,
                                                    std::vector<SmallVector<Ranges, 0>> &samples) {
    auto add = [&](ArrayRef<TapStatistics> taken) {
      for (auto [ranges, statistics] : llvm::zip_equal(samples, taken))
        ranges.push_back(readRanges(statistics));
    };
    SmallVector<Tap> taps = getTaps(candidates);
    auto total = measureSamples(getOperation(), taps, context, add);
    if (!total)
      return total.takeError();
    std::vector<Ranges> ranges;
    if ((int64_t)samples.front().size() == *total) {
      llvm::append_range(ranges, llvm::map_range(samples, [](auto &all) { return join(all); }));
      return ranges;
    }
    auto measured = measureFloat(getOperation(), taps, context);
    if (!measured)
      return measured.takeError();
    llvm::append_range(ranges, llvm::map_range(*measured, readRanges));
    return ranges;
  }

  /// Whether the layer gains.
  bool equalize(const Candidate &candidate, const Ranges &ranges, ArrayRef<Ranges> samples) {
    std::optional<Weights> weights = Weights::get(candidate);
    if (!weights)
      return false;
    SmallVector<double, 0> factors = getFactors(*weights, ranges), ones(factors.size(), 1);
    SmallVector<char> extremes = getExtremes(ranges, factors);
    double scale = getScale(getPlain(candidate.observer.getObserver()),
                            candidate.input.getObservedType(), extremes);
    double before = estimateError(*weights, ranges, candidate.scale, ones),
           after = estimateError(*weights, ranges, scale, factors);
    if (!(scale > 0 && after < gain * before && getExcess(*weights, samples) <= excess))
      return false;
    insertFactors(candidate, factors, extremes);
    divideWeights(candidate, *weights, factors);
    return true;
  }
};
} // namespace
