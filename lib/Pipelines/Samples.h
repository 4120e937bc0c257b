//===- Samples.h - calibration data, one sample at a time -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_SAMPLES_H
#define OCTET_LIB_PIPELINES_SAMPLES_H

#include "octet/Runtime/octet.h"
#include "octet/Support/Npz.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace octet {

/// The inputs of one run, in the network's order.
using Sample = llvm::ArrayRef<const void *>;

/// A sample's inputs in memory of their own.
using SampleCopy = std::vector<std::vector<char>>;

/// Calibration data: checked against the network's inputs when it is opened, and read one sample at
/// a time.
class Samples {
public:
  /// `paths`: files (.npz, .npy) or folders of them (in the order of names).
  static llvm::Expected<Samples> open(llvm::ArrayRef<std::string> paths,
                                      llvm::ArrayRef<octet_tensor> inputs);

  int64_t size() const { return total; }

  /// Calls `use` for each sample in order, until it returns an error. Values that are not finite
  /// are one.
  llvm::Error forEach(llvm::function_ref<llvm::Error(int64_t index, Sample sample)> use) const;

  /// Where a sample is: its file, and its number in there.
  std::pair<std::string, int64_t> locate(int64_t index) const;

  /// Up to `count` samples: those of the smallest hashes, so that the choice does not depend on
  /// their order.
  llvm::Expected<std::vector<SampleCopy>> choose(size_t count) const;

private:
  /// One file: which of its arrays is which input, and how many samples there are.
  struct File {
    std::string path;
    std::vector<size_t> arrayOfInput;
    int64_t numSamples;
  };
  llvm::Error addFile(llvm::StringRef path);
  llvm::Error readFile(const File &file, int64_t first,
                       llvm::function_ref<llvm::Error(int64_t, Sample)> use) const;

  llvm::ArrayRef<octet_tensor> inputs;
  std::vector<File> files;
  int64_t total = 0;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_SAMPLES_H
