//===- Decide.cpp - which operators have a pattern and a QConfig ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearMiss.h"
#include "Plan.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace octet;

/// Whether an operator computes something that could be quantized.
static bool hasFloatResult(Operation *op) {
  return llvm::any_of(op->getResultTypes(), [](Type type) {
    return isa<TensorType>(type) && isa<FloatType>(getElementTypeOrSelf(type));
  });
}

/// Whether integers are among an operator's operands and results.
static bool usesIntegers(Operation *op) {
  return llvm::any_of(
      llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()), [](Type type) {
        return isa<TensorType>(type) && isa<IntegerType>(getElementTypeOrSelf(type));
      });
}

Reason octet::getReasonOfDynamic() {
  return {"OCT218", "it is dynamic: its input is quantized in each run, its result is float", ""};
}

/// Decides about an operator without a pattern: it stays float on purpose, by the backend or the
/// mapping, or against a QConfig of the mapping.
/// A call computes nothing itself.
static std::optional<Reason> explainCall(Operation *op) {
  auto call = dyn_cast<CallOpInterface>(op);
  auto callee = call ? dyn_cast<SymbolRefAttr>(call.getCallableForCallee()) : SymbolRefAttr();
  if (!callee)
    return std::nullopt;
  auto function = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  bool isOpaque = !function || function.isExternal();
  std::string name = "@" + callee.getLeafReference().str();
  return Reason{"OCT121",
                isOpaque ? "it calls " + name + ", which has no body here"
                         : "it calls " + name + ", whose operators have decisions of their own",
                ""};
}

static void explainNoPattern(Decision &decision, const Backend &backend,
                             const QConfigMapping &mapping) {
  StringRef name = decision.op->getName().getStringRef();
  if (StringRef why = backend.getFloatReason(decision.op->getName()); !why.empty()) {
    decision.reason = {"OCT104", ("no integer form: " + why).str(), ""};
    return;
  }
  if (usesIntegers(decision.op)) {
    decision.reason = {"OCT106", "it reads or computes integers, which stay as they are", ""};
    return;
  }
  Operation *entry = mapping.lookup(decision.op);
  if (entry && !octet::getQConfig(entry)) {
    decision.reason = getReasonOfNone();
    return;
  }
  decision.reason = explainCall(decision.op);
  if (decision.reason)
    return;
  decision.isRefused = entry && hasFloatResult(decision.op);
  if (isa<GroupOp>(decision.op)) {
    decision.reason = {"OCT105",
                       ("backend @" + backend.getName() + " has no pattern for this group").str(),
                       "let octet-fuse make the groups"};
    return;
  }
  decision.reason = explainNearMiss(decision.op, backend);
  if (!decision.reason)
    decision.reason = {
        "OCT101", ("no pattern of backend @" + backend.getName() + " matches this " + name).str(),
        ("add an octet.pattern that matches " + name).str()};
  if (decision.isRefused)
    decision.reason->remedy += ", or say none for it in the QConfig mapping";
}

bool octet::isObservable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isF32();
}

std::optional<Reason> octet::checkTypes(const Unit &unit) {
  auto check = [](Type type, StringRef what) -> std::optional<Reason> {
    if (isObservable(type))
      return std::nullopt;
    std::string text;
    llvm::raw_string_ostream(text)
        << what << " " << type << ", and observers take tensors of f32 of known rank";
    bool isOtherFloat = isa<RankedTensorType>(type);
    return Reason{"OCT117", text,
                  isOtherFloat ? "convert the values around it to f32"
                               : "infer the shapes of the program before"};
  };
  auto isPosition = [](Operation *leaf, Type type) {
    return isa<ActivationOp>(leaf) && isa<IntegerType>(getElementTypeOrSelf(type));
  };
  for (auto [leaf, operand] : unit.leaves)
    if (isa<ActivationOp, WeightOp>(leaf) && !isPosition(leaf, operand->get().getType()))
      if (auto reason = check(operand->get().getType(), "it reads a"))
        return reason;
  for (Type type : unit.op->getResultTypes())
    if (isa<FloatType>(getElementTypeOrSelf(type)))
      if (auto reason = check(type, "it computes a"))
        return reason;
  return std::nullopt;
}

/// What a recovery pass has decided about an operator that it inserted.
static std::optional<Reason> getReasonOfRecovery(Operation *op) {
  DecisionAttr decision = getDecision(op);
  ReasonAttr reason = decision ? decision.getReason() : ReasonAttr();
  if (!reason || reason.getCode().getValue() != "OCT122")
    return std::nullopt;
  return Reason{reason.getCode().getValue(), reason.getText().str(), reason.getRemedy().str()};
}

Decision octet::decide(Operation *op, const Backend &backend, const QConfigMapping &mapping) {
  if (auto reason = getReasonOfRecovery(op))
    return {op, std::nullopt, nullptr, Verdict::Float, reason};
  Decision decision{op, backend.matchUnit(op), nullptr, Verdict::Float, std::nullopt};
  if (!decision.unit) {
    explainNoPattern(decision, backend, mapping);
    return decision;
  }
  decision.reason = checkTypes(*decision.unit);
  if (decision.reason) {
    Operation *entry = mapping.lookup(getAnchor(*decision.unit));
    decision.isRefused = entry && octet::getQConfig(entry);
    return decision;
  }
  decision.reason = chooseQConfig(mapping, *decision.unit, decision.qconfig);
  if (!decision.reason)
    decision.reason = checkQConfig(*decision.unit, decision.qconfig, decision.verdict);
  decision.isRefused = decision.reason && decision.qconfig;
  if (decision.reason)
    return decision;
  decision.note = findLongerPattern(op, backend);
  if (isDynamic(decision)) {
    decision.verdict = Verdict::FloatResult;
    decision.reason = getReasonOfDynamic();
  }
  return decision;
}
