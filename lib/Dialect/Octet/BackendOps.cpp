//===- BackendOps.cpp - verifiers and constraints of backends -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/OperationSupport.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/PythonRegex.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

LogicalResult QConfigAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  ObserverAttrInterface activation, ObserverAttrInterface,
                                  ObserverAttrInterface, ObserverAttrInterface,
                                  ObserverAttrInterface columnActivation,
                                  ObserverAttrInterface trunkActivation) {
  if (columnActivation && columnActivation.getSpec().dtype != activation.getSpec().dtype)
    return emitError() << "expected a column_activation of the type of the activation, but got "
                       << columnActivation << " beside " << activation;
  for (auto [observer, name] : {std::pair(columnActivation, "column_activation"),
                                std::pair(trunkActivation, "trunk_activation")}) {
    ObserverSpec spec = observer ? observer.getSpec() : ObserverSpec();
    if (observer && (!spec.dtype || spec.isDynamic || spec.channelAxis || spec.fixedScale))
      return emitError() << "expected a " << name
                         << " with one scale that follows the data, but got " << observer;
  }
  return success();
}

LogicalResult DTypeAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type type,
                                ArrayRef<int64_t> range, FloatAttr scaleMin, FloatAttr scale,
                                std::optional<int64_t> zeroPoint) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer && !isa<FloatType>(type))
    return emitError() << "expected an integer or float type, but got " << type;
  if ((!range.empty() || zeroPoint) && !integer)
    return emitError() << "expected an integer type beside a range or a zero point, but got "
                       << type;
  if (!range.empty() && (range.size() != 2 || range[0] >= range[1]))
    return emitError() << "expected a range [low, high] with low < high, but got [" << range << "]";
  auto isInType = [&](int64_t value) {
    auto [low, high] = getStorageRange(integer);
    return low <= value && value <= high;
  };
  if (!llvm::all_of(range, isInType))
    return emitError() << "expected a range within " << type << ", but got [" << range << "]";
  if (zeroPoint && !isInType(*zeroPoint))
    return emitError() << "expected a zero point within " << type << ", but got " << *zeroPoint;
  if (scaleMin && !(scaleMin.getValueAsDouble() > 0))
    return emitError() << "expected a positive scale_min, but got " << scaleMin;
  if (scale && !(scale.getValueAsDouble() > 0))
    return emitError() << "expected a positive scale, but got " << scale;
  if ((bool)scale != zeroPoint.has_value())
    return emitError() << "expected scale and zero_point together, but got only one of them";
  if (scale && scaleMin && scale.getValueAsDouble() < scaleMin.getValueAsDouble())
    return emitError() << "expected a scale of at least scale_min, but got " << scale << " and "
                       << scaleMin;
  return success();
}

/// The shape of a tensor value, or nothing.
static std::optional<ArrayRef<int64_t>> getShape(Value value) {
  auto type = dyn_cast<ShapedType>(value.getType());
  return type && type.hasRank() ? std::optional(type.getShape()) : std::nullopt;
}

bool SameShapeAttr::holds(Operation *op) const {
  return op->getNumResults() == 1 && llvm::all_of(op->getOperands(), [&](Value operand) {
           return getShape(operand) && getShape(operand) == getShape(op->getResult(0));
         });
}

LogicalResult AttributeIsDimensionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                               StringAttr, int64_t operand, int64_t dimension,
                                               int64_t) {
  if (operand < 0 || dimension < 0)
    return emitError() << "expected an operand and a dimension from 0, but got " << operand
                       << " and " << dimension;
  return success();
}

bool AttributeIsDimensionAttr::holds(Operation *op) const {
  auto value = dyn_cast_or_null<IntegerAttr>(op->getAttrDictionary().get(getName()));
  if (!value || getOperand() >= op->getNumOperands())
    return false;
  auto shape = getShape(op->getOperand(getOperand()));
  return shape && getDimension() < (int64_t)shape->size() && value.getInt() > getAbove() &&
         value.getInt() == (*shape)[getDimension()];
}

LogicalResult SourceClassAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                      ArrayAttr classes, bool) {
  if (classes.empty())
    return emitError() << "expected at least one class";
  for (Attribute element : classes) {
    auto name = dyn_cast<StringAttr>(element);
    if (!name || name.empty())
      return emitError() << "expected names of classes, but got " << element;
  }
  return success();
}

