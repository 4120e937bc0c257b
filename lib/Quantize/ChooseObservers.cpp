//===- ChooseObservers.cpp - which observer points share ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Edges.h"
#include "octet/Dialect/NN/NN.h"

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

UnitIndex::UnitIndex(const Plan &plan) {
  for (const Decision &decision : plan.decisions)
    if (decision.readsIntegers())
      byOp[decision.op] = &decision;
}

const Decision *UnitIndex::getProducer(Value value) const {
  const Decision *producer = byOp.lookup(value.getDefiningOp());
  return producer && producer->verdict == Verdict::Quantized ? producer : nullptr;
}

ObserverAttrInterface UnitIndex::getResultObserver(Value value) const {
  const Decision *producer = getProducer(value);
  if (isPart(producer->op))
    return getResultObserver(producer->op->getOperand(0));
  if (isShared(*producer))
    return nullptr;
  return producer->qconfig.getResult() ? producer->qconfig.getResult()
                                       : producer->qconfig.getActivation();
}

/// Whether a unit only takes some of its operand's channels.
static bool isSlice(const Decision &decision, int64_t axis) {
  return PatternOp(decision.unit->pattern).getObservation() == Observation::shared &&
         !getPart(decision.op, axis).empty();
}

/// Whether the unit takes such an observer at this operand, or would have one of its own.
static bool takesChannels(const Decision &reader, OpOperand &use, ObserverAttrInterface observer) {
  ObserverSpec own = reader.qconfig.getActivation().getSpec();
  if (!own.reusesInput && !isSameInteger(own.dtype, observer.getSpec().dtype))
    return false;
  int64_t axis = *observer.getSpec().channelAxis;
  return takesObserver(*reader.unit, observer, /*isResult=*/false) &&
         (isSlice(reader, axis) || llvm::any_of(reader.unit->leaves, [&](auto leaf) {
            auto activation = dyn_cast<ActivationOp>(leaf.first);
            return leaf.second == &use && activation &&
                   activation.getChannelAxis() == (uint64_t)axis;
          }));
}

/// Whether the observer has a scale for each of the channels, whose number is known.
static bool fitsChannels(ObserverAttrInterface observer, Value value) {
  std::optional<int64_t> axis = observer.getSpec().channelAxis;
  auto type = cast<ShapedType>(value.getType());
  return axis && *axis < type.getRank() && !type.isDynamicDim(*axis);
}

/// The observer that the readers of a float value ask for, if each of those in integers takes a
/// scale per channel there.
ObserverAttrInterface UnitIndex::getChannelObserverOfFloats(Value value) const {
  ObserverAttrInterface observer;
  for (OpOperand &use : value.getUses()) {
    const Decision *reader = byOp.lookup(use.getOwner());
    if (!reader)
      continue;
    observer = observer ? observer : reader->qconfig.getChannelActivation();
    if (!observer || !fitsChannels(observer, value) || !takesChannels(*reader, use, observer) ||
        isSlice(*reader, *observer.getSpec().channelAxis))
      return nullptr;
  }
  return observer;
}

ObserverAttrInterface UnitIndex::getChannelObserver(Value value) const {
  const Decision *producer = getProducer(value);
  if (!producer)
    return value.getDefiningOp() ? getChannelObserverOfFloats(value) : nullptr;
  if (producer->qconfig.getResult())
    return nullptr;
  PatternOp pattern = producer->unit->pattern;
  auto observer = producer->qconfig.getChannelActivation();
  auto axis = pattern.getChannelAxis();
  if (!observer || !axis || observer.getSpec().channelAxis != (int64_t)*axis ||
      !fitsChannels(observer, value) ||
      !takesObserver(*producer->unit, observer, /*isResult=*/true))
    return nullptr;
  bool isTaken = llvm::all_of(value.getUses(), [&](OpOperand &use) {
    const Decision *reader = byOp.lookup(use.getOwner());
    return reader && takesChannels(*reader, use, observer);
  });
  return isTaken ? observer : nullptr;
}

