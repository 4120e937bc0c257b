//===- RoundWeights.cpp - weights of linear layers rounded against data ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.round_weights] Behind whatever changes weights or their inputs, in front of the correction of
// biases: what rounding leaves of a mean error is a bias.
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/RoundWeights.h"
#include "RunNetwork.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/Diagnostics.h"
#include <chrono>
#include <mutex>

namespace octet {
#define GEN_PASS_DEF_ROUNDWEIGHTSPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using numerics::InputProducts;

/// Rows of an input that count in each sample, at most.
static constexpr int64_t kMaxRows = 256;

namespace {
/// A layer that reads an input.
struct Candidate {
  Layer layer;
  ObserveOp weights;
  /// What becomes of it; empty if nothing changes.
  SmallVector<float, 0> rounded, biasChange;
};

/// A value in 8 or 16 bits, and the layers that read it.
struct Input {
  ObserveOp observe;
  numerics::QuantParams params;
  InputProducts products;
  std::vector<Candidate> layers;

  Input(ObserveOp observe, numerics::QuantParams params)
      : observe(observe), params(std::move(params)), products(getType().getShape().back()) {}

  RankedTensorType getType() { return cast<RankedTensorType>(observe.getInput().getType()); }
  /// Keeps a sample's rows, each column's values side by side.
  ChannelValuesObserverAttr getObserver() {
    return ChannelValuesObserverAttr::get(observe.getContext(), getType().getRank() - 1, kMaxRows);
  }
  /// Adds what that one has kept.
  void add(const TapStatistics &kept);
  void round();
};
} // namespace

/// The scale and zero point of a calibrated activation if it has one of each, of the high bytes if
/// it has 16 bits; else none.
static std::optional<numerics::QuantParams> getInputParams(ObserveOp observe) {
  auto observer =
      SymbolTable::lookupNearestSymbolFrom<ObserverOp>(observe, observe.getObserverAttr());
  if (!observer.getStatisticsAttr())
    return std::nullopt;
  auto uniform = dyn_cast_or_null<quant::UniformQuantizedType>(
      getTypeByStatistics(observer.getObserver(), observe.getObservedType(), observer.getState()));
  if (uniform && numerics::isWide(uniform))
    uniform = quant::UniformQuantizedType::get(
        uniform.getFlags(), IntegerType::get(uniform.getContext(), 8), uniform.getExpressedType(),
        256 * uniform.getScale(), uniform.getZeroPoint() >> 8, uniform.getStorageTypeMin() >> 8,
        uniform.getStorageTypeMax() >> 8);
  if (!uniform || uniform.getStorageTypeIntegralWidth() != 8)
    return std::nullopt;
  return numerics::getParams(uniform);
}

/// The operator in the network or in one of its groups that computes a value as its first result.
static Operation *getSource(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto group = dyn_cast_or_null<GroupOp>(op))
    op = group.getYielded().getDefiningOp();
  return op && op->getNumResults() == 1 ? op : nullptr;
}

/// The observed weights of a linear layer that nothing else reads and whose bias may change, or
/// null.
static ObserveOp getOwnWeights(const Layer &layer) {
  DecisionAttr decision = getDecision(layer.unit.op);
  bool isQuantized = decision && (decision.getVerdict() == Verdict::Quantized ||
                                  decision.getVerdict() == Verdict::FloatResult);
  if (!isa<nn::LinearOp>(layer.op) || !isQuantized)
    return {};
  auto observe = layer.unit.getOperand<WeightOp>()->get().getDefiningOp<ObserveOp>();
  auto constant = observe.getInput().getDefiningOp<nn::ConstantOp>();
  OpOperand *bias = layer.unit.getOperand<BiasOp>();
  bool isFree = constant && constant->hasOneUse() && observe->hasOneUse() &&
                (!bias || bias->get().getDefiningOp<nn::ConstantOp>());
  return isFree ? observe : ObserveOp();
}

/// Behind the values, the statistics may be filled up.
void Input::add(const TapStatistics &kept) {
  int64_t count = products.getNumColumns() * getObserver().getNumPerChannel(getType());
  ArrayRef<float> values(reinterpret_cast<const float *>(kept.data()), count);
  products.add(llvm::map_to_vector<0>(values, [&](float x) {
    return (int16_t)(numerics::quantize(x, params) - params.zeroPoints.front());
  }));
}

/// By how much the mean of each result of rounded weights is less.
static SmallVector<float, 0> getMeanChanges(ArrayRef<float> before, ArrayRef<float> after,
                                            const InputProducts &inputs, double scale) {
  ArrayRef<int64_t> sums = inputs.getSums();
  SmallVector<float, 0> changes;
  for (size_t row = 0; row < before.size(); row += sums.size()) {
    double change = 0;
    for (size_t i = 0; i < sums.size(); ++i)
      change += ((double)before[row + i] - after[row + i]) * (double)sums[i];
    changes.push_back((float)(change * scale / (double)inputs.getNumRows()));
  }
  return changes;
}

