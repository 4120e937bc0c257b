//===- CheckQConfig.cpp - does a QConfig fit a pattern's data types -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckQConfig.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mlir;
using namespace octet;

std::string octet::printType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string print(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

bool octet::isSameInteger(Type a, IntegerType b) {
  auto integer = dyn_cast_if_present<IntegerType>(a);
  return integer && b && integer.getWidth() == b.getWidth() &&
         integer.isUnsigned() == b.isUnsigned();
}

bool octet::takesBias(DTypesOp dtypes) {
  std::optional<Type> bias = dtypes.getBias();
  return !bias || bias->isF32() || bias->isSignedInteger(32);
}

bool octet::isWeightOnly(DTypesOp dtypes) {
  auto isFloat = [](DTypeAttr dtype) { return dtype && isa<FloatType>(dtype.getType()); };
  DTypeAttr weight = dtypes.getWeightAttr();
  bool hasFloatResult = isFloat(dtypes.getOutputAttr()) || dtypes.getDynamic();
  return isFloat(dtypes.getInputAttr()) && hasFloatResult && weight && !weight.getType().isF32();
}

/// A placeholder: the value stays float, which the backend's data type must say. Results are f32
/// before they are rounded, if they are.
static std::optional<Reason> checkFloat(DTypeAttr dtype, FloatType type, StringRef role) {
  if (dtype && (dtype.getType() == type || (role == "result" && dtype.getType().isF32())))
    return std::nullopt;
  if (dtype && isa<FloatType>(dtype.getType()))
    return Reason{"OCT204",
                  llvm::formatv("the {0} observer leaves the values {1}, but the backend takes {2}",
                                role, printType(type), printType(dtype.getType())),
                  llvm::formatv("observe the {0} with #octet.placeholder<dtype = {1}>", role,
                                printType(dtype.getType()))};
  return Reason{
      "OCT212",
      llvm::formatv("the {0} observer leaves the values {1}, but the backend takes integers here",
                    role, printType(type)),
      llvm::formatv("give the QConfig another {0} observer, or say none in the mapping", role)};
}

/// The backend's constraints on an observer of its integers.
static std::optional<Reason> checkConstraints(DTypeAttr dtype, const ObserverSpec &spec,
                                              StringRef role) {
  ArrayRef<int64_t> range = dtype.getRange();
  if (!range.empty() && !spec.fixedScale &&
      (!spec.quantMin || !spec.quantMax || *spec.quantMin < range[0] || *spec.quantMax > range[1]))
    return Reason{
        "OCT202",
        llvm::formatv("the range of the {0} observer does not lie inside the backend's [{1}, {2}]",
                      role, range[0], range[1]),
        llvm::formatv("give the {0} observer a range inside [{1}, {2}]", role, range[0], range[1])};
  if (dtype.getScaleMin() && !spec.fixedScale &&
      spec.eps.value_or(0) < dtype.getScaleMin().getValueAsDouble()) {
    std::string minimum = print(dtype.getScaleMin().getValueAsDouble());
    return Reason{"OCT201",
                  llvm::formatv("eps {0} of the {1} observer is below the backend's scale_min {2}",
                                print(spec.eps.value_or(0)), role, minimum),
                  llvm::formatv("set eps of the {0} observer to at least {1}", role, minimum)};
  }
  if (dtype.getScale() && (spec.fixedScale != dtype.getScale().getValueAsDouble() ||
                           spec.fixedZeroPoint != dtype.getZeroPoint())) {
    std::string wanted =
        llvm::formatv("scale {0}, zero point {1}", print(dtype.getScale().getValueAsDouble()),
                      *dtype.getZeroPoint());
    return Reason{
        "OCT203",
        llvm::formatv("the backend fixes the {0} to {1}, but the QConfig does not", role, wanted),
        llvm::formatv("observe the {0} with #octet.fixed_qparams of {1}", role, wanted)};
  }
  return std::nullopt;
}

/// One observer against one data type of the backend; `role` is what the message calls it.
std::optional<Reason> octet::checkObserver(DTypeAttr dtype, ObserverAttrInterface observer,
                                           StringRef role) {
  ObserverSpec spec = observer.getSpec();
  if (spec.floatType)
    return checkFloat(dtype, spec.floatType, role);
  if (!spec.dtype)
    return Reason{
        "OCT204",
        llvm::formatv("the {0} observer measures only and yields no quantized type", role),
        llvm::formatv("give the QConfig another {0} observer, such as #octet.min_max", role)};
  if (!kernel::isActivationWidth(spec.dtype.getWidth()))
    return Reason{"OCT211",
                  llvm::formatv("the {0} observer yields {1}, and there are integers of at most 16 "
                                "bits only",
                                role, printType(spec.dtype)),
                  llvm::formatv("give the {0} observer the dtype ui8 or si8", role)};
  if (spec.hasFloatZeroPoints && role != "weight")
    return Reason{"OCT204",
                  llvm::formatv("the {0} observer yields real zero points, which weights alone may "
                                "have",
                                role),
                  llvm::formatv("give the {0} observer the scheme affine or symmetric", role)};
  if (!dtype)
    return std::nullopt;
  if (isa<FloatType>(dtype.getType()))
    return Reason{"OCT204",
                  llvm::formatv("the {0} observer yields {1}, but the backend takes {2}", role,
                                printType(spec.dtype), printType(dtype.getType())),
                  llvm::formatv("observe the {0} with #octet.placeholder<dtype = {1}>", role,
                                printType(dtype.getType()))};
  if (!isSameInteger(dtype.getType(), spec.dtype))
    return Reason{
        "OCT204",
        llvm::formatv("the {0} observer yields {1}, but the backend takes {2}", role,
                      printType(spec.dtype), printType(dtype.getType())),
        llvm::formatv("give the {0} observer the dtype {1}", role, printType(dtype.getType()))};
  return checkConstraints(dtype, spec, role);
}

/// An observer of activations; one that is reused is checked when it is known.
static std::optional<Reason> checkActivation(DTypeAttr dtype, ObserverAttrInterface observer,
                                             StringRef role) {
  return observer.getSpec().reusesInput ? std::nullopt : checkObserver(dtype, observer, role);
}

static std::optional<Reason> checkActivations(DTypesOp dtypes, QConfigAttr qconfig) {
  if (auto reason = checkKind(dtypes, qconfig))
    return reason;
  if (auto reason = checkActivation(dtypes.getInputAttr(), qconfig.getActivation(), "activation"))
    return reason;
  if (dtypes.getDynamic()) // the result is float
    return std::nullopt;
  auto result = qconfig.getResult() ? qconfig.getResult() : qconfig.getActivation();
  return checkActivation(dtypes.getOutputAttr(), result, "result");
}

static std::optional<Reason> checkAgainst(DTypesOp dtypes, const Unit &unit, QConfigAttr qconfig) {
  if (auto reason = checkActivations(dtypes, qconfig))
    return reason;
  if (dtypes.getDynamic())
    if (auto reason = checkDynamic(unit, qconfig.getActivation().getSpec()))
      return reason;
  for (auto [leaf, operand] : unit.leaves)
    if (auto weight = dyn_cast<WeightOp>(leaf))
      if (auto reason = checkWeight(dtypes, qconfig.getWeight(), weight.getAxis(), *operand))
        return reason;
  if (unit.getOperand<BiasOp>() && !takesBias(dtypes))
    return Reason{"OCT204",
                  "the bias is f32, but the backend takes " + printType(*dtypes.getBias()),
                  "use a backend whose data types have `bias = f32` or `bias = si32`"};
  return std::nullopt;
}

static constexpr int64_t kOtherType = 4;

/// How far an observer is from a data type: another type of integers is farther than a constraint
/// that does not hold.
static int64_t getDistance(DTypeAttr dtype, ObserverAttrInterface observer, StringRef role) {
  if (!checkObserver(dtype, observer, role))
    return 0;
  return dtype && isSameInteger(dtype.getType(), observer.getSpec().dtype) ? 1 : kOtherType;
}

/// The same of a QConfig and a combination of data types.
static int64_t getDistance(DTypesOp dtypes, QConfigAttr qconfig) {
  auto result = qconfig.getResult() ? qconfig.getResult() : qconfig.getActivation();
  int64_t distance = (checkKind(dtypes, qconfig) ? 4 * kOtherType : 0) +
                     getDistance(dtypes.getInputAttr(), qconfig.getActivation(), "activation") +
                     getDistance(dtypes.getOutputAttr(), result, "result");
  if (qconfig.getWeight())
    distance += getDistance(dtypes.getWeightAttr(), qconfig.getWeight(), "weight");
  return distance;
}

std::optional<Reason> octet::findMisfit(const QConfigMapping &mapping, DTypesOp dtypes,
                                        bool hasWeight) {
  std::optional<Reason> nearest;
  int64_t least = std::numeric_limits<int64_t>::max();
  SmallVector<QConfigAttr> qconfigs;
  for (Operation &entry : QConfigMappingOp(mapping.getOp()).getBody().front())
    for (QConfigAttr qconfig : {getQConfig(&entry), getQConfigOfTrunks(getQConfig(&entry))})
      if (qconfig)
        qconfigs.push_back(qconfig);
  for (QConfigAttr qconfig : qconfigs) {
    auto reason = checkActivations(dtypes, qconfig);
    if (!reason && hasWeight && !qconfig.getWeight())
      reason = Reason{"OCT208", "the QConfig has no weight observer",
                      "add `weight = ...` to the QConfig"};
    if (!reason && hasWeight)
      reason = checkWeightType(dtypes, qconfig.getWeight());
    if (!reason)
      return std::nullopt;
    int64_t distance =
        getDistance(dtypes, qconfig) + (hasWeight && !qconfig.getWeight() ? kOtherType : 0);
    if (distance >= least)
      continue;
    least = distance;
    nearest = reason;
  }
  return nearest;
}

/// Nothing if `check` finds none in one of the pattern's combinations, else what it finds in the
/// one of the least distance. `fitting`: the combination without a finding.
static std::optional<Reason> checkAny(PatternOp pattern,
                                      llvm::function_ref<std::optional<Reason>(DTypesOp)> check,
                                      llvm::function_ref<int64_t(DTypesOp)> getDistance,
                                      DTypesOp *fitting = nullptr) {
  Reason nearest{"OCT103", ("pattern @" + pattern.getSymName() + " has no data types").str(),
                 "list an octet.dtypes in the pattern"};
  int64_t least = std::numeric_limits<int64_t>::max();
  for (auto symbol : pattern.getDtypes().getAsRange<FlatSymbolRefAttr>()) {
    auto dtypes =
        cast<DTypesOp>(SymbolTable::lookupSymbolIn(pattern->getParentOp(), symbol.getAttr()));
    auto reason = check(dtypes);
    if (!reason && fitting)
      *fitting = dtypes;
    if (!reason)
      return std::nullopt;
    int64_t distance = getDistance(dtypes);
    if (distance >= least)
      continue;
    least = distance;
    nearest = *reason;
    if (pattern.getDtypes().size() > 1)
      nearest.text += (", in the nearest data types, @" + symbol.getValue()).str();
  }
  return nearest;
}

static std::optional<Reason> findDTypes(const Unit &unit, QConfigAttr qconfig, DTypesOp &fitting) {
  return checkAny(
      unit.pattern, [&](DTypesOp dtypes) { return checkAgainst(dtypes, unit, qconfig); },
      [&](DTypesOp dtypes) { return getDistance(dtypes, qconfig); }, &fitting);
}

DTypeAttr octet::getOutputType(const Unit &unit, QConfigAttr qconfig) {
  DTypesOp fitting;
  (void)findDTypes(unit, qconfig, fitting);
  return fitting ? fitting.getOutputAttr() : DTypeAttr();
}

std::optional<Reason> octet::checkQConfig(const Unit &unit, QConfigAttr qconfig, Verdict &verdict) {
  DTypesOp fitting;
  auto reason = findDTypes(unit, qconfig, fitting);
  if (!reason)
    verdict = isWeightOnly(fitting) ? Verdict::WeightOnly : Verdict::Quantized;
  return reason;
}

std::optional<Reason>
octet::checkObservers(const Unit &unit,
                      llvm::function_ref<ObserverAttrInterface(OpOperand &)> getInput,
                      ObserverAttrInterface result) {
  auto forEachInput = [&](llvm::function_ref<void(ObserverAttrInterface)> visit) {
    for (auto [leaf, operand] : unit.leaves)
      if (auto observer = isa<ActivationOp>(leaf) ? getInput(*operand) : nullptr)
        visit(observer);
  };
  auto checkOne = [&](DTypesOp dtypes) {
    std::optional<Reason> reason;
    forEachInput([&](ObserverAttrInterface observer) {
      if (!reason)
        reason = checkObserver(dtypes.getInputAttr(), observer, "input's");
    });
    return reason || !result ? reason : checkObserver(dtypes.getOutputAttr(), result, "result's");
  };
  auto getDistanceOfOne = [&](DTypesOp dtypes) {
    int64_t distance = result ? getDistance(dtypes.getOutputAttr(), result, "result's") : 0;
    forEachInput([&](ObserverAttrInterface observer) {
      distance += getDistance(dtypes.getInputAttr(), observer, "input's");
    });
    return distance;
  };
  return checkAny(unit.pattern, checkOne, getDistanceOfOne);
}

bool octet::takesObserver(const Unit &unit, ObserverAttrInterface observer, bool isResult) {
  auto checkOne = [&](DTypesOp dtypes) {
    return checkObserver(isResult ? dtypes.getOutputAttr() : dtypes.getInputAttr(), observer,
                         isResult ? "result's" : "input's");
  };
  return !checkAny(unit.pattern, checkOne, [](DTypesOp) { return 0; });
}
