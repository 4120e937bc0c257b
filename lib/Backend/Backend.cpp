//===- Backend.cpp - reading backends, finding units ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Backend/Backend.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace octet;

OwningOpRef<ModuleOp> octet::parsePolicyFile(Location loc, StringRef kind, StringRef nameOrFile) {
  MLIRContext *context = loc.getContext();
  context->getOrLoadDialect<OctetDialect>();
  for (const BuiltinFile &builtin : getBuiltinFiles())
    if (builtin.name == nameOrFile)
      return parseSourceString<ModuleOp>(builtin.text, context, (builtin.name + ".mlir").str());
  auto buffer = llvm::MemoryBuffer::getFile(nameOrFile, /*IsText=*/true);
  if (!buffer) {
    InFlightDiagnostic diagnostic = emitError(loc) << "cannot read " << kind << " '" << nameOrFile
                                                   << "': " << buffer.getError().message();
    diagnostic.attachNote() << "expected a file, or a built-in name: "
                            << llvm::join(llvm::map_range(getBuiltinFiles(), [](auto &file) { return file.name.str(); }), ", ");
    return nullptr;
  }
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), {});
  return parseSourceFile<ModuleOp>(sources, context);
}

LogicalResult octet::checkOperatorName(Operation *entry, StringRef name) {
  MLIRContext *context = entry->getContext();
  bool isKnownDialect = context->getLoadedDialect(name.split('.').first);
  if (!isKnownDialect || RegisteredOperationName::lookup(name, context))
    return success();
  return entry->emitError("names the operator \"") << name << "\", which its dialect does not have";
}

/// The operators that patterns and folds match, or that stay float, exist.
static LogicalResult checkOperatorNames(BackendOp backend) {
  WalkResult result = backend.walk([](Operation *op) {
    auto names = op->getAttrOfType<ArrayAttr>("names");
    if (!isa<MatchOp, FloatOp>(op) || !names)
      return WalkResult::advance();
    for (StringRef name : names.getAsValueRange<StringAttr>())
      if (failed(checkOperatorName(op, name)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

FailureOr<Backend> Backend::load(Location loc, StringRef nameOrFile) {
  Backend backend;
  backend.owner = std::make_shared<OwningOpRef<ModuleOp>>(parsePolicyFile(loc, "backend", nameOrFile));
  if (!*backend.owner)
    return failure();
  auto ops = llvm::to_vector((*backend.owner)->getOps<BackendOp>());
  if (ops.size() != 1)
    return (*backend.owner)->emitError("expected one 'octet.backend' in a backend file, but got ") << ops.size();
  backend.op = ops.front();
  if (failed(checkOperatorNames(ops.front())))
    return failure();
  llvm::append_range(backend.patterns, backend.op.getBody().getOps<PatternOp>());
  llvm::stable_sort(backend.patterns, [](PatternOp a, PatternOp b) {
    return llvm::range_size(a.getBody().getOps<MatchOp>()) > llvm::range_size(b.getBody().getOps<MatchOp>());
  });
  return backend;
}

SmallVector<FoldOp> Backend::getFolds() const { return llvm::to_vector(BackendOp(op).getBody().getOps<FoldOp>()); }

SmallVector<StringRef> Backend::getRecipe() const {
  SmallVector<StringRef> passes;
  for (auto recipe : BackendOp(op).getBody().getOps<RecipeOp>())
    llvm::append_range(passes, recipe.getPasses().getAsValueRange<StringAttr>());
  return passes;
}

StringRef Backend::getFloatReason(OperationName name) const {
  for (auto entry : BackendOp(op).getBody().getOps<FloatOp>())
    if (llvm::is_contained(entry.getNames().getAsValueRange<StringAttr>(), name.getStringRef()))
      return entry.getReason();
  return "";
}

std::string Backend::getQualifiedName(PatternOp pattern) const {
  return (getName() + "::" + pattern.getSymName()).str();
}

MatchOp octet::getRootMatch(PatternOp pattern) {
  return cast<YieldOp>(pattern.getBody().front().getTerminator()).getValues()[0].getDefiningOp<MatchOp>();
}

/// A group is the unit that fusion made of it: its body is matched again to know what each operand is.
static std::optional<Match> matchGroup(GroupOp group, PatternOp pattern) {
  Operation *root = group.getTerminator()->getOperand(0).getDefiningOp();
  return root ? matchGraph(getRootMatch(pattern), root) : std::nullopt;
}

std::optional<Unit> Backend::matchUnit(Operation *candidate) const {
  auto group = dyn_cast<GroupOp>(candidate);
  for (PatternOp pattern : patterns) {
    std::optional<Match> match;
    if (group)
      match = group.getPattern() == getQualifiedName(pattern) ? matchGroup(group, pattern) : std::nullopt;
    else if (llvm::hasSingleElement(pattern.getBody().getOps<MatchOp>()))
      match = matchGraph(getRootMatch(pattern), candidate);
    if (!match)
      continue;
    Unit unit{candidate, pattern, std::move(*match), {}};
    for (auto [leaf, operand] : unit.match.leaves) {
      auto argument = group ? dyn_cast<BlockArgument>(operand->get()) : nullptr;
      if (group && !argument)
        return std::nullopt;
      unit.leaves.push_back({leaf, group ? &group->getOpOperand(argument.getArgNumber()) : operand});
    }
    return unit;
  }
  return std::nullopt;
}

OpOperand *Unit::getWeightedActivation() const {
  auto weights = PatternOp(pattern).getBody().getOps<WeightOp>();
  if (weights.empty())
    return nullptr;
  Operation *reader = *(*weights.begin())->getUsers().begin();
  for (auto [leaf, operand] : leaves)
    if (isa<ActivationOp>(leaf) && llvm::is_contained(leaf->getUsers(), reader))
      return operand;
  return nullptr;
}
