//===- Calibrate.h - statistics from samples --------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_CALIBRATE_H
#define OCTET_LIB_PIPELINES_CALIBRATE_H

#include "Samples.h"
#include "mlir/IR/BuiltinOps.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Pipelines/Compile.h"
#include "octet/Support/ModelLibrary.h"

namespace octet {

/// A network compiled for this process, with the place of each observer's statistics in its state.
struct LoadedNetwork {
  std::unique_ptr<ModelLibrary> library;
  llvm::StringMap<int64_t> observers;

  llvm::ArrayRef<octet_tensor> inputs() const {
    const octet_descriptor &descriptor = library->descriptor();
    return {descriptor.inputs, (size_t)descriptor.num_inputs};
  }
};

/// Compiles a copy of a float network (reference model, observed network) for this machine and loads it. Groups are
/// inlined, quantized constants evaluated, observers of constants left out.
llvm::Expected<LoadedNetwork> loadFloatNetwork(mlir::ModuleOp module);

/// The statistics of a network's observers by symbol: their type and state.
struct ObserverState {
  mlir::RankedTensorType observed;
  std::vector<char> bytes;
};
using Statistics = std::map<std::string, ObserverState>;

/// Fresh statistics for every observer of a value that is no constant and that keeps any.
Statistics initStatistics(mlir::ModuleOp module);
/// Attaches them to the observers.
void attachStatistics(mlir::ModuleOp module, const Statistics &statistics);
/// Merges `other` into `statistics`; observers that only one of them has, or whose statistics cannot merge, are an error.
llvm::Error mergeStatistics(mlir::ModuleOp module, Statistics &statistics, const Statistics &other, llvm::StringRef path);

llvm::Error saveStatistics(mlir::ModuleOp module, const Statistics &statistics, llvm::StringRef path);
llvm::Expected<Statistics> loadStatistics(mlir::ModuleOp module, llvm::StringRef path);

/// Shows all samples to the observers.
llvm::Error runSamples(const LoadedNetwork &network, const Samples &samples, unsigned threads, Statistics &statistics,
                       const Progress &progress);

/// Calibrates a prepared network as the request says.
llvm::Error calibrate(mlir::ModuleOp module, const CompileRequest &request);

/// octet-correct-bias on a calibrated network: the mean error per output channel that quantization causes goes into the
/// biases. Returns how many layers were corrected.
llvm::Expected<int64_t> correctBias(mlir::ModuleOp module, llvm::StringRef backend, llvm::ArrayRef<std::string> calibrationData);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_CALIBRATE_H
