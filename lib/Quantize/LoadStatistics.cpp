//===- LoadStatistics.cpp - statistics from files -------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Quantize/Passes.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_LOADSTATISTICSPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

namespace {
struct LoadStatistics : octet::impl::LoadStatisticsPassBase<LoadStatistics> {
  using LoadStatisticsPassBase::LoadStatisticsPassBase;

  void runOnOperation() override {
    if (llvm::Error error = load()) {
      // Errors about files have no place in the network.
      emitMessages(UnknownLoc::get(&getContext()), std::move(error));
      return signalPassFailure();
    }
    markAllAnalysesPreserved();
  }

  llvm::Error load() {
    if (files.empty())
      return makeRemedyError("octet-load-statistics has no files", "give it some: files=...");
    llvm::Expected<StatisticsFiles> opened = StatisticsFiles::open(&getContext(), files);
    if (!opened)
      return opened.takeError();
    Statistics statistics = initStatistics(getOperation());
    if (llvm::Error error = opened->merge(getOperation(), statistics))
      return error;
    attachStatistics(getOperation(), statistics);
    numObservers += statistics.size();
    return llvm::Error::success();
  }
};
} // namespace
