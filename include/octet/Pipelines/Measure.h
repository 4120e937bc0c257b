//===- Measure.h - float and reference network side by side -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What recovery passes are made of: run the network on samples, watch values, get statistics. A
// pass says what to watch (taps) and what to do with the statistics; a network is compiled, run
// and observed as octet-calibrate does it. docs/rationale/recipes.md shows one.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_MEASURE_H
#define OCTET_PIPELINES_MEASURE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/AnalysisManager.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Pipelines/Options.h"
#include "llvm/Support/Error.h"

namespace octet {

/// What passes that run the network have from the driver: an analysis of the module, which
/// octet-use-samples fills in. A pass asks for it with getAnalysis<MeasureContext>().
struct MeasureContext {
  explicit MeasureContext(mlir::Operation *) {}
  /// Nothing here depends on the network.
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

  std::vector<std::string>
      files;         ///< samples: .npz, .npy, or folders of them; empty: there are none
  Progress progress; ///< whom passes tell of their work
};

/// A value to watch: the result of an operator that stands in the network's function or in one of
/// its groups.
struct Tap {
  mlir::Operation *op;
  ObserverAttrInterface observer; ///< keeps the statistics
  /// The axis of channels that get an offset in the reference network; none if there is no offset.
  std::optional<int64_t> offsetAxis;
};

/// What a tap's observer holds.
using TapStatistics = std::vector<char>;

/// Statistics of a tap in both networks.
struct Measured {
  size_t tap; ///< its index
  int64_t numSamples;
  const TapStatistics &floating, &reference;
  /// Added from now on, per channel, to the value in the reference network; zeros before.
  llvm::MutableArrayRef<float> offset;
};

/// Runs the float network, which may have observers or not, on all samples: what each tap saw.
llvm::Expected<std::vector<TapStatistics>>
measureFloat(mlir::ModuleOp network, llvm::ArrayRef<Tap> taps, const MeasureContext &context);

/// Runs a calibrated network in float and as the reference model that octet-convert makes of it, on
/// up to 50 samples, chosen by content and not by order. `use` is called for every tap, in the
/// order of the list, which must be that of the program: when all samples have reached the tap in
/// both networks and none has gone past it in the reference network. An offset that it sets is in
/// force for what the reference network computes next.
llvm::Error measureBoth(mlir::ModuleOp calibrated, llvm::ArrayRef<Tap> taps,
                        const MeasureContext &context,
                        llvm::function_ref<void(const Measured &)> use);

} // namespace octet

#endif // OCTET_PIPELINES_MEASURE_H
