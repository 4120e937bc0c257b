//===- Alignment.cpp - a graph laid over a program that it need not match -===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Alignment.h"
#include "NearMiss.h"
#include "mlir/IR/TypeUtilities.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

std::string octet::describeOperator(Operation *op) {
  StringRef name = getSourceName(op);
  std::string text = op->getName().getStringRef().str();
  if (auto group = dyn_cast<GroupOp>(op); group && group.getPatternAttr())
    text = "the group of @" + group.getPatternAttr().getLeafReference().str();
  return text + (name.empty() ? "" : " " + quote(name));
}

std::string Difference::describe(Operation *subject) const {
  return (op == subject ? "its " + part : part + " of " + describeOperator(op)) + " " + text;
}

std::string octet::describeAround(const Difference &difference, Operation *subject) {
  auto name = [&](Operation *op) {
    return op == subject ? std::string("it") : describeOperator(op);
  };
  return name(difference.between) + " stands between " + name(difference.op) + " and " +
         name(difference.behind);
}

/// `nn.relu`, or `nn.relu or one of 13 others`.
static std::string describeNames(MatchOp match) {
  auto names = llvm::to_vector(match.getNames().getAsValueRange<StringAttr>());
  std::string text = names.front().str();
  if (names.size() == 2)
    text += " or " + names.back().str();
  else if (names.size() > 2)
    text += " or one of " + std::to_string(names.size() - 1) + " others";
  return text;
}

static std::string describeProducer(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return "is an input";
  return octet::isConstant(value) ? "is a constant" : "comes from " + describeOperator(op);
}

static std::string print(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  attribute.print(os, /*elideType=*/true);
  return text;
}

//===----------------------------------------------------------------------===//
// The parts of a graph
//===----------------------------------------------------------------------===//

Operation *Alignment::lookup(MatchOp match) const {
  for (auto [known, op] : ops)
    if (known == match)
      return op;
  return nullptr;
}

bool Alignment::isNearer(const Alignment &other) const {
  int64_t cost = differences.size() + numMissing,
          otherCost = other.differences.size() + other.numMissing;
  return cost < otherCost || (cost == otherCost && ops.size() > other.ops.size());
}

bool octet::isNamed(MatchOp match, Operation *op) {
  return llvm::is_contained(match.getNames().getAsValueRange<StringAttr>(),
                            op->getName().getStringRef());
}

bool Alignment::isInterruptedBy(Operation *op) const {
  return llvm::any_of(differences, [&](const Difference &d) { return d.between == op; });
}

/// What a constraint may be about: the attributes that it names, the class in the source, and the
/// types of the operands.
static std::string describeForm(Operation *op, Attribute constraint) {
  std::string text;
  llvm::raw_string_ostream os(text);
  constraint.walk([&](StringAttr name) {
    if (Attribute value = op->getAttrDictionary().get(name))
      os << quote(name.getValue()) << " is " << print(value) << ", ";
  });
  if (OriginAttr origin = getOrigin(op); origin && origin.getSourceClass())
    os << "its class is " << quote(origin.getSourceClass().getValue()) << ", ";
  os << "operands are ";
  llvm::interleaveComma(op->getOperandTypes(), os);
  return text;
}

/// Attributes and constraints of one operator.
static void checkAttributes(MatchOp match, Operation *op, Alignment &alignment) {
  auto differ = [&](const Twine &part, const Twine &text, StringRef remedy) {
    alignment.differences.push_back({part.str(), text.str(), remedy.str(), op});
  };
  if (!match.getVariadic() && op->getNumResults() != match->getNumResults())
    differ("number of results",
           "is " + Twine(op->getNumResults()) + ", not " + Twine(match->getNumResults()),
           "write the operator as several with one result each");
  if (auto wanted = match.getWithAttr())
    for (NamedAttribute attribute : wanted) {
      Attribute value = op->getAttrDictionary().get(attribute.getName());
      if (value != attribute.getValue())
        differ("attribute " + quote(attribute.getName()),
               "is " + (value ? print(value) : "missing") + ", not " + print(attribute.getValue()),
               "add an octet.pattern whose `with` has this value");
    }
  if (auto constraints = match.getWhereAttr())
    for (Attribute constraint : constraints)
      if (!cast<MatchConstraintAttrInterface>(constraint).holds(op))
        differ("form", "is not " + print(constraint) + ": " + describeForm(op, constraint),
               "add an octet.pattern without this `where`");
}

