//===- Backend.h - backends and QConfig mappings as tables ------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A backend and a QConfig mapping are ops in a network's module, where octet-attach-policy puts
// them. This library reads them from text, matches their patterns, and looks up the observers of an
// operator.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_BACKEND_BACKEND_H
#define OCTET_BACKEND_BACKEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/AnalysisManager.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Regex.h"
#include <map>
#include <vector>

namespace octet {

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// An occurrence of the graph of an octet.pattern or octet.fold.
struct Match {
  /// The matched operators, each with its octet.match; operands before their users, the root last.
  llvm::SmallVector<std::pair<MatchOp, mlir::Operation *>, 4> ops;
  /// Each leaf with the operands that it matched, in the order of the operators' operands.
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::OpOperand *>, 8> leaves;

  mlir::Operation *getRoot() const { return ops.back().second; }
  /// The operator that `pattern` matched.
  mlir::Operation *lookup(MatchOp pattern) const;
};

/// Matches the graph that ends with `pattern` at `root`. All users of inner values lie inside the
/// match.
std::optional<Match> matchGraph(MatchOp pattern, mlir::Operation *root);

/// Whether the graph that ends with `general` matches wherever that with `special` does.
/// `ignoreNames`: apart from the operators' names.
bool subsumes(MatchOp general, MatchOp special, bool ignoreNames = false);

/// Whether `value` is a constant, looking through group arguments, observers and quantization.
bool isConstant(mlir::Value value);

//===----------------------------------------------------------------------===//
// Backends
//===----------------------------------------------------------------------===//

/// An operator or a group that runs quantized as one: its pattern and the roles of its operands.
struct Unit {
  mlir::Operation *op;
  PatternOp pattern;
  /// The match inside of the group, or of the operator itself.
  Match match;
  /// Each leaf with the operand of `op` that it matched.
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::OpOperand *>, 8> leaves;

  /// The operands of `op` that leaves of this kind matched.
  template <typename LeafOp> llvm::SmallVector<mlir::OpOperand *> getOperands() const {
    llvm::SmallVector<mlir::OpOperand *> operands;
    for (auto [leaf, operand] : leaves)
      if (llvm::isa<LeafOp>(leaf))
        operands.push_back(operand);
    return operands;
  }
  /// The operand of this kind, or null.
  template <typename LeafOp> mlir::OpOperand *getOperand() const {
    auto operands = getOperands<LeafOp>();
    return operands.empty() ? nullptr : operands.front();
  }
  /// The activation that is multiplied by the weight, or null.
  mlir::OpOperand *getWeightedActivation() const;
};

/// The tables of an octet.backend.
class Backend {
public:
  explicit Backend(BackendOp op);

  llvm::StringRef getName() const { return BackendOp(op).getSymName(); }
  BackendOp getOp() const { return op; }
  /// Longest first, equal lengths in the order of the text.
  llvm::ArrayRef<PatternOp> getPatterns() const { return patterns; }
  /// In the order of the text.
  llvm::ArrayRef<FoldOp> getFolds() const { return folds; }
  /// The recovery passes that run by default; null if there are none.
  RecipeOp getRecipe() const;
  /// Why operators of this name stay float on purpose, or "".
  llvm::StringRef getFloatReason(mlir::OperationName name) const;
  /// Why states stay float, or "" if they do not.
  llvm::StringRef getStatesReason() const;
  /// Why values in front of a normalization stay float, or "" if they do not.
  llvm::StringRef getNormsReason() const;
  /// Why values that sines and cosines read stay float, or "" if they do not.
  llvm::StringRef getAnglesReason() const;
  /// Why values of which ratios count stay float, or "" if they do not.
  llvm::StringRef getRatiosReason() const;
  /// Which residual sums stay float; null if none do.
  FloatSumsOp getFloatSums() const;
  /// Which layers at the ends of the network stay float; null if none do.
  FloatEndsOp getFloatEnds() const;
  FloatProductsOp getFloatProducts() const;
  /// How groups name the pattern (`@cpu::@conv_act`).
  mlir::SymbolRefAttr getReference(PatternOp pattern) const;
  /// The unit that `op` forms: a group, or an operator that a pattern of one operator matches.
  std::optional<Unit> matchUnit(mlir::Operation *op) const;

private:
  BackendOp op;
  llvm::SmallVector<PatternOp> patterns;
  llvm::SmallVector<FoldOp> folds;
};

/// The root match of a pattern.
MatchOp getRootMatch(PatternOp pattern);

//===----------------------------------------------------------------------===//
// QConfig mappings
//===----------------------------------------------------------------------===//

/// The tables of an octet.qconfig_mapping.
class QConfigMapping {
public:
  explicit QConfigMapping(QConfigMappingOp op);
  QConfigMapping(QConfigMapping &&) = default;

