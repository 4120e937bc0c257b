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
#include "ObservedWeights.h"
#include "RunNetwork.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
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
/// A value that layers with such weights read, and its type.
struct Input {
  mutable ObserveOp observe;
  numerics::QuantParams params;
  InputProducts products;

  RankedTensorType getType() const {
    return cast<RankedTensorType>(observe->getOperand(0).getType());
  }
  /// Keeps a sample's rows, each column's values side by side.
  ChannelValuesObserverAttr getObserver() const {
    return ChannelValuesObserverAttr::get(getType().getContext(), getType().getRank() - 1,
                                          kMaxRows);
  }
  /// Adds what that one has kept.
  void add(const TapStatistics &kept);
};
struct Candidate {
  Layer layer;
  mutable ObserveOp weights;
  size_t input;
};
/// A layer's weights, and what is added to its bias; empty if nothing changes.
struct Rounded {
  SmallVector<float, 0> weights, bias;
};
} // namespace

/// The scale and zero point of a calibrated activation if it has one of each; else none.
static std::optional<numerics::QuantParams> getInputParams(ObserveOp observe) {
  auto observer =
      SymbolTable::lookupNearestSymbolFrom<ObserverOp>(observe, observe.getObserverAttr());
  if (!observer.getStatisticsAttr())
    return std::nullopt;
  auto type = observer.getObserver().getQuantizedType(
      [&] { return observer.emitOpError(); }, observe.getObservedType(), observer.getState());
  auto uniform =
      failed(type) ? quant::UniformQuantizedType() : dyn_cast<quant::UniformQuantizedType>(*type);
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
    for (const Layer &layer : *layers)
      addCandidate(layer);
    if (candidates.empty())
      return;
    auto start = std::chrono::steady_clock::now();
    if (llvm::Error error = measure(context)) {
      emitError(UnknownLoc::get(&getContext())) << Cause(std::move(error));
      return signalPassFailure();
    }
    std::vector<Rounded> rounded(candidates.size());
    std::mutex mutex;
    int64_t numDone = 0;
    llvm::cantFail(runInParallel(context.threads, candidates.size(), [&](size_t i) {
      rounded[i] = round(candidates[i]);
      std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      std::lock_guard<std::mutex> lock(mutex);
      if (context.progress.onWork)
        context.progress.onWork(
            {"round", "layers", ++numDone, (int64_t)candidates.size(), seconds.count()});
      return llvm::Error::success();
    }));
    for (auto [candidate, result] : llvm::zip_equal(candidates, rounded))
      if (!result.weights.empty())
        write(candidate, result);
  }

  void addCandidate(const Layer &layer) {
    ObserveOp weights = getOwnWeights(layer);
    OpOperand *operand = layer.unit.getWeightedActivation();
    auto observe = operand ? operand->get().getDefiningOp<ObserveOp>() : ObserveOp();
    if (!weights || !observe || !getSource(observe.getInput()))
      return;
    auto [known, isNew] = inputOf.try_emplace(observe, inputs.size());
    if (isNew) {
      std::optional<numerics::QuantParams> params = getInputParams(observe);
      if (!params) {
        inputOf.erase(observe);
        return;
      }
      int64_t columns = cast<RankedTensorType>(observe.getInput().getType()).getShape().back();
      inputs.push_back({observe, std::move(*params), InputProducts(columns)});
    }
    candidates.push_back({layer, weights, known->second});
  }

  /// Sums up the products of all inputs.
  llvm::Error measure(const MeasureContext &context) {
    auto taps = llvm::map_to_vector(inputs, [](const Input &input) {
      return Tap{getSource(input.observe.getInput()), input.getObserver(),
                 /*offsetAxis=*/std::nullopt};
    });
    return measureSamples(getOperation(), taps, context, [&](ArrayRef<TapStatistics> kept) {
      llvm::cantFail(runInParallel(context.threads, inputs.size(), [&](size_t i) {
        inputs[i].add(kept[i]);
        return llvm::Error::success();
      }));
    });
  }

  /// Nothing if the weights would have other scales.
  Rounded round(const Candidate &candidate) const {
    auto values = nn::getConstantValues<float>(candidate.weights.getInput());
    if (failed(values))
      return {};
    quant::QuantizedType type = getTypeOfConstant(candidate.weights, *values);
    auto perRow = dyn_cast_or_null<quant::UniformQuantizedPerAxisType>(type);
    if (!perRow || perRow.getQuantizedDimension() != 0 || perRow.getStorageTypeMax() != 127 ||
        llvm::any_of(perRow.getZeroPoints(), [](int64_t zero) { return zero != 0; }))
      return {};
    const Input &input = inputs[candidate.input];
    Rounded rounded{*values, {}};
    numerics::roundWeights(rounded.weights, perRow.getScales(), input.products);
    if (rounded.weights == *values || getTypeOfConstant(candidate.weights, rounded.weights) != type)
      return {};
    rounded.bias = getMeanChanges(*values, rounded.weights, input);
    return rounded;
  }

  /// By how much the mean of each result would be less.
  static SmallVector<float, 0> getMeanChanges(ArrayRef<float> before, ArrayRef<float> after,
                                              const Input &input) {
    ArrayRef<int64_t> sums = input.products.getSums();
    double scale = input.params.scales.front() / (double)input.products.getNumRows();
    SmallVector<float, 0> changes;
    for (size_t row = 0; row < before.size(); row += sums.size()) {
      double change = 0;
      for (size_t i = 0; i < sums.size(); ++i)
        change += ((double)before[row + i] - after[row + i]) * (double)sums[i];
      changes.push_back((float)(change * scale));
    }
    return changes;
  }

  void write(const Candidate &candidate, const Rounded &rounded) {
    auto constant = candidate.weights.getInput().getDefiningOp<nn::ConstantOp>();
    OpBuilder builder(constant);
    candidate.weights.getInputMutable().assign(nn::createConstant<float>(
        builder, constant.getLoc(), (nn::getConstantName(constant) + ".rounded").str(),
        cast<RankedTensorType>(constant.getType()), ArrayRef<float>(rounded.weights)));
    constant.erase();
    addToBias(candidate.layer, rounded.bias, "rounded");
    ++numRounded;
  }

  std::vector<Input> inputs;
  DenseMap<Operation *, size_t> inputOf;
  std::vector<Candidate> candidates;
};
} // namespace
