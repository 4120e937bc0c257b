//===- Report.h - the report of a compilation -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_REPORT_H
#define OCTET_LIB_PIPELINES_REPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace octet {

/// The report of a compilation: the same network, samples and options give the same text.
class Report {
public:
  /// Parses the text of `print`.
  static llvm::Expected<Report> parse(llvm::StringRef text);
  void set(llvm::StringRef key, llvm::json::Value value) { root[key] = std::move(value); }
  bool has(llvm::StringRef key) const { return root.get(key); }
  /// The operator of row `number` runs in integers, although it was planned otherwise.
  void setQuantized(int64_t number);
  /// Records in the row of its decision that a recipe decided otherwise.
  void revise(int64_t number, const llvm::json::Object &decision);
  /// Records in the row of its decision, or in a new row, that an operator stays float. False if it
  /// was float before.
  bool setFloat(std::optional<int64_t> number, llvm::json::Object decision);
  std::string print() const;
  /// The short form for a library: operators refer by number to a list of `kinds` with their common
  /// fields; line breaks, locations and fields that are empty, zero or false are omitted.
  /// Report.parse in python/octet/report.py restores the report.
  std::string printCompact() const;

private:
  llvm::json::Object root;
};

/// Records what the recipe behind the calibration decided otherwise than octet-prepare.
void reportRecipe(mlir::ModuleOp module, Report &report);

/// Records operators that stay float, and warns of those that do so against the policy; operators
/// that octet-lower moved into an epilogue run in int8.
void reportFallbacks(mlir::ModuleOp module, Report &report);

/// "9 conv, 1 linear → int8 · softmax stays float [OCT104: no integer form]"
std::string summarizeVerdicts(const llvm::json::Array &verdicts);

/// The states of a network: the input and the output that each was.
llvm::json::Array describeStates(mlir::FunctionOpInterface network);
/// "h → hn · c → cn"
std::string summarizeStates(const llvm::json::Array &states);

/// "312 KB"
std::string formatBytes(int64_t bytes);
/// "12.5 MMAC"
std::string formatCount(int64_t count, llvm::StringRef unit);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_REPORT_H
