//===- Report.h - what was done, for people and programs --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_REPORT_H
#define OCTET_LIB_PIPELINES_REPORT_H

#include "llvm/Support/JSON.h"
#include <optional>
#include <string>

namespace octet {

/// The report of a compilation: the same network, samples and options give the same text.
class Report {
public:
  /// What `print` gave; empty if it is nothing of the kind.
  static Report parse(llvm::StringRef text);
  void set(llvm::StringRef key, llvm::json::Value value) { root[key] = std::move(value); }
  bool has(llvm::StringRef key) const { return root.get(key); }
  /// The operator of row `number` runs in integers, although it was planned otherwise.
  void setQuantized(int64_t number);
  /// An operator that was to run in int8 stays float: the row of its decision says so, or a new one
  /// where there is none. False if it did before.
  bool setFloat(std::optional<int64_t> number, llvm::json::Object decision);
  std::string print() const;
  /// The same for a library to carry: what operators have in common is given once, as a list of
  /// `kinds` that they number; no line breaks, no locations, no fields that are empty, zero or
  /// false. Report.parse in python/octet/report.py makes the
  /// whole of it.
  std::string printCompact() const;

private:
  llvm::json::Object root;
};

/// "9 conv, 1 linear → int8 · softmax stays float [OCT104: no integer form]"
std::string summarizeVerdicts(const llvm::json::Array &verdicts);

/// "312 KB"
std::string formatBytes(int64_t bytes);
/// "12.5 MMAC"
std::string formatCount(int64_t count, llvm::StringRef unit);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_REPORT_H
