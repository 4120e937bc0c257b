//===- Match.cpp - finding a backend's patterns in a program --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/IR/TypeUtilities.h"
#include "octet/Backend/Backend.h"
#include "octet/Support/Constants.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace octet;

bool octet::isConstant(Value value) {
  value = GroupOp::lookThrough(value);
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<ObserveOp, QuantizeOp, DequantizeOp, DequantizeWeightsOp, FakeQuantizeOp,
                         quant::StorageCastOp>(op)) {
    value = GroupOp::lookThrough(op->getOperand(0));
    op = value.getDefiningOp();
  }
  return (op && op->hasTrait<OpTrait::ConstantLike>()) || isMarkedWeight(value);
}

Operation *Match::lookup(MatchOp pattern) const {
  for (auto [match, op] : ops)
    if (match == pattern)
      return op;
  return nullptr;
}

static bool matchOp(MatchOp pattern, Operation *op, Match &match);

/// Whether the pattern of a leaf has data types for inputs that stay float alone. What such a unit
/// reads beside its weights may be positions, as those of an embedding, which PyTorch has as
/// floats, too.
static bool mayReadPositions(Operation *leaf) {
  auto pattern = dyn_cast<PatternOp>(leaf->getParentOp());
  return pattern && !pattern.getDtypes().empty() &&
         llvm::all_of(pattern.getDtypes().getAsRange<FlatSymbolRefAttr>(), [&](auto symbol) {
           auto dtypes = dyn_cast_or_null<DTypesOp>(
               SymbolTable::lookupSymbolIn(pattern->getParentOp(), symbol.getAttr()));
           return dtypes && dtypes.getInput() && isa<FloatType>(dtypes.getInput()->getType());
         });
}

/// Whether an operand is of the leaf's kind. Floats of other types than f32 match, so that the plan
/// can say of the operator why it stays float.
static bool isOfKind(Operation *leaf, Value value) {
  if (isa<AnyOp>(leaf))
    return true;
  if (!isa<ActivationOp>(leaf))
    return isConstant(value);
  Type element = getElementTypeOrSelf(value.getType());
  return !isConstant(value) &&
         (isa<FloatType>(element) || (isa<IntegerType>(element) && mayReadPositions(leaf)));
}

/// Binds a leaf to an operand; a leaf with two uses must match one value.
static bool matchLeaf(Operation *leaf, OpOperand &operand, Match &match) {
  if (!isOfKind(leaf, operand.get()))
    return false;
  bool variadic = isVariadicLeaf(leaf);
  for (auto [bound, other] : match.leaves)
    if (bound == leaf && !variadic && other->get() != operand.get())
      return false;
  match.leaves.push_back({leaf, &operand});
  return true;
}

/// Whether an inner value has as many uses as in the pattern. Operators with other uses are
/// skipped, so that the other operand of a commutative operator is tried.
static bool matchOperand(Value pattern, OpOperand &operand, Match &match) {
  if (auto inner = pattern.getDefiningOp<MatchOp>())
    return operand.get().getDefiningOp() &&
           cast<OpResult>(pattern).getResultNumber() ==
               cast<OpResult>(operand.get()).getResultNumber() &&
           llvm::range_size(pattern.getUses()) == llvm::range_size(operand.get().getUses()) &&
           matchOp(inner, operand.get().getDefiningOp(), match);
  return matchLeaf(pattern.getDefiningOp(), operand, match);
}

/// Matches operands one by one; the last leaf may be optional or match all remaining operands.
static bool matchOperands(ValueRange patterns, MutableArrayRef<OpOperand *> operands,
                          Match &match) {
  Operation *last = patterns.empty() ? nullptr : patterns.back().getDefiningOp();
  bool variadic = last && isVariadicLeaf(last);
  bool optional = (isa_and_nonnull<BiasOp>(last) && cast<BiasOp>(last).getOptional()) ||
                  (isa_and_nonnull<AnyOp>(last) && variadic);
  if (operands.size() < patterns.size() - (optional ? 1 : 0) ||
      (operands.size() > patterns.size() && !variadic))
    return false;
  for (auto [index, operand] : llvm::enumerate(operands))
    if (!matchOperand(patterns[std::min<size_t>(index, patterns.size() - 1)], *operand, match))
      return false;
  return true;
}

static bool hasAttributes(Operation *op, DictionaryAttr wanted) {
  DictionaryAttr attributes = op->getAttrDictionary();
  return !wanted || llvm::all_of(wanted, [&](NamedAttribute attribute) {
    return attributes.get(attribute.getName()) == attribute.getValue();
  });
}

/// Whether name, attributes and constraints of one operator fit, without its operands.
static bool fits(MatchOp pattern, Operation *op) {
  auto isName = [&](StringAttr name) { return name.getValue() == op->getName().getStringRef(); };
  bool hasResults = pattern.getVariadic() ? op->getNumResults() > 0
                                          : op->getNumResults() == pattern->getNumResults();
  if (!hasResults || llvm::none_of(pattern.getNames().getAsRange<StringAttr>(), isName))
    return false;
  if (!hasAttributes(op, pattern.getWithAttr()))
    return false;
  auto constraints = pattern.getWhereAttr();
  return !constraints || llvm::all_of(constraints, [&](Attribute constraint) {
    return cast<MatchConstraintAttrInterface>(constraint).holds(op);
  });
}

static bool matchOp(MatchOp pattern, Operation *op, Match &match) {
  if (Operation *known = match.lookup(pattern))
    return known == op;
  if (!fits(pattern, op))
    return false;
  SmallVector<OpOperand *> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(&operand);
  for (int attempt = 0; attempt < (pattern.getCommutative() ? 2 : 1); ++attempt) {
    Match candidate = match;
    if (matchOperands(pattern.getInputs(), operands, candidate)) {
      match = std::move(candidate);
      match.ops.push_back({pattern, op});
      return true;
    }
    std::reverse(operands.begin(), operands.end());
  }
  return false;
}

std::optional<Match> octet::matchGraph(MatchOp pattern, Operation *root) {
  Match match;
  if (!matchOp(pattern, root, match))
    return std::nullopt;
  SmallPtrSet<Operation *, 4> inside;
  for (auto [_, op] : match.ops)
    inside.insert(op);
  for (auto [_, op] : ArrayRef(match.ops).drop_back())
    if (op->getBlock() != root->getBlock() ||
        llvm::any_of(op->getUsers(), [&](Operation *user) { return !inside.contains(user); }))
      return std::nullopt;
  return match;
}
