//===- Measure.h - float and reference network side by side -----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library of recovery passes: runs the network on samples and returns statistics of its values.
// A pass chooses the values (taps) and uses the statistics; networks are compiled, run and observed
// as in octet-calibrate. docs/rationale/recipes.md shows a recovery pass.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_PIPELINES_MEASURE_H
#define OCTET_PIPELINES_MEASURE_H

#include "octet/Backend/Backend.h"
#include "octet/Pipelines/Options.h"
#include "llvm/Support/Error.h"

namespace octet {

/// The driver's information for passes that run the network: an analysis of the module, filled in
/// by octet-use-samples. A pass obtains it with getAnalysis<MeasureContext>().
struct MeasureContext {
  explicit MeasureContext(mlir::Operation *) {}
  /// Nothing here depends on the network.
  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &) const { return false; }

  /// Samples: .npz, .npy, or folders of them; empty: there are none.
  std::vector<std::string> files;
  /// There are none because another bucket was calibrated; what samples gave there is copied.
  bool isCalibratedElsewhere = false;
  Progress progress;    ///< callbacks for progress
  unsigned threads = 1; ///< of a measurement; never changes the result
};

/// A value to observe: the result of an operator in the network's function or in one of its groups.
struct Tap {
  mlir::Operation *op;
  ObserverAttrInterface observer; ///< keeps the statistics
  /// The axis of channels that get an offset in the reference network; none if there is no offset.
  std::optional<int64_t> offsetAxis;
  /// Whether measureBoth keeps the statistics of each sample apart, instead of merging them.
  bool keepsSamples = false;
};

/// The state of a tap's observer.
using TapStatistics = std::vector<char>;

/// Statistics of a tap in both networks.
struct Measured {
  size_t tap; ///< its index
  int64_t numSamples;
  /// All samples together; initial ones if the tap keeps samples apart.
  const TapStatistics &floating, &reference;
  /// One of each sample, in the order of the samples' hashes; empty if the tap merges them.
  llvm::ArrayRef<TapStatistics> floatingSamples, referenceSamples;
  /// Added per channel to the value in the reference network from now on; initially zeros.
  llvm::MutableArrayRef<float> offset;
};

/// Runs the float network, with or without observers, on all samples; returns the statistics of
/// each tap.
llvm::Expected<std::vector<TapStatistics>>
measureFloat(mlir::ModuleOp network, llvm::ArrayRef<Tap> taps, const MeasureContext &context);

/// Runs the float network on up to 50 samples, chosen by content and not by order; `use` gets the
/// statistics of all taps in one sample after the other. Returns how many samples there are.
llvm::Expected<int64_t> measureSamples(mlir::ModuleOp network, llvm::ArrayRef<Tap> taps,
                                       const MeasureContext &context,
                                       llvm::function_ref<void(llvm::ArrayRef<TapStatistics>)> use);

/// Runs a calibrated network in float and as the reference model that octet-convert makes of it, on
/// up to 50 samples, chosen by content and not by order. Taps must be in the order of the program;
/// an operator may have several. `use` is called for each of them, when all samples have reached
/// the tap in both networks and none has passed it in the reference network. The offset that `use`
/// sets is applied before the reference network continues.
llvm::Error measureBoth(mlir::ModuleOp calibrated, llvm::ArrayRef<Tap> taps,
                        const MeasureContext &context,
                        llvm::function_ref<void(const Measured &)> use);

/// A convolution or linear layer that runs quantized, with weights that are observed.
struct Layer {
  Unit unit;
  mlir::Operation *op; ///< reads the weights

  /// Watches the sum of each channel of the result, with an offset for each; of its elements
  /// clamped to two bounds, if given, and how many lie between.
  Tap getSumTap(mlir::DenseF32ArrayAttr clamp = {}) const;
  /// Watches some values of each channel of the result, sample by sample, with an offset for each.
  Tap getValuesTap() const;
  /// Whether the result's elements reach nothing but outputs, through operators that move values or
  /// compute element by element (or softmax, which keeps their order).
  bool isLeaving() const;
};

/// The layers of the network in the order of the program, or an error about a module that is no
/// network. Fails without a backend, which the policy has said then.
llvm::FailureOr<llvm::SmallVector<Layer, 0>> findLayers(mlir::ModuleOp module,
                                                        const Backend *backend);

/// How much the mean of each channel is greater in the float network; `tap` is one of sums.
llvm::SmallVector<float, 0> getMeanErrors(const Tap &tap, const Measured &measured);

/// Gives an operator that has none a bias, a constant in front of it or of its group.
void giveBias(mlir::Operation *op, mlir::Value bias);

/// Adds to the bias of a layer, which gets one if it has none; one that is not a constant stays as
/// it is. The new constant is called `<old>.<suffix>`, or `<layer>.bias`.
void addToBias(const Layer &layer, llvm::ArrayRef<float> addend, llvm::StringRef suffix);

} // namespace octet

#endif // OCTET_PIPELINES_MEASURE_H
