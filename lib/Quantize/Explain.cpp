//===- Explain.cpp - verdicts, reasons, places, remedies ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Support/FileUtilities.h"
#include "octet/Dialect/Octet/Names.h"
#include "octet/Quantize/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_EXPLAINPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

static StringRef stringify(Verdict verdict) {
  switch (verdict) {
  case Verdict::Quantized:
    return "int8";
  case Verdict::FloatResult:
    return "int8 to float";
  case Verdict::Float:
    return "float";
  }
}

/// The operators of a decision, joined by '+'.
static std::string getOperators(const Decision &decision) {
  if (!decision.unit)
    return decision.op->getName().getStringRef().str();
  return llvm::join(llvm::map_range(decision.unit->match.ops, [](auto op) { return op.second->getName().getStringRef(); }), "+");
}

/// Multiply-adds of the convolutions and linear layers of a decision.
static int64_t getNumMultiplyAdds(const Decision &decision) {
  int64_t count = 0;
  decision.op->walk([&](Operation *op) {
    if (auto conv = dyn_cast<nn::ConvOp>(op))
      count += conv.getNumMultiplyAdds();
    else if (auto linear = dyn_cast<nn::LinearOp>(op))
      count += linear.getNumMultiplyAdds();
  });
  return count;
}

static std::string print(Location loc) {
  std::string text;
  llvm::raw_string_ostream(text) << loc;
  return text;
}

static llvm::json::Object toJSON(const Decision &decision, const Backend &backend) {
  llvm::json::Object row{{"name", getSourceName(decision.op->getLoc())},
                         {"operator", getOperators(decision)},
                         {"location", print(decision.op->getLoc())},
                         {"verdict", stringify(decision.verdict)},
                         {"macs", getNumMultiplyAdds(decision)}};
  if (decision.unit)
    row["pattern"] = backend.getQualifiedName(decision.unit->pattern);
  if (decision.reason) {
    row["code"] = decision.reason->code;
    row["reason"] = decision.reason->text;
    row["remedy"] = decision.reason->remedy;
  }
  row["refused"] = decision.isRefused;
  return row;
}

/// What there is to say of the observers that operators' results share, by the operator.
static DenseMap<Operation *, Reason> collectNotes(const Plan &plan) {
  DenseMap<Operation *, Reason> notes;
  for (const ObservedSet &set : plan.observed)
    if (set.note)
      for (Value value : set.values)
        if (Operation *producer = value.getDefiningOp())
          notes.try_emplace(producer, *set.note);
  return notes;
}

FailureOr<llvm::json::Array> octet::explain(ModuleOp module, StringRef backendName, StringRef qconfigMapping,
                                             bool quantizedOutputs) {
  FailureOr<Backend> backend = Backend::load(module.getLoc(), backendName);
  if (failed(backend))
    return failure();
  FailureOr<QConfigMapping> mapping = QConfigMapping::load(module.getLoc(), qconfigMapping, *backend);
  if (failed(mapping))
    return failure();
  llvm::json::Array rows;
  for (auto function : module.getOps<FunctionOpInterface>())
    for (Block &block : function.getFunctionBody()) {
      FailureOr<Plan> plan = makePlan(block, *backend, *mapping, quantizedOutputs);
      if (failed(plan))
        return failure();
      DenseMap<Operation *, Reason> notes = collectNotes(*plan);
      for (const Decision &decision : plan->decisions) {
        llvm::json::Object row = toJSON(decision, *backend);
        if (auto note = notes.find(decision.op); note != notes.end())
          row["note"] = note->second.code.str() + " " + note->second.text + "; " + note->second.remedy;
        rows.push_back(std::move(row));
      }
    }
  return rows;
}

/// One line per operator, with a second one for the remedy.
static void printTable(const llvm::json::Array &rows, raw_ostream &os) {
  auto get = [](const llvm::json::Value &row, StringRef key) { return row.getAsObject()->getString(key).value_or("").str(); };
  size_t nameWidth = 5, operatorWidth = 8;
  for (const llvm::json::Value &row : rows) {
    nameWidth = std::max(nameWidth, get(row, "name").size());
    operatorWidth = std::max(operatorWidth, get(row, "operator").size());
  }
  auto column = [&](StringRef text, size_t width) { os << text << std::string(width + 2 - std::min(width, text.size()), ' '); };
  auto line = [&](StringRef name, StringRef operators, StringRef verdict, StringRef why) {
    column(name, nameWidth);
    column(operators, operatorWidth);
    column(verdict, 13);
    os << why << '\n';
  };
  line("layer", "operator", "verdict", "why");
  for (const llvm::json::Value &row : rows) {
    std::string code = get(row, "code"), why = code.empty() ? get(row, "pattern") : code + " " + get(row, "reason");
    line(get(row, "name"), get(row, "operator"), get(row, "verdict"), why);
    if (std::string remedy = get(row, "remedy"); !remedy.empty())
      line("", "", "", "-> " + remedy);
    if (std::string note = get(row, "note"); !note.empty())
      line("", "", "", "note: " + note);
  }
}

namespace {
struct Explain : octet::impl::ExplainPassBase<Explain> {
  using ExplainPassBase::ExplainPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto rows = explain(getOperation(), backend, qconfigMapping, quantizedOutputs);
    if (failed(rows))
      return signalPassFailure();
    std::string message;
    auto file = openOutputFile(output, &message);
    if (!file) {
      emitError(getOperation().getLoc()) << message;
      return signalPassFailure();
    }
    if (json)
      file->os() << llvm::formatv("{0:2}", llvm::json::Value(std::move(*rows))) << '\n';
    else
      printTable(*rows, file->os());
    file->keep();
  }
};
} // namespace
