//===- Calibrate.cpp - shows samples to the observed network --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunNetwork.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Files.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include <chrono>

namespace octet {
#define GEN_PASS_DEF_CALIBRATEPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// Statistics that cannot be used
//===----------------------------------------------------------------------===//

/// The values that an observer has seen, by their names, or else by its own.
static std::string nameValues(ModuleOp module, ObserverOp observer) {
  llvm::SetVector<StringRef> names;
  module.walk([&](ObserveOp op) {
    if (op.getObserverAttr().getValue() != observer.getSymName())
      return;
    if (OriginAttr origin = getOrigin(op.getInput()); origin && !origin.getName().empty())
      names.insert(origin.getName().getValue());
  });
  if (names.size() < 2)
    return "the values of '" + escapeText(observer.getSymName()) + "'";
  constexpr size_t kMost = 8;
  std::string text;
  for (StringRef name : ArrayRef(names.getArrayRef()).take_front(kMost))
    text += (text.empty() ? "'" : ", '") + escapeText(name) + "'";
  if (names.size() > kMost)
    text += " and " + std::to_string(names.size() - kMost) + " more";
  return "the values of one of " + text + ", which share an observer";
}

/// The first value whose statistics give no scale, with the reason; empty if there is none.
static std::string findUnusable(ModuleOp module, const Statistics &statistics) {
  std::string reason;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    reason = diagnostic.str();
    return success();
  });
  for (auto observer : module.getOps<ObserverOp>()) { // in the order of the network
    auto it = statistics.find(observer.getSymName().str());
    if (it == statistics.end() || !observer.getObserver().getSpec().dtype)
      continue;
    auto type = observer.getObserver().getQuantizedType(
        [&] { return emitError(observer.getLoc()); }, it->second.observed, it->second.bytes);
    if (failed(type))
      return nameValues(module, observer) + ": " + reason;
  }
  return "";
}

/// The error about the first sample that makes statistics unusable. Collects them again and checks
/// them after each sample.
static llvm::Error blameSample(ModuleOp module, const LoadedNetwork &network,
                               const Samples &samples) {
  Statistics statistics = initStatistics(module);
  llvm::Expected<NetworkRun> run = NetworkRun::create(network, statistics);
  if (!run)
    return run.takeError();
  return samples.forEach([&](int64_t index, Sample sample) -> llvm::Error {
    if (llvm::Error error = runSample(*run, samples, index, sample))
      return error;
    run->readStatistics(statistics);
    std::string problem = findUnusable(module, statistics);
    if (problem.empty())
      return llvm::Error::success();
    auto [file, number] = samples.locate(index);
    return makeSampleError({file, "", {}, {}}, "sample " + llvm::Twine(number) + ": " + problem,
                           "remove or rescale that sample");
  });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether statistics of several models do not merge, once each has seen something.
static bool dependsOnOrder(ModuleOp module, const Statistics &statistics) {
  return llvm::any_of(statistics, [&](auto &entry) {
    auto &[symbol, initial] = entry;
    auto observer = module.lookupSymbol<ObserverOp>(symbol).getObserver();
    std::vector<char> state = initial.bytes;
    observer.updateState(initial.observed,
                         std::vector<float>(initial.observed.getNumElements(), 0.0f), state);
    const std::vector<char> other = state;
    return failed(observer.mergeState(initial.observed, state, other));
  });
}

/// The number of models that run samples at once: one where statistics depend on the order of
/// samples, or states on the sample before.
static size_t getNumRuns(ModuleOp module, const LoadedNetwork &network,
                         const Statistics &statistics, const Samples &samples, unsigned threads) {
  if (dependsOnOrder(module, statistics) || network.keptBytes != 0)
    return 1;
  const octet_descriptor &descriptor = network.descriptor();
  int64_t bytes = descriptor.arena_bytes + 1;
  for (const octet_tensor &input : network.inputs())
    bytes += input.bytes;
  return std::clamp<int64_t>(std::min(kMaxBytes / bytes, samples.size()), 1, threads);
}

/// Runs samples through several models, as many at once.
static llvm::Error runSideBySide(MutableArrayRef<NetworkRun> runs, const Samples &samples,
                                 const Progress &progress) {
  auto start = std::chrono::steady_clock::now();
  const size_t batchSize = 4 * runs.size(); // none waits long for the slowest
  std::vector<SampleCopy> batch;
  return samples.forEach([&](int64_t index, Sample sample) -> llvm::Error {
    batch.push_back(samples.copy(sample));
    if (batch.size() < batchSize && index + 1 < samples.size())
      return llvm::Error::success();
    auto runOne = [&](size_t i) { return runs[i % runs.size()].run(batch[i].getPointers()); };
    if (llvm::Error error = runInParallel(runs.size(), batch.size(), runOne))
      return error;
    batch.clear();
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (progress.onWork)
      progress.onWork({"calibrate", "samples", index + 1, samples.size(), seconds.count()});
    return llvm::Error::success();
  });
}

/// Octet's own code runs a network with known sizes.
static llvm::Error checkCanRun(ModuleOp module) {
  constexpr StringLiteral remedy = "let another compiler run it, with octet-lower-observers";
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || function.isExternal())
    return makeRemedyError("octet-calibrate expects a function 'main', and there is none",
                           "rename the network, or " + remedy);
  for (Type type : function.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !tensor.hasStaticShape()) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return makeRemedyError("octet-calibrate expects inputs of known sizes, but got " + text,
                             remedy);
    }
  return llvm::Error::success();
}

