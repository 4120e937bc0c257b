//===- Layers.cpp - what recovery passes measure and change ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Pipelines/Measure.h"
#include <cmath>

using namespace mlir;
using namespace octet;

FailureOr<SmallVector<Layer, 0>> octet::findLayers(ModuleOp module, const Backend *backend) {
  if (!backend)
    return failure();
  auto network = module.lookupSymbol<func::FuncOp>("main");
  if (!network)
    return module.emitError("expected a network, a function 'main'");
  if (failed(verifyNetwork(network)))
    return failure();
  SmallVector<Layer, 0> layers;
  for (Operation &op : network.getBody().front()) {
    std::optional<Unit> unit = backend->matchUnit(&op);
    OpOperand *weight = unit ? unit->getOperand<WeightOp>() : nullptr;
    if (!weight || !weight->get().getDefiningOp<ObserveOp>())
      continue;
    auto isWeight = [](auto &leaf) { return isa<WeightOp>(leaf.first); };
    Operation *weighted = llvm::find_if(unit->match.leaves, isWeight)->second->getOwner();
    layers.push_back({std::move(*unit), weighted});
  }
  return layers;
}

static int64_t getChannelAxis(Operation *op) {
  auto product = dyn_cast<nn::ProductOpInterface>(op);
  return product ? product.getResultChannelAxis() : 1;
}

Tap Layer::getSumTap(DenseF32ArrayAttr clamp) const {
  int64_t axis = getChannelAxis(op);
  return {op, ChannelSumObserverAttr::get(op->getContext(), axis, clamp), axis};
}

/// [N.bias_correction] 4096 values of a layer, but 1 to 64 of a channel.
Tap Layer::getValuesTap() const {
  constexpr int64_t kPerLayer = 4096, kPerChannel = 64;
  int64_t axis = getChannelAxis(op);
  int64_t numChannels = cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(axis);
  int64_t count = std::clamp<int64_t>(kPerLayer / numChannels, 1, kPerChannel);
  return {op, ChannelValuesObserverAttr::get(op->getContext(), axis, count), axis,
          /*keepsSamples=*/true};
}

/// [N.bias_correction] From the sums of both networks.
SmallVector<float, 0> octet::getMeanErrors(const Tap &tap, const Measured &measured) {
  auto getSums = [](const TapStatistics &statistics) {
    return ArrayRef(reinterpret_cast<const double *>(statistics.data()),
                    statistics.size() / sizeof(double));
  };
  ArrayRef<double> floating = getSums(measured.floating), reference = getSums(measured.reference);
  auto type = cast<RankedTensorType>(tap.op->getResult(0).getType());
  int64_t count = type.getNumElements() / floating.size() * measured.numSamples;
  SmallVector<float, 0> errors;
  for (auto [a, b] : llvm::zip_equal(floating, reference))
    errors.push_back(std::isfinite(a - b) ? (float)((a - b) / (double)count) : 0);
  return errors;
}

void octet::giveBias(Operation *op, Value bias) {
  if (auto group = dyn_cast<GroupOp>(op->getParentOp()))
    bias = group.addInput(bias);
  if (auto product = dyn_cast<nn::ProductOpInterface>(op))
    product.setBias(bias);
  else // by the order of input, weights, bias
    op->insertOperands(op->getNumOperands(), bias);
}

void octet::addToBias(const Layer &layer, ArrayRef<float> addend, StringRef suffix) {
  OpBuilder builder(layer.unit.op);
  OpOperand *operand = layer.unit.getOperand<BiasOp>();
  SmallVector<float, 0> values(addend.size(), 0.0f);
  std::string name = (getSourceName(layer.op) + ".bias").str();
  if (operand) {
    auto old = nn::getConstantValues<float>(operand->get());
    if (failed(old))
      return;
    values = *old;
    auto constant = operand->get().getDefiningOp<nn::ConstantOp>();
    name = (nn::getConstantName(constant) + "." + suffix).str();
  }
  for (auto [value, more] : llvm::zip_equal(values, addend))
    value += more;
  auto type = RankedTensorType::get({(int64_t)values.size()}, builder.getF32Type());
  Value bias = nn::createConstant<float>(builder, layer.op->getLoc(), name, type, values);
  if (operand) {
    Operation *old = operand->get().getDefiningOp();
    operand->set(bias);
    if (old->use_empty())
      old->erase();
    return;
  }
  giveBias(layer.op, bias);
}
