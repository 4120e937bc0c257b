//===- Decisions.cpp - what becomes of operators, as attributes and rows --===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Quantize/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// From a plan to attributes
//===----------------------------------------------------------------------===//

static ReasonAttr toAttr(MLIRContext *context, const std::optional<Reason> &reason) {
  return reason ? ReasonAttr::get(context, reason->code, reason->text, reason->remedy)
                : ReasonAttr();
}

/// The notes about observers that operators' results share, and about those that stand in front of
/// an operator alone, by operator.
static DenseMap<Operation *, Reason> collectNotes(const Plan &plan) {
  DenseMap<Operation *, Reason> notes;
  auto note = [&](const ObservedPoint &point, const Reason &reason) {
    if (Operation *producer = point.value.getDefiningOp(); producer && !point.isSecond)
      notes.try_emplace(producer, reason);
  };
  for (const ObservedSet &set : plan.observed) {
    for (const ObservedPoint &point : set.points) {
      if (set.note)
        note(point, *set.note);
      for (OpOperand *reader : point.readers)
        if (point.isSecond)
          notes.try_emplace(reader->getOwner(), getReasonOfSecond(plan, point, set.observer));
    }
    for (Operation *reader : set.ignoredReaders)
      notes.try_emplace(reader, getReasonOfIgnored());
  }
  for (const Decision &decision : plan.decisions)
    if (decision.note && decision.verdict != Verdict::Float)
      notes.try_emplace(decision.op, *decision.note);
  return notes;
}

SmallVector<std::pair<Operation *, DecisionAttr>, 0>
octet::getDecisionAttrs(const Plan &plan, const Backend &backend, int64_t &number) {
  DenseMap<Operation *, Reason> notes = collectNotes(plan);
  SmallVector<std::pair<Operation *, DecisionAttr>, 0> attributes;
  for (const Decision &decision : plan.decisions) {
    MLIRContext *context = decision.op->getContext();
    auto note = notes.find(decision.op);
    attributes.push_back(
        {decision.op,
         DecisionAttr::get(
             context, number++, decision.verdict,
             decision.unit ? backend.getReference(decision.unit->pattern) : SymbolRefAttr(),
             toAttr(context, decision.reason),
             toAttr(context, note == notes.end() ? std::nullopt : std::optional(note->second)),
             decision.isRefused)});
  }
  return attributes;
}

//===----------------------------------------------------------------------===//
// From attributes to rows
//===----------------------------------------------------------------------===//

static StringRef print(Verdict verdict) {
  switch (verdict) {
  case Verdict::Quantized:
    return "int8";
  case Verdict::FloatResult:
    return "int8 to float";
  case Verdict::Float:
    return "float";
  case Verdict::WeightOnly:
    return "weight only";
  }
}

/// The operator, or those of a group joined by '+'.
static std::string getOperators(Operation *op) {
  auto group = dyn_cast<GroupOp>(op);
  if (!group)
    return op->getName().getStringRef().str();
  return llvm::join(llvm::map_range(group.getBody().front().without_terminator(),
                                    [](Operation &op) { return op.getName().getStringRef(); }),
                    "+");
}

/// `file:line:column`, or "" for an operator without a place in a file of IR.
static std::string getPlace(Operation *op) {
  auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
  return place ? llvm::formatv("{0}:{1}:{2}", place.getFilename().getValue(), place.getLine(),
                               place.getColumn())
                     .str()
               : "";
}

/// Where a code is explained: the heading of its section in docs/reasons.md, as pages spell it in
/// links.
static std::string getPage(StringRef code) {
  static constexpr std::pair<StringLiteral, StringLiteral> titles[] = {
#define OCTET_REASON(code, title) {code, title},
#include "octet/Dialect/Octet/Reasons.def"
  };
  auto *row = llvm::find_if(titles, [&](const auto &row) { return row.first == code; });
  StringRef title = row == std::end(titles) ? StringRef() : StringRef(row->second);
  std::string page = "docs/reasons.md#";
  for (char c : (code + " " + title).str())
    if (llvm::isAlnum(c) || c == ' ')
      page += c == ' ' ? '-' : llvm::toLower(c);
  return page;
}

llvm::json::Object octet::describeDecision(Operation *op, DecisionAttr decision) {
  llvm::json::Object row{{"name", getSourceName(op)},
                         {"operator", getOperators(op)},
                         {"verdict", print(decision.getVerdict())},
                         {"macs", nn::countMultiplyAdds(op)},
                         {"refused", decision.getRefused()}};
  if (std::string place = getPlace(op); !place.empty())
    row["location"] = place;
  if (SymbolRefAttr pattern = decision.getPattern())
    row["pattern"] =
        (pattern.getRootReference().getValue() + "::" + pattern.getLeafReference().getValue())
            .str();
  if (ReasonAttr reason = decision.getReason()) {
    row["code"] = reason.getCode().getValue();
    row["page"] = getPage(reason.getCode().getValue());
    row["reason"] = reason.getText().getValue();
    row["remedy"] = reason.getRemedy().getValue();
  }
  if (ReasonAttr note = decision.getNote())
    row["note"] = (note.getCode().getValue() + " " + note.getText().getValue() + "; " +
                   note.getRemedy().getValue())
                      .str();
  return row;
}

llvm::json::Object octet::describeDecision(Operation *op) {
  return describeDecision(op, getDecision(op));
}

llvm::json::Array octet::describeDecisions(ModuleOp module) {
  llvm::json::Array rows;
  module.walk([&](Operation *op) {
    if (DecisionAttr decision = getDecision(op))
      rows.push_back(describeDecision(op, decision));
  });
  return rows;
}
