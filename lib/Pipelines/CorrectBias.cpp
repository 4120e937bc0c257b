//===- CorrectBias.cpp - mean errors of quantization go into the biases ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.bias_correction] The results of every weighted operator are summed per channel, exactly, in
// the float network and in the reference model, where the error of a layer is corrected before any
// sample goes on to the next.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Support/Diagnostics.h"

namespace octet {
#define GEN_PASS_DEF_CORRECTBIASPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {
/// See Passes.td.
struct CorrectBias : octet::impl::CorrectBiasPassBase<CorrectBias> {
  void runOnOperation() override {
    const MeasureContext &context = getAnalysis<MeasureContext>();
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    FailureOr<SmallVector<Layer, 0>> layers = failure();
    if (backend)
      layers = findLayers(getOperation(), *backend);
    if (failed(layers))
      return signalPassFailure();
    if (context.files.empty()) {
      getOperation().emitWarning("the biases are not corrected: octet-correct-bias needs samples, "
                                 "not only statistics of them")
          << Remedy("give some with --calibration-data, too");
      return;
    }
    auto taps = llvm::map_to_vector(*layers, [](const Layer &layer) { return layer.getSumTap(); });
    SmallVector<SmallVector<float, 0>> errors;
    auto use = [&](const Measured &measured) {
      errors.push_back(getMeanErrors(taps[measured.tap], measured));
      llvm::copy(errors.back(), measured.offset.begin());
    };
    if (llvm::Error error = measureBoth(getOperation(), taps, context, use)) {
      emitError(UnknownLoc::get(&getContext())) << Cause(std::move(error));
      return signalPassFailure();
    }
    for (auto [layer, error] : llvm::zip_equal(*layers, errors))
      addToBias(layer, error, "corrected");
    numCorrected += layers->size();
    if (context.progress.onFigure)
      context.progress.onFigure("corrected_biases", layers->size());
  }
};
} // namespace
