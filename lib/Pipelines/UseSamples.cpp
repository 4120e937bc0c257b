//===- UseSamples.cpp - gives samples to the passes behind it -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
#include <algorithm>
#include <thread>

namespace octet {
#define GEN_PASS_DEF_USESAMPLESPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {
/// See Passes.td.
struct UseSamples : octet::impl::UseSamplesPassBase<UseSamples> {
  using UseSamplesPassBase::UseSamplesPassBase;
  Progress progress;
  bool isCalibratedElsewhere = false;

  void runOnOperation() override {
    MeasureContext &source = getAnalysis<MeasureContext>();
    source.files.assign(files.begin(), files.end());
    source.isCalibratedElsewhere = isCalibratedElsewhere;
    source.progress = progress;
    source.threads = threads;
    markAllAnalysesPreserved();
  }
};
} // namespace

/// The cores that this process may use, as many as a model takes.
static unsigned getNumCores() {
  constexpr unsigned kMaxThreads = 256;
  return std::clamp(std::thread::hardware_concurrency(), 1u, kMaxThreads);
}

std::unique_ptr<Pass> octet::createUseSamplesPass(const CalibrationOptions &calibration,
                                                  const Progress &progress,
                                                  bool isCalibratedElsewhere) {
  const std::vector<std::string> &files = calibration.calibrationData;
  UseSamplesPassOptions options;
  if (!isCalibratedElsewhere)
    options.files.assign(files.begin(), files.end());
  options.threads = calibration.threads ? calibration.threads : getNumCores();
  auto pass = std::make_unique<UseSamples>(options);
  pass->progress = progress;
  pass->isCalibratedElsewhere = isCalibratedElsewhere;
  return pass;
}
