//===- Chains.cpp - chains become patterns and folds ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// What chains name
//===----------------------------------------------------------------------===//

/// What stands for the link in front; null if there is none.
static Operation *getFirstActivation(PartOp part) {
  auto activations = part.getBody().getOps<ActivationOp>();
  return activations.empty() ? nullptr : *activations.begin();
}

static bool hasClass(PartOp part, Attribute name) {
  return part.getClassesAttr() && llvm::is_contained(part.getClassesAttr(), name);
}

/// Adds an alternative to those of its part.
static LogicalResult
readAlternative(Operation *chain, Attribute alternative,
                llvm::MapVector<Operation *, SmallVector<Attribute>> &classes) {
  Operation *backend = chain->getParentOp();
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(alternative)) {
    auto part = dyn_cast_or_null<PartOp>(SymbolTable::lookupSymbolIn(backend, symbol.getAttr()));
    if (!part)
      return chain->emitOpError("expected the symbol of an 'octet.part' of this backend, but got ")
             << symbol;
    if (ArrayAttr all = part.getClassesAttr())
      llvm::append_range(classes[part], all);
    else
      classes[part];
    return success();
  }
  bool isKnown = false;
  for (auto part : cast<BackendOp>(backend).getBody().getOps<PartOp>())
    if (hasClass(part, alternative)) {
      classes[part].push_back(alternative);
      isKnown = true;
    }
  return isKnown ? success()
                 : chain->emitOpError("expected a class that an 'octet.part' of this backend has, "
                                      "but got ")
                       << alternative << Remedy("write an octet.part of this class");
}

FailureOr<SmallVector<Link>> octet::readLinks(Operation *chain, ArrayAttr links) {
  SmallVector<Link> result;
  for (auto alternatives : links.getAsRange<ArrayAttr>()) {
    llvm::MapVector<Operation *, SmallVector<Attribute>> classes;
    for (Attribute alternative : alternatives)
      if (failed(readAlternative(chain, alternative, classes)))
        return failure();
    Link &link = result.emplace_back();
    for (auto &[part, names] : classes)
      link.push_back({cast<PartOp>(part),
                      names.empty() ? ArrayAttr() : ArrayAttr::get(chain->getContext(), names)});
  }
  for (const Link &link : ArrayRef(result).drop_front())
    for (Choice choice : link)
      if (!getFirstActivation(choice.part))
        return chain->emitOpError("expected a part with an activation behind another one, but got ")
               << "@" << choice.part.getSymName();
  return result;
}