bool UnitIndex::isPart(Operation *op) const {
  const Decision *decision = byOp.lookup(op);
  if (!decision || decision->verdict != Verdict::Quantized || op->getNumOperands() != 1)
    return false;
  ObserverAttrInterface observer = getChannelObserver(op->getOperand(0));
  return observer && isSlice(*decision, *observer.getSpec().channelAxis);
}

bool UnitIndex::mayRescale(const Decision &decision, Value operand) const {
  return decision.verdict == Verdict::Quantized && decision.op->getNumOperands() > 1 &&
         decision.qconfig.getChannelActivation() && getProducer(operand);
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

namespace {
/// Chooses the observers of one block.
class Chooser {
public:
  explicit Chooser(const Plan &plan) : units(plan), edges(plan, units) {}

  SmallVector<ObservedSet, 0> run() {
    SmallVector<ObservedSet, 0> sets;
    for (ArrayRef<const Edge *> members : edges.getSets()) {
      ObservedSet &set = sets.emplace_back();
      for (const Edge *edge : members)
        set.points.push_back(edge->point);
      choose(set, members);
    }
    return sets;
  }

private:
  void choose(ObservedSet &set, ArrayRef<const Edge *> members);
  void chooseTensorObserver(ObservedSet &set, ArrayRef<const Edge *> members);
  ObserverAttrInterface getFollowingObserver(ArrayRef<const Edge *> members);
  ObserverAttrInterface getChannelObserver(ArrayRef<const Edge *> members) const;
  QConfigAttr getAsker(const Edge &edge);
  ObserverAttrInterface getColumnObserver(const ObservedSet &set, ArrayRef<const Edge *> members);
  void collectIgnoredReaders(ObservedSet &set);

  UnitIndex units;
  Edges edges;
};
} // namespace

/// Whether an operator brings in a value that the known range of its operand need not hold.
static bool addsValues(Operation *op) {
  auto fill = dyn_cast_or_null<nn::FillOpInterface>(op);
  return fill && fill.getFill() != 0;
}

/// The observer that a sharing operator of the set asks for, if it follows the data; else null.
ObserverAttrInterface Chooser::getFollowingObserver(ArrayRef<const Edge *> members) {
  for (const Edge *edge : members) {
    const Decision *producer =
        edge->point.isSecond ? nullptr : units.lookup(edge->point.value.getDefiningOp());
    if (producer && !producer->qconfig.getActivation().getSpec().fixedScale &&
        !producer->qconfig.getActivation().getSpec().reusesInput)
      return producer->qconfig.getActivation();
  }
  return nullptr;
}

/// An observer that follows the data suits every member, constants suit none but their own.
void Chooser::chooseTensorObserver(ObservedSet &set, ArrayRef<const Edge *> members) {
  bool isFixedUnfit = false;
  for (const Edge *edge : edges.getByWish(members)) {
    const ObservedPoint &point = edge->point;
    if (edge->isTrained()) {
      set.observer = edge->wish;
      return;
    }
    isFixedUnfit |=
        edge->isRescaling || (!point.isSecond && addsValues(point.value.getDefiningOp()));
    if (!edge->wish || edge->wish == set.observer)
      continue;
    isFixedUnfit |= (bool)set.observer;
    if (set.observer)
      set.note = Reason{"OCT209", "operators that share this observer ask for different ones",
                        "give them the same QConfig"};
    if (!set.observer || (set.observer.getSpec().fixedScale && !edge->wish.getSpec().fixedScale))
      set.observer = edge->wish;
  }
  if (isFixedUnfit && set.observer && set.observer.getSpec().fixedScale)
    if (ObserverAttrInterface following = getFollowingObserver(members))
      set.observer = following;
  if (set.observer && !set.observer.getSpec().fixedScale)
    collectIgnoredReaders(set);
}

void Chooser::collectIgnoredReaders(ObservedSet &set) {
  for (const ObservedPoint &point : set.points)
    for (OpOperand *use : point.readers) {
      const Decision *reader = units.lookup(use->getOwner());
      if (reader->qconfig.getActivation() != set.observer && !isShared(*reader))
        set.ignoredReaders.push_back(reader->op);
    }
}

/// The QConfig whose `activation` the edge asks for, or null.
QConfigAttr Chooser::getAsker(const Edge &edge) {
  const Decision *producer = edge.point.isSecond ? nullptr : units.getProducer(edge.point.value);
  if (producer)
    return producer->qconfig.getResult() ? QConfigAttr() : producer->qconfig;
  for (OpOperand *use : edge.point.readers) {
    QConfigAttr qconfig = units.lookup(use->getOwner())->qconfig;
    if (qconfig.getActivation() == edge.wish)
      return qconfig;
  }
  return nullptr;
}

/// The `column_activation` beside the `activation` that the set has, if the columns of all its
/// values may be split; else null.
ObserverAttrInterface Chooser::getColumnObserver(const ObservedSet &set,
                                                 ArrayRef<const Edge *> members) {
  bool hasOthers = llvm::any_of(members, [&](const Edge *edge) { return edges.hasOthers(*edge); });
  if (hasOthers || !areSplittable(set.points, [&](Operation *op) { return units.lookup(op); }))
    return nullptr;
  for (const Edge *edge : edges.getByWish(members))
    if (QConfigAttr asker = getAsker(*edge); asker && asker.getActivation() == set.observer)
      return asker.getColumnActivation();
  return nullptr;
}

/// That of all members, which are several where steps of a recurrence read them.
ObserverAttrInterface Chooser::getChannelObserver(ArrayRef<const Edge *> members) const {
  auto getOne = [&](const Edge *edge) { return units.getChannelObserver(edge->point.value); };
  ObserverAttrInterface first = getOne(members.front());
  return first && llvm::all_of(members, [&](const Edge *edge) { return getOne(edge) == first; })
             ? first
             : nullptr;
}

void Chooser::choose(ObservedSet &set, ArrayRef<const Edge *> members) {
  if (llvm::none_of(members,
                    [](const Edge *edge) { return edge->point.isSecond || edge->isTrained(); }))
    set.observer = getChannelObserver(members);
  set.isPerChannel = (bool)set.observer;
  if (set.isPerChannel)
    return;
  chooseTensorObserver(set, members);
  if (ObserverAttrInterface columns = getColumnObserver(set, members))
    set.observer = columns;
}

SmallVector<ObservedSet, 0> octet::chooseObservers(const Plan &plan) { return Chooser(plan).run(); }

//===----------------------------------------------------------------------===//
// Explaining
//===----------------------------------------------------------------------===//

Reason octet::getReasonOfIgnored() {
  return {"OCT210",
          "its activation observer is ignored: its input has one of the same type, that of the "
          "value's producer or first reader",
          "give the operators around this value the same activation observer"};
}

/// The observer of the value's first point, or null.
static ObserverAttrInterface findFirst(const Plan &plan, Value value) {
  for (const ObservedSet &set : plan.observed)
    for (const ObservedPoint &point : set.points)
      if (point.value == value && !point.isSecond)
        return set.observer;
  return nullptr;
}

Reason octet::getReasonOfSecond(const Plan &plan, const ObservedPoint &point,
                                ObserverAttrInterface observer) {
  ObserverAttrInterface first = findFirst(plan, point.value);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (first && !isSameInteger(first.getSpec().dtype, observer.getSpec().dtype))
    os << "it reads " << observer.getSpec().dtype << " where the value is " << first.getSpec().dtype
       << " already, so that it is quantized a second time";
  else
    os << "it asks for another kind of observer than the first reader of this value, so that it is "
          "quantized a second time";
  return {"OCT214", text, "give the operators around this value the same activation observer"};
}
