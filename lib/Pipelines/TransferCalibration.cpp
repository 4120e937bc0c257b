//===- TransferCalibration.cpp - one calibration for all buckets ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferCalibration.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Pipelines/Measure.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"

using namespace mlir;
using namespace octet;

static constexpr llvm::StringLiteral kRemedy = "compile a library for each of them";

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

OperatorIndex::OperatorIndex(ModuleOp module) {
  module.lookupSymbol<func::FuncOp>("main").walk([&](Operation *op) {
    if (isa<ObserveOp, GroupOp, func::FuncOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
      return;
    std::pair kind{getOrigin(op).getAsOpaquePointer(), op->getName().getAsOpaquePointer()};
    OperatorKey key{kind.first, kind.second, counts[kind]++};
    operators[key] = op;
    keys[op] = key;
  });
}

ValueKey OperatorIndex::getKey(Value value) const {
  while (auto observe = value.getDefiningOp<ObserveOp>())
    value = observe.getInput();
  if (auto group = value.getDefiningOp<GroupOp>())
    value = GroupOp::lookThrough(group.getYielded());
  if (auto argument = dyn_cast<BlockArgument>(value))
    return {OperatorKey(), argument.getArgNumber()};
  auto result = cast<OpResult>(value);
  return {keys.lookup(result.getOwner()), result.getResultNumber()};
}

/// Those of the operator's origin and kind.
static unsigned count(const OperatorCounts &counts, OperatorKey key) {
  auto it = counts.find({std::get<0>(key), std::get<1>(key)});
  return it == counts.end() ? 0 : it->second;
}

/// How many more there are in `after`, without those of which there are as many.
static OperatorCounts getAdded(const OperatorCounts &before, const OperatorCounts &after) {
  OperatorCounts added = after;
  for (auto [kind, number] : before)
    if ((added[kind] -= number) == 0) // wraps around where there are fewer
      added.erase(kind);
  return added;
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

/// The observed activations.
static SmallVector<ObserveOp> listObserves(ModuleOp module) {
  SmallVector<ObserveOp> observes;
  module.walk([&](ObserveOp op) {
    if (!op.getInput().getDefiningOp<nn::ConstantOp>())
      observes.push_back(op);
  });
  return observes;
}

static int64_t getNumBytes(DenseElementsAttr statistics) {
  return statistics.getNumElements() * statistics.getElementType().getIntOrFloatBitWidth() / 8;
}

static const void *getKind(ObserverOp observer) {
  return observer.getObserver().getAsOpaquePointer();
}

//===----------------------------------------------------------------------===//
// The calibrated network
//===----------------------------------------------------------------------===//

void CalibrationTransfer::noteFloat(ModuleOp module, bool isCalibrated) {
  OperatorIndex index(module);
  FloatNetwork &network = isCalibrated ? before : here;
  network = {{}, index.getCounts()};
  for (auto &[key, op] : index.get())
    for (OpOperand &operand : op->getOpOperands())
      network.constants[key].push_back(getConstant(operand));
}

/// What an operator read in front of the recipe; null if it had no such operand or no constant.
static ElementsAttr lookUp(const OperatorConstants &constants, OperatorKey key, unsigned operand) {
  auto found = constants.find(key);
  return found == constants.end() || operand >= found->second.size() ? ElementsAttr()
                                                                     : found->second[operand];
}

void CalibrationTransfer::noteStatistics(ModuleOp module) {
  OperatorIndex index(module);
  prepared = index.getCounts();
  for (ObserveOp op : listObserves(module)) {
    auto observer = module.lookupSymbol<ObserverOp>(op.getObserver());
    statistics[{index.getKey(op.getInput()), getKind(observer)}] = observer.getStatisticsAttr();
  }
}

void CalibrationTransfer::noteConstants(ModuleOp module) {
  OperatorIndex index(module);
  improved = index.getCounts();
  for (auto &[key, op] : index.get()) {
    for (OpOperand &operand : op->getOpOperands()) {
      unsigned number = operand.getOperandNumber();
      ElementsAttr was = lookUp(before.constants, key, number), constant = getConstant(operand);
      if (constant && was != constant)
        changes.push_back(
            {key, StringAttr::get(op->getContext(), getSourceName(op)), number, was, constant});
    }
  }
}

//===----------------------------------------------------------------------===//
// Another network
//===----------------------------------------------------------------------===//

/// Parts of an operator, such as the steps of a recurrent one, are told apart by their numbers.
llvm::Error CalibrationTransfer::checkParts(const OperatorCounts &counts,
                                            const OperatorIndex &index, OperatorKey key,
                                            StringRef name) {
  unsigned expected = count(counts, key);
  if (key == OperatorKey() || !expected || expected == count(index.getCounts(), key))
    return llvm::Error::success();
  return makeRemedyError("the operator " + quote(name) +
                             " has other parts than in the bucket that is calibrated, such as "
                             "another number of steps",
                         kRemedy);
}

llvm::Error CalibrationTransfer::checkAdded(const OperatorIndex &index,
                                            const OperatorCounts &changed) const {
  if (getAdded(here.counts, index.getCounts()) == getAdded(before.counts, changed))
    return llvm::Error::success();
  return makeRemedyError("the backend's recipe adds other operators than in the bucket that is "
                         "calibrated",
                         kRemedy);
}

llvm::Error CalibrationTransfer::applyStatistics(ModuleOp module) const {
  OperatorIndex index(module);
  if (llvm::Error error = checkAdded(index, prepared))
    return error;
  Statistics expected = initStatistics(module);
  for (ObserveOp op : listObserves(module)) {
    auto state = expected.find(op.getObserver().str());
    if (state == expected.end())
      continue;
    auto observer = module.lookupSymbol<ObserverOp>(op.getObserver());
    ValueKey key = index.getKey(op.getInput());
    OriginAttr origin = getOrigin(op.getInput());
    if (llvm::Error error =
            checkParts(prepared, index, key.first, origin ? origin.getName().getValue() : ""))
      return error;
    auto found = statistics.find({key, getKind(observer)});
    DenseElementsAttr known = found == statistics.end() ? DenseElementsAttr() : found->second;
    // Values that share an observer here do so there.
    if (!known || getNumBytes(known) != (int64_t)state->second.bytes.size() ||
        (observer.getStatistics() && observer.getStatisticsAttr() != known))
      return makeRemedyError("the value " + quote(op.getObserver()) +
                                 " is not observed, or in another way, in the bucket that is "
                                 "calibrated",
                             kRemedy);
    observer.setStatisticsAttr(known);
  }
  return llvm::Error::success();
}

llvm::Error CalibrationTransfer::applyChange(const OperatorIndex &index,
                                             const Change &change) const {
  if (llvm::Error error = checkParts(improved, index, change.op, change.name))
    return error;
  auto found = index.get().find(change.op);
  Operation *op = found == index.get().end() ? nullptr : found->second;
  unsigned numOperands = op ? op->getNumOperands() : 0;
  OpOperand *use =
      change.operand < numOperands ? findConstant(&op->getOpOperand(change.operand)) : nullptr;
  if (use && getConstant(*use) == change.after)
    return llvm::Error::success(); // the recipe needs no samples for that
  bool isAlike =
      op && lookUp(here.constants, change.op, change.operand) == change.before &&
      here.constants.count(change.op) && before.constants.count(change.op) &&
      (use ? use->get().getType() == change.after.getShapedType() : change.operand == numOperands);
  if (!isAlike)
    return makeRemedyError("the constants of the operator " + quote(change.name) +
                               " are not those of the bucket that is calibrated",
                           kRemedy);
  Operation *user = use ? use->getOwner() : op;
  if (!use && isa<GroupOp>(op->getParentOp()))
    user = op->getParentOp();
  OpBuilder builder(user);
  Value constant = nn::ConstantOp::create(
      builder, op->getLoc(), cast<RankedTensorType>(change.after.getType()), change.after);
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

llvm::Error CalibrationTransfer::applyConstants(ModuleOp module) const {
  OperatorIndex index(module);
  if (llvm::Error error = checkAdded(index, improved))
    return error;
  for (const Change &change : changes)
    if (llvm::Error error = applyChange(index, change))
      return error;
  return llvm::Error::success();
}