FailureOr<ArrayAttr> octet::readDTypes(ChainOp chain) {
  SmallVector<Attribute> symbols;
  for (auto symbol : chain.getDtypes().getAsRange<FlatSymbolRefAttr>()) {
    Operation *named = SymbolTable::lookupSymbolIn(chain->getParentOp(), symbol.getAttr());
    if (auto list = dyn_cast_or_null<DTypesListOp>(named))
      llvm::append_range(symbols, list.getDtypes());
    else if (isa_and_nonnull<DTypesOp>(named))
      symbols.push_back(symbol);
    else
      return chain.emitOpError("expected the symbol of an 'octet.dtypes' or an "
                               "'octet.dtypes_list' of this backend, but got ")
             << symbol;
  }
  return ArrayAttr::get(chain.getContext(), symbols);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Adds the constraint on the classes of the source to a match.
static void restrict(MatchOp match, SourceClassAttr classes) {
  SmallVector<Attribute> where;
  if (ArrayAttr constraints = match.getWhereAttr())
    llvm::append_range(where, constraints);
  where.push_back(classes);
  match.setWhereAttr(ArrayAttr::get(match.getContext(), where));
}

/// Copies the parts one behind another, in a fold the last one's octet.affine, too; returns the
/// root.
static Value buildGraph(OpBuilder &builder, ArrayRef<Choice> chosen) {
  Value previous;
  for (auto [index, choice] : llvm::enumerate(chosen)) {
    PartOp part = choice.part;
    IRMapping mapping;
    Operation *first = previous ? getFirstActivation(part) : nullptr;
    if (first)
      mapping.map(first->getResult(0), previous);
    Block &block = part.getBody().front();
    for (Operation &op : block.without_terminator()) {
      Operation *copy = &op == first ? nullptr : builder.clone(op, mapping);
      if (auto match = dyn_cast_or_null<MatchOp>(copy); match && choice.classes)
        restrict(match,
                 SourceClassAttr::get(part.getContext(), choice.classes, part.getRequired()));
    }
    Operation *end = block.getTerminator();
    previous = mapping.lookup(end->getOperand(0));
    bool isFold = isa<FoldOp>(builder.getBlock()->getParentOp());
    if (isFold && index + 1 == chosen.size())
      builder.clone(*end, mapping);
  }
  return previous;
}

//===----------------------------------------------------------------------===//
// Expansion
//===----------------------------------------------------------------------===//

namespace {
/// Goes through the choices of one chain.
class Choices {
public:
  using Callback = llvm::function_ref<LogicalResult(StringRef name, ArrayRef<Choice>)>;

  Choices(StringRef base, ArrayRef<Link> links, ArrayRef<bool> optional, Callback callback)
      : base(base), links(links), optional(optional), callback(callback) {}

  LogicalResult run() { return choose(0); }

private:
  LogicalResult choose(size_t index) {
    if (index == links.size())
      return callback(getName(), chosen);
    for (const Choice &choice : links[index]) {
      chosen.push_back(choice);
      if (failed(choose(index + 1)))
        return failure();
      chosen.pop_back();
    }
    return optional[index] ? choose(index + 1) : success();
  }

  std::string getName() {
    std::string name = base.str();
    for (Choice choice : ArrayRef(chosen).drop_front(links[0].size() == 1 ? 1 : 0))
      name += "_" + choice.part.getSymName().str();
    return name;
  }

  StringRef base;
  ArrayRef<Link> links;
  ArrayRef<bool> optional;
  Callback callback;
  SmallVector<Choice> chosen;
};
} // namespace

/// Whether another entry than parts, which go away, has the name.
static bool isTaken(BackendOp backend, StringRef name) {
  return llvm::any_of(backend.getBody().front(), [&](Operation &op) {
    auto symbol = SymbolTable::getSymbolName;
    return isa<SymbolOpInterface>(op) && !isa<PartOp, DTypesListOp>(op) && symbol(&op) == name;
  });
}

static LogicalResult checkName(Operation *chain, StringRef name) {
  if (!isTaken(cast<BackendOp>(chain->getParentOp()), name))
    return success();
  return chain->emitOpError("stands for @")
         << escapeText(name) << ", which the backend has already" << Remedy("rename the chain");
}

static LogicalResult expand(ChainOp chain) {
  auto links = readLinks(chain, chain.getLinks());
  auto dtypes = readDTypes(chain);
  if (failed(links) || failed(dtypes))
    return failure();
  auto build = [&](StringRef name, ArrayRef<Choice> chosen) -> LogicalResult {
    if (failed(checkName(chain, name)))
      return failure();
    OpBuilder builder(chain);
    auto pattern = PatternOp::create(builder, chain.getLoc(), name, *dtypes, chain.getObservation(),
                                     chain.getFloatUses(), chain.getFloatOperands(),
                                     chain.getChannelAxisAttr(), chain.getFxAttr());
    builder.createBlock(&pattern.getBody());
    YieldOp::create(builder, chain.getLoc(), buildGraph(builder, chosen));
    if (chain.getOneActivation() &&
        llvm::hasSingleElement(pattern.getBody().getOps<ActivationOp>()))
      pattern.setObservation(*chain.getOneActivation());
    return success();
  };
  return Choices(chain.getBase(), *links, chain.getOptional(), build).run();
}

static LogicalResult expand(FoldChainOp chain) {
  auto links = readLinks(chain, chain.getLinks());
  if (failed(links))
    return failure();
  auto build = [&](StringRef name, ArrayRef<Choice> chosen) -> LogicalResult {
    PartOp last = chosen.back().part;
    if (!isa<AffineOp>(last.getBody().front().getTerminator()))
      return chain.emitOpError("expected a last part that ends with 'octet.affine', but got ")
             << "@" << last.getSymName();
    if (failed(checkName(chain, name)))
      return failure();
    OpBuilder builder(chain);
    auto fold = FoldOp::create(builder, chain.getLoc(), name, chain.getChannelAxis());
    builder.createBlock(&fold.getBody());
    buildGraph(builder, chosen);
    return success();
  };
  return Choices(chain.getBase(), *links, chain.getOptional(), build).run();
}

bool octet::isUnresolved(BackendOp backend) {
  return backend.getIncludes() || llvm::any_of(backend.getBody().front(), [](Operation &op) {
           return isa<PartOp, ChainOp, FoldChainOp, DTypesListOp>(op);
         });
}

LogicalResult octet::resolveChains(BackendOp backend) {
  Block &body = backend.getBody().front();
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto chain = dyn_cast<ChainOp>(op);
    auto foldChain = dyn_cast<FoldChainOp>(op);
    if ((chain && failed(expand(chain))) || (foldChain && failed(expand(foldChain))))
      return failure();
    if (chain || foldChain)
      op.erase();
  }
  for (Operation &op : llvm::make_early_inc_range(body))
    if (isa<PartOp, DTypesListOp>(op))
      op.erase();
  return verify(backend);
}
