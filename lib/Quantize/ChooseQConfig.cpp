//===- ChooseQConfig.cpp - which QConfig a unit gets ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearMiss.h"
#include "Plan.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;

Reason octet::getReasonOfNone() { return {"OCT205", "the QConfig mapping says none here", ""}; }

Operation *octet::getAnchor(const Unit &unit) {
  for (auto [leaf, operand] : unit.match.leaves)
    if (isa<WeightOp>(leaf))
      return operand->getOwner();
  return unit.match.getRoot();
}

std::optional<Reason> octet::chooseQConfig(const QConfigMapping &mapping, const Unit &unit,
                                           QConfigAttr &qconfig) {
  Operation *entry = mapping.lookup(getAnchor(unit));
  qconfig = getQConfig(entry);
  if (!entry)
    return Reason{"OCT206", "no entry of the QConfig mapping applies",
                  "add an octet.global to the mapping"};
  if (!qconfig)
    return getReasonOfNone();
  // What is said of all operators says nothing of those that an entry's operator is fused with.
  for (auto [_, op] : unit.match.ops)
    if (Operation *other = mapping.lookup(op); other && !isa<GlobalOp>(other) && !getQConfig(other))
      return Reason{
          "OCT207",
          ("the QConfig mapping says none for the fused " + op->getName().getStringRef()).str(),
          "give all parts of a fused group a QConfig, or none of them"};
  return std::nullopt;
}

/// Operators of a unit with a weight have one QConfig. Entries for names say which; of object
/// types, those of two operators must agree. An entry with a `result` is about an operator that
/// stands alone. A unit without a weight, which PyTorch does not fuse into a module, has that of
/// its last operator.
static LogicalResult checkQConfigs(const QConfigMapping &mapping, const Unit &unit) {
  Operation *anchor = getAnchor(unit), *entry = mapping.lookup(anchor);
  if (!isa_and_nonnull<ObjectTypeOp, GlobalOp>(entry) || !getQConfig(entry) ||
      !unit.getOperand<WeightOp>())
    return success();
  for (auto [_, op] : unit.match.ops) {
    Operation *other = mapping.lookup(op);
    QConfigAttr qconfig = isa_and_nonnull<ObjectTypeOp>(other) ? getQConfig(other) : nullptr;
    if (op == anchor || !qconfig || qconfig.getResult() ||
        qconfig.getActivation() == getQConfig(entry).getActivation())
      continue;
    InFlightDiagnostic diagnostic =
        emitError(unit.op->getLoc())
        << "expected one activation observer for the fused " << describeOperator(anchor) << " and "
        << describeOperator(op) << ", but the QConfig mapping has two"
        << Remedy("give both object types the same activation observer, or name one of the "
                  "operators by module_name");
    diagnostic.attachNote(entry->getLoc()) << "the entry for " << describeOperator(anchor);
    diagnostic.attachNote(other->getLoc()) << "the entry for " << describeOperator(op);
    return diagnostic;
  }
  return success();
}

LogicalResult octet::checkQConfigsOfUnits(const Backend &backend, const QConfigMapping &mapping,
                                          Block &block) {
  for (auto group : block.getOps<GroupOp>())
    if (std::optional<Unit> unit = backend.matchUnit(group);
        unit && failed(checkQConfigs(mapping, *unit)))
      return failure();
  return success();
}
