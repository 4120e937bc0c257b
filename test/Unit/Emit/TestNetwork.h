//===- TestNetwork.h - a network written in LLVM IR -------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_TEST_UNIT_EMIT_TESTNETWORK_H
#define OCTET_TEST_UNIT_EMIT_TESTNETWORK_H

#include "octet/Emit/Emit.h"
#include "octet/Support/ModelLibrary.h"
#include "gtest/gtest.h"

namespace octet::test {

/// y = 2 x + w over `size` floats, in two steps that may be split anywhere; w[i] = i * `slope`.
class TestNetwork {
public:
  static constexpr int64_t size = 1000;

  explicit TestNetwork(llvm::StringRef name, float slope = 1);

  /// Adds a level whose functions have the given target features.
  TestNetwork &level(llvm::StringRef name, llvm::StringRef features = "");

  /// Adds a level with the given IR and steps.
  TestNetwork &level(llvm::StringRef name, llvm::StringRef assembly, std::vector<StepInfo> steps);

  /// Gives the level that was added last a prologue, which writes so many bytes.
  TestNetwork &prologue(std::vector<StepInfo> steps, int64_t preparedBytes);

  /// Adds a smaller bucket to all levels, for the first floats of the input.
  TestNetwork &bucket(int64_t smallerSize);

  llvm::Expected<llvm::SmallVector<char, 0>> emit(const EmitOptions &options = {},
                                                  int64_t *bucketBytes = nullptr,
                                                  llvm::function_ref<void()> onWeightsStored = {});

  /// The bytes of the output; fails the test if there is an error.
  llvm::SmallVector<char, 0> emitOrFail(const EmitOptions &options = {});

  /// Emitted as a shared library for this machine, and loaded.
  std::unique_ptr<ModelLibrary> load();

  ProgramInfo info;

private:
  std::vector<float> weights;
  std::vector<LevelCode> levels;
};

/// The LLVM IR of a kernel with `parameters` in front of its range, which runs `body` for every %i
/// of the range; `attributes` are those of the function.
std::string makeKernel(llvm::StringRef name, llvm::StringRef parameters, llvm::StringRef body,
                       llvm::StringRef attributes = "");

/// The records that a library holds for its own runtime.
inline const octet_network &getNetwork(const ModelLibrary &library) {
  return reinterpret_cast<const octet_network &>(library.descriptor());
}

/// A model of a library, or null and a failed test.
ModelPtr create(const ModelLibrary &library, int threads = 1, llvm::StringRef level = "");

/// The error's text, or "no error".
template <typename T> std::string getError(llvm::Expected<T> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}

EmitOptions with(OutputKind kind, llvm::StringRef triple = "x86_64-linux-gnu",
                 unsigned parallelism = 0);

/// LLVM IR as a module in its own context.
OwnedModule parseModule(llvm::StringRef assembly);

} // namespace octet::test

#endif // OCTET_TEST_UNIT_EMIT_TESTNETWORK_H