/// An operand on a leaf, which takes a constant or not, and a type of element.
static void checkLeaf(Operation *leaf, OpOperand &operand, Alignment &alignment) {
  std::string number = "operand " + std::to_string(operand.getOperandNumber());
  auto differ = [&](const Twine &text, const Twine &remedy) {
    alignment.differences.push_back({number, text.str(), remedy.str(), operand.getOwner()});
  };
  if (isa<AnyOp>(leaf))
    return;
  StringRef name = leaf->getName().getStringRef();
  auto activation = dyn_cast<ActivationOp>(leaf);
  Type element = getElementTypeOrSelf(operand.get().getType());
  if (activation && octet::isConstant(operand.get()))
    return differ("is a constant, not an octet.activation",
                  "add an octet.pattern with an octet.parameter in its place");
  if (!activation && !octet::isConstant(operand.get()))
    return differ("is computed at run time, not an " + name,
                  "make it a constant, or add an octet.pattern with an octet.activation in its "
                  "place");
  if (activation && !isa<FloatType>(element)) {
    std::string type;
    llvm::raw_string_ostream(type) << element;
    return differ("has elements of " + type + ", which are no floats",
                  "convert it to f32 in front of the operator");
  }
  if (isVariadicLeaf(leaf))
    return;
  for (auto [bound, value] : alignment.leaves)
    if (bound == leaf && value != operand.get())
      return differ("is another value than that of the same leaf",
                    "add an octet.pattern with leaves of their own");
  alignment.leaves.push_back({leaf, operand.get()});
}

//===----------------------------------------------------------------------===//
// Towards the operands
//===----------------------------------------------------------------------===//

static Alignment alignDown(MatchOp match, Operation *op, Alignment alignment);

/// The operand of `op` that an operator of the match's names computes, or null.
static Operation *findBehind(MatchOp match, Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<GroupOp>(op))
    return nullptr;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp(); producer && isNamed(match, producer))
      return producer;
  return nullptr;
}

static Alignment alignOperand(Value pattern, OpOperand &operand, Alignment alignment) {
  auto inner = pattern.getDefiningOp<MatchOp>();
  if (!inner) {
    checkLeaf(pattern.getDefiningOp(), operand, alignment);
    return alignment;
  }
  Operation *producer = operand.get().getDefiningOp(), *known = alignment.lookup(inner);
  bool isInterrupted = producer && alignment.isInterruptedBy(producer);
  if (known && (known == producer || isInterrupted))
    return alignment;
  if (!known && producer && isNamed(inner, producer))
    return alignDown(inner, producer, std::move(alignment));
  Operation *behind = !known && producer ? findBehind(inner, producer) : nullptr;
  if (behind) {
    alignment.differences.push_back({"", "", "", behind, producer, operand.getOwner()});
    return alignDown(inner, behind, std::move(alignment));
  }
  alignment.differences.push_back(
      {"operand " + std::to_string(operand.getOperandNumber()),
       describeProducer(operand.get()) + ", not from " + describeNames(inner), "",
       operand.getOwner()});
  return alignment;
}

static Alignment alignOperands(MatchOp match, ArrayRef<OpOperand *> operands, Operation *op,
                               Alignment alignment) {
  ValueRange patterns = match.getInputs();
  Operation *last = patterns.empty() ? nullptr : patterns.back().getDefiningOp();
  auto bias = dyn_cast_or_null<BiasOp>(last);
  bool isVariadic = last && isVariadicLeaf(last);
  bool isOptional = (bias && bias.getOptional()) || (isVariadic && isa<AnyOp>(last));
  size_t most = isVariadic ? operands.size() : patterns.size(),
         least = patterns.size() - (isOptional ? 1 : 0);
  if (operands.size() < least || operands.size() > most)
    alignment.differences.push_back(
        {"number of operands",
         "is " + std::to_string(operands.size()) + ", not " + std::to_string(patterns.size()),
         "add an octet.pattern with this number of operands", op});
  for (auto [index, operand] : llvm::enumerate(operands.take_front(most)))
    alignment = alignOperand(patterns[std::min<size_t>(index, patterns.size() - 1)], *operand,
                             std::move(alignment));
  return alignment;
}

