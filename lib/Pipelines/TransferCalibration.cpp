//===- TransferCalibration.cpp - one calibration for all buckets ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferCalibration.h"
#include "Statistics.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"

using namespace mlir;
using namespace octet;

static constexpr llvm::StringLiteral kRemedy = "compile a library for each of them";

bool CalibrationTransfer::KeyLess::operator()(const Key &a, const Key &b) const {
  auto getPointers = [](const Key &key) {
    return std::make_tuple(std::get<0>(key).getAsOpaquePointer(),
                           std::get<1>(key).getAsOpaquePointer(), std::get<2>(key));
  };
  return getPointers(a) < getPointers(b);
}

CalibrationTransfer::ByOperator<Operation *> CalibrationTransfer::listOperators(ModuleOp module) {
  ByOperator<Operation *> operators;
  std::map<std::pair<const void *, const void *>, unsigned> counts;
  module.walk([&](Operation *op) {
    OriginAttr origin = getOrigin(op);
    if (!origin || isa<ObserveOp, GroupOp>(op))
      return;
    unsigned &count = counts[{origin.getAsOpaquePointer(), op->getName().getAsOpaquePointer()}];
    operators[{origin, op->getName(), count++}] = op;
  });
  return operators;
}

/// The use of the constant that an operand reads through groups and observers; null if it reads
/// none.
static OpOperand *findConstant(OpOperand *use) {
  while (!use->get().getDefiningOp<nn::ConstantOp>()) {
    auto observe = use->get().getDefiningOp<ObserveOp>();
    auto argument = dyn_cast<BlockArgument>(use->get());
    auto group = argument ? dyn_cast_or_null<GroupOp>(argument.getOwner()->getParentOp()) : nullptr;
    if (!observe && !group)
      return nullptr;
    use = observe ? &observe->getOpOperand(0) : &group->getOpOperand(argument.getArgNumber());
  }
  return use;
}

static ElementsAttr getConstant(OpOperand &operand) {
  OpOperand *use = findConstant(&operand);
  return use ? use->get().getDefiningOp<nn::ConstantOp>().getValue() : ElementsAttr();
}

CalibrationTransfer::ByOperator<CalibrationTransfer::Constants>
CalibrationTransfer::listConstants(ModuleOp module) {
  ByOperator<Constants> constants;
  for (auto &[key, op] : listOperators(module))
    for (OpOperand &operand : op->getOpOperands())
      constants[key].push_back(getConstant(operand));
  return constants;
}

void CalibrationTransfer::noteFloat(ModuleOp module) { before = listConstants(module); }

void CalibrationTransfer::noteCalibrated(ModuleOp module) {
  ByOperator<Constants> after = listConstants(module);
  hasOtherChanges = after.size() != before.size();
  for (auto &[key, constants] : after) {
    auto old = before.find(key);
    hasOtherChanges |= old == before.end() || old->second.size() > constants.size();
    if (hasOtherChanges)
      return;
    for (auto [number, constant] : llvm::enumerate(constants)) {
      bool isNew = number >= old->second.size();
      ElementsAttr was = isNew ? ElementsAttr() : old->second[number];
      if (was == constant)
        continue;
      hasOtherChanges |= !constant || (!was && !isNew);
      changes.push_back({key, (unsigned)number, was, constant});
    }
  }
  for (auto observer : module.getOps<ObserverOp>())
    if (observer.getStatistics())
      statistics[observer.getSymName()] = {observer.getObserver(), observer.getStatisticsAttr()};
}

llvm::Error CalibrationTransfer::applyStatistics(ModuleOp module) const {
  for (auto &[symbol, state] : initStatistics(module)) {
    auto observer = module.lookupSymbol<ObserverOp>(symbol);
    auto known = statistics.find(symbol);
    if (known == statistics.end() || known->second.first != observer.getObserver() ||
        known->second.second.getNumElements() != (int64_t)state.bytes.size())
      return makeRemedyError("the value " + quote(symbol) +
                                 " is not observed, or in another way, in the bucket that is "
                                 "calibrated",
                             kRemedy);
    observer.setStatisticsAttr(known->second.second);
  }
  return llvm::Error::success();
}

llvm::Error CalibrationTransfer::applyChange(Operation *op, const Change &change) const {
  OpOperand *use = change.operand < (op ? op->getNumOperands() : 0)
                       ? findConstant(&op->getOpOperand(change.operand))
                       : nullptr;
  ElementsAttr was = use ? getConstant(*use) : ElementsAttr();
  if (!op || was != change.before || (!use && op->getNumOperands() != change.operand))
    return makeRemedyError(
        "the constants of the operator " +
            quote(OriginAttr(cast<OriginAttr>(std::get<0>(change.op))).getName()) +
            " are not those of the bucket that is calibrated",
        kRemedy);
  Operation *user = use ? use->getOwner() : op;
  if (!use && isa<GroupOp>(op->getParentOp()))
    user = op->getParentOp();
  OpBuilder builder(user);
  auto type = use ? cast<RankedTensorType>(use->get().getType())
                  : cast<RankedTensorType>(change.after.getType());
  Value constant = nn::ConstantOp::create(builder, op->getLoc(), type, change.after);
  if (!use) {
    giveBias(op, constant);
    return llvm::Error::success();
  }
  Operation *old = use->get().getDefiningOp();
  use->set(constant);
  if (old->use_empty())
    old->erase();
  return llvm::Error::success();
}

llvm::Error CalibrationTransfer::apply(ModuleOp module) const {
  if (hasOtherChanges)
    return makeRemedyError("the backend's recipe changes more than constants, and several buckets "
                           "can share only these",
                           kRemedy);
  if (llvm::Error error = applyStatistics(module))
    return error;
  ByOperator<Operation *> operators = listOperators(module);
  for (const Change &change : changes) {
    auto op = operators.find(change.op);
    if (llvm::Error error = applyChange(op == operators.end() ? nullptr : op->second, change))
      return error;
  }
  return llvm::Error::success();
}
