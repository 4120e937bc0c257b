//===- WriteBackendJson.cpp - a backend becomes BackendConfig.to_dict() ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackendJson.h"
#include "Chains.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace octet;
namespace json = llvm::json;

/// Adds the members of an opaque dictionary.
static void addMembers(json::Object &object, DictionaryAttr members) {
  if (!members)
    return;
  for (NamedAttribute member : members)
    object[member.getName().strref()] = toJson(member.getValue());
}

static json::Object writeDType(DTypeAttr dtype, DictionaryAttr fx) {
  json::Object object{{"dtype", getFxName(dtype.getType())}};
  if (ArrayRef<int64_t> range = dtype.getRange(); !range.empty()) {
    object["quant_min_lower_bound"] = range[0];
    object["quant_max_upper_bound"] = range[1];
  }
  if (dtype.getScaleMin())
    object["scale_min_lower_bound"] = dtype.getScaleMin().getValueAsDouble();
  if (dtype.getScale()) {
    object["scale_exact_match"] = dtype.getScale().getValueAsDouble();
    object["zero_point_exact_match"] = *dtype.getZeroPoint();
  }
  addMembers(object, fx);
  return object;
}

static FailureOr<json::Value> writeDTypes(DTypesOp dtypes) {
  json::Object object;
  DictionaryAttr fx = dtypes.getFxAttr();
  for (NamedAttribute member : fx ? fx : DictionaryAttr::get(dtypes.getContext()))
    if (!isa<DictionaryAttr>(member.getValue()))
      object[member.getName().strref()] = toJson(member.getValue());
  std::pair<StringLiteral, DTypeAttr> members[] = {{"input_dtype", dtypes.getInputAttr()},
                                                   {"output_dtype", dtypes.getOutputAttr()},
                                                   {"weight_dtype", dtypes.getWeightAttr()}};
  for (auto [name, dtype] : members) {
    if (!dtype)
      continue;
    if (getFxName(dtype.getType()).empty())
      return dtypes.emitOpError("has no counterpart in PyTorch: ") << dtype.getType();
    object[name] = writeDType(dtype, fx ? fx.getAs<DictionaryAttr>(name) : DictionaryAttr());
  }
  if (std::optional<Type> bias = dtypes.getBias()) {
    // PyTorch has the type in the network; what a kernel makes of the bias, it does not say.
    Type given = bias->isSignedInteger(32) ? Float32Type::get(dtypes.getContext()) : *bias;
    if (getFxName(given).empty())
      return dtypes.emitOpError("has no counterpart in PyTorch: ") << given;
    object["bias_dtype"] = getFxName(given);
  }
  if (dtypes.getDynamic())
    object["is_dynamic"] = true;
  return json::Value(std::move(object));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// A class in a link, and whether its part reads another activation, which PyTorch writes "*".
struct Step {
  StringRef name;
  bool readsAnother;
};
using Sequence = SmallVector<Step, 3>;
} // namespace

/// The classes that an alternative of a link stands for.
static FailureOr<Sequence> listClasses(ChainOp chain, Attribute alternative, bool isFirst) {
  if (auto name = dyn_cast<StringAttr>(alternative))
    return Sequence{{name.getValue(), false}};
  auto part = dyn_cast_or_null<PartOp>(SymbolTable::lookupSymbolIn(
      chain->getParentOp(), cast<FlatSymbolRefAttr>(alternative).getAttr()));
  if (!part || !part.getClassesAttr())
    return chain.emitOpError("has no counterpart in PyTorch: ")
           << alternative << " is no part with classes";
  bool readsAnother = !isFirst && llvm::range_size(part.getBody().getOps<ActivationOp>()) > 1;
  Sequence classes;
  for (StringRef name : part.getClassesAttr().getAsValueRange<StringAttr>())
    classes.push_back({name, readsAnother});
  return classes;
}

