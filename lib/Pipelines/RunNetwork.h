//===- RunNetwork.h - networks compiled and run here ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_RUNNETWORK_H
#define OCTET_LIB_PIPELINES_RUNNETWORK_H

#include "Samples.h"
#include "mlir/IR/BuiltinOps.h"
#include "octet/Pipelines/Library.h"
#include "octet/Pipelines/Options.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/ModelLibrary.h"

namespace octet {

/// Models that run side by side take no more memory than this, with their inputs.
constexpr int64_t kMaxBytes = int64_t(256) << 20;

/// A network compiled for this process, with its observers.
struct LoadedNetwork {
  std::unique_ptr<ModelLibrary> library;
  llvm::StringMap<CompiledObserver> observers;
  int64_t keptBytes = 0; ///< CompiledLibrary::keptBytes

  const octet_descriptor &descriptor() const { return library->descriptor(); }
  llvm::ArrayRef<octet_tensor> inputs() const {
    return {descriptor().inputs, (size_t)descriptor().num_inputs};
  }
};

/// The network's inputs, as a library of it describes them: without its states. Names and shapes
/// live as long as the module.
std::vector<octet_tensor> describeInputs(mlir::ModuleOp module);

/// Compiles a copy of a float network (reference model, observed network) for this machine and
/// loads it. Groups are inlined, quantized constants evaluated, observers of constants removed.
llvm::Expected<LoadedNetwork> loadFloatNetwork(mlir::ModuleOp module);

/// The bytes of the result of a network without inputs.
llvm::Expected<std::vector<char>> computeResult(mlir::ModuleOp module);

/// Removes observers from values.
void eraseObserves(mlir::ModuleOp module, llvm::function_ref<bool(ObserveOp)> which);

/// A model of a network whose observers continue from given statistics. The network must outlive
/// it.
class NetworkRun {
public:
  static llvm::Expected<NetworkRun> create(const LoadedNetwork &network,
                                           const Statistics &statistics, unsigned threads = 1);

  /// Runs one sample.
  llvm::Error run(Sample inputs);
  /// What the last run computed.
  llvm::ArrayRef<std::vector<char>> getOutputs() const { return outputs; }
  /// Runs one sample through the steps [begin, end), after those before them.
  llvm::Error runSteps(Sample inputs, int64_t begin, int64_t end);

  /// What the network keeps from run to run, without observers' statistics.
  llvm::MutableArrayRef<char> getStates() {
    char *states = static_cast<char *>(api().frame(model.get())->state);
    return {states, (size_t)network->keptBytes};
  }

  /// Sets the statistics from which the network's observers continue.
  void writeStatistics(const Statistics &statistics);
  /// Reads the statistics of the network's observers.
  void readStatistics(Statistics &statistics) const;
  void readStatistics(llvm::StringRef observer, ObserverState &state) const;

private:
  NetworkRun(const LoadedNetwork &network, ModelPtr model);
  const octet_model_api &api() const { return network->library->api(); }
  char *getState(llvm::StringRef observer) const {
    return static_cast<char *>(api().frame(model.get())->state) +
           network->observers.lookup(observer).offset;
  }

  const LoadedNetwork *network;
  ModelPtr model;
  std::vector<std::vector<char>> outputs;
  std::vector<void *> outputPointers;
};

/// Runs a sample; the first one of a file from new states on.
llvm::Error runSample(NetworkRun &run, const Samples &samples, int64_t index, Sample sample);

/// Runs samples through a network with observers, one after the other.
llvm::Error runSamples(NetworkRun &run, const Samples &samples, const Progress &progress = {});

/// Calls `run` for 0, 1, ... up to `count` on several threads; the error is that of the smallest
/// number.
llvm::Error runInParallel(unsigned threads, size_t count,
                          llvm::function_ref<llvm::Error(size_t)> run);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_RUNNETWORK_H
