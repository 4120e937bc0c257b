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

/// A sample in memory of its own: its inputs, and the network's states in front of it.
struct SampleCopy {
  std::vector<std::vector<char>> inputs;
  std::vector<char> states;

  std::vector<const void *> getPointers() const;
};

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

  SampleCopy copy(Sample sample) const;

  /// Where a sample is: its file, and its number in there.
  std::pair<std::string, int64_t> locate(int64_t index) const;

  /// Whether a sample is the first one of its file. The samples of a file follow one another in
  /// time: a network's states begin anew with each file.
  bool isFirst(int64_t index) const { return findFile(index).first == index; }

  /// Gives the network's states in front of a sample; it is called for all samples, in order.
  using GetStates =
      llvm::function_ref<llvm::Expected<std::vector<char>>(int64_t index, Sample sample)>;
  /// Up to `count` samples: those of the smallest hashes, so that the choice does not depend on
  /// the order of files.
  llvm::Expected<std::vector<SampleCopy>> choose(size_t count, GetStates getStates) const;

private:
  /// One file: which of its arrays is which input, and how many samples there are.
  struct File {
    std::string path;
    std::vector<size_t> arrayOfInput;
    int64_t first; ///< the index of its first sample
    int64_t numSamples;
  };
  llvm::Error addFile(llvm::StringRef path);
  const File &findFile(int64_t index) const;
  llvm::Error readFile(const File &file,
                       llvm::function_ref<llvm::Error(int64_t, Sample)> use) const;

  llvm::ArrayRef<octet_tensor> inputs;
  std::vector<File> files;
  int64_t total = 0;
};

} // namespace octet

#endif // OCTET_LIB_PIPELINES_SAMPLES_H
