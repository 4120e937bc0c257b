//===- Measure.cpp - float and reference network side by side -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy of the network gets an octet.observe behind every tapped value and is compiled. The float
// copy runs as in a calibration, one sample after the other. The reference copy runs step by step,
// all samples in lockstep: when every sample has reached a tap, its statistics are complete, and
// its offset (a further input of the network) is set before any sample goes on.
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Measure.h"
#include "RunNetwork.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Pipelines/Pipeline.h"
#include "octet/Quantize/Passes.h"

using namespace mlir;
using namespace octet;

/// The largest number of samples in use, which are in memory at once with all values computed from
/// them, so that memory does not grow with the number of samples.
static constexpr size_t kMaxSamples = 50, kMinSamples = 4;
static constexpr int64_t kMaxBytes = int64_t(256) << 20;

static RankedTensorType getTappedType(const Tap &tap) {
  return cast<RankedTensorType>(tap.op->getResult(0).getType());
}

//===----------------------------------------------------------------------===//
// Instrumentation
//===----------------------------------------------------------------------===//

/// An attribute of tapped operators in a copy of the network: the tap's index. It stays with the
/// operator while the copy is converted.
static constexpr llvm::StringLiteral kTapAttr = "octet.tap";

/// The symbol of a tap's observer.
static std::string getTapName(size_t tap) { return "octet.tap." + std::to_string(tap); }

namespace {
/// A copy of the network with its taps.
class Instrument {
public:
  Instrument(ModuleOp network, ArrayRef<Tap> taps) : taps(taps) {
    IRMapping mapping;
    copy = cast<ModuleOp>(network->clone(mapping));
    Builder builder(network.getContext());
    for (auto [i, tap] : llvm::enumerate(taps))
      mapping.lookup(tap.op)->setAttr(kTapAttr, builder.getI64IntegerAttr(i));
  }

  /// Turns the copy into the float network or the reference model.
  LogicalResult makeFloat();
  LogicalResult makeReference();

  /// Compiles the copy with an observer for each tap and, in the reference model, an input for each
  /// offset.
  llvm::Expected<LoadedNetwork> load(bool hasOffsets);

private:
  LogicalResult inlineGroups();
  ObserveOp observe(size_t tap, Operation *op);
  void addOffset(ObserveOp op, int64_t axis);

  ArrayRef<Tap> taps;
  OwningOpRef<ModuleOp> copy;
};
} // namespace

LogicalResult Instrument::makeFloat() {
  eraseObserves(*copy, [](ObserveOp) { return true; });
  for (auto observer : llvm::make_early_inc_range(copy->getOps<ObserverOp>()))
    observer.erase();
  return inlineGroups();
}

LogicalResult Instrument::makeReference() {
  // octet-convert gives the same warnings for the network itself.
  ScopedDiagnosticHandler handler(copy->getContext(), [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() == DiagnosticSeverity::Warning);
  });
  PassManager pm(copy->getContext());
  PipelineOptions options;
  buildPipeline(pm, Stage::Calibrate, Stage::Convert, options);
  return success(succeeded(pm.run(*copy)) && succeeded(inlineGroups()));
}

LogicalResult Instrument::inlineGroups() {
  PassManager pm(copy->getContext());
  pm.addPass(createInlineGroupsPass());
  return pm.run(*copy);
}

/// Replaces the result of a tapped operator by an observed one.
ObserveOp Instrument::observe(size_t tap, Operation *op) {
  auto moduleBuilder = OpBuilder::atBlockBegin(copy->getBody());
  auto observer =
      ObserverOp::create(moduleBuilder, op->getLoc(), moduleBuilder.getStringAttr(getTapName(tap)),
                         taps[tap].observer, nullptr);
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value result = op->getResult(0);
  auto observed = ObserveOp::create(builder, op->getLoc(), result.getType(), result,
                                    FlatSymbolRefAttr::get(observer));
  result.replaceAllUsesExcept(observed.getResult(), observed);
  return observed;
}

void Instrument::addOffset(ObserveOp op, int64_t axis) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[axis] = type.getDimSize(axis);
  auto function = op->getParentOfType<func::FuncOp>();
  unsigned index = function.getNumArguments();
  OpBuilder builder(function.getContext());
  auto name = builder.getNamedAttr(nn::kNameAttr, op.getObserverAttr().getAttr());
  (void)function.insertArgument(index, type.clone(shape), builder.getDictionaryAttr(name),
                                op.getLoc());
  builder.setInsertionPointAfter(op);
  auto sum =
      nn::AddOp::create(builder, op.getLoc(), type, op.getResult(), function.getArgument(index));
  op.getResult().replaceAllUsesExcept(sum.getResult(), sum);
}

