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

static bool isVariadic(Operation *leaf) {
  auto activation = dyn_cast_or_null<ActivationOp>(leaf);
  return activation && activation.getVariadic();
}

static bool isOptional(Operation *leaf) {
  auto bias = dyn_cast_or_null<BiasOp>(leaf);
  return bias && bias.getOptional();
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
  if (Operation *other = known.lookup(a); other && !isVariadic(a))
    return other == b;
  known[a] = b;
  auto inner = dyn_cast<MatchOp>(a), otherInner = dyn_cast<MatchOp>(b);
  if (inner || otherInner)
    return inner && otherInner && compare(inner, otherInner);
  // Weights, biases and parameters all match constants.
  return isa<ActivationOp>(a) == isa<ActivationOp>(b);
}

bool Comparison::compareOperands(ValueRange general, ValueRange special) {
  Operation *last = general.empty() ? nullptr : general.back().getDefiningOp(),
            *otherLast = special.empty() ? nullptr : special.back().getDefiningOp();
  bool mayVanish = isOptional(last);
  if ((isVariadic(otherLast) && !isVariadic(last)) || (isOptional(otherLast) && !mayVanish))
    return false;
  if (special.size() + (mayVanish ? 1 : 0) < general.size() ||
      (special.size() > general.size() && !isVariadic(last)))
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