bool SourceClassAttr::holds(Operation *op) const {
  OriginAttr origin = getOrigin(op);
  StringAttr name = origin ? origin.getSourceClass() : StringAttr();
  if (!name || !name.getValue().contains('.'))
    return !getRequired();
  return llvm::is_contained(getClasses(), name);
}

bool AttributeInRangeAttr::holds(Operation *op) const {
  auto value = dyn_cast_or_null<FloatAttr>(op->getAttrDictionary().get(getName()));
  return value && value.getValueAsDouble() >= getLow().getValueAsDouble() &&
         value.getValueAsDouble() <= getHigh().getValueAsDouble();
}

bool BodyAttr::holds(Operation *op) const {
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return false;
  SmallVector<StringRef> names;
  for (Operation &inner : op->getRegion(0).front())
    if (!inner.hasTrait<OpTrait::ConstantLike>() && !inner.hasTrait<OpTrait::IsTerminator>())
      names.push_back(inner.getName().getStringRef());
  return llvm::equal(names, getNames().getAsValueRange<StringAttr>());
}

//===----------------------------------------------------------------------===//
// Data types and patterns
//===----------------------------------------------------------------------===//

bool octet::isVariadicLeaf(Operation *leaf) {
  if (auto activation = dyn_cast_if_present<ActivationOp>(leaf))
    return activation.getVariadic();
  auto any = dyn_cast_if_present<AnyOp>(leaf);
  return any && any.getVariadic();
}

LogicalResult DTypesOp::verify() {
  if (!getDynamic())
    return success();
  if (!getInput())
    return emitOpError("expected an input beside 'dynamic'");
  if (getOutput() && !getOutput()->getType().isF32())
    return emitOpError("expected the output f32 beside 'dynamic', but got ")
           << getOutput()->getType();
  return success();
}

LogicalResult MatchOp::verify() {
  if (getNames().empty())
    return emitOpError("expected at least one operator name");
  if (getValues().empty())
    return emitOpError("expected a result");
  if (getVariadic() && getValues().size() != 1)
    return emitOpError("expected one result beside 'results variadic', but got ")
           << getValues().size();
  if (getVariadic() && llvm::any_of((*this)->getUsers(), llvm::IsaPred<MatchOp>))
    return emitOpError("expected a root beside 'results variadic', but a match reads it");
  if (getCommutative() && getInputs().size() != 2)
    return emitOpError("expected two operands beside 'commutative', but got ")
           << getInputs().size();
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    Operation *leaf = input.getDefiningOp();
    bool mayVanish =
        isVariadicLeaf(leaf) || (isa_and_nonnull<BiasOp>(leaf) && cast<BiasOp>(leaf).getOptional());
    if (mayVanish && index + 1 != getInputs().size())
      return emitOpError("expected an optional or variadic operand in the last place only");
  }
  for (Attribute constraint : getWhere().value_or(ArrayAttr::get(getContext(), {})))
    if (!isa<MatchConstraintAttrInterface>(constraint))
      return emitOpError("expected a match constraint behind 'where', but got ") << constraint;
  return success();
}

/// The checks that patterns and folds share: only leaves and matches, all of them used, and a match
/// as `root`.
static LogicalResult verifyGraph(Operation *op, Block &block, Value root) {
  if (!root || !root.getDefiningOp<MatchOp>())
    return op->emitOpError("expected the result of an 'octet.match' as the root");
  int64_t numWeights = 0, numBiases = 0;
  for (Operation &part : block.without_terminator()) {
    if (!isa<ActivationOp, WeightOp, BiasOp, ParameterOp, AnyOp, MatchOp>(part))
      return op->emitOpError("expected only leaves and matches, but got '")
             << part.getName() << "'";
    if (part.use_empty())
      return part.emitOpError("expected to be part of the graph, but nothing uses it");
    numWeights += isa<WeightOp>(part);
    numBiases += isa<BiasOp>(part);
  }
  if (numWeights > 1 || numBiases > numWeights)
    return op->emitOpError("expected at most one weight, and a bias only beside it");
  return success();
}