/// Runs all samples through the observed network.
static llvm::Error observeSamples(ModuleOp module, const MeasureContext &source,
                                  Statistics &statistics) {
  if (llvm::Error error = checkCanRun(module))
    return error;
  // Errors of the samples show before the network is compiled.
  std::vector<octet_tensor> inputs = describeInputs(module);
  if (llvm::Expected<Samples> samples = Samples::open(source.files, inputs); !samples)
    return samples.takeError();
  llvm::Expected<LoadedNetwork> network = loadFloatNetwork(module);
  if (!network)
    return network.takeError();
  llvm::Expected<Samples> samples = Samples::open(source.files, network->inputs());
  if (!samples)
    return samples.takeError();
  std::vector<NetworkRun> runs;
  size_t numRuns = getNumRuns(module, *network, statistics, *samples, source.threads);
  for (size_t i = 0; i < numRuns; ++i) {
    llvm::Expected<NetworkRun> run =
        NetworkRun::create(*network, statistics, source.threads / numRuns);
    if (!run)
      return run.takeError();
    runs.push_back(std::move(*run));
  }
  if (llvm::Error error = numRuns == 1 ? runSamples(runs[0], *samples, source.progress)
                                       : runSideBySide(runs, *samples, source.progress))
    return error;
  runs[0].readStatistics(statistics);
  for (NetworkRun &run : llvm::drop_begin(runs)) {
    Statistics other = statistics;
    run.readStatistics(other);
    if (llvm::Error error = mergeStatistics(module, statistics, other, ""))
      return error;
  }
  return findUnusable(module, statistics).empty() ? llvm::Error::success()
                                                  : blameSample(module, *network, *samples);
}

namespace {
/// See Passes.td.
struct Calibrate : octet::impl::CalibratePassBase<Calibrate> {
  using CalibratePassBase::CalibratePassBase;

  void runOnOperation() override {
    if (llvm::Error error = calibrate()) {
      // Errors about files have no place in the network.
      emitMessages(UnknownLoc::get(&getContext()), std::move(error));
      return signalPassFailure();
    }
    if (auto &onCalibrated = getAnalysis<MeasureContext>().progress.onCalibrated)
      onCalibrated(getOperation());
    for (auto observer : getOperation().getOps<ObserverOp>())
      numObservers += observer.getStatistics().has_value();
  }

  llvm::Error calibrate() {
    const MeasureContext &source = getAnalysis<MeasureContext>();
    if (source.files.empty() && loadStatistics.empty() && !needsSamples(getOperation()))
      return llvm::Error::success();
    if (source.files.empty() && loadStatistics.empty())
      return llvm::createStringError("octet-calibrate has neither samples (octet-use-samples) nor "
                                     "statistics (load-statistics)");
    llvm::Expected<StatisticsFiles> files = StatisticsFiles::open(&getContext(), loadStatistics);
    if (!files)
      return files.takeError();
    Statistics statistics = initStatistics(getOperation());
    if (!source.files.empty())
      if (llvm::Error error = observeSamples(getOperation(), source, statistics))
        return error;
    auto check = [&](const Statistics &loaded, StringRef path) -> llvm::Error {
      std::string problem = findUnusable(getOperation(), loaded);
      return problem.empty() ? llvm::Error::success()
                             : makeRemedyError("'" + path + "': " + problem, "make the file again");
    };
    if (llvm::Error error = files->merge(getOperation(), statistics, check))
      return error;
    attachStatistics(getOperation(), statistics);
    if (source.progress.onStatistics)
      source.progress.onStatistics(printStatistics(getOperation()));
    if (saveStatistics.empty())
      return llvm::Error::success();
    return writeFileAtomically(saveStatistics, printStatistics(getOperation()));
  }
};
} // namespace
