//===- Measure.cpp - float and reference network side by side -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two copies of the network are compiled with their taps (Instrument.h). The float copy runs sample
// by sample, on several threads. The reference copy runs step by step, all samples in lockstep:
// when every sample has reached a tap, its statistics are complete, and its offset (a further input
// of the network) is set before any sample goes on.
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Measure.h"
#include "Instrument.h"

using namespace mlir;
using namespace octet;

/// The largest number of samples in use, which are in memory at once with all values computed from
/// them, so that memory does not grow with the number of samples.
static constexpr size_t kMaxSamples = 50, kMinSamples = 4;

static RankedTensorType getTappedType(const Tap &tap) {
  return cast<RankedTensorType>(tap.op->getResult(0).getType());
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

namespace {
/// The statistics that a tap has gathered.
struct Gathered {
  ObserverState total;
  std::vector<TapStatistics> samples; ///< where the tap keeps them apart

  llvm::Error add(const Tap &tap, const ObserverState &own) {
    if (tap.keepsSamples)
      samples.push_back(own.bytes);
    else if (failed(tap.observer.mergeState(own.observed, total.bytes, own.bytes)))
      return llvm::createStringError("the tap's observer cannot merge its statistics");
    return llvm::Error::success();
  }
};

/// Runs a network on several samples at once, tap by tap.
class LockstepRuns {
public:
  /// Each run reads `offsets` (not those that are empty) as inputs behind the network's own.
  static llvm::Expected<LockstepRuns> create(const LoadedNetwork &network, ArrayRef<Tap> taps,
                                             ArrayRef<SampleCopy> samples,
                                             ArrayRef<std::vector<float>> offsets,
                                             unsigned threads) {
    LockstepRuns lockstep(network, taps, threads);
    for (const SampleCopy &sample : samples) {
      llvm::Expected<NetworkRun> run = NetworkRun::create(network, lockstep.fresh);
      if (!run)
        return run.takeError();
      llvm::copy(sample.states, run->getStates().begin());
      std::vector<const void *> inputs = sample.getPointers();
      for (const std::vector<float> &offset : offsets)
        if (!offset.empty())
          inputs.push_back(offset.data());
      lockstep.runs.push_back({std::move(*run), std::move(inputs)});
    }
    return std::move(lockstep);
  }

  /// Continues until every sample has passed a tap; returns its statistics.
  llvm::Expected<Gathered> runTo(size_t tap) {
    int64_t end = network->observers.lookup(getTapName(tap)).step + 1;
    if (end <= next)
      return llvm::createStringError("the taps are not in the order of the program");
    auto runOne = [&](size_t i) { return runs[i].run.runSteps(runs[i].inputs, next, end); };
    if (llvm::Error error = runInParallel(threads, runs.size(), runOne))
      return std::move(error);
    ObserverState own = fresh.at(getTapName(tap));
    Gathered gathered{own, {}};
    for (Run &run : runs) {
      run.run.readStatistics(getTapName(tap), own);
      if (llvm::Error error = gathered.add(taps[tap], own))
        return std::move(error);
    }
    next = end;
    return gathered;
  }

private:
  LockstepRuns(const LoadedNetwork &network, ArrayRef<Tap> taps, unsigned threads)
      : network(&network), taps(taps), fresh(initTaps(taps)), threads(threads) {}

  struct Run {
    NetworkRun run;
    std::vector<const void *> inputs;
  };
  const LoadedNetwork *network;
  ArrayRef<Tap> taps;
  Statistics fresh;
  std::vector<Run> runs;
  unsigned threads;
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

llvm::Expected<std::vector<TapStatistics>> octet::measureFloat(ModuleOp network, ArrayRef<Tap> taps,
                                                               const MeasureContext &context) {
  llvm::Expected<LoadedNetwork> loaded = loadFloat(network, taps);
  if (!loaded)
    return loaded.takeError();
  llvm::Expected<Samples> samples = Samples::open(context.files, loaded->inputs());
  if (!samples)
    return samples.takeError();
  Statistics statistics = initTaps(taps);
  llvm::Expected<NetworkRun> run = NetworkRun::create(*loaded, statistics, context.threads);
  if (!run)
    return run.takeError();
  if (llvm::Error error = runSamples(*run, *samples))
    return std::move(error);
  run->readStatistics(statistics);
  std::vector<TapStatistics> taken;
  for (size_t i = 0; i < taps.size(); ++i)
    taken.push_back(std::move(statistics[getTapName(i)].bytes));
  return taken;
}

/// Runs the float network on the samples, on as many at once as there are threads; `use` gets the
/// taps' statistics of one after the other.
static llvm::Error runFloat(const LoadedNetwork &network, ArrayRef<Tap> taps,
                            ArrayRef<SampleCopy> samples, unsigned threads,
                            llvm::function_ref<llvm::Error(const Statistics &)> use) {
  Statistics fresh = initTaps(taps);
  std::vector<NetworkRun> runs;
  for (size_t i = 0; i < std::clamp<size_t>(threads, 1, samples.size()); ++i) {
    llvm::Expected<NetworkRun> run = NetworkRun::create(network, fresh);
    if (!run)
      return run.takeError();
    runs.push_back(std::move(*run));
  }
  std::vector<Statistics> own(runs.size(), fresh);
  for (; !samples.empty(); samples = samples.drop_front(std::min(runs.size(), samples.size()))) {
    auto runOne = [&](size_t i) -> llvm::Error {
      runs[i].writeStatistics(fresh);
      llvm::copy(samples[i].states, runs[i].getStates().begin());
      if (llvm::Error error = runs[i].run(samples[i].getPointers()))
        return error;
      runs[i].readStatistics(own[i]);
      return llvm::Error::success();
    };
    size_t count = std::min(runs.size(), samples.size());
    if (llvm::Error error = runInParallel(threads, count, runOne))
      return error;
    for (size_t i = 0; i < count; ++i)
      if (llvm::Error error = use(own[i]))
        return error;
  }
  return llvm::Error::success();
}

/// The statistics of the taps in the float network on the samples.
static llvm::Expected<std::vector<Gathered>> gatherFloat(const LoadedNetwork &network,
                                                         ArrayRef<Tap> taps,
                                                         ArrayRef<SampleCopy> samples,
                                                         unsigned threads) {
  Statistics fresh = initTaps(taps);
  std::vector<Gathered> gathered;
  for (size_t tap = 0; tap < taps.size(); ++tap)
    gathered.push_back({fresh.at(getTapName(tap)), {}});
  auto add = [&](const Statistics &own) -> llvm::Error {
    for (auto [tap, seen] : llvm::enumerate(gathered))
      if (llvm::Error error = seen.add(taps[tap], own.at(getTapName(tap))))
        return error;
    return llvm::Error::success();
  };
  if (llvm::Error error = runFloat(network, taps, samples, threads, add))
    return std::move(error);
  return gathered;
}

/// Measures the taps in the reference network and calls `use` with the statistics of both networks.
static llvm::Error runReference(const LoadedNetwork &network, ArrayRef<Tap> taps,
                                ArrayRef<SampleCopy> samples, ArrayRef<Gathered> floating,
                                unsigned threads, llvm::function_ref<void(const Measured &)> use) {
  std::vector<std::vector<float>> offsets;
  for (const Tap &tap : taps)
    offsets.emplace_back(tap.offsetAxis ? getTappedType(tap).getDimSize(*tap.offsetAxis) : 0);
  llvm::Expected<LockstepRuns> runs =
      LockstepRuns::create(network, taps, samples, offsets, threads);
  if (!runs)
    return runs.takeError();
  for (size_t i = 0; i < taps.size(); ++i) {
    llvm::Expected<Gathered> reference = runs->runTo(i);
    if (!reference)
      return reference.takeError();
    use({i, (int64_t)samples.size(), floating[i].total.bytes, reference->total.bytes,
         floating[i].samples, reference->samples, offsets[i]});
  }
  return llvm::Error::success();
}

/// Some samples with the states that the float network has in front of them: a reference network
/// starts from these, too. A network with states runs on all samples for that.
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

llvm::Expected<int64_t>
octet::measureSamples(ModuleOp network, ArrayRef<Tap> taps, const MeasureContext &context,
                      llvm::function_ref<void(ArrayRef<TapStatistics>)> use) {
  llvm::Expected<LoadedNetwork> loaded = loadFloat(network, taps);
  if (!loaded)
    return loaded.takeError();
  llvm::Expected<Samples> samples = Samples::open(context.files, loaded->inputs());
  if (!samples)
    return samples.takeError();
  llvm::Expected<std::vector<SampleCopy>> chosen = chooseSamples(
      *samples, *loaded, taps, getNumSamples(loaded->descriptor(), loaded->descriptor()));
  if (!chosen)
    return chosen.takeError();
  auto useOne = [&](const Statistics &own) {
    std::vector<TapStatistics> statistics;
    for (size_t tap = 0; tap < taps.size(); ++tap)
      statistics.push_back(own.at(getTapName(tap)).bytes);
    use(statistics);
    return llvm::Error::success();
  };
  if (llvm::Error error = runFloat(*loaded, taps, *chosen, context.threads, useOne))
    return std::move(error);
  return samples->size();
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
  llvm::Expected<std::vector<Gathered>> expected =
      gatherFloat(*floating, taps, *chosen, context.threads);
  if (!expected)
    return expected.takeError();
  return runReference(*reference, taps, *chosen, *expected, context.threads, use);
}
