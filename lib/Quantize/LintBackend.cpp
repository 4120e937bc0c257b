//===- LintBackend.cpp - faults of a backend that no network shows --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckQConfig.h"
#include "Plan.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_LINTBACKENDPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

namespace {
/// Emits the findings.
class Linter {
public:
  Linter(const Backend &backend, const QConfigMapping *mapping)
      : backend(backend), mapping(mapping) {}

  int64_t run() {
    for (PatternOp pattern : backend.getPatterns()) {
      checkOrder(pattern);
      checkWeight(pattern);
      checkDTypes(pattern);
    }
    for (FoldOp fold : backend.getFolds())
      checkOrder(fold);
    backend.getOp()->walk([&](MatchOp match) { checkMatch(match); });
    checkUnusedDTypes();
    return numFindings;
  }

private:
  void report(Operation *op, const Twine &text, const Twine &remedy, Operation *other = nullptr,
              StringRef note = "") {
    InFlightDiagnostic diagnostic = op->emitError(text) << Remedy(remedy);
    if (other)
      diagnostic.attachNote(other->getLoc()) << note;
    ++numFindings;
  }

  void checkOrder(PatternOp pattern);
  void checkOrder(FoldOp fold);
  void checkWeight(PatternOp pattern);
  void checkDTypes(PatternOp pattern);
  void checkMatch(MatchOp match);
  void checkName(MatchOp match, StringRef name);
  void checkUnusedDTypes();

  const Backend &backend;
  const QConfigMapping *mapping;
  int64_t numFindings = 0;
};
} // namespace

static int64_t getLength(PatternOp pattern) {
  return llvm::range_size(pattern.getBody().getOps<MatchOp>());
}

static std::string join(ArrayRef<StringRef> names) {
  return llvm::join(llvm::map_range(names, [](StringRef name) { return quote(name); }), ", ");
}

/// Patterns of the same length that are tried before this one and take what it would match.
void Linter::checkOrder(PatternOp pattern) {
  MatchOp root = getRootMatch(pattern);
  for (PatternOp earlier : backend.getPatterns()) {
    if (earlier == pattern)
      return;
    if (getLength(earlier) != getLength(pattern))
      continue;
    MatchOp other = getRootMatch(earlier);
    if (subsumes(other, root))
      return report(pattern,
                    "never matches: an earlier pattern of the same length matches whatever it "
                    "matches",
                    "put it before that pattern, or omit it", earlier, "the earlier pattern");
    if (getLength(pattern) != 1 || !subsumes(other, root, /*ignoreNames=*/true))
      continue;
    SmallVector<StringRef> taken;
    for (StringRef name : root.getNames().getAsValueRange<StringAttr>())
      if (llvm::is_contained(other.getNames().getAsValueRange<StringAttr>(), name))
        taken.push_back(name);
    if (!taken.empty())
      report(root, "never matches " + join(taken) + ", which an earlier pattern takes",
             "omit the names in one of the patterns", other, "the earlier pattern's match");
  }
}

static MatchOp getRoot(FoldOp fold) {
  return cast<AffineOp>(fold.getBody().front().getTerminator()).getRoot().getDefiningOp<MatchOp>();
}

/// Folds are tried in the order of the text.
void Linter::checkOrder(FoldOp fold) {
  for (FoldOp earlier : backend.getFolds()) {
    if (earlier == fold)
      return;
    if (earlier.getChannelAxis() == fold.getChannelAxis() &&
        subsumes(getRoot(earlier), getRoot(fold)))
      return report(fold, "never matches: an earlier fold matches whatever it matches",
                    "put it before that fold, or omit it", earlier, "the earlier fold");
  }
}

/// A weight needs an operator that multiplies it by an activation.
void Linter::checkWeight(PatternOp pattern) {
  for (auto weight : pattern.getBody().getOps<WeightOp>()) {
    Operation *reader = *weight->getUsers().begin();
    bool hasActivation = llvm::any_of(
        reader->getOperands(), [](Value operand) { return operand.getDefiningOp<ActivationOp>(); });
    if (!hasActivation)
      report(reader, "reads a weight, but no activation to multiply it by",
             "let it read an octet.activation, or make the weight an octet.parameter");
  }
}

/// The integers of a data type that no observer yields, or "".
static std::string getImpossible(DTypeAttr dtype) {
  auto integer = dtype ? dyn_cast<IntegerType>(dtype.getType()) : IntegerType();
  if (!integer)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!kernel::isActivationWidth(integer.getWidth()))
    os << integer << ", and there are integers of at most 16 bits only";
  else if (ArrayRef<int64_t> range = dtype.getRange();
           !range.empty() && (range[0] > 0 || range[1] < 0))
    os << "the range [" << range[0] << ", " << range[1]
       << "], which does not include 0, as every observer's does";
  return text;
}

