//===- Report.h - what was done, for people and programs --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_REPORT_H
#define OCTET_LIB_PIPELINES_REPORT_H

#include "llvm/Support/JSON.h"
#include <string>

namespace octet {

/// The report of a compilation: the same network, samples and options give the same text.
class Report {
public:
  /// What `print` gave; empty if it is nothing of the kind.
  static Report parse(llvm::StringRef text);
  void set(llvm::StringRef key, llvm::json::Value value) { root[key] = std::move(value); }
  bool has(llvm::StringRef key) const { return root.get(key); }
  /// An operator that was to run in int8, by its location as text, stays float.
  void setFloat(llvm::StringRef location, llvm::StringRef code, llvm::StringRef reason, llvm::StringRef remedy);
  std::string print() const;
  /// The same for a library to carry: what operators have in common is given once, as a list of `kinds` that they number;
  /// no line breaks, no fields that are empty, zero or false, no location that says no more than the operator's name.
  /// Report.parse in python/octet/report.py makes the whole of it.
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
