//===- PolicyFiles.cpp - reading policies into a module -------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyFiles.h"
#include "BackendJson.h"
#include "Chains.h"
#include "MappingJson.h"
#include "PolicyErrors.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Parser/Parser.h"
#include "octet/Backend/Backend.h"
#include "octet/Backend/FunctionMapping.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Files.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace octet;

const BuiltinFile *octet::findBuiltin(StringRef name) {
  auto *found = llvm::find_if(getBuiltinFiles(), [&](auto &file) { return file.name == name; });
  return found == getBuiltinFiles().end() ? nullptr : found;
}

static constexpr StringLiteral kBackendKind = "backend";

/// Parses and verifies a built-in file or a file of that path; `kind` is for messages.
static OwningOpRef<ModuleOp> parse(Location loc, StringRef kind, StringRef nameOrFile) {
  MLIRContext *context = loc.getContext();
  context->getOrLoadDialect<OctetDialect>();
  if (const BuiltinFile *builtin = findBuiltin(nameOrFile))
    return parseSourceString<ModuleOp>(builtin->text, context, (builtin->name + ".mlir").str());
  auto buffer = readFile(nameOrFile, kMostTextBytes);
  bool isText = buffer && !isBytecode(**buffer);
  if (!isText) {
    InFlightDiagnostic diagnostic =
        emitError(loc) << "cannot read " << kind << " '" << escapeText(nameOrFile)
                       << "': " << (buffer ? "is bytecode" : llvm::toString(buffer.takeError()));
    diagnostic.attachNote() << "expected a file, or a built-in name: "
                            << llvm::join(
                                   llvm::map_range(getBuiltinFiles(),
                                                   [](auto &file) { return file.name.str(); }),
                                   ", ");
    return nullptr;
  }
  if (isJson((*buffer)->getBuffer()))
    return kind == kBackendKind ? parseJsonBackend((*buffer)->getBuffer(), context, nameOrFile)
                                : parseJsonMapping((*buffer)->getBuffer(), context, nameOrFile);
  std::string text = (*buffer)->getBuffer().str();
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), {});
  return parsePolicy(context, text, [&] { return parseSourceFile<ModuleOp>(sources, context); });
}

//===----------------------------------------------------------------------===//
// Operators that policies name
//===----------------------------------------------------------------------===//

/// Emits an error at an entry for an operator that its dialect, if loaded, does not have.
static LogicalResult checkOperatorName(Operation *entry, StringRef name) {
  MLIRContext *context = entry->getContext();
  bool isKnownDialect = context->getLoadedDialect(name.split('.').first);
  if (!isKnownDialect || RegisteredOperationName::lookup(name, context))
    return success();
  std::vector<std::string> names;
  for (RegisteredOperationName known : context->getRegisteredOperations())
    if (known.getDialectNamespace() == name.split('.').first)
      names.push_back(known.getStringRef().str());
  return entry->emitError("names the operator ")
         << quote(name) << ", which its dialect does not have" << Remedy(suggestNames(name, names));
}

