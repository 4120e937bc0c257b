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
#include "octet/Backend/Backend.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
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
/// A convolution or linear layer that runs quantized.
struct Layer {
  Unit unit;
  Operation *weighted;
  SmallVector<float, 0> correction;

  int64_t getChannelAxis() const {
    auto product = dyn_cast<nn::ProductOpInterface>(weighted);
    return product ? product.getResultChannelAxis() : 1;
  }
  int64_t getNumChannels() const { return getType().getDimSize(getChannelAxis()); }
  RankedTensorType getType() const {
    return cast<RankedTensorType>(weighted->getResult(0).getType());
  }
};
} // namespace

static SmallVector<Layer, 0> findLayers(func::FuncOp function, const Backend &backend) {
  SmallVector<Layer, 0> layers;
  for (Operation &op : function.getBody().front()) {
    std::optional<Unit> unit = backend.matchUnit(&op);
    OpOperand *weight = unit ? unit->getOperand<WeightOp>() : nullptr;
    if (!weight || !weight->get().getDefiningOp<ObserveOp>())
      continue;
    auto isWeight = [](auto &leaf) { return isa<WeightOp>(leaf.first); };
    Operation *weighted = llvm::find_if(unit->match.leaves, isWeight)->second->getOwner();
    layers.push_back({std::move(*unit), weighted, {}});
  }
  return layers;
}

/// [N.bias_correction] Mean error per channel from the sums of both networks, in units of 2^-24.
static void setCorrection(Layer &layer, const Measured &measured) {
  int64_t count = layer.getType().getNumElements() / layer.getNumChannels() * measured.numSamples;
  auto getSums = [&](const TapStatistics &statistics) {
    return ArrayRef(reinterpret_cast<const int64_t *>(statistics.data()), layer.getNumChannels());
  };
  for (auto [a, b] : llvm::zip_equal(getSums(measured.floating), getSums(measured.reference)))
    layer.correction.push_back((float)((double)(a - b) * 0x1p-24 / (double)count));
  llvm::copy(layer.correction, measured.offset.begin());
}

/// Adds the correction to the layer's bias; gives it one if it has none.
static void correctLayer(const Layer &layer) {
  OpBuilder builder(layer.unit.op);
  OpOperand *operand = layer.unit.getOperand<BiasOp>();
  SmallVector<float, 0> values(layer.correction.size(), 0.0f);
  std::string name = (getSourceName(layer.weighted) + ".bias").str();
  if (operand) {
    auto old = nn::getConstantValues<float>(operand->get());
    if (failed(old))
      return; // Not a constant: nothing to correct.
    values = *old;
    name =
        (nn::getConstantName(operand->get().getDefiningOp<nn::ConstantOp>()) + ".corrected").str();
  }
  for (auto [value, more] : llvm::zip_equal(values, layer.correction))
    value += more;
  auto type = RankedTensorType::get({(int64_t)values.size()}, builder.getF32Type());
  Value bias = nn::createConstant<float>(builder, layer.weighted->getLoc(), name, type, values);
  if (operand) {
    Operation *old = operand->get().getDefiningOp();
    operand->set(bias);
    if (old->use_empty())
      old->erase();
    return;
  }
  if (auto group = dyn_cast<GroupOp>(layer.unit.op))
    bias = group.addInput(bias);
  if (auto product = dyn_cast<nn::ProductOpInterface>(layer.weighted))
    product.setBias(bias);
  else // by the order of input, weights, bias
    layer.weighted->insertOperands(layer.weighted->getNumOperands(), bias);
}

namespace {
/// See Passes.td.
struct CorrectBias : octet::impl::CorrectBiasPassBase<CorrectBias> {
  void runOnOperation() override {
    const MeasureContext &context = getAnalysis<MeasureContext>();
    auto network = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!network) {
      getOperation().emitError("octet-correct-bias expected a network, a function 'main'");
      return signalPassFailure();
    }
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    if (!backend || failed(verifyNetwork(network)))
      return signalPassFailure();
    if (context.files.empty()) {
      getOperation().emitWarning("the biases are not corrected: octet-correct-bias needs samples, "
                                 "not only statistics of them")
          << Remedy("give some with --calibration-data, too");
      return;
    }
    SmallVector<Layer, 0> layers = findLayers(network, *backend);
    if (failed(correct(layers, context)))
      return signalPassFailure();
    numCorrected += layers.size();
    if (context.progress.onFigure)
      context.progress.onFigure("corrected_biases", layers.size());
  }

  LogicalResult correct(MutableArrayRef<Layer> layers, const MeasureContext &context) {
    SmallVector<Tap> taps = llvm::map_to_vector(layers, [&](const Layer &layer) {
      int64_t axis = layer.getChannelAxis();
      return Tap{layer.weighted, ChannelSumObserverAttr::get(&getContext(), axis), axis};
    });
    auto use = [&](const Measured &measured) { setCorrection(layers[measured.tap], measured); };
    if (llvm::Error error = measureBoth(getOperation(), taps, context, use))
      return emitError(UnknownLoc::get(&getContext())) << Cause(std::move(error));
    for (const Layer &layer : layers)
      correctLayer(layer);
    return success();
  }
};
} // namespace
