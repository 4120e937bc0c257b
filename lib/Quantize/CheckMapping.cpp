//===- CheckMapping.cpp - entries that apply to no operator ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include <set>

using namespace mlir;
using namespace octet;

namespace {
/// What the entries of a mapping may name.
struct Subjects {
  DenseSet<Operation *> applied; ///< the entries that apply to an operator
  std::set<std::string> modules; ///< of operators and the parts that they belong to
  std::set<std::string> types;
  /// How many operators of a type a part has, by part and type.
  std::map<std::pair<std::string, std::string>, int64_t> counts;

  Subjects(ModuleOp module, const QConfigMapping &mapping) {
    for (auto function : module.getOps<FunctionOpInterface>())
      function->walk([&](Operation *op) {
        if (op == function || &mapping.getFor(op) != &mapping ||
            op->hasTrait<OpTrait::IsTerminator>() || isa<GroupOp>(op) ||
            op->hasTrait<OpTrait::ConstantLike>())
          return;
        applied.insert(mapping.lookup(op));
        add(op);
      });
  }

private:
  void add(Operation *op) {
    for (StringRef name = getSourceName(op); !name.empty(); name = getParentName(name))
      modules.insert(name.str());
    types.insert(op->getName().getStringRef().str());
    OriginAttr origin = getOrigin(op);
    if (!origin || !origin.getSourceClass())
      return;
    types.insert(origin.getSourceClass().getValue().str());
    int64_t &count =
        counts[{getParentName(origin.getName()).str(), origin.getSourceClass().getValue().str()}];
    count = std::max(count, *origin.getIndex() + 1);
  }
};
} // namespace

static std::string suggest(StringRef wrong, const std::set<std::string> &names) {
  return suggestNames(wrong, std::vector<std::string>(names.begin(), names.end()));
}

/// What is wrong with a number of an operator, or with the part and type that it belongs to.
static std::string suggest(ModuleNameObjectTypeOrderOp entry, const Subjects &subjects) {
  std::set<std::string> parts, types;
  for (auto &[key, count] : subjects.counts) {
    parts.insert(key.first);
    if (key.first != entry.getModule())
      continue;
    types.insert(key.second);
    if (key.second == entry.getObjectType())
      return "there are " + std::to_string(count) + " operators of this class, counted from 0";
  }
  return types.empty() ? suggest(entry.getModule(), parts) : suggest(entry.getObjectType(), types);
}

/// The remedy for an entry that applies to no operator; nothing if the entry may do so: operators
/// of a known name, and those that a built-in mapping thinks of, need not be in every network.
static std::optional<std::string> getRemedy(Operation *entry, const Subjects &subjects) {
  const char *preceded = "entries of higher precedence apply to its operators; omit it";
  if (auto order = dyn_cast<ModuleNameObjectTypeOrderOp>(entry))
    return suggest(order, subjects);
  if (isa<ModuleNameRegexOp>(entry))
    return "a name must match from its first character on, and no earlier entry may match it";
  auto key = entry->getAttrOfType<StringAttr>("key");
  if (isa<ModuleNameOp>(entry))
    return subjects.modules.count(key.str()) ? preceded : suggest(key, subjects.modules);
  if (RegisteredOperationName::lookup(key, entry->getContext()) || isBuiltinEntry(entry))
    return std::nullopt;
  return subjects.types.count(key.str()) ? preceded : suggest(key, subjects.types);
}

/// How messages call an entry.
static std::string getSubject(Operation *entry) {
  if (auto order = dyn_cast<ModuleNameObjectTypeOrderOp>(entry))
    return "number " + std::to_string(order.getIndex()) + " of " + quote(order.getObjectType()) +
           " in " + quote(order.getModule());
  return quote(entry->getAttrOfType<StringAttr>("key").getValue());
}

/// Those of one mapping, without its scopes.
static LogicalResult checkOwnEntries(ModuleOp module, const QConfigMapping &mapping, bool strict) {
  Subjects subjects(module, mapping);
  LogicalResult result = success();
  for (Operation &entry : QConfigMappingOp(mapping.getOp()).getBody().front()) {
    if (subjects.applied.contains(&entry) || isa<GlobalOp>(entry))
      continue;
    std::optional<std::string> remedy = getRemedy(&entry, subjects);
    if (!remedy)
      continue;
    (strict ? emitError(entry.getLoc()) : emitWarning(entry.getLoc()))
        << "the QConfig mapping's entry for " << getSubject(&entry) << " applies to no operator"
        << Remedy(*remedy);
    result = failure(strict);
  }
  return result;
}

LogicalResult octet::checkEntries(ModuleOp module, const QConfigMapping &mapping, bool strict) {
  LogicalResult result = checkOwnEntries(module, mapping, strict);
  for (const QConfigMapping &scope : mapping.getScopes())
    if (failed(checkOwnEntries(module, scope, strict)))
      result = failure();
  return result;
}