/// Every choice of one class in each link.
static FailureOr<std::vector<Sequence>> listSequences(ChainOp chain) {
  std::vector<Sequence> sequences(1);
  for (auto [index, link] : llvm::enumerate(chain.getLinks().getAsRange<ArrayAttr>())) {
    Sequence classes;
    for (Attribute alternative : link) {
      auto some = listClasses(chain, alternative, index == 0);
      if (failed(some))
        return failure();
      llvm::append_range(classes, *some);
    }
    std::vector<Sequence> longer;
    for (const Sequence &sequence : sequences)
      for (const Step &step : classes) {
        longer.push_back(sequence);
        longer.back().push_back(step);
      }
    if (chain.getOptional()[index])
      longer.insert(longer.end(), sequences.begin(), sequences.end());
    sequences = std::move(longer);
  }
  return sequences;
}

/// The members that name a pattern; two of them if it is one on either side of an operator.
static SmallVector<json::Object> writePattern(const Sequence &sequence) {
  if (llvm::none_of(sequence, [](const Step &step) { return step.readsAnother; })) {
    json::Array names;
    for (const Step &step : sequence)
      names.push_back(step.name);
    return {
        json::Object{{"pattern", names.size() == 1 ? names[0] : json::Value(std::move(names))}}};
  }
  SmallVector<json::Object> result;
  for (bool isLeft : {true, false}) {
    json::Value pattern = sequence.front().name;
    for (const Step &step : ArrayRef(sequence).drop_front())
      if (!step.readsAnother)
        pattern = json::Array{step.name, std::move(pattern)};
      else if (isLeft)
        pattern = json::Array{step.name, std::move(pattern), "*"};
      else
        pattern = json::Array{step.name, "*", std::move(pattern)};
    result.push_back(json::Object{{"pattern_complex_format", std::move(pattern)}});
  }
  return result;
}

/// The members that all patterns of a chain have.
static FailureOr<json::Object> writeCommon(ChainOp chain) {
  json::Object object{{"observation_type", getFxName(chain.getObservation())}};
  auto symbols = readDTypes(chain);
  if (failed(symbols))
    return failure();
  json::Array dtypes;
  for (auto symbol : (*symbols).getAsRange<FlatSymbolRefAttr>()) {
    auto named = SymbolTable::lookupSymbolIn(chain->getParentOp(), symbol.getAttr());
    auto written = writeDTypes(cast<DTypesOp>(named));
    if (failed(written))
      return failure();
    dtypes.push_back(std::move(*written));
  }
  object["dtype_configs"] = std::move(dtypes);
  if (auto one = chain.getOneActivation(); one && !chain.getFx())
    object["num_tensor_args_to_observation_type"] =
        json::Object{{"0", getFxName(chain.getObservation())},
                     {"1", getFxName(*one)},
                     {"2", getFxName(chain.getObservation())}};
  return object;
}

static LogicalResult writeChain(ChainOp chain, json::Array &configs) {
  auto common = writeCommon(chain);
  if (failed(common))
    return failure();
  DictionaryAttr fx = chain.getFxAttr();
  if (fx && fx.get("pattern_complex_format")) {
    addMembers(*common, fx);
    configs.push_back(std::move(*common));
    return success();
  }
  auto sequences = listSequences(chain);
  if (failed(sequences))
    return failure();
  for (const Sequence &sequence : *sequences)
    for (const json::Object &pattern : writePattern(sequence)) {
      json::Object config = *common;
      for (const auto &[key, value] : pattern)
        config[StringRef(key)] = value;
      addMembers(config, fx);
      configs.push_back(std::move(config));
    }
  return success();
}

LogicalResult octet::writeJsonBackend(BackendOp backend, llvm::raw_ostream &os) {
  json::Array configs;
  for (Operation &entry : backend.getBody().front()) {
    if (isa<PatternOp>(entry))
      return entry.emitOpError("has no counterpart in PyTorch")
             << Remedy("write it as an octet.chain of classes");
    auto chain = dyn_cast<ChainOp>(entry);
    if (chain && failed(writeChain(chain, configs)))
      return failure();
  }
  json::Object object{{"name", backend.getSymName()}, {"configs", std::move(configs)}};
  os << llvm::formatv("{0:2}", json::Value(std::move(object))) << "\n";
  return success();
}
