//===- Backend.h - backends and QConfig mappings as tables ------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backend and a QConfig mapping are text files of octet ops. This library reads them and answers the questions that
// Quantize and Lower have: which pattern does this operator belong to, and which observers does it get.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_BACKEND_BACKEND_H
#define OCTET_BACKEND_BACKEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "octet/Dialect/Octet/Octet.h"
#include <memory>

namespace octet {

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// An occurrence of the graph of an octet.pattern or octet.fold.
struct Match {
  /// The matched operators, each with its octet.match; operands before their users, the root last.
  llvm::SmallVector<std::pair<MatchOp, mlir::Operation *>, 4> ops;
  /// For each leaf the operands that it stands for, in the order of the operators' operands.
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::OpOperand *>, 8> leaves;

  mlir::Operation *getRoot() const { return ops.back().second; }
  /// The operator that `pattern` matched.
  mlir::Operation *lookup(MatchOp pattern) const;
};

/// Matches the graph that ends with `pattern` at `root`. All users of inner values lie inside the match.
std::optional<Match> matchGraph(MatchOp pattern, mlir::Operation *root);

/// Whether `value` is a constant, seen through group arguments, observers and quantization.
bool isConstant(mlir::Value value);

//===----------------------------------------------------------------------===//
// Backends
//===----------------------------------------------------------------------===//

/// An operator or a group that runs quantized as one: its pattern and what its operands are.
struct Unit {
  mlir::Operation *op;
  PatternOp pattern;
  /// The match inside of the group, or of the operator itself.
  Match match;
  /// For each leaf the operand of `op` that it stands for.
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::OpOperand *>, 8> leaves;

  /// The operands of `op` that leaves of this kind stand for.
  template <typename LeafOp>
  llvm::SmallVector<mlir::OpOperand *> getOperands() const {
    llvm::SmallVector<mlir::OpOperand *> operands;
    for (auto [leaf, operand] : leaves)
      if (llvm::isa<LeafOp>(leaf))
        operands.push_back(operand);
    return operands;
  }
  /// The operand of this kind, or null.
  template <typename LeafOp>
  mlir::OpOperand *getOperand() const {
    auto operands = getOperands<LeafOp>();
    return operands.empty() ? nullptr : operands.front();
  }
  /// The activation that is multiplied by the weight, or null.
  mlir::OpOperand *getWeightedActivation() const;
};

class Backend {
public:
  /// Reads a built-in backend ("cpu") or a file. On failure an error was emitted.
  static mlir::FailureOr<Backend> load(mlir::Location loc, llvm::StringRef nameOrFile);

  llvm::StringRef getName() const { return BackendOp(op).getSymName(); }
  BackendOp getOp() const { return op; }
  /// Longest first, equal lengths in the order of the file.
  llvm::ArrayRef<PatternOp> getPatterns() const { return patterns; }
  /// In the order of the file.
  llvm::SmallVector<FoldOp> getFolds() const;
  /// Names of recovery passes that run by default.
  llvm::SmallVector<llvm::StringRef> getRecipe() const;
  /// Why operators of this name stay float on purpose, or "".
  llvm::StringRef getFloatReason(mlir::OperationName name) const;
  /// What a group of this pattern is called ("cpu::conv_act").
  std::string getQualifiedName(PatternOp pattern) const;
  /// The unit that `op` (a group, or an operator matched by a pattern of one) is.
  std::optional<Unit> matchUnit(mlir::Operation *op) const;
  /// The file that was read; a QConfig mapping may stand in it, too.
  mlir::ModuleOp getFile() const { return **owner; }

private:
  std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> owner;
  BackendOp op;
  llvm::SmallVector<PatternOp> patterns;
};

/// Root match of a pattern.
MatchOp getRootMatch(PatternOp pattern);

//===----------------------------------------------------------------------===//
// QConfig mappings
//===----------------------------------------------------------------------===//

class QConfigMapping {
public:
  /// Reads a built-in mapping or a file. An empty name means: the mapping in the backend's file, else the built-in
  /// "<backend>_default_mapping". On failure an error was emitted.
  static mlir::FailureOr<QConfigMapping> load(mlir::Location loc, llvm::StringRef nameOrFile, const Backend &backend);

  /// The entry that applies to an operator: an octet.global, octet.object_type, ...; null if there is none.
  mlir::Operation *lookup(mlir::Operation *op) const;
  QConfigMappingOp getOp() const { return op; }

private:
  std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> owner;
  QConfigMappingOp op;
};

/// Emits an error at an entry of a policy that names an operator which its dialect, if it is loaded, does not have.
llvm::LogicalResult checkOperatorName(mlir::Operation *entry, llvm::StringRef name);

/// The QConfig of a mapping entry; null means "do not quantize".
QConfigAttr getQConfig(mlir::Operation *entry);

//===----------------------------------------------------------------------===//
// Built-in files
//===----------------------------------------------------------------------===//

struct BuiltinFile {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};
/// The files of lib/Backend/backends.
llvm::ArrayRef<BuiltinFile> getBuiltinFiles();

/// Parses and verifies a built-in file or a file of that path; `kind` is what messages call it.
mlir::OwningOpRef<mlir::ModuleOp> parsePolicyFile(mlir::Location loc, llvm::StringRef kind, llvm::StringRef nameOrFile);

} // namespace octet

#endif // OCTET_BACKEND_BACKEND_H