llvm::Expected<LoadedNetwork> Instrument::load(bool hasOffsets) {
  SmallVector<Operation *> tapped(taps.size());
  copy->walk([&](Operation *op) {
    if (auto index = dyn_cast_or_null<IntegerAttr>(op->removeDiscardableAttr(kTapAttr)))
      tapped[index.getInt()] = op;
  });
  for (auto [i, tap] : llvm::enumerate(taps)) {
    if (!tapped[i])
      return llvm::createStringError("'" + tap.op->getName().getStringRef() +
                                     "' cannot be measured: octet-convert leaves no such operator");
    ObserveOp op = observe(i, tapped[i]);
    if (hasOffsets && tap.offsetAxis)
      addOffset(op, *tap.offsetAxis);
  }
  return loadFloatNetwork(*copy);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

static Statistics initTaps(ArrayRef<Tap> taps) {
  Statistics statistics;
  for (auto [i, tap] : llvm::enumerate(taps)) {
    RankedTensorType type = getTappedType(tap);
    ObserverState &state = statistics[getTapName(i)];
    state = {type, std::vector<char>(tap.observer.getStateBytes(type))};
    tap.observer.initState(type, state.bytes);
  }
  return statistics;
}

static llvm::Error makeError() { return llvm::createStringError("the network cannot be measured"); }

static std::vector<const void *> getPointers(const SampleCopy &sample) {
  std::vector<const void *> pointers;
  for (const std::vector<char> &input : sample.inputs)
    pointers.push_back(input.data());
  return pointers;
}

namespace {
/// Runs a network on several samples at once, tap by tap.
class LockstepRuns {
public:
  /// Each run reads `offsets` (not those that are empty) as inputs behind the network's own.
  static llvm::Expected<LockstepRuns> create(const LoadedNetwork &network, ArrayRef<Tap> taps,
                                             ArrayRef<SampleCopy> samples,
                                             ArrayRef<std::vector<float>> offsets) {
    LockstepRuns lockstep(network, taps);
    for (const SampleCopy &sample : samples) {
      llvm::Expected<NetworkRun> run = NetworkRun::create(network, lockstep.fresh);
      if (!run)
        return run.takeError();
      llvm::copy(sample.states, run->getStates().begin());
      std::vector<const void *> inputs = getPointers(sample);
      for (const std::vector<float> &offset : offsets)
        if (!offset.empty())
          inputs.push_back(offset.data());
      lockstep.runs.push_back({std::move(*run), std::move(inputs)});
    }
    return std::move(lockstep);
  }

  /// Continues until every sample has passed a tap; returns its statistics.
  llvm::Expected<TapStatistics> runTo(size_t tap) {
    int64_t end = network->observers.lookup(getTapName(tap)).step + 1;
    if (end <= next)
      return llvm::createStringError("the taps are not in the order of the program");
    ObserverState total = fresh.at(getTapName(tap)), own = total;
    for (auto &[run, inputs] : runs) {
      if (llvm::Error error = run.runSteps(inputs, next, end))
        return std::move(error);
      run.readStatistics(getTapName(tap), own);
      if (failed(taps[tap].observer.mergeState(own.observed, total.bytes, own.bytes)))
        return llvm::createStringError("the tap's observer cannot merge its statistics");
    }
    next = end;
    return total.bytes;
  }

private:
  LockstepRuns(const LoadedNetwork &network, ArrayRef<Tap> taps)
      : network(&network), taps(taps), fresh(initTaps(taps)) {}

  struct Run {
    NetworkRun run;
    std::vector<const void *> inputs;
  };
  const LoadedNetwork *network;
  ArrayRef<Tap> taps;
  Statistics fresh;
  std::vector<Run> runs;
  int64_t next = 0;
};
} // namespace

/// The number of samples whose runs of both networks fit into memory.
static size_t getNumSamples(const octet_descriptor &a, const octet_descriptor &b) {
  int64_t bytes = std::max(a.arena_bytes, b.arena_bytes);
  for (int32_t i = 0; i < a.num_inputs; ++i)
    bytes += a.inputs[i].bytes;
  for (int32_t i = 0; i < a.num_outputs; ++i)
    bytes += a.outputs[i].bytes;
  return std::clamp<size_t>(kMaxBytes / std::max<int64_t>(bytes, 1), kMinSamples, kMaxSamples);
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

static llvm::Expected<LoadedNetwork> loadFloat(ModuleOp network, ArrayRef<Tap> taps) {
  Instrument instrument(network, taps);
  if (failed(instrument.makeFloat()))
    return makeError();
  return instrument.load(/*hasOffsets=*/false);
}

static llvm::Expected<LoadedNetwork> loadReference(ModuleOp network, ArrayRef<Tap> taps) {
  Instrument instrument(network, taps);
  if (failed(instrument.makeReference()))
    return makeError();
  return instrument.load(/*hasOffsets=*/true);
}

/// The statistics of the taps in the float network, which `runAll` runs.
static llvm::Expected<std::vector<TapStatistics>>
runFloat(const LoadedNetwork &network, ArrayRef<Tap> taps,
         llvm::function_ref<llvm::Error(NetworkRun &)> runAll) {
  Statistics statistics = initTaps(taps);
  llvm::Expected<NetworkRun> run = NetworkRun::create(network, statistics);
  if (!run)
    return run.takeError();
  if (llvm::Error error = runAll(*run))
    return std::move(error);
  run->readStatistics(statistics);
  std::vector<TapStatistics> taken;
  for (size_t i = 0; i < taps.size(); ++i)
    taken.push_back(std::move(statistics[getTapName(i)].bytes));
  return taken;
}

llvm::Expected<std::vector<TapStatistics>> octet::measureFloat(ModuleOp network, ArrayRef<Tap> taps,
                                                               const MeasureContext &context) {
  llvm::Expected<LoadedNetwork> loaded = loadFloat(network, taps);
  if (!loaded)
    return loaded.takeError();
  llvm::Expected<Samples> samples = Samples::open(context.files, loaded->inputs());
  if (!samples)
    return samples.takeError();
  return runFloat(*loaded, taps, [&](NetworkRun &run) { return runSamples(run, *samples); });
}

/// Measures the taps in the reference network and calls `use` with the statistics of both networks.
static llvm::Error runReference(const LoadedNetwork &network, ArrayRef<Tap> taps,
                                ArrayRef<SampleCopy> samples, ArrayRef<TapStatistics> floating,
                                llvm::function_ref<void(const Measured &)> use) {
  std::vector<std::vector<float>> offsets;
  for (const Tap &tap : taps)
    offsets.emplace_back(tap.offsetAxis ? getTappedType(tap).getDimSize(*tap.offsetAxis) : 0);
  llvm::Expected<LockstepRuns> runs = LockstepRuns::create(network, taps, samples, offsets);
  if (!runs)
    return runs.takeError();
  for (size_t i = 0; i < taps.size(); ++i) {
    llvm::Expected<TapStatistics> reference = runs->runTo(i);
    if (!reference)
      return reference.takeError();
    use({i, (int64_t)samples.size(), floating[i], *reference, offsets[i]});
  }
  return llvm::Error::success();
}

/// Samples with the states that the float network has in front of them: both networks start from
/// these. A network with states runs on all samples for that.
static llvm::Expected<std::vector<SampleCopy>> chooseSamples(const Samples &samples,
                                                             const LoadedNetwork &floating,
                                                             ArrayRef<Tap> taps, size_t count) {
  if (floating.keptBytes == 0)
    return samples.choose(count, [](int64_t, Sample) { return std::vector<char>(); });
  llvm::Expected<NetworkRun> run = NetworkRun::create(floating, initTaps(taps));
  if (!run)
    return run.takeError();
  auto getStates = [&](int64_t index, Sample sample) -> llvm::Expected<std::vector<char>> {
    std::vector<char> before(floating.keptBytes, 0);
    if (!samples.isFirst(index))
      llvm::copy(run->getStates(), before.begin());
    if (llvm::Error error = runSample(*run, samples, index, sample))
      return std::move(error);
    return before;
  };
  return samples.choose(count, getStates);
}

llvm::Error octet::measureBoth(ModuleOp calibrated, ArrayRef<Tap> taps,
                               const MeasureContext &context,
                               llvm::function_ref<void(const Measured &)> use) {
  if (taps.empty())
    return llvm::Error::success();
  llvm::Expected<LoadedNetwork> floating = loadFloat(calibrated, taps);
  if (!floating)
    return floating.takeError();
  llvm::Expected<LoadedNetwork> reference = loadReference(calibrated, taps);
  if (!reference)
    return reference.takeError();
  llvm::Expected<Samples> samples = Samples::open(context.files, floating->inputs());
  if (!samples)
    return samples.takeError();
  llvm::Expected<std::vector<SampleCopy>> chosen = chooseSamples(
      *samples, *floating, taps, getNumSamples(floating->descriptor(), reference->descriptor()));
  if (!chosen)
    return chosen.takeError();
  auto runChosen = [&](NetworkRun &run) -> llvm::Error {
    for (const SampleCopy &sample : *chosen) {
      llvm::copy(sample.states, run.getStates().begin());
      if (llvm::Error error = run.run(getPointers(sample)))
        return error;
    }
    return llvm::Error::success();
  };
  llvm::Expected<std::vector<TapStatistics>> expected = runFloat(*floating, taps, runChosen);
  if (!expected)
    return expected.takeError();
  return runReference(*reference, taps, *chosen, *expected, use);
}
