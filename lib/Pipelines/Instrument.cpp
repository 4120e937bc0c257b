//===- Instrument.cpp - copies of a network with taps ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Pipelines/Pipeline.h"
#include "octet/Quantize/Passes.h"

using namespace mlir;
using namespace octet;

/// An attribute of tapped operators in a copy of the network: the indices of their taps. It stays
/// with the operator while the copy is converted.
static constexpr llvm::StringLiteral kTapAttr = "octet.tap";

std::string octet::getTapName(size_t tap) { return "octet.tap." + std::to_string(tap); }

Instrument::Instrument(ModuleOp network, ArrayRef<Tap> taps) : taps(taps), constants(network) {
  IRMapping mapping;
  copy = cast<ModuleOp>(network->clone(mapping));
  Builder builder(network.getContext());
  llvm::MapVector<Operation *, SmallVector<int64_t>> tapsOf;
  for (auto [i, tap] : llvm::enumerate(taps))
    tapsOf[mapping.lookup(tap.op)].push_back(i);
  for (auto &[op, indices] : tapsOf)
    op->setAttr(kTapAttr, builder.getDenseI64ArrayAttr(indices));
}

LogicalResult Instrument::makeFloat() {
  eraseObserves(*copy, [](ObserveOp) { return true; });
  for (auto observer : llvm::make_early_inc_range(copy->getOps<ObserverOp>()))
    observer.erase();
  return inlineGroups();
}

LogicalResult Instrument::makeReference() {
  // octet-convert gives the same warnings for the network itself.
  ScopedDiagnosticHandler handler(copy->getContext(), [](Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() == DiagnosticSeverity::Warning);
  });
  PassManager pm(copy->getContext());
  PipelineOptions options;
  buildPipeline(pm, Stage::Calibrate, Stage::Convert, options);
  return success(succeeded(pm.run(*copy)) && succeeded(inlineGroups()));
}

LogicalResult Instrument::inlineGroups() {
  PassManager pm(copy->getContext());
  pm.addPass(createInlineGroupsPass());
  return pm.run(*copy);
}

/// Puts an observed value in the place of `value`.
ObserveOp Instrument::observe(size_t tap, Value value) {
  auto moduleBuilder = OpBuilder::atBlockBegin(copy->getBody());
  auto observer =
      ObserverOp::create(moduleBuilder, value.getLoc(),
                         moduleBuilder.getStringAttr(getTapName(tap)), taps[tap].observer, nullptr);
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto observed = ObserveOp::create(builder, value.getLoc(), value.getType(), value,
                                    FlatSymbolRefAttr::get(observer));
  value.replaceAllUsesExcept(observed.getResult(), observed);
  return observed;
}

Value Instrument::addOffset(ObserveOp op, int64_t axis) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<int64_t> shape(type.getRank(), 1);
  shape[axis] = type.getDimSize(axis);
  auto function = op->getParentOfType<func::FuncOp>();
  unsigned index = function.getNumArguments();
  OpBuilder builder(function.getContext());
  auto name = builder.getNamedAttr(nn::kNameAttr, op.getObserverAttr().getAttr());
  (void)function.insertArgument(index, type.clone(shape), builder.getDictionaryAttr(name),
                                op.getLoc());
  builder.setInsertionPointAfter(op);
  auto sum =
      nn::AddOp::create(builder, op.getLoc(), type, op.getResult(), function.getArgument(index));
  op.getResult().replaceAllUsesExcept(sum.getResult(), sum);
  return sum;
}

llvm::Expected<LoadedNetwork> Instrument::load(bool hasOffsets) {
  SmallVector<Value> tapped(taps.size());
  copy->walk([&](Operation *op) {
    if (auto indices = dyn_cast_or_null<DenseI64ArrayAttr>(op->removeDiscardableAttr(kTapAttr)))
      for (int64_t index : indices.asArrayRef())
        tapped[index] = op->getResult(0);
  });
  for (auto [i, tap] : llvm::enumerate(taps)) {
    Value value = tapped[i];
    if (!value)
      return llvm::createStringError("'" + tap.op->getName().getStringRef() +
                                     "' cannot be measured: octet-convert leaves no such operator");
    ObserveOp op = observe(i, value);
    Value last = op.getResult();
    if (hasOffsets && tap.offsetAxis)
      last = addOffset(op, *tap.offsetAxis);
    // The operator's next tap comes behind this one.
    llvm::replace(tapped, value, last);
  }
  constants.note(*copy);
  return loadFloatNetwork(*copy);
}