  /// The entry that applies to an operator: an octet.global, octet.object_type, ...; null if there
  /// is none. Reads the operator's origin and name, and the mapping of its function.
  mlir::Operation *lookup(mlir::Operation *op) const;
  QConfigMappingOp getOp() const { return op; }

  /// Functions may have a mapping of their own (octet.qconfig_mapping).
  void addScope(QConfigMapping &&mapping) { scopes.push_back(std::move(mapping)); }
  llvm::ArrayRef<QConfigMapping> getScopes() const { return scopes; }
  /// That of the function that an operator is or stands in: its own, or this one.
  const QConfigMapping &getFor(mlir::Operation *op) const;

private:
  mlir::Operation *lookupName(llvm::StringRef name) const;
  mlir::Operation *lookupOrder(OriginAttr origin) const;
  mlir::Operation *lookupType(mlir::Operation *op) const;

  QConfigMappingOp op;
  llvm::StringMap<mlir::Operation *> names, objectTypes;
  /// By module, object type, index.
  std::map<std::tuple<std::string, std::string, int64_t>, mlir::Operation *> ordered;
  /// In the order of the text.
  std::vector<std::pair<llvm::Regex, mlir::Operation *>> expressions;
  mlir::Operation *global = nullptr;
  std::vector<QConfigMapping> scopes;
};

/// Whether a function of the module has the mapping as its own.
bool isOfFunction(QConfigMappingOp mapping);

/// The part of the source that a name belongs to: up to its last '.' or '/'; "" at the top.
llvm::StringRef getParentName(llvm::StringRef name);

/// An entry in one line, as in `module_name "body.fc1"`, with ` none` behind it if it says that.
std::string describeEntry(mlir::Operation *entry);

/// The QConfig of a mapping entry; null means "do not quantize".
QConfigAttr getQConfig(mlir::Operation *entry);

//===----------------------------------------------------------------------===//
// The policy of a module
//===----------------------------------------------------------------------===//

/// The policy of a module as tables. Passes that do not change the policy preserve this analysis.
class PolicyAnalysis {
public:
  explicit PolicyAnalysis(mlir::Operation *module);

  /// Null, with an error emitted, if the module does not have exactly one.
  const Backend *getBackend() const;
  const QConfigMapping *getMapping() const;

private:
  mlir::Operation *module;
  llvm::SmallVector<Backend, 1> backends;
  std::vector<QConfigMapping> mappings, scopes;
};

/// Puts the policy into the module. `backend` and `qconfigMapping` are names of built-in policies
/// or paths of files. Empty ones stand for the module's policy; if it has none, for the backend
/// "cpu", and for the mapping in the backend's file or the built-in "<backend>_default_mapping", if
/// there is one. Fails, with an error emitted, if a policy cannot be read or differs from the
/// module's.
llvm::LogicalResult attachPolicy(mlir::ModuleOp module, llvm::StringRef backend,
                                 llvm::StringRef qconfigMapping);

/// Makes octet-translate read and write backends as PyTorch's dictionaries.
void registerBackendTranslations();

struct BuiltinFile {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};
/// Whether a built-in mapping has an entry of this kind and subject, or a built-in backend a part
/// of the class that the entry names.
bool isBuiltinEntry(mlir::Operation *entry);
/// The files of lib/Backend/backends.
llvm::ArrayRef<BuiltinFile> getBuiltinFiles();

} // namespace octet

#endif // OCTET_BACKEND_BACKEND_H