LogicalResult octet::checkOperatorNames(Operation *policy) {
  WalkResult result = policy->walk([](Operation *op) {
    if (auto entry = dyn_cast<ObjectTypeOp>(op))
      return WalkResult(checkOperatorName(op, entry.getKey()));
    auto names = isa<MatchOp, FloatOp>(op) ? op->getAttrOfType<ArrayAttr>("names") : ArrayAttr();
    for (Attribute name : names ? names.getValue() : ArrayRef<Attribute>())
      if (failed(checkOperatorName(op, cast<StringAttr>(name).getValue())))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Policies that include others
//===----------------------------------------------------------------------===//

/// The kind and the subject of an entry, which no other entry of the mapping has.
static std::pair<OperationName, DictionaryAttr> getSubject(Operation &entry) {
  return {entry.getName(), getEntrySubject(&entry)};
}

/// Whether a part of a backend in the file is of the class that an entry names.
static bool hasPartOf(ModuleOp file, Operation *entry) {
  auto type = dyn_cast<ObjectTypeOp>(entry);
  WalkResult result = file.walk([&](PartOp part) {
    ArrayAttr classes = part.getClassesAttr();
    bool isOfType = type && classes && llvm::is_contained(classes, type.getKeyAttr());
    return isOfType ? WalkResult::interrupt() : WalkResult::skip();
  });
  return result.wasInterrupted();
}

bool octet::isBuiltinEntry(Operation *entry) {
  return llvm::any_of(getBuiltinFiles(), [&](const BuiltinFile &builtin) {
    // Files are long, and one that does not have the text names nothing by it.
    auto key = entry->getAttrOfType<StringAttr>("key");
    if (key && !builtin.text.contains(key.getValue()))
      return false;
    auto file = parse(entry->getLoc(), "policy", builtin.name);
    return hasPartOf(*file, entry) ||
           llvm::any_of(file->getOps<QConfigMappingOp>(), [&](QConfigMappingOp mapping) {
             return llvm::any_of(mapping.getBody().front(), [&](Operation &other) {
               return getSubject(other) == getSubject(*entry);
             });
           });
  });
}

/// A mapping of unknown origin reads no files elsewhere.
static bool isOutside(StringRef file) {
  return llvm::sys::path::is_absolute(file) ||
         llvm::is_contained(
             llvm::make_range(llvm::sys::path::begin(file), llvm::sys::path::end(file)), "..");
}

/// The name under which an included file is read. `including`: the chain of files to this policy,
/// which is last.
static FailureOr<std::string> locateIncluded(Operation *policy, StringRef included,
                                             ArrayRef<std::string> including) {
  std::string name = included.str();
  if (isOutside(name))
    return policy->emitOpError("includes '")
           << escapeText(name) << "', which is outside of its folder"
           << Remedy("copy that file beside it");
  if (!including.empty() && !findBuiltin(name) && llvm::sys::path::is_relative(name)) {
    SmallString<128> path(llvm::sys::path::parent_path(including.back()));
    llvm::sys::path::append(path, name);
    name = path.str().str();
  }
  if (llvm::is_contained(including, name))
    return policy->emitOpError("includes '")
           << escapeText(name) << "', which includes this one" << Remedy("omit one of them");
  return name;
}

LogicalResult octet::resolveInclusion(QConfigMappingOp mapping,
                                      SmallVector<std::string> &including) {
  if (!mapping.getIncludes())
    return success();
  auto name = locateIncluded(mapping, *mapping.getIncludes(), including);
  if (failed(name))
    return failure();
  auto file = readMapping(mapping.getLoc(), *name, including);
  if (failed(file))
    return failure();
  DenseSet<std::pair<OperationName, DictionaryAttr>> own;
  for (Operation &entry : mapping.getBody().front())
    own.insert(getSubject(entry));
  auto builder = OpBuilder::atBlockEnd(&mapping.getBody().front());
  for (auto included : (*file)->getOps<QConfigMappingOp>())
    for (Operation &entry : included.getBody().front())
      if (!own.contains(getSubject(entry)))
        builder.clone(entry);
  mapping.removeIncludesAttr();
  return success();
}

/// The name of a backend's entry: its symbol, or the base of a chain's; null if it has none.
static StringAttr getEntryName(Operation &entry) {
  auto name = entry.getAttrOfType<StringAttr>("base");
  return name ? name : SymbolTable::getSymbolName(&entry);
}

/// Whether the backend has all data types of an entry of an included file.
static bool hasDTypes(BackendOp backend, Operation &entry) {
  auto chain = dyn_cast<ChainOp>(entry);
  return !chain || llvm::all_of(chain.getDtypes().getAsRange<FlatSymbolRefAttr>(), [&](auto name) {
    return SymbolTable::lookupSymbolIn(backend, name.getAttr());
  });
}

/// Gives a backend's recipe those places of the included one that it does not name.
static void complete(RecipeOp recipe, RecipeOp included) {
  if (!recipe.getBeforePrepareAttr())
    recipe.setBeforePrepareAttr(included.getBeforePrepareAttr());
  if (!recipe.getAfterCalibrateAttr())
    recipe.setAfterCalibrateAttr(included.getAfterCalibrateAttr());
}

/// Adds the entries of the included backend that are not overridden and whose data types there are.
static LogicalResult resolveInclusion(BackendOp backend, SmallVector<std::string> &including) {
  if (!backend.getIncludes())
    return success();
  auto name = locateIncluded(backend, *backend.getIncludes(), including);
  if (failed(name))
    return failure();
  auto file = readBackend(backend.getLoc(), *name, including);
  if (failed(file))
    return failure();
  // Chains have names of their own.
  auto getSpace = [](Operation &entry) {
    return isa<ChainOp>(entry) ? 1 : isa<FoldChainOp>(entry) ? 2 : 0;
  };
  DenseMap<std::pair<int, StringAttr>, Operation *> own;
  for (Operation &entry : backend.getBody().front())
    own.try_emplace({getSpace(entry), getEntryName(entry)}, &entry);
  BackendOp included = *(**file).getOps<BackendOp>().begin();
  auto builder = OpBuilder::atBlockEnd(&backend.getBody().front());
  SmallVector<Operation *> chains;
  auto recipes = llvm::to_vector(backend.getBody().getOps<RecipeOp>());
  for (Operation &entry : included.getBody().front()) {
    if (auto recipe = dyn_cast<RecipeOp>(entry); recipe && !recipes.empty()) {
      complete(recipes.front(), recipe);
      continue;
    }
    StringAttr entryName = getEntryName(entry);
    Operation *other = entryName ? own.lookup({getSpace(entry), entryName}) : nullptr;
    if (other && other->getName() != entry.getName())
      return other->emitOpError("has the name of another kind of entry in '")
             << escapeText(*name) << "', @" << entryName.getValue() << Remedy("rename it");
    if (other)
      continue;
    if (isa<ChainOp>(entry))
      chains.push_back(&entry);
    else
      builder.clone(entry);
  }
  for (Operation *chain : chains)
    if (hasDTypes(backend, *chain))
      builder.clone(*chain);
  backend.removeIncludesAttr();
  return success();
}

LogicalResult octet::resolveInclusion(BackendOp backend) {
  SmallVector<std::string> including;
  return ::resolveInclusion(backend, including);
}

FailureOr<OwningOpRef<ModuleOp>> octet::readBackend(Location loc, StringRef nameOrFile,
                                                    SmallVector<std::string> &including) {
  OwningOpRef<ModuleOp> file = parse(loc, kBackendKind, nameOrFile);
  auto backend = file ? getOnly<BackendOp>(*file, "a backend file") : BackendOp();
  if (!backend || failed(checkOperatorNames(backend)))
    return failure();
  including.push_back(nameOrFile.str());
  if (failed(::resolveInclusion(backend, including)))
    return failure();
  including.pop_back();
  return file;
}

FailureOr<OwningOpRef<ModuleOp>> octet::readMapping(Location loc, StringRef nameOrFile,
                                                    SmallVector<std::string> &including) {
  OwningOpRef<ModuleOp> file = parse(loc, "QConfig mapping", nameOrFile);
  auto mapping = file ? getOnly<QConfigMappingOp>(*file, "the file") : QConfigMappingOp();
  if (!mapping || failed(checkOperatorNames(mapping)))
    return failure();
  including.push_back(nameOrFile.str());
  if (failed(resolveInclusion(mapping, including)))
    return failure();
  including.pop_back();
  return file;
}

LogicalResult octet::addMappingOfFunction(ModuleOp module, Operation *function, StringRef text) {
  StringRef name = SymbolTable::getSymbolName(function).getValue();
  OwningOpRef<ModuleOp> file = parseJsonMapping(text, module.getContext(), name);
  auto mapping = file ? getOnly<QConfigMappingOp>(*file, "the mapping") : QConfigMappingOp();
  if (!mapping || failed(checkOperatorNames(mapping)))
    return failure();
  mapping.setSymName((name + ".mapping").str());
  mapping->moveBefore(module.getBody(), module.getBody()->end());
  function->setAttr(kMappingAttr, FlatSymbolRefAttr::get(mapping.getSymNameAttr()));
  return success();
}