/// Layers stay whose weights have no scales of rows around zero, or would get others.
void Input::round() {
  numerics::WeightRounder rounder(products);
  for (Candidate &candidate : layers) {
    auto values = nn::getConstantValues<float>(candidate.weights.getInput());
    if (failed(values))
      continue;
    auto type = dyn_cast_or_null<quant::UniformQuantizedPerAxisType>(
        getTypeOfConstant(candidate.weights, *values));
    if (!type || type.getQuantizedDimension() != 0 ||
        llvm::any_of(type.getZeroPoints(), [](int64_t zero) { return zero != 0; }))
      continue;
    SmallVector<float, 0> rounded = *values;
    rounder.round(rounded, type.getScales(), type.getStorageTypeMax());
    if (rounded == *values || getTypeOfConstant(candidate.weights, rounded) != type)
      continue;
    candidate.biasChange = getMeanChanges(*values, rounded, products, params.scales.front());
    candidate.rounded = std::move(rounded);
  }
}

static void write(const Candidate &candidate) {
  ObserveOp observe = candidate.weights;
  auto constant = observe.getInput().getDefiningOp<nn::ConstantOp>();
  OpBuilder builder(constant);
  observe.getInputMutable().assign(nn::createConstant<float>(
      builder, constant.getLoc(), (nn::getConstantName(constant) + ".rounded").str(),
      cast<RankedTensorType>(constant.getType()), ArrayRef<float>(candidate.rounded)));
  constant.erase();
  addToBias(candidate.layer, candidate.biasChange, "rounded");
}

static std::vector<Input> findInputs(ArrayRef<Layer> layers) {
  std::vector<Input> inputs;
  DenseMap<Operation *, std::optional<size_t>> known; // none: it has no such type
  for (const Layer &layer : layers) {
    ObserveOp weights = getOwnWeights(layer);
    OpOperand *operand = weights ? layer.unit.getWeightedActivation() : nullptr;
    auto observe = operand ? operand->get().getDefiningOp<ObserveOp>() : ObserveOp();
    if (!observe || !getSource(observe.getInput()))
      continue;
    auto [entry, isNew] = known.try_emplace(observe);
    if (isNew)
      if (auto params = getInputParams(observe)) {
        entry->second = inputs.size();
        inputs.emplace_back(observe, std::move(*params));
      }
    if (entry->second)
      inputs[*entry->second].layers.push_back({layer, weights, {}, {}});
  }
  return inputs;
}

/// Sums up the products of all inputs.
static llvm::Error measure(ModuleOp network, MutableArrayRef<Input> inputs,
                           const MeasureContext &context) {
  auto taps = llvm::map_to_vector(inputs, [](Input &input) {
    return Tap{getSource(input.observe.getInput()), input.getObserver(),
               /*offsetAxis=*/std::nullopt};
  });
  auto add = [&](ArrayRef<TapStatistics> kept) {
    llvm::cantFail(runInParallel(context.threads, inputs.size(), [&](size_t i) {
      inputs[i].add(kept[i]);
      return llvm::Error::success();
    }));
  };
  return measureSamples(network, taps, context, add).takeError();
}

static int64_t countLayers(ArrayRef<Input> inputs) {
  int64_t count = 0;
  for (const Input &input : inputs)
    count += (int64_t)input.layers.size();
  return count;
}

namespace {
/// See Passes.td.
struct RoundWeights : octet::impl::RoundWeightsPassBase<RoundWeights> {
  using RoundWeightsPassBase::RoundWeightsPassBase;

  void runOnOperation() override {
    const MeasureContext &context = getAnalysis<MeasureContext>();
    auto layers = findLayers(getOperation(), getAnalysis<PolicyAnalysis>().getBackend());
    if (failed(layers))
      return signalPassFailure();
    if (context.files.empty() || context.isCalibratedElsewhere)
      return;
    auto start = std::chrono::steady_clock::now();
    std::vector<Input> inputs = findInputs(*layers);
    if (inputs.empty())
      return;
    if (llvm::Error error = measure(getOperation(), inputs, context)) {
      emitError(UnknownLoc::get(&getContext())) << Cause(std::move(error));
      return signalPassFailure();
    }
    llvm::erase_if(inputs, [](const Input &input) { return !input.products.areEnough(); });
    int64_t numDone = 0, total = countLayers(inputs), numLayers = 0;
    std::mutex mutex;
    llvm::cantFail(runInParallel(context.threads, inputs.size(), [&](size_t i) {
      inputs[i].round();
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      std::lock_guard<std::mutex> lock(mutex);
      numDone += (int64_t)inputs[i].layers.size();
      if (context.progress.onWork)
        context.progress.onWork({"round", "layers", numDone, total, seconds.count()});
      return llvm::Error::success();
    }));
    for (const Input &input : inputs)
      for (const Candidate &candidate : input.layers)
        if (!candidate.rounded.empty()) {
          write(candidate);
          ++numLayers;
        }
    numRounded += numLayers;
    if (numLayers && context.progress.onFigure)
      context.progress.onFigure("rounded_layers", numLayers);
  }
};
} // namespace
