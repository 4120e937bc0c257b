//===- Report.cpp - the report of a compilation ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Report.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>
#include <vector>

using namespace llvm;
using namespace octet;

/// Whether a report has the form in which it is read: its rows are objects.
static bool isReport(const json::Object &root) {
  const json::Value *rows = root.get("operators");
  return !rows || (rows->getAsArray() && all_of(*rows->getAsArray(), [](const json::Value &row) {
                     return row.getAsObject();
                   }));
}

Expected<Report> Report::parse(StringRef text) {
  Expected<json::Value> value = json::parse(text);
  json::Object *root = value ? value->getAsObject() : nullptr;
  if (!value)
    consumeError(value.takeError());
  if (!root || !isReport(*root))
    return makeRemedyError("'octet.report' is not the report of a compilation", "remove it");
  Report report;
  report.root = std::move(*root);
  return report;
}

bool Report::setFloat(std::optional<int64_t> number, json::Object decision) {
  if (!root.getArray("operators"))
    root["operators"] = json::Array();
  json::Array &rows = *root.getArray("operators");
  if (!number || *number >= (int64_t)rows.size()) {
    rows.push_back(std::move(decision));
    return true;
  }
  json::Object &row = *rows[*number].getAsObject();
  if (row.getString("verdict") == "float")
    return false;
  for (StringRef key : {"verdict", "code", "page", "reason", "remedy", "refused"})
    row[key] = std::move(decision[key]);
  return true;
}

void Report::revise(int64_t number, const json::Object &decision) {
  json::Array *rows = root.getArray("operators");
  json::Object *row =
      rows && number < (int64_t)rows->size() ? (*rows)[number].getAsObject() : nullptr;
  auto isSame = [&](StringRef key) {
    return row->getString(key).value_or("") == decision.getString(key).value_or("");
  };
  if (!row || (isSame("verdict") && isSame("code")))
    return;
  for (StringRef key : {"verdict", "code", "page", "reason", "remedy"})
    (*row)[key] = decision.getString(key).value_or("").str();
}

void Report::setQuantized(int64_t number) {
  json::Array *rows = root.getArray("operators");
  if (!rows || number >= (int64_t)rows->size())
    return;
  json::Object &row = *(*rows)[number].getAsObject();
  row["verdict"] = "int8";
  row["refused"] = false;
  for (StringRef key : {"code", "page", "reason", "remedy"})
    row.erase(key);
}

std::string Report::print() const { return formatv("{0:2}", json::Value(json::Object(root))); }

/// The fields that differ between operators of one kind.
static bool isOwn(StringRef key) { return key == "name" || key == "macs"; }

/// The fields that a library omits: defaults, and places of code and text.
static bool isOmitted(StringRef key, const json::Value &value) {
  return key == "location" || key == "page" || value == json::Value("") ||
         value == json::Value(0) || value == json::Value(false);
}

std::string Report::printCompact() const {
  json::Object compact(root);
  json::Array kinds;
  json::Array *rows = compact.getArray("operators");
  for (size_t i = 0; rows && i < rows->size(); ++i) {
    json::Object &row = *(*rows)[i].getAsObject(), own, kind;
    for (auto &[key, value] : row)
      if (!isOmitted(key, value))
        (isOwn(key) ? own : kind)[key] = value;
    json::Value shared(std::move(kind));
    auto it = llvm::find(kinds, shared);
    own["kind"] = it - kinds.begin();
    if (it == kinds.end())
      kinds.push_back(std::move(shared));
    (*rows)[i] = std::move(own);
  }
  compact["kinds"] = std::move(kinds);
  return formatv("{0}", json::Value(std::move(compact)));
}

static StringRef get(const json::Value &row, StringRef key) {
  return row.getAsObject()->getString(key).value_or("");
}

/// The short name of a group or operator: its first operator, without the dialect.
static std::string getShortName(const json::Value &row) {
  StringRef first = get(row, "operator").split('+').first;
  return first.substr(first.find('.') + 1).str();
}

/// A reason without the names behind its operators: `nn.matmul "qk"` is `nn.matmul`.
static std::string omitNames(StringRef reason) {
  std::string text;
  while (true) {
    auto [before, quoted] = reason.split(" \"");
    text += before;
    if (quoted.empty())
      return text;
    auto [name, behind] = quoted.split('"');
    size_t word = before.rfind(' ') + 1; // 0 where there is none
    if (!before.substr(word).contains('.'))
      text += (" \"" + name + "\"").str();
    reason = behind;
  }
}

