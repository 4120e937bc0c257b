//===- Plan.h - what is to be quantized, and why not ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All decisions of octet-prepare are taken here, without changing the program; octet-explain prints
// them. A compiler that places its own observers, or none, asks the analysis manager of a module
// for its PlanAnalysis.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_QUANTIZE_PLAN_H
#define OCTET_QUANTIZE_PLAN_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Backend/Backend.h"

namespace octet {

/// Why something is not as one might expect. The codes are stable: OCT1xx the backend, OCT2xx the
/// QConfig.
struct Reason {
  llvm::StringRef code;
  std::string text;
  std::string remedy;
};

/// The decision about one operator or group.
struct Decision {
  mlir::Operation *op;
  std::optional<Unit> unit;
  QConfigAttr qconfig;
  Verdict verdict = Verdict::Float;
  /// Set if `verdict` is Float or FloatResult.
  std::optional<Reason> reason;
  /// What is unusual about a unit that runs quantized.
  std::optional<Reason> note;
  /// The mapping gives the operator a QConfig that is ignored: no pattern takes the operator, or
  /// not with this QConfig.
  bool isRefused = false;

  /// Whether the operator reads quantized values.
  bool readsIntegers() const {
    return verdict == Verdict::Quantized || verdict == Verdict::FloatResult;
  }
};

/// A place for an observer.
struct ObservedPoint {
  mlir::Value value;
  /// The operands of units that read what is observed here.
  llvm::SmallVector<mlir::OpOperand *, 2> readers;
  /// The observer stands in front of `readers` alone, because they want integers of another type,
  /// or another kind of observer, than the value's first point has. If a unit computes the value,
  /// or it comes in quantized, they read it as the first observer rounds it: it is quantized twice
  /// in a row.
  bool isSecond = false;
  /// What a trained network has here instead of an observer, or null.
  FakeQuantizeOp trained = nullptr;
};

/// Places that share one observer.
struct ObservedSet {
  llvm::SmallVector<ObservedPoint, 1> points;
  ObserverAttrInterface observer;
  bool isPerChannel = false;
  /// Set if operators that share the observer asked for different ones.
  std::optional<Reason> note;
  /// Units that read through the observer and asked for one of the same type with other settings.
  llvm::SmallVector<mlir::Operation *, 0> ignoredReaders;
};

/// The plan of a function: the operators of its body and of the regions of control flow inside.
struct Plan {
  /// The function's arguments that come in as integers, and the results that leave so, by number,
  /// in ascending order.
  llvm::SmallVector<int64_t> quantizedInputs, quantizedOutputs;
  /// The values whose range was trained, each where it is rounded first to a type.
  llvm::SmallVector<FakeQuantizeOp, 0> trained;
  /// In program order.
  llvm::SmallVector<Decision, 0> decisions;
  /// The steps of recurrences whose states stay float: those with the same weights share the
  /// observer of their inputs.
  llvm::DenseSet<mlir::Operation *> recurrent;
  /// In the order of the first value's definition. A value has at most one point that is not a
  /// second one.
  llvm::SmallVector<ObservedSet, 0> observed;

  /// Whether `value` is an argument of the function that comes in as integers.
  bool isQuantizedInput(mlir::Value value) const;
  /// Whether `use` is what the function returns as integers.
  bool isQuantizedOutput(mlir::OpOperand &use) const;
};

/// The plans of a module: ask the analysis manager for it. octet-prepare carries out those that
/// octet-explain has printed.
class PlanAnalysis {
public:
  PlanAnalysis(mlir::Operation *module, mlir::AnalysisManager &analyses)
      : module(module), policy(analyses.getAnalysis<PolicyAnalysis>()) {}

  /// One for each function, and one for each module inside with operators that stay float for that
  /// reason; `quantizedOutputs`: what comes in and is returned is
  /// quantized where it can be, and not only what the mapping says. Null, with an error emitted, if
  /// the module has no policy, a function lacks an argument or result that the mapping names, or a
  /// block contains observers or quantized values already.
  const std::vector<Plan> *getPlans(bool quantizedOutputs);

  bool isInvalidated(const mlir::AnalysisManager::PreservedAnalyses &preserved) const {
    return !preserved.isPreserved<PlanAnalysis>() || !preserved.isPreserved<PolicyAnalysis>();
  }

private:
  mlir::Operation *module;
  const PolicyAnalysis &policy;
  /// By `quantizedOutputs`.
  std::optional<std::vector<Plan>> plans[2];
};

/// The blocks of a network: those of the function's body and of the regions of its control flow
/// (RegionBranchOpInterface), each operator's behind its own. Regions of other operators are
/// theirs.
llvm::SmallVector<mlir::Block *> getNetworkBlocks(mlir::FunctionOpInterface function);

/// The part of the block's multiply-adds that products of two activations have; 0 without any.
double getShareOfProducts(mlir::Block &block);

/// Whether a value of this type can be observed: a tensor of f32 of known rank.
bool isObservable(mlir::Type type);

/// The decision about an operator by itself, whatever reads its result.
Decision decide(mlir::Operation *op, const Backend &backend, const QConfigMapping &mapping);

} // namespace octet

#endif // OCTET_QUANTIZE_PLAN_H
