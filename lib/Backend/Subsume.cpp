//===- Subsume.cpp - does one pattern match whatever another matches ------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Backend/Backend.h"

using namespace mlir;
using namespace octet;

namespace {
/// Compares two graphs from their roots on. Leaves and matches of the general graph stand for those
/// of the special one.
class Comparison {
public:
  explicit Comparison(bool ignoreNames) : ignoreNames(ignoreNames) {}
  bool compare(MatchOp general, MatchOp special);

private:
  bool compareOperands(ValueRange general, ValueRange special);
  bool compareOperand(Value general, Value special);

  bool ignoreNames;
  DenseMap<Operation *, Operation *> known;
};
} // namespace

/// Whether a leaf also matches no operand.
static bool isOptional(Operation *leaf) {
  auto bias = dyn_cast_or_null<BiasOp>(leaf);
  auto any = dyn_cast_or_null<AnyOp>(leaf);
  return (bias && bias.getOptional()) || (any && any.getVariadic());
}

/// Whether every element of `few` is one of `many`; null attributes are empty.
static bool isSubset(ArrayAttr few, ArrayAttr many) {
  return !few || llvm::all_of(few, [&](Attribute element) {
    return many && llvm::is_contained(many, element);
  });
}

static bool isSubset(DictionaryAttr few, DictionaryAttr many) {
  return !few || llvm::all_of(few, [&](NamedAttribute attribute) {
    return many && many.get(attribute.getName()) == attribute.getValue();
  });
}

bool Comparison::compareOperand(Value general, Value special) {
  Operation *a = general.getDefiningOp(), *b = special.getDefiningOp();
  if (Operation *other = known.lookup(a); other && !isVariadicLeaf(a))
    return other == b;
  known[a] = b;
  auto inner = dyn_cast<MatchOp>(a), otherInner = dyn_cast<MatchOp>(b);
  if (inner && otherInner &&
      cast<OpResult>(general).getResultNumber() != cast<OpResult>(special).getResultNumber())
    return false;
  if (inner || (otherInner && !isa<AnyOp>(a)))
    return inner && otherInner && compare(inner, otherInner);
  if (isa<AnyOp>(a) || isa<AnyOp>(b))
    return isa<AnyOp>(a);
  // Weights, biases and parameters all match constants.
  return isa<ActivationOp>(a) == isa<ActivationOp>(b);
}

bool Comparison::compareOperands(ValueRange general, ValueRange special) {
  Operation *last = general.empty() ? nullptr : general.back().getDefiningOp(),
            *otherLast = special.empty() ? nullptr : special.back().getDefiningOp();
  bool mayVanish = isOptional(last);
  if ((isVariadicLeaf(otherLast) && !isVariadicLeaf(last)) || (isOptional(otherLast) && !mayVanish))
    return false;
  if (special.size() + (mayVanish ? 1 : 0) < general.size() ||
      (special.size() > general.size() && !isVariadicLeaf(last)))
    return false;
  for (auto [index, operand] : llvm::enumerate(special))
    if (!compareOperand(general[std::min<size_t>(index, general.size() - 1)], operand))
      return false;
  return true;
}

bool Comparison::compare(MatchOp general, MatchOp special) {
  bool hasNames = ignoreNames || isSubset(special.getNames(), general.getNames());
  if (!hasNames || !isSubset(general.getWithAttr(), special.getWithAttr()) ||
      !isSubset(general.getWhereAttr(), special.getWhereAttr()))
    return false;
  if (!general.getVariadic() &&
      (special.getVariadic() || general->getNumResults() != special->getNumResults()))
    return false;
  if (special.getCommutative() && !general.getCommutative())
    return false;
  DenseMap<Operation *, Operation *> before = known;
  if (compareOperands(general.getInputs(), special.getInputs()))
    return true;
  if (!general.getCommutative())
    return false;
  known = before;
  SmallVector<Value> reversed(llvm::reverse(special.getInputs()));
  return compareOperands(general.getInputs(), reversed);
}

bool octet::subsumes(MatchOp general, MatchOp special, bool ignoreNames) {
  return Comparison(ignoreNames).compare(general, special);
}