std::string octet::summarizeVerdicts(const json::Array &verdicts) {
  using Kinds = std::map<std::string, int>;
  struct Floating {
    Kinds kinds;
    std::string reason; ///< of one of them, or of several without names
  };
  Kinds quantized, stored;
  std::map<std::string, Floating> floating; // by reason without names
  for (const json::Value &row : verdicts) {
    if (get(row, "verdict").starts_with("int8"))
      ++quantized[getShortName(row)];
    else if (get(row, "verdict") == "weight only")
      ++stored[getShortName(row)];
    else {
      std::string reason = (get(row, "code") + ": " + get(row, "reason")).str(),
                  key = omitNames(reason);
      Floating &of = floating[key];
      ++of.kinds[getShortName(row)];
      of.reason = of.reason.empty() || of.reason == reason ? reason : key;
    }
  }
  auto list = [](const Kinds &operators) {
    std::vector<std::string> kinds;
    for (auto &[name, count] : operators)
      kinds.push_back(std::to_string(count) + " " + name);
    return join(kinds, ", ");
  };
  std::string text = quantized.empty() ? "nothing → int8" : list(quantized) + " → int8";
  if (!stored.empty())
    text += " · " + list(stored) + " → weights in few bits";
  for (auto &[key, of] : floating) {
    bool isOne = of.kinds.size() == 1 && of.kinds.begin()->second == 1;
    text += " · " + (isOne ? of.kinds.begin()->first + " stays" : list(of.kinds) + " stay") +
            " float [" + of.reason + "]";
  }
  return floating.empty() ? text : text + " · codes: docs/reasons.md";
}

void octet::reportRecipe(mlir::ModuleOp module, Report &report) {
  module->walk([&](mlir::Operation *op) {
    if (DecisionAttr decision = getDecision(op); decision && decision.getNumber())
      report.revise(*decision.getNumber(), describeDecision(op));
  });
}

void octet::reportFallbacks(mlir::ModuleOp module, Report &report) {
  module->walk([&](mlir::Operation *op) {
    DecisionAttr decision = getDecision(op);
    if (decision && decision.getVerdict() == Verdict::Quantized && decision.getNumber())
      report.setQuantized(*decision.getNumber());
    bool isFloat = decision && decision.getVerdict() == Verdict::Float &&
                   (decision.getRefused() || decision.getNumber());
    if (!isFloat || !report.setFloat(decision.getNumber(), describeDecision(op)) ||
        !decision.getRefused())
      return;
    ReasonAttr reason = decision.getReason();
    emitWarning(op->getLoc()) << "stays float " << Code{reason.getCode().getValue()} << ": "
                              << reason.getText().getValue()
                              << Remedy(reason.getRemedy().getValue());
  });
}

json::Array octet::describeStates(mlir::FunctionOpInterface network) {
  json::Array states;
  for (nn::State state : nn::getStates(network)) {
    auto output = network.getResultAttrOfType<mlir::StringAttr>(state.result, nn::kNameAttr);
    states.push_back(json::Object{{"input", json::fixUTF8(state.name.strref())},
                                  {"output", output ? json::fixUTF8(output.strref())
                                                    : "output" + std::to_string(state.result)}});
  }
  return states;
}

std::string octet::summarizeStates(const json::Array &states) {
  return join(map_range(states,
                        [](const json::Value &state) {
                          return escapeText(get(state, "input")) + " → " +
                                 escapeText(get(state, "output"));
                        }),
              " · ");
}

std::string octet::formatBytes(int64_t bytes) {
  if (bytes < 10 * 1024)
    return formatv("{0} B", bytes);
  if (bytes < 10 * 1024 * 1024)
    return formatv("{0} KB", (bytes + 512) / 1024);
  return formatv("{0:F1} MB", bytes / 1048576.0);
}

std::string octet::formatCount(int64_t count, StringRef unit) {
  if (count < 1000000)
    return formatv("{0:F1} K{1}", count / 1e3, unit);
  return formatv("{0:F1} M{1}", count / 1e6, unit);
}