static int64_t getPartialCost(const Alignment &alignment) {
  return (int64_t)alignment.differences.size() - (int64_t)alignment.ops.size();
}

/// Lays the graph that ends with `match` over `op` and what computes its operands.
static Alignment alignDown(MatchOp match, Operation *op, Alignment alignment) {
  alignment.ops.push_back({match, op});
  checkAttributes(match, op, alignment);
  SmallVector<OpOperand *> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(&operand);
  Alignment best = alignOperands(match, operands, op, alignment);
  if (!match.getCommutative())
    return best;
  std::reverse(operands.begin(), operands.end());
  Alignment other = alignOperands(match, operands, op, alignment);
  return getPartialCost(other) < getPartialCost(best) ? other : best;
}

//===----------------------------------------------------------------------===//
// Towards the readers
//===----------------------------------------------------------------------===//

/// The best of the readers of `op`, or of readers of those, for the match that reads it.
static std::optional<Alignment> alignReader(MatchOp reader, Operation *op,
                                            const Alignment &alignment) {
  std::optional<Alignment> best;
  auto consider = [&](Operation *candidate, Operation *between) {
    Alignment start = alignment;
    if (between)
      start.differences.push_back({"", "", "", op, between, candidate});
    Alignment other = alignDown(reader, candidate, std::move(start));
    if (!best || getPartialCost(other) < getPartialCost(*best))
      best = std::move(other);
  };
  for (Operation *user : op->getUsers()) {
    if (isNamed(reader, user))
      consider(user, nullptr);
    else if (!isa<GroupOp>(user))
      for (Operation *behind : user->getUsers())
        if (isNamed(reader, behind))
          consider(behind, user);
  }
  return best;
}

static Alignment alignUp(MatchOp match, Operation *op, Alignment alignment) {
  for (Operation *user : match->getUsers()) {
    auto reader = dyn_cast<MatchOp>(user);
    if (!reader || alignment.lookup(reader))
      continue;
    if (auto better = alignReader(reader, op, alignment)) {
      Operation *next = better->lookup(reader);
      alignment = alignUp(reader, next, std::move(*better));
      continue;
    }
    Operation *only = op->hasOneUse() ? *op->user_begin() : nullptr;
    bool isOutput = only && only->hasTrait<OpTrait::IsTerminator>();
    std::string by = isOutput ? "is returned, not read by "
                     : only   ? "is read by " + describeOperator(only) + ", not by "
                              : "is not read by ";
    alignment.differences.push_back({"result", by + describeNames(reader), "", op});
  }
  return alignment;
}

Alignment octet::alignAround(MatchOp match, Operation *op) {
  return alignUp(match, op, alignDown(match, op, {}));
}

void Alignment::finish(Region &graph) {
  numMissing = llvm::range_size(graph.getOps<MatchOp>()) - (int64_t)ops.size();
  DenseSet<Operation *> inside(llvm::from_range, llvm::make_second_range(ops));
  for (const Difference &difference : differences)
    inside.insert(difference.between);
  for (auto [match, op] : ops) {
    bool isInner = llvm::any_of(match->getUsers(), llvm::IsaPred<MatchOp>);
    if (!isInner || numMissing > 0)
      continue;
    for (Operation *user : op->getUsers()) {
      if (inside.contains(user))
        continue;
      bool isOutput = user->hasTrait<OpTrait::IsTerminator>();
      differences.push_back(
          {"result", isOutput ? "is also returned" : "is also read by " + describeOperator(user),
           "add an octet.pattern that ends with " + op->getName().getStringRef().str(), op, nullptr,
           nullptr, op});
      break;
    }
  }
}
