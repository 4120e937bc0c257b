//===- EqualizeInputs.cpp - ranges of input channels go into the weights --===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Scaling.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

namespace octet {
#define GEN_PASS_DEF_EQUALIZEINPUTSPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

using Layers = llvm::MapVector<Operation *, ScaledLayer>;

/// The operand of the network that is a layer's input.
static OpOperand &getInput(const ScaledLayer &layer) {
  return getOuterOperand(layer.getProduct()->getOpOperand(0));
}

/// Observes every channel of each layer's input in a copy of the network.
static llvm::Expected<std::vector<TapStatistics>>
measureInputs(ModuleOp network, const Layers &layers, const MeasureContext &context) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(network->clone(mapping));
  SmallVector<Tap> taps;
  for (auto &[op, layer] : layers) {
    OpOperand &input = getInput(layer);
    Value value = mapping.lookup(input.get());
    OpBuilder builder(mapping.lookup(input.getOwner()));
    auto observer = PerChannelMinMaxObserverAttr::get(
        op->getContext(), builder.getIntegerType(8, /*isSigned=*/false), Scheme::affine,
        /*range=*/nullptr, /*eps=*/nullptr, /*reduce_range=*/false,
        layer.getProduct().getInputChannelAxis());
    // The network's inputs have no operator that could be tapped.
    taps.push_back({nn::ReshapeOp::create(builder, op->getLoc(), value.getType(), value), observer,
                    /*offsetAxis=*/std::nullopt});
  }
  return measureFloat(*copy, taps, context);
}

/// [N.equalize_inputs] A factor for each input channel.
static SmallVector<double, 0> getFactors(const ScaledLayer &layer,
                                         const TapStatistics &statistics) {
  ArrayRef<float> bounds(reinterpret_cast<const float *>(statistics.data()),
                         statistics.size() / sizeof(float));
  SmallVector<double, 0> factors;
  for (auto [c, range] : llvm::enumerate(layer.getInputRanges())) {
    double seen = (double)bounds[layer.getNumInputs() + c] - bounds[c];
    double factor = std::sqrt(range / seen);
    factors.push_back(factor > 0 && std::isfinite(factor) ? factor : 1);
  }
  return factors;
}

/// Multiplies a layer's input by the factors in front of it.
static void insertProduct(const ScaledLayer &layer, ArrayRef<double> factors) {
  OpOperand &input = getInput(layer);
  auto type = cast<RankedTensorType>(input.get().getType());
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[layer.getProduct().getInputChannelAxis()] = layer.getNumInputs();
  OriginPropagation origins(layer.getProduct());
  OpBuilder builder(input.getOwner(), &origins);
  Location loc = layer.getProduct()->getLoc();
  Value constant = nn::createConstant<float>(
      builder, loc, (getSourceName(layer.getProduct()) + ".factors").str(), type.clone(shape),
      SmallVector<float, 0>(factors.begin(), factors.end()));
  auto product = nn::MulOp::create(builder, loc, type, input.get(), constant);
  // What it computes is quantized: the policy, which is about the network, has no say in it.
  auto reason = ReasonAttr::get(builder.getContext(), "OCT122",
                                "octet-equalize-inputs put it there, in front of the quantize", "");
  product->setAttr(kDecisionAttr,
                   DecisionAttr::get(builder.getContext(), /*number=*/std::nullopt, Verdict::Float,
                                     SymbolRefAttr(), reason, /*note=*/ReasonAttr(),
                                     /*refused=*/false));
  input.set(product);
}

namespace {
/// See Passes.td.
struct EqualizeInputs : octet::impl::EqualizeInputsPassBase<EqualizeInputs> {
  using EqualizeInputsPassBase::EqualizeInputsPassBase;

  void runOnOperation() override {
    const MeasureContext &context = getAnalysis<MeasureContext>();
    auto network = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!network) {
      getOperation().emitError("expected a network, a function 'main'");
      return signalPassFailure();
    }
    Layers all, chosen;
    network.walk([&](nn::ProductOpInterface product) {
      auto layer = ScaledLayer::get(product);
      // Groups begin with their products; a factor has no place inside of one.
      if (layer && getInput(*layer).getOwner()->getParentOp() == network)
        all.insert({product, std::move(*layer)});
    });
    if (failed(choose(all, chosen)))
      return signalPassFailure();
    if (context.isCalibratedElsewhere)
      return;
    if (context.files.empty()) {
      getOperation().emitWarning(
          "the inputs are not equalized: octet-equalize-inputs needs samples, "
          "not only statistics of them")
          << Remedy("give some with --calibration-data, too");
      return;
    }
    auto measured = measureInputs(getOperation(), chosen, context);
    if (!measured) {
      emitError(UnknownLoc::get(&getContext())) << Cause(measured.takeError());
      return signalPassFailure();
    }
    scale(all, chosen, *measured);
  }

  /// The layers with the names of the option and one input of their own.
  LogicalResult choose(const Layers &all, Layers &chosen) {
    llvm::StringSet<> names;
    for (const std::string &name : layers)
      names.insert(name);
    for (auto &[op, layer] : all) {
      StringRef name = getSourceName(op);
      if (!layers.empty() && !names.contains(name))
        continue;
      names.erase(name);
      if (getInput(layer).get().hasOneUse())
        chosen.insert({op, layer});
      else
        op->emitWarning("the input is not equalized: other operators read it, too");
    }
    for (const std::string &name : layers)
      if (names.contains(name))
        return getOperation().emitError("octet-equalize-inputs: no layer has the name ")
               << quote(name)
               << Remedy("give the name of a convolution or linear layer with constant weights");
    return success();
  }

  /// Factors are those of the weights as they were.
  void scale(Layers &all, const Layers &chosen, ArrayRef<TapStatistics> measured) {
    llvm::DenseMap<Operation *, Operation *> writers; // of the input, by the layer
    for (auto &[op, layer] : all)
      if (nn::ProductOpInterface reader = getOnlyReader(layer.getProduct()))
        writers[reader] = op;
    llvm::SetVector<Operation *> changed;
    for (auto [entry, statistics] : llvm::zip_equal(chosen, measured)) {
      SmallVector<double, 0> factors = getFactors(entry.second, statistics), inverse;
      for (double factor : factors)
        inverse.push_back(1 / factor);
      all.find(entry.first)->second.scaleInputs(inverse);
      changed.insert(entry.first);
      ++numEqualized;
      if (Operation *writer = writers.lookup(entry.first)) {
        all.find(writer)->second.scaleOutputs(factors);
        changed.insert(writer);
        continue;
      }
      insertProduct(entry.second, factors);
      ++numFactors;
    }
    for (Operation *op : changed)
      all.find(op)->second.write();
  }
};
} // namespace