/// Every combination of data types must be one that some QConfig has; of the mapping if there is
/// one.
void Linter::checkDTypes(PatternOp pattern) {
  bool hasWeight = !pattern.getBody().getOps<WeightOp>().empty(),
       hasBias = !pattern.getBody().getOps<BiasOp>().empty();
  if (pattern.getDtypes().empty())
    return report(pattern, "has no data types, so that no QConfig fits it",
                  "list an octet.dtypes in it");
  for (auto symbol : pattern.getDtypes().getAsRange<FlatSymbolRefAttr>()) {
    auto dtypes = cast<DTypesOp>(SymbolTable::lookupSymbolIn(backend.getOp(), symbol.getAttr()));
    if (hasWeight && !dtypes.getWeight())
      report(pattern, "has a weight, but its data types @" + symbol.getValue() + " have none",
             "give these data types `weight = ...`", dtypes, "the data types");
    if (hasBias && !takesBias(dtypes))
      report(pattern,
             "has a bias, which is f32, but its data types @" + symbol.getValue() +
                 " have another type for it",
             "give these data types `bias = f32` or `bias = si32`", dtypes, "the data types");
    DTypeAttr input = dtypes.getInputAttr(), output = dtypes.getOutputAttr();
    if (pattern.getObservation() == Observation::shared && input && output &&
        input.getType() != output.getType())
      report(pattern,
             "shares the observer of its inputs with its result, but its data types @" +
                 symbol.getValue() + " have another type for it",
             "give input and output of these data types one type, or let the pattern observe its "
             "result (`observation = different`)",
             dtypes, "the data types");
    std::optional<Reason> reason = mapping ? findMisfit(*mapping, dtypes, hasWeight) : std::nullopt;
    if (reason)
      report(pattern,
             "has the data types @" + symbol.getValue() + ", which no QConfig of the mapping @" +
                 mapping->getOp().getSymName() + " fits: " + reason->text,
             reason->remedy + ", or omit the data types", dtypes, "the data types");
  }
}

/// Data types that no pattern lists, or that no observer yields.
void Linter::checkUnusedDTypes() {
  DenseSet<Attribute> used;
  for (PatternOp pattern : backend.getPatterns())
    used.insert_range(pattern.getDtypes().getValue());
  for (auto dtypes : backend.getOp().getBody().getOps<DTypesOp>()) {
    if (!used.contains(FlatSymbolRefAttr::get(dtypes)))
      report(dtypes, "is in no pattern", "list it in the `dtypes` of a pattern, or omit it");
    for (auto [role, dtype] :
         {std::pair("input", dtypes.getInputAttr()), std::pair("output", dtypes.getOutputAttr()),
          std::pair("weight", dtypes.getWeightAttr())})
      if (std::string what = getImpossible(dtype); !what.empty())
        report(dtypes, "fits no QConfig: its " + Twine(role) + " is of " + what,
               "give the " + Twine(role) + " another type or range");
  }
}

/// The number of operands that every operator of this name has, or nothing.
static std::optional<size_t> getNumOperands(RegisteredOperationName name) {
  if (name.hasTrait<OpTrait::ZeroOperands>())
    return 0;
  if (name.hasTrait<OpTrait::OneOperand>())
    return 1;
  if (name.hasTrait<OpTrait::NOperands<2>::Impl>())
    return 2;
  if (name.hasTrait<OpTrait::NOperands<3>::Impl>())
    return 3;
  return std::nullopt;
}

/// What the operators of this name, if it is registered, never are.
void Linter::checkName(MatchOp match, StringRef name) {
  auto registered = RegisteredOperationName::lookup(name, match.getContext());
  if (!registered)
    return;
  bool isOne = match->getNumResults() == 1 && !match.getVariadic();
  if (isOne && !registered->hasTrait<OpTrait::OneResult>() &&
      !registered->hasTrait<OpTrait::VariadicResults>())
    return report(match, "never matches " + quote(name) + ", which has not one result",
                  "omit the name");
  auto numOperands = getNumOperands(*registered);
  ValueRange inputs = match.getInputs();
  auto *last = inputs.empty() ? nullptr : inputs.back().getDefiningOp();
  auto bias = dyn_cast_or_null<BiasOp>(last);
  bool isOpen = (last && isVariadicLeaf(last)) || (bias && bias.getOptional());
  if (numOperands && !isOpen && *numOperands != inputs.size())
    report(match,
           "never matches " + quote(name) + ", which has " + Twine(*numOperands) +
               " operands, not " + Twine(inputs.size()),
           "correct the operands, or omit the name");
  for (NamedAttribute attribute : match.getWith().value_or(DictionaryAttr::get(match.getContext())))
    if (!llvm::is_contained(registered->getAttributeNames(), attribute.getName()))
      report(match,
             "never matches " + quote(name) + ", which has no attribute " +
                 quote(attribute.getName()),
             "correct the attributes behind `with`, or omit the name");
}

void Linter::checkMatch(MatchOp match) {
  for (StringRef name : match.getNames().getAsValueRange<StringAttr>())
    checkName(match, name);
}

namespace {
struct LintBackend : octet::impl::LintBackendPassBase<LintBackend> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const auto &policy = getAnalysis<PolicyAnalysis>();
    const Backend *backend = policy.getBackend();
    bool hasMapping = !getOperation().getOps<QConfigMappingOp>().empty();
    const QConfigMapping *mapping = backend && hasMapping ? policy.getMapping() : nullptr;
    if (!backend || (hasMapping && !mapping) || Linter(*backend, mapping).run() > 0)
      signalPassFailure();
  }
};
} // namespace
