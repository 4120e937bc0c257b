//===- Calibrate.cpp - shows samples to the observed network --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Calibrate.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Codegen/Codegen.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Lower/Passes.h"
#include "octet/Pipelines/Library.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Quantize/Passes.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>

namespace octet {
#define GEN_PASS_DEF_CALIBRATEPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

/// The best CPU level that this machine can run.
static std::string getHostLevel() {
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  for (const std::string &name : getLevelsOfTarget(getHostTriple())) {
    SmallVector<StringRef> features;
    lookupCpuLevel(name)->features.split(features, ',', -1, /*KeepEmpty=*/false);
    if (llvm::all_of(features, [&](StringRef feature) { return !feature.consume_front("+") || host.lookup(feature); }))
      return name;
  }
  return "reference";
}

/// Constants are observed at compile time.
static void eraseObservesOfConstants(ModuleOp module) {
  module.walk([](ObserveOp op) {
    if (!op.getInput().getDefiningOp<nn::ConstantOp>())
      return;
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

llvm::Expected<LoadedNetwork> octet::loadFloatNetwork(ModuleOp module) {
  OwningOpRef<ModuleOp> copy(module.clone());
  eraseObservesOfConstants(*copy);
  PassManager pm(module.getContext());
  pm.addPass(createInlineGroupsPass());
  pm.addNestedPass<func::FuncOp>(createFoldConstants());
  if (failed(pm.run(*copy)))
    return llvm::createStringError("the network cannot be made ready for samples");
  LibraryOptions options;
  options.name = "calibration";
  options.levels = {getHostLevel()};
  options.emit.triple = getHostTriple();
  llvm::Expected<CompiledLibrary> compiled = compileLibrary(*copy, options);
  if (!compiled)
    return compiled.takeError();
  LoadedNetwork network;
  network.observers = std::move(compiled->observers);
  if (llvm::Error error = ModelLibrary::loadBytes(compiled->bytes).moveInto(network.library))
    return std::move(error);
  return std::move(network);
}

Statistics octet::initStatistics(ModuleOp module) {
  Statistics statistics;
  module.walk([&](ObserveOp op) {
    auto observer = SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, op.getObserverAttr());
    auto type = cast<RankedTensorType>(op.getInput().getType());
    int64_t bytes = observer.getObserver().getStateBytes(type);
    if (bytes == 0 || op.getInput().getDefiningOp<nn::ConstantOp>())
      return;
    auto [it, isNew] = statistics.try_emplace(op.getObserver().str());
    if (!isNew)
      return;
    it->second = {type, std::vector<char>(bytes)};
    observer.getObserver().initState(type, it->second.bytes);
  });
  return statistics;
}

void octet::attachStatistics(ModuleOp module, const Statistics &statistics) {
  auto i8 = IntegerType::get(module.getContext(), 8);
  for (auto &[symbol, state] : statistics) {
    auto type = RankedTensorType::get({(int64_t)state.bytes.size()}, i8);
    module.lookupSymbol<ObserverOp>(symbol).setStatisticsAttr(cast<DenseIntElementsAttr>(DenseElementsAttr::getFromRawBuffer(type, state.bytes)));
  }
}

llvm::Error octet::runSamples(const LoadedNetwork &network, const Samples &samples, unsigned threads,
                              Statistics &statistics, const Progress &progress) {
  llvm::Expected<ModelPtr> model = createModel(*network.library, threads);
  if (!model)
    return model.takeError();
  const octet_model_api &api = network.library->api();
  char *memory = static_cast<char *>(api.frame(model->get())->state);
  for (auto &[symbol, state] : statistics)
    llvm::copy(state.bytes, memory + network.observers.lookup(symbol));
  std::vector<std::vector<char>> outputs;
  SmallVector<void *> outputPointers;
  const octet_descriptor &descriptor = network.library->descriptor();
  for (int32_t i = 0; i < descriptor.num_outputs; ++i)
    outputPointers.push_back(outputs.emplace_back(descriptor.outputs[i].bytes).data());
  auto start = std::chrono::steady_clock::now();
  llvm::Error error = samples.forEach([&](int64_t index, Sample sample) {
    api.run(model->get(), sample.data(), outputPointers.data());
    if (progress.onSamples)
      progress.onSamples(index + 1, samples.size(), std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    return true;
  });
  for (auto &[symbol, state] : statistics)
    std::copy_n(memory + network.observers.lookup(symbol), state.bytes.size(), state.bytes.begin());
  return error;
}

llvm::Error octet::calibrate(ModuleOp module, const CompileRequest &request) {
  Statistics statistics = initStatistics(module);
  if (!request.calibrationData.empty()) {
    llvm::Expected<LoadedNetwork> network = loadFloatNetwork(module);
    if (!network)
      return network.takeError();
    llvm::Expected<Samples> samples = Samples::open(request.calibrationData, network->inputs());
    if (!samples)
      return samples.takeError();
    if (llvm::Error error = runSamples(*network, *samples, request.threads, statistics, request.progress))
      return error;
  }
  for (const std::string &path : request.loadStatistics) {
    llvm::Expected<Statistics> loaded = loadStatistics(module, path);
    if (!loaded)
      return loaded.takeError();
    if (llvm::Error error = mergeStatistics(module, statistics, *loaded, path))
      return error;
  }
  if (!request.saveStatistics.empty())
    if (llvm::Error error = saveStatistics(module, statistics, request.saveStatistics))
      return error;
  attachStatistics(module, statistics);
  return llvm::Error::success();
}

namespace {
/// See Passes.td.
struct Calibrate : octet::impl::CalibratePassBase<Calibrate> {
  using CalibratePassBase::CalibratePassBase;

  void runOnOperation() override {
    CompileRequest request;
    request.calibrationData.assign(calibrationData.begin(), calibrationData.end());
    request.loadStatistics.assign(loadStatistics.begin(), loadStatistics.end());
    request.saveStatistics = saveStatistics;
    request.threads = threads;
    if (llvm::Error error = calibrate(getOperation(), request)) {
      getOperation().emitError() << llvm::toString(std::move(error));
      return signalPassFailure();
    }
    for (auto observer : getOperation().getOps<ObserverOp>())
      numObservers += observer.getStatistics().has_value();
  }
};
} // namespace
