//===- Explain.cpp - verdicts, reasons, places, remedies ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Support/FileUtilities.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_EXPLAINPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

/// Remedies of more characters are printed once.
static constexpr size_t kLongRemedy = 200;

static std::string getText(const llvm::json::Value &row, StringRef key,
                           std::string (*escape)(StringRef)) {
  return escape(row.getAsObject()->getString(key).value_or(""));
}

/// One line per operator, with a second one for the remedy; a long remedy that several need stands
/// once. Texts may come from files.
static void printTable(const llvm::json::Array &rows, raw_ostream &os) {
  auto get = [](const llvm::json::Value &row, StringRef key) {
    return getText(row, key, escapeText);
  };
  auto getSentence = [](const llvm::json::Value &row, StringRef key) {
    return getText(row, key, escapeSentence);
  };
  size_t nameWidth = 5, operatorWidth = 8;
  for (const llvm::json::Value &row : rows) {
    nameWidth = std::max(nameWidth, get(row, "name").size());
    operatorWidth = std::max(operatorWidth, get(row, "operator").size());
  }
  auto column = [&](StringRef text, size_t width) {
    os << text << std::string(width + 2 - std::min(width, text.size()), ' ');
  };
  auto line = [&](StringRef name, StringRef operators, StringRef verdict, StringRef why) {
    column(name, nameWidth);
    column(operators, operatorWidth);
    column(verdict, 13);
    os << why << '\n';
  };
  llvm::StringMap<std::string> remedies;
  bool hasCodes = false;
  line("layer", "operator", "verdict", "why");
  for (const llvm::json::Value &row : rows) {
    std::string code = get(row, "code"), note = getSentence(row, "note"),
                why = code.empty() ? get(row, "pattern") : code + " " + getSentence(row, "reason");
    hasCodes |= !code.empty() || !note.empty();
    line(get(row, "name"), get(row, "operator"), get(row, "verdict"), why);
    std::string remedy = getSentence(row, "remedy");
    auto [known, isNew] = remedies.try_emplace(remedy, get(row, "name"));
    if (!isNew && remedy.size() > kLongRemedy && !known->second.empty())
      remedy = "as for \"" + known->second + "\"";
    if (!remedy.empty())
      line("", "", "", "-> " + remedy);
    if (!note.empty())
      line("", "", "", "note: " + note);
  }
  if (hasCodes)
    os << "what the codes mean: docs/reasons.md\n";
}

namespace {
struct Explain : octet::impl::ExplainPassBase<Explain> {
  using ExplainPassBase::ExplainPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    // The decisions of octet-prepare; those that it would make if it has not run.
    llvm::json::Array rows = describeDecisions(getOperation());
    if (rows.empty() && failed(plan(rows)))
      return signalPassFailure();
    std::string message;
    auto file = openOutputFile(output, &message);
    if (!file) {
      emitError(getOperation().getLoc()) << message;
      return signalPassFailure();
    }
    if (json)
      file->os() << llvm::formatv("{0:2}", llvm::json::Value(std::move(rows))) << '\n';
    else
      printTable(rows, file->os());
    file->keep();
  }

  LogicalResult plan(llvm::json::Array &rows) {
    if (isQuantizedNetwork(getOperation()) && !hasTrainedRanges(getOperation())) {
      for (auto [op, decision] : readDecisions(getOperation()))
        rows.push_back(describeDecision(op, decision));
      return success();
    }
    const auto *plans = getAnalysis<PlanAnalysis>().getPlans(quantizedOutputs);
    if (!plans)
      return failure();
    const Backend &backend = *getAnalysis<PolicyAnalysis>().getBackend();
    int64_t number = 0;
    for (const Plan &plan : *plans)
      for (auto [op, decision] : getDecisionAttrs(plan, backend, number))
        rows.push_back(describeDecision(op, decision));
    return success();
  }
};
} // namespace
