//===- Edges.cpp - where observers stand, and which are one ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Edges.h"

using namespace mlir;
using namespace octet;

bool octet::isShared(const Decision &decision) {
  bool reuses =
      !decision.qconfig.getResult() && decision.qconfig.getActivation().getSpec().reusesInput;
  return reuses || PatternOp(decision.unit->pattern).getObservation() == Observation::shared;
}

/// What a unit asks for where it reads; null if it takes what there is.
static ObserverAttrInterface getInputObserver(const Decision &decision) {
  ObserverAttrInterface observer = decision.qconfig.getActivation();
  return observer.getSpec().reusesInput ? nullptr : observer;
}

static IntegerType getType(ObserverAttrInterface observer) {
  return observer ? observer.getSpec().dtype : IntegerType();
}

/// Whether the edge's observer is also that of a reader who asks for `wish`, as FX has it: settings
/// of one kind of observer do not matter.
static bool serves(const Edge &edge, ObserverAttrInterface wish) {
  if (!wish || !edge.type || edge.isTrained())
    return true;
  ObserverAttrInterface first = edge.wish;
  bool isSameKind = edge.isGiven || !first || first.getTypeID() == wish.getTypeID();
  return isSameKind && isSameInteger(edge.type, getType(wish));
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

unsigned Edges::addEdge(Edge edge) {
  unsigned number = edges.size();
  byValue[edge.point.value].push_back(number);
  edges.push_back(std::move(edge));
  return number;
}

/// Whether the units around a value ask for signed integers; those that it was trained with if
/// there are none.
static bool wantsSigned(FakeQuantizeOp op, const UnitIndex &units) {
  ObserverAttrInterface wish;
  for (Operation *user : op->getUsers())
    if (const Decision *reader = units.lookup(user); reader && !wish)
      wish = getInputObserver(*reader);
  if (!wish && units.getProducer(op.getInput()))
    wish = units.getResultObserver(op.getInput());
  return wish && getType(wish) ? !getType(wish).isUnsigned()
                               : cast<quant::QuantizedType>(op.getQuantizedType()).isSigned();
}

/// The observer that always gives the type that a value was trained with.
static ObserverAttrInterface makeTrainedObserver(FakeQuantizeOp op, const UnitIndex &units) {
  auto type = getTrainedType(op, wantsSigned(op, units));
  auto dtype = IntegerType::get(type.getContext(), type.getStorageTypeIntegralWidth(),
                                type.isSigned() ? IntegerType::Signed : IntegerType::Unsigned);
  auto scale = FloatAttr::get(Float32Type::get(type.getContext()), type.getScale());
  return FixedQParamsObserverAttr::get(type.getContext(), dtype, scale, type.getZeroPoint());
}

/// Values that are rounded to one type twice have one point.
void Edges::addTrained(FakeQuantizeOp op) {
  Value value = op.getInput();
  bool isSecond = false;
  for (unsigned number : byValue[value]) {
    if (edges[number].point.trained.getQuantizedType() == op.getQuantizedType()) {
      trained[op.getResult()] = number;
      return;
    }
    isSecond = true;
  }
  ObserverAttrInterface observer = makeTrainedObserver(op, units);
  trained[op.getResult()] =
      addEdge({{value, {}, isSecond, op}, observer, getType(observer), /*isGiven=*/true});
}

/// The point where a unit reads an operand.
unsigned Edges::addReader(const Decision &decision, OpOperand &operand) {
  Value value = operand.get();
  if (auto known = trained.find(value); known != trained.end()) {
    edges[known->second].point.readers.push_back(&operand);
    return known->second;
  }
  ObserverAttrInterface wish = getInputObserver(decision);
  if (byValue[value].empty()) {
    // An operator without observers of its own may compute the value.
    bool isGiven = units.getProducer(value) || plan.isQuantizedInput(value);
    ObserverAttrInterface first = units.getProducer(value) ? units.getResultObserver(value) : wish;
    addEdge({{value, {}}, first, getType(first), isGiven});
  }
  for (unsigned number : byValue[value]) {
    Edge &edge = edges[number];
    if (!serves(edge, wish))
      continue;
    edge.point.readers.push_back(&operand);
    if (!edge.type && wish) {
      edge.type = getType(wish);
      edge.wish = edge.isGiven ? edge.wish : wish;
    }
    return number;
  }
  return addEdge({{value, {&operand}, /*isSecond=*/true}, wish, getType(wish)});
}

unsigned Edges::addResult(Value value, ArrayRef<unsigned> operands) {
  if (auto number = getTrainedResult(value))
    return *number;
  ObserverAttrInterface wish = units.getResultObserver(value);
  IntegerType type = getType(wish);
  if (!wish && !operands.empty())
    type = edges[operands.front()].type;
  return addEdge({{value, {}}, wish, type, /*isGiven=*/true});
}

/// The point behind a unit whose result has a trained range.
std::optional<unsigned> Edges::getTrainedResult(Value value) const {
  auto known = byValue.find(value);
  bool isTrained = known != byValue.end() && edges[known->second.front()].isTrained();
  return isTrained ? std::optional(known->second.front()) : std::nullopt;
}

/// Some of the points of a sharing unit have trained ranges, which do not change. If all operands
/// have the same, it is the result's, too; else the result has a range of its own.
void Edges::shareWithTrained(const Decision &decision, ArrayRef<unsigned> operands,
                             std::optional<unsigned> result) {
  if (!result || edges[*result].isTrained())
    return;
  ObserverAttrInterface first = edges[operands.front()].wish;
  if (llvm::all_of(operands, [&](unsigned operand) {
        return edges[operand].isTrained() && edges[operand].wish == first;
      })) {
    unions.push_back({operands.front(), *result});
    return;
  }
  edges[*result].wish = getInputObserver(decision);
  edges[*result].type = getType(edges[*result].wish);
}

/// The operands of a sharing unit and its result have one observer, apart from slices of channels
/// whose operand may have a scale for each of them.
void Edges::shareWithResult(const Decision &decision, ArrayRef<unsigned> operands,
                            std::optional<unsigned> result) {
  auto isTrained = [&](unsigned number) { return edges[number].isTrained(); };
  if (llvm::any_of(operands, isTrained) || (result && isTrained(*result)))
    return shareWithTrained(decision, operands, result);
  for (unsigned operand : operands) {
    Value value = edges[operand].point.value;
    if (!units.isPart(decision.op)) {
      bool isFirst = operand == operands.front();
      if (result && units.mayRescale(decision, value))
        joined.push_back({operand, *result, isFirst});
      else if (isFirst && result)
        unions.push_back({operand, *result});
      else
        unions.push_back({result.value_or(operands.front()), operand});
      continue;
    }
    // Slices that overlap have one scale.
    int64_t axis = *units.getChannelObserver(value).getSpec().channelAxis;
    for (int64_t channel : getPart(decision.op, axis))
      unions.push_back({parts.try_emplace({value, channel}, *result).first->second, *result});
  }
}

/// What is joined has the observer of the result, unless others compute with it, or with a value
/// that shares its observer; the unit then rescales it.
void Edges::shareJoined() {
  llvm::IntEqClasses classes(edges.size());
  for (auto [leader, follower] : unions)
    classes.join(leader, follower);
  SmallVector<bool> isComputedWith(edges.size());
  for (auto [number, edge] : llvm::enumerate(edges))
    if (edge.isComputedWith)
      isComputedWith[classes.findLeader(number)] = true;
  for (auto [operand, result, isFirst] : joined) {
    unsigned ofOperand = classes.findLeader(operand), ofResult = classes.findLeader(result);
    if (ofOperand == ofResult)
      continue;
    if (isComputedWith[ofOperand]) {
      edges[result].isRescaling = true;
      continue;
    }
    unions.push_back(isFirst ? std::pair(operand, result) : std::pair(result, operand));
    isComputedWith[classes.join(ofOperand, ofResult)] = isComputedWith[ofResult];
  }
}

/// The state that the steps of a recurrence multiply has one range, and their code is the same.
void Edges::shareBetweenSteps(const Unit &unit, OpOperand *operand, unsigned number) {
  if (!plan.recurrent.contains(unit.op) || operand != unit.getWeightedActivation() ||
      edges[number].isTrained())
    return;
  Value weights = unit.getOperand<WeightOp>()->get();
  unions.push_back({steps.try_emplace(weights, number).first->second, number});
}

void Edges::addUnit(const Decision &decision) {
  if (PatternOp(decision.unit->pattern).getObservation() == Observation::none)
    return;
  SmallVector<unsigned> operands;
  for (auto [leaf, operand] : decision.unit->leaves)
    if (isActivation(leaf)) {
      operands.push_back(addReader(decision, *operand));
      edges[operands.back()].isComputedWith |= !isShared(decision);
      shareBetweenSteps(*decision.unit, operand, operands.back());
    }
  SmallVector<unsigned> results;
  for (Value result : decision.op->getResults())
    if (decision.verdict == Verdict::Quantized && isObservable(result.getType()))
      results.push_back(addResult(result, operands));
  if (!isShared(decision))
    return;
  shareWithResult(decision, operands,
                  results.empty() ? std::nullopt : std::optional(results.front()));
  for (unsigned result : results)
    if (!edges[result].isTrained())
      unions.push_back({results.front(), result});
}

Edges::Edges(const Plan &plan, const UnitIndex &units) : plan(plan), units(units) {
  for (FakeQuantizeOp op : plan.trained)
    addTrained(op);
  for (const Decision &decision : plan.decisions)
    if (decision.readsIntegers() && !isDynamic(decision))
      addUnit(decision);
  shareJoined();
}

SmallVector<SmallVector<const Edge *, 1>, 0> Edges::getSets() {
  llvm::IntEqClasses classes(edges.size());
  leaders = llvm::to_vector<0>(llvm::seq<unsigned>(0, edges.size()));
  for (auto [leader, follower] : unions) {
    classes.join(leader, follower);
    leaders[getLeader(follower)] = getLeader(leader);
  }
  classes.compress();
  SmallVector<SmallVector<const Edge *, 1>, 0> sets(classes.getNumClasses());
  for (auto [number, edge] : llvm::enumerate(edges))
    sets[classes[number]].push_back(&edge);
  return sets;
}

unsigned Edges::getLeader(unsigned number) const {
  while (leaders[number] != number)
    number = leaders[number];
  return number;
}

SmallVector<const Edge *, 1> Edges::getByWish(ArrayRef<const Edge *> set) const {
  SmallVector<const Edge *, 1> sorted(set);
  const Edge *first = &edges[getLeader(set.front() - edges.data())];
  // A known range is that of its operator alone.
  if (!first->wish || !first->wish.getSpec().fixedScale)
    llvm::stable_sort(sorted,
                      [&](const Edge *a, const Edge *b) { return a == first && b != first; });
  return sorted;
}
