//===- Runner.h - feeds a network -------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_TOOLS_OCTET_RUN_RUNNER_H
#define OCTET_TOOLS_OCTET_RUN_RUNNER_H

#include "octet/Support/ModelLibrary.h"
#include "octet/Support/Npz.h"
#include "llvm/Support/raw_ostream.h"

namespace octet {

/// A model with buffers for its inputs and outputs.
class Runner {
public:
  Runner(const ModelLibrary &library, ModelPtr model);

  const octet_descriptor &descriptor() const { return library.descriptor(); }
  const octet_program &program() const { return *library.api().program(model.get()); }
  const octet_model_api &api() const { return library.api(); }
  octet_model *get() const { return model.get(); }

  int32_t numBuckets() const { return descriptor().buckets ? descriptor().buckets->count : 1; }
  /// The inputs and outputs of a bucket.
  llvm::ArrayRef<octet_tensor> getInputs(int32_t bucket) const;
  llvm::ArrayRef<octet_tensor> getOutputs(int32_t bucket) const;
  /// The number with which an input is filled up, or NaN.
  double getPadding(size_t input) const;
  llvm::Error run() {
    int32_t code = library.api().run(model.get(), inputPointers.data(), outputPointers.data());
    return checkRun(code, *library.api().program(model.get()));
  }

  /// Runs every sample of a file in order, or once if the network has no inputs; with `resets` from
  /// new states on. Returns the outputs, with a leading axis of samples if the inputs have one.
  llvm::Expected<std::vector<NpyArray>> runFile(llvm::StringRef path, bool resets);

private:
  /// Makes a bucket the one to run.
  void select(int32_t bucket);
  /// The smallest bucket that holds a file's arrays, those of inputs with paddings filled up.
  llvm::Expected<int32_t> findBucket(llvm::StringRef path, llvm::ArrayRef<NpyArray> arrays) const;

  const ModelLibrary &library;
  ModelPtr model;
  std::vector<std::vector<char>> inputs, outputs;
  std::vector<const void *> inputPointers;
  std::vector<void *> outputPointers;
};

/// `float32[1,3,32,32]`
std::string describeType(const octet_tensor &tensor);
std::string describeType(NpyDType dtype, llvm::ArrayRef<int64_t> shape);

/// Compares outputs with those of a file and prints one line per output. False if an element
/// differs by more than `maxError` times the expected output's largest magnitude (0: if any element
/// differs).
llvm::Expected<bool> compareOutputs(const std::vector<NpyArray> &outputs,
                                    llvm::StringRef expectedPath, double maxError,
                                    llvm::raw_ostream &os);

/// Prints the library's contents.
void printDescription(const Runner &runner, llvm::raw_ostream &os);

/// Runs for about half a second and prints median, minimum and spread.
llvm::Error printBenchmark(Runner &runner, llvm::raw_ostream &os);

/// Runs for about half a second and prints the median time of every step.
llvm::Error printProfile(Runner &runner, llvm::raw_ostream &os);

} // namespace octet

#endif // OCTET_TOOLS_OCTET_RUN_RUNNER_H
