//===- Backend.cpp - the tables of a backend, finding units ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Backend/Backend.h"
using namespace mlir;
using namespace octet;

Backend::Backend(BackendOp op)
    : op(op), patterns(op.getBody().getOps<PatternOp>()), folds(op.getBody().getOps<FoldOp>()) {
  llvm::stable_sort(patterns, [](PatternOp a, PatternOp b) {
    return llvm::range_size(a.getBody().getOps<MatchOp>()) >
           llvm::range_size(b.getBody().getOps<MatchOp>());
  });
}

/// The backend's only operator of this kind, or null.
template <typename PartOp> static PartOp getOnly(BackendOp backend) {
  auto parts = backend.getBody().getOps<PartOp>();
  return parts.empty() ? PartOp() : *parts.begin();
}

template <typename PartOp> static StringRef getReason(BackendOp backend) {
  PartOp part = getOnly<PartOp>(backend);
  return part ? part.getReason() : "";
}

RecipeOp Backend::getRecipe() const { return getOnly<RecipeOp>(op); }
StringRef Backend::getStatesReason() const { return getReason<FloatStatesOp>(op); }
StringRef Backend::getNormsReason() const { return getReason<FloatNormsOp>(op); }
StringRef Backend::getAnglesReason() const { return getReason<FloatAnglesOp>(op); }
StringRef Backend::getRatiosReason() const { return getReason<FloatRatiosOp>(op); }
FloatSumsOp Backend::getFloatSums() const { return getOnly<FloatSumsOp>(op); }
FloatEndsOp Backend::getFloatEnds() const { return getOnly<FloatEndsOp>(op); }
FloatProductsOp Backend::getFloatProducts() const { return getOnly<FloatProductsOp>(op); }

StringRef Backend::getFloatReason(OperationName name) const {
  for (auto entry : BackendOp(op).getBody().getOps<FloatOp>())
    if (llvm::is_contained(entry.getNames().getAsValueRange<StringAttr>(), name.getStringRef()))
      return entry.getReason();
  return "";
}

SymbolRefAttr Backend::getReference(PatternOp pattern) const {
  return SymbolRefAttr::get(BackendOp(op).getSymNameAttr(), FlatSymbolRefAttr::get(pattern));
}

MatchOp octet::getRootMatch(PatternOp pattern) {
  return cast<YieldOp>(pattern.getBody().front().getTerminator())
      .getValues()[0]
      .getDefiningOp<MatchOp>();
}

/// Matches the body of a group with its pattern again, which gives the roles of the operands.
static std::optional<Match> matchGroup(GroupOp group, PatternOp pattern) {
  Operation *root = group.getYielded().getDefiningOp();
  return root ? matchGraph(getRootMatch(pattern), root) : std::nullopt;
}

std::optional<Unit> Backend::matchUnit(Operation *candidate) const {
  auto group = dyn_cast<GroupOp>(candidate);
  for (PatternOp pattern : patterns) {
    std::optional<Match> match;
    if (group)
      match = group.getPatternAttr() == getReference(pattern) ? matchGroup(group, pattern)
                                                              : std::nullopt;
    else if (llvm::hasSingleElement(pattern.getBody().getOps<MatchOp>()))
      match = matchGraph(getRootMatch(pattern), candidate);
    if (!match)
      continue;
    Unit unit{candidate, pattern, std::move(*match), {}};
    for (auto [leaf, operand] : unit.match.leaves) {
      auto argument = group ? dyn_cast<BlockArgument>(operand->get()) : nullptr;
      if (group && !argument && isa<AnyOp>(leaf))
        continue; // a constant in the group
      if (group && !argument)
        return std::nullopt;
      unit.leaves.push_back(
          {leaf, group ? &group->getOpOperand(argument.getArgNumber()) : operand});
    }
    return unit;
  }
  return std::nullopt;
}

OpOperand *Unit::getWeightedActivation() const {
  auto weights = PatternOp(pattern).getBody().getOps<WeightOp>();
  if (weights.empty())
    return nullptr;
  Operation *reader = *(*weights.begin())->getUsers().begin();
  for (auto [leaf, operand] : leaves)
    if (isa<ActivationOp>(leaf) && llvm::is_contained(leaf->getUsers(), reader))
      return operand;
  return nullptr;
}