LogicalResult PatternOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getValues().empty())
    return emitOpError("expected a region that ends with 'octet.yield' of the root's results");
  if (failed(verifyGraph(*this, getBody().front(), yield.getValues()[0])))
    return failure();
  if (yield.getValues() != yield.getValues()[0].getDefiningOp()->getResults())
    return emitOpError("expected to yield all results of one 'octet.match', in their order");
  bool hasWeight = !getBody().getOps<WeightOp>().empty();
  if (hasWeight && getObservation() == Observation::shared)
    return emitOpError(
        "expected no weight in a pattern whose result shares the observer of its inputs");
  if (getObservation() == Observation::shared && getChannelAxis())
    return emitOpError(
        "expected no channel_axis on a pattern whose result shares the observer of its inputs");
  if (getObservation() == Observation::shared && getBody().getOps<ActivationOp>().empty())
    return emitOpError("expected an activation in a pattern whose result shares its observer");
  return success();
}

LogicalResult PatternOp::verifySymbolUses(SymbolTableCollection &) {
  for (auto symbol : getDtypes().getAsRange<FlatSymbolRefAttr>())
    if (!isa_and_nonnull<DTypesOp>(
            SymbolTable::lookupSymbolIn((*this)->getParentOp(), symbol.getAttr())))
      return emitOpError("expected the symbol of an 'octet.dtypes' of this backend, but got ")
             << symbol;
  return success();
}

/// The weight and the bias belong to one operator, whose result the root reads; only that operator
/// stays.
static LogicalResult verifyFoldedOperator(FoldOp fold, AffineOp affine) {
  auto weight = *fold.getBody().getOps<WeightOp>().begin();
  auto bias = *fold.getBody().getOps<BiasOp>().begin();
  Operation *folded = *weight->getUsers().begin();
  if (!llvm::is_contained(bias->getUsers(), folded))
    return fold.emitOpError("expected the bias beside the weight, but they are of two operators");
  if (!llvm::is_contained(affine.getRoot().getDefiningOp()->getOperands(), folded->getResult(0)))
    return fold.emitOpError("expected a root that reads the operator with the weight");
  return success();
}

LogicalResult FoldOp::verifyRegions() {
  auto affine = dyn_cast<AffineOp>(getBody().front().getTerminator());
  if (!affine)
    return emitOpError("expected a region that ends with 'octet.affine'");
  if (failed(verifyGraph(*this, getBody().front(), affine.getRoot())))
    return failure();
  if (getBody().getOps<WeightOp>().empty() || getBody().getOps<BiasOp>().empty())
    return emitOpError("expected a weight and a bias to fold into");
  for (Value parameter : affine->getOperands().drop_front()) {
    if (!parameter.getDefiningOp<ParameterOp>())
      return affine.emitOpError("expected 'octet.parameter' as scale, divisor, shift, mean "
                                "and variance");
    if (llvm::none_of(parameter.getUsers(), llvm::IsaPred<MatchOp>))
      return affine.emitOpError("expected parameters that an 'octet.match' reads");
  }
  if (affine.getVariance() && !affine.getEpsilon())
    return affine.emitOpError("expected an epsilon beside the variance");
  if (affine.getDivisor() && (affine.getScale() || affine.getVariance()))
    return affine.emitOpError("expected no scale and no variance beside a divisor");
  return verifyFoldedOperator(*this, affine);
}

LogicalResult PartOp::verifyRegions() {
  Operation *end = getBody().front().getTerminator();
  bool isEnd = isa<AffineOp>(end) || (isa<YieldOp>(end) && end->getNumOperands() == 1);
  if (!isEnd)
    return emitOpError("expected a region that ends with 'octet.yield' of one value or with "
                       "'octet.affine'");
  if (failed(verifyGraph(*this, getBody().front(), end->getOperand(0))))
    return failure();
  if (getRequired() && !getClasses())
    return emitOpError("expected classes beside 'required'");
  return success();
}

