//===- Edges.h - where observers stand, and which are one -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An observer stands behind a value, or in front of some of its readers. Each unit asks for one for
// its result and one for each activation that it reads; what asks for the same of one value is one
// point, and points are united where a unit's result shares the observer of its inputs.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_EDGES_H
#define OCTET_LIB_QUANTIZE_EDGES_H

#include "Plan.h"
#include "llvm/ADT/IntEqClasses.h"

namespace octet {

/// Whether operands of these leaves are observed.
inline bool isActivation(mlir::Operation *leaf) { return llvm::isa<ActivationOp>(leaf); }

/// Whether a unit's result has the observer of its inputs, by its pattern or by its QConfig.
bool isShared(const Decision &decision);

/// The units of a plan by operator, and what they ask for.
class UnitIndex {
public:
  explicit UnitIndex(const Plan &plan);

  /// The unit that `op` is; null if it stays float.
  const Decision *lookup(mlir::Operation *op) const { return byOp.lookup(op); }
  /// The unit that computes `value` in integers, or null.
  const Decision *getProducer(mlir::Value value) const;
  /// The observer that the producer of `value` asks for; null for a sharing one.
  ObserverAttrInterface getResultObserver(mlir::Value value) const;
  /// The producer's observer with a scale per channel, if every reader takes one, or is a slice and
  /// takes some channels; of a float value the readers' one, if each of those in integers takes it;
  /// else null.
  ObserverAttrInterface getChannelObserver(mlir::Value value) const;
  /// Whether `op` is a quantized slice of a value that may have a scale per channel.
  bool isPart(mlir::Operation *op) const;
  /// Whether a sharing unit joins this operand with others, and may rescale it: its scale is its
  /// own if other units compute with it.
  bool mayRescale(const Decision &decision, mlir::Value operand) const;

private:
  ObserverAttrInterface getChannelObserverOfFloats(mlir::Value value) const;

  llvm::DenseMap<mlir::Operation *, const Decision *> byOp;
};

/// A point and what is asked for there.
struct Edge {
  ObservedPoint point;
  /// What the value's producer or, if it is float, its first reader asks for; null if that one
  /// takes the observer of other points.
  ObserverAttrInterface wish;
  /// Of the integers; null if no one asks for any.
  mlir::IntegerType type;
  /// A unit computes the value, or it comes in quantized: readers take what there is if its
  /// integers are of their type.
  bool isGiven = false;
  /// The operands of the unit that computes the value do not share its observer.
  bool isRescaling = false;
  /// A unit that reads it computes with it.
  bool isComputedWith = false;

  /// Whether the range was trained; readers take it, whatever they ask for.
  bool isTrained() const { return (bool)point.trained; }
};

/// The points of a block and which of them share an observer.
class Edges {
public:
  Edges(const Plan &plan, const UnitIndex &units);

  /// The edges of each observer, in the order of the first one's definition.
  llvm::SmallVector<llvm::SmallVector<const Edge *, 1>, 0> getSets();
  /// The edges of a set, those first whose wish counts most: FX gives all operands of a unit the
  /// observer of the first one.
  llvm::SmallVector<const Edge *, 1> getByWish(llvm::ArrayRef<const Edge *> set) const;
  /// Whether the value of the edge has other points, too.
  bool hasOthers(const Edge &edge) const { return byValue.lookup(edge.point.value).size() > 1; }

private:
  unsigned getLeader(unsigned number) const;
  void addTrained(FakeQuantizeOp op);
  void addUnit(const Decision &decision);
  void shareBetweenSteps(const Unit &unit, mlir::OpOperand *operand, unsigned number);
  unsigned addReader(const Decision &decision, mlir::OpOperand &operand);
  unsigned addResult(mlir::Value value, llvm::ArrayRef<unsigned> operands);
  unsigned addEdge(Edge edge);
  std::optional<unsigned> getTrainedResult(mlir::Value value) const;
  void shareWithTrained(const Decision &decision, llvm::ArrayRef<unsigned> operands,
                        std::optional<unsigned> result);
  void shareWithResult(const Decision &decision, llvm::ArrayRef<unsigned> operands,
                       std::optional<unsigned> result);
  void shareJoined();

  const Plan &plan;
  const UnitIndex &units;
  llvm::SmallVector<Edge, 0> edges;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<unsigned, 1>> byValue;
  /// By the rounded value.
  llvm::DenseMap<mlir::Value, unsigned> trained;
  /// The first slice of a value's channel.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, unsigned> parts;
  /// Where the first step of a recurrence reads, by its weights.
  llvm::DenseMap<mlir::Value, unsigned> steps;
  /// Edges that share an observer, in the order of the program; the first one's is kept.
  llvm::SmallVector<std::pair<unsigned, unsigned>, 0> unions;
  /// The operands and the result of a unit that joins values which it may rescale.
  struct Joining {
    unsigned operand, result;
    bool isFirst; ///< of the operands
  };
  llvm::SmallVector<Joining, 0> joined;
  /// From each edge towards the one whose observer its set has.
  llvm::SmallVector<unsigned, 0> leaders;
};

/// The observers of the plan's units.
llvm::SmallVector<ObservedSet, 0> chooseObservers(const Plan &plan);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_EDGES_H
