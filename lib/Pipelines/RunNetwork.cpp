//===- RunNetwork.cpp - networks compiled and run here --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunNetwork.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Emit/Emit.h"
#include "octet/Lower/Passes.h"
#include "octet/Pipelines/Library.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/ConstantMemory.h"
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace octet;

/// The best CPU level that this machine can run; the reference level runs everywhere.
static std::string getHostLevel() {
  auto runsHere = [](const CpuLevel &level) { return level.runsHere(); };
  return llvm::find_if(getCpuLevels(), runsHere)->name.str();
}

std::vector<octet_tensor> octet::describeInputs(ModuleOp module) {
  std::vector<octet_tensor> inputs;
  auto function = module.lookupSymbol<func::FuncOp>("main");
  for (BlockArgument argument : function.getArguments()) {
    if (nn::getStateOfArgument(function, argument.getArgNumber()))
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kNameAttr);
    octet_tensor input = {};
    input.name = name ? name.data() : "";
    input.dtype = getDType(type.getElementType()).value_or(OCTET_F32); // refused when emitted
    input.rank = type.getRank();
    input.shape = type.getShape().data();
    inputs.push_back(input);
  }
  return inputs;
}

void octet::eraseObserves(ModuleOp module, llvm::function_ref<bool(ObserveOp)> which) {
  module.walk([&](ObserveOp op) {
    if (!which(op))
      return;
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  });
}

llvm::Expected<LoadedNetwork> octet::loadFloatNetwork(ModuleOp module) {
  OwningOpRef<ModuleOp> copy(module.clone());
  TemporaryConstants constants(module);
  // Constants are observed at compile time.
  eraseObserves(*copy,
                [](ObserveOp op) { return (bool)op.getInput().getDefiningOp<nn::ConstantOp>(); });
  PassManager pm(module.getContext());
  pm.addPass(createInlineCallsPass());
  pm.addNestedPass<func::FuncOp>(createExpandFakeQuantizePass());
  pm.addNestedPass<func::FuncOp>(createFoldConstantsPass());
  if (failed(pm.run(*copy)))
    return llvm::createStringError("the network cannot be made ready for samples");
  LibraryOptions options;
  options.name = "calibration";
  options.levels = {getHostLevel()};
  options.emit.triple = getHostTriple();
  options.emit.leavesWeightsOut = true;
  constants.note(*copy);
  if (llvm::Error error = generateLevels(*copy, options))
    return std::move(error);
  constants.free();
  llvm::Expected<CompiledLibrary> compiled = emitLevels(*copy, options);
  if (!compiled)
    return compiled.takeError();
  LoadedNetwork network;
  network.observers = std::move(compiled->observers);
  network.keptBytes = compiled->keptBytes;
  llvm::Expected<std::unique_ptr<ModelLibrary>> library =
      ModelLibrary::loadBytes(compiled->bytes, &*compiled->weights);
  if (!library)
    return library.takeError();
  network.library = std::move(*library);
  return std::move(network);
}

llvm::Expected<std::vector<char>> octet::computeResult(ModuleOp module) {
  llvm::Expected<LoadedNetwork> network = loadFloatNetwork(module);
  if (!network)
    return network.takeError();
  llvm::Expected<NetworkRun> run = NetworkRun::create(*network, Statistics());
  if (!run)
    return run.takeError();
  if (llvm::Error error = run->run(Sample()))
    return std::move(error);
  return run->getOutputs().front();
}

NetworkRun::NetworkRun(const LoadedNetwork &network, ModelPtr model)
    : network(&network), model(std::move(model)) {
  const octet_descriptor &descriptor = network.descriptor();
  for (int32_t i = 0; i < descriptor.num_outputs; ++i)
    outputPointers.push_back(outputs.emplace_back(descriptor.outputs[i].bytes).data());
}

llvm::Expected<NetworkRun> NetworkRun::create(const LoadedNetwork &network,
                                              const Statistics &statistics, unsigned threads) {
  llvm::Expected<ModelPtr> model = createModel(*network.library, threads);
  if (!model)
    return model.takeError();
  NetworkRun run(network, std::move(*model));
  run.writeStatistics(statistics);
  return std::move(run);
}

llvm::Error NetworkRun::run(Sample inputs) {
  int32_t code = api().run(model.get(), inputs.data(), outputPointers.data());
  return checkRun(code, *api().program(model.get()));
}

llvm::Error NetworkRun::runSteps(Sample inputs, int64_t begin, int64_t end) {
  int32_t code = api().run_steps(model.get(), inputs.data(), outputPointers.data(), begin, end);
  return checkRun(code, *api().program(model.get()));
}

void NetworkRun::writeStatistics(const Statistics &statistics) {
  for (auto &[symbol, state] : statistics)
    llvm::copy(state.bytes, getState(symbol));
}

void NetworkRun::readStatistics(Statistics &statistics) const {
  for (auto &[symbol, state] : statistics)
    readStatistics(symbol, state);
}

void NetworkRun::readStatistics(StringRef observer, ObserverState &state) const {
  std::copy_n(getState(observer), state.bytes.size(), state.bytes.begin());
}

llvm::Error octet::runSample(NetworkRun &run, const Samples &samples, int64_t index,
                             Sample sample) {
  if (samples.isFirst(index))
    llvm::fill(run.getStates(), 0);
  return run.run(sample);
}

llvm::Error octet::runInParallel(unsigned threads, size_t count,
                                 llvm::function_ref<llvm::Error(size_t)> run) {
  std::mutex mutex;
  std::map<size_t, std::string> errors;
  auto runEvery = [&](size_t first, size_t step) {
    for (size_t i = first; i < count; i += step)
      if (llvm::Error error = run(i)) {
        std::lock_guard<std::mutex> lock(mutex);
        errors[i] = llvm::toString(std::move(error));
        return;
      }
  };
  size_t numThreads = std::clamp<size_t>(threads, 1, std::max<size_t>(count, 1));
  std::vector<std::thread> others;
  for (size_t first = 1; first < numThreads; ++first)
    others.emplace_back(runEvery, first, numThreads);
  runEvery(0, numThreads);
  for (std::thread &other : others)
    other.join();
  if (errors.empty())
    return llvm::Error::success();
  return llvm::createStringError(errors.begin()->second);
}

llvm::Error octet::runSamples(NetworkRun &run, const Samples &samples, const Progress &progress) {
  auto start = std::chrono::steady_clock::now();
  return samples.forEach([&](int64_t index, Sample sample) -> llvm::Error {
    if (llvm::Error error = runSample(run, samples, index, sample))
      return error;
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    if (progress.onWork)
      progress.onWork({"calibrate", "samples", index + 1, samples.size(), seconds.count()});
    return llvm::Error::success();
  });
}