/// Operators that stay float on purpose must not have an unconditional pattern of their own.
static LogicalResult verifyFloatOps(BackendOp backend, ArrayRef<PatternOp> patterns) {
  for (PatternOp pattern : patterns) {
    auto matches = llvm::to_vector(pattern.getBody().getOps<MatchOp>());
    if (matches.size() != 1 || matches[0].getWith() || matches[0].getWhere())
      continue;
    for (auto entry : backend.getBody().getOps<FloatOp>())
      for (Attribute name : entry.getNames())
        if (llvm::is_contained(matches[0].getNames(), name))
          return (entry.emitOpError(
                      "expected operators that no pattern takes, but a pattern takes ")
                  << quote(cast<StringAttr>(name).getValue()) << Remedy("omit one of them"))
                     .attachNote(pattern->getLoc())
                 << "the pattern";
  }
  return success();
}

template <typename OpTy> static LogicalResult verifyShare(OpTy op) {
  double share = op.getShare().convertToDouble();
  if (!(share >= 0 && share <= 1))
    return op.emitOpError("expected a share between 0 and 1, but got ") << op.getShareAttr();
  return success();
}

LogicalResult FloatEndsOp::verify() { return verifyShare(*this); }
LogicalResult FloatProductsOp::verify() { return verifyShare(*this); }

LogicalResult BackendOp::verifyRegions() {
  SmallVector<PatternOp> patterns;
  for (Operation &part : getBody().front()) {
    if (!isa<DTypesOp, DTypesListOp, PartOp, PatternOp, ChainOp, FoldOp, FoldChainOp, FloatOp,
             FloatStatesOp, FloatNormsOp, FloatAnglesOp, FloatRatiosOp, FloatSumsOp, FloatEndsOp,
             FloatProductsOp, RecipeOp>(part))
      return emitOpError(
                 "expected dtypes, patterns, folds, float operators and a recipe, but got '")
             << part.getName() << "'";
    auto pattern = dyn_cast<PatternOp>(part);
    if (!pattern)
      continue;
    auto same = llvm::find_if(patterns, [&](PatternOp other) {
      return OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &pattern.getBody(),
                                                        OperationEquivalence::IgnoreLocations);
    });
    if (same != patterns.end())
      return (pattern.emitOpError(
                  "expected a graph of its own, but an earlier pattern has the same")
              << Remedy("omit one of them"))
                 .attachNote(same->getLoc())
             << "the earlier pattern; it always wins";
    patterns.push_back(pattern);
  }
  if (llvm::range_size(getBody().getOps<RecipeOp>()) > 1)
    return emitOpError("expected at most one 'octet.recipe'");
  return verifyFloatOps(*this, patterns);
}

//===----------------------------------------------------------------------===//
// QConfig mappings
//===----------------------------------------------------------------------===//

LogicalResult ModuleNameRegexOp::verify() {
  llvm::Expected<llvm::Regex> expression = compilePythonRegex(getKey());
  if (expression)
    return success();
  return emitOpError("expected a regular expression, but got ")
         << quote(getKey()) << ": " << llvm::toString(expression.takeError())
         << Remedy("write it with groups, sets, classes, repetitions and alternatives");
}

DictionaryAttr octet::getEntrySubject(Operation *entry) {
  NamedAttrList attributes(entry->getAttrDictionary());
  attributes.erase("qconfig");
  return attributes.getDictionary(entry->getContext());
}

LogicalResult QConfigMappingOp::verifyRegions() {
  for (auto numbers : {getQuantizedInputs(), getQuantizedOutputs()}) {
    int64_t last = -1;
    for (int64_t number : numbers.value_or(ArrayRef<int64_t>())) {
      if (number <= last)
        return emitOpError("expected numbers of inputs and outputs, from 0 on and in ascending "
                           "order, but got ")
               << number;
      last = number;
    }
  }
  DenseMap<std::pair<OperationName, DictionaryAttr>, Operation *> seen;
  for (Operation &entry : getBody().front()) {
    if (!isa<GlobalOp, ObjectTypeOp, ModuleNameOp, ModuleNameRegexOp, ModuleNameObjectTypeOrderOp>(
            entry))
      return emitOpError("expected mapping entries only, but got '") << entry.getName() << "'";
    auto [place, isNew] = seen.try_emplace({entry.getName(), getEntrySubject(&entry)}, &entry);
    if (!isNew)
      return (entry.emitOpError("expected one entry of this kind and key, but there is another")
              << Remedy("omit one of them"))
                 .attachNote(place->second->getLoc())
             << "the other entry";
  }
  return success();
}
