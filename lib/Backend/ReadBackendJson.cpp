//===- ReadBackendJson.cpp - BackendConfig.to_dict() becomes a backend ----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackendJson.h"
#include "mlir/IR/Verifier.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace octet;

namespace {
/// Makes the operations of a backend; every function fails with an error emitted.
class Reader {
public:
  Reader(MLIRContext *context, StringRef file)
      : loc(FileLineColLoc::get(context, file, 1, 1)), builder(context) {}

  OwningOpRef<ModuleOp> read(StringRef text);

private:
  InFlightDiagnostic fail(const Twine &text) { return emitError(loc) << text; }
  LogicalResult readConfig(const llvm::json::Object &config);
  const llvm::json::Object &getQuantization(const llvm::json::Object &config) const;
  LogicalResult readDTypesList(const llvm::json::Object &config, SmallVector<Attribute> &symbols);
  LogicalResult readObservations(const llvm::json::Object &config);
  FailureOr<ArrayAttr> readLinks(const llvm::json::Object &config);
  FailureOr<FlatSymbolRefAttr> readDTypes(const llvm::json::Value &value);
  FailureOr<DTypeAttr> readDType(StringRef member, const llvm::json::Value &value,
                                 NamedAttrList &fx);
  FloatAttr readScale(const llvm::json::Object &object, StringRef key);
  std::string makeName(ArrayAttr links);

  Location loc;
  OpBuilder builder;
  Block *dtypesBlock = nullptr;
  llvm::MapVector<Attribute, FlatSymbolRefAttr> dtypes;
  llvm::StringSet<> names;
  llvm::StringMap<const llvm::json::Object *> modules; ///< the configurations of single classes
  Observation observation = Observation::different;
  std::optional<Observation> oneActivation;
};
} // namespace

/// The classes of a pattern in which each element but one of a list is "*", innermost first.
static LogicalResult flatten(const llvm::json::Value &pattern, SmallVector<StringRef> &classes) {
  if (auto name = pattern.getAsString()) {
    classes.push_back(*name);
    return success(*name != "*");
  }
  const llvm::json::Array *list = pattern.getAsArray();
  if (!list || list->size() < 2 || !list->front().getAsString())
    return failure();
  auto isFree = [](const llvm::json::Value &value) { return value.getAsString() == "*"; };
  auto inner =
      llvm::make_filter_range(llvm::drop_begin(*list), [&](auto &value) { return !isFree(value); });
  if (!llvm::hasSingleElement(inner) || failed(flatten(*inner.begin(), classes)))
    return failure();
  classes.push_back(*list->front().getAsString());
  return success();
}

FailureOr<ArrayAttr> Reader::readLinks(const llvm::json::Object &config) {
  SmallVector<StringRef> classes;
  const llvm::json::Value *pattern = config.get("pattern"),
                          *complex = config.get("pattern_complex_format");
  if (!pattern == !complex)
    return fail("expected either \"pattern\" or \"pattern_complex_format\" in a configuration");
  if (complex && failed(flatten(*complex, classes)))
    return fail("expected \"pattern_complex_format\" with one operand that is a pattern, and "
                "\"*\" for the others");
  if (pattern && pattern->getAsString())
    classes.push_back(*pattern->getAsString());
  if (const llvm::json::Array *sequence = pattern ? pattern->getAsArray() : nullptr)
    for (const llvm::json::Value &element : *sequence)
      if (auto name = element.getAsString())
        classes.push_back(*name);
      else
        return fail("expected names of classes in a \"pattern\"");
  if (classes.empty())
    return fail("expected a name or a list of names as \"pattern\"");
  return builder.getArrayAttr(llvm::map_to_vector(
      classes, [&](StringRef name) -> Attribute { return builder.getStrArrayAttr(name); }));
}

/// A name for a chain: the last parts of its classes' names, and a number if there is another.
std::string Reader::makeName(ArrayAttr links) {
  std::string base;
  for (Attribute link : links) {
    StringRef name = cast<StringAttr>(cast<ArrayAttr>(link)[0]).getValue();
    base += (base.empty() ? "" : "_") + name.substr(name.find_last_of(".:") + 1).str();
  }
  std::string name = base;
  for (int number = 2; !names.insert(name).second; ++number)
    name = base + "_" + std::to_string(number);
  return name;
}

FloatAttr Reader::readScale(const llvm::json::Object &object, StringRef key) {
  auto number = object.getNumber(key);
  if (!number)
    return {};
  bool isF32 = (double)(float)*number == *number;
  return isF32 ? builder.getF32FloatAttr(*number) : builder.getF64FloatAttr(*number);
}

FailureOr<DTypeAttr> Reader::readDType(StringRef member, const llvm::json::Value &value,
                                       NamedAttrList &fx) {
  const llvm::json::Object *given = value.getAsObject();
  llvm::json::Object object = given ? *given : llvm::json::Object{{"dtype", value}};
  auto name = object.getString("dtype");
  Type type = name ? parseFxType(loc.getContext(), *name) : Type();
  if (!type)
    return fail("expected quint8, qint8, quint4x2, qint32, uint8, f16, bf16 or f32 as the "
                "\"dtype\" of " +
                quote(member));
  object.erase("dtype");
  // PyTorch compares an input's known scale with the observer of the result, which has it, too.
  bool isKnownInput = member == "input_dtype" && object.get("scale_exact_match");
  if (isKnownInput) {
    fx.set(member, toAttribute(builder, std::move(object)));
    return DTypeAttr::get(loc.getContext(), type, ArrayRef<int64_t>(), FloatAttr(), FloatAttr(),
                          std::nullopt);
  }
  SmallVector<int64_t> range;
  auto low = object.getInteger("quant_min_lower_bound"),
       high = object.getInteger("quant_max_upper_bound");
  if (low && high) {
    range = {*low, *high};
    object.erase("quant_min_lower_bound");
    object.erase("quant_max_upper_bound");
  }
  FloatAttr scaleMin = readScale(object, "scale_min_lower_bound"), scale;
  if (scaleMin)
    object.erase("scale_min_lower_bound");
  auto zeroPoint = object.getInteger("zero_point_exact_match");
  if (zeroPoint && (scale = readScale(object, "scale_exact_match"))) {
    object.erase("scale_exact_match");
    object.erase("zero_point_exact_match");
  }
  if (!object.empty())
    fx.set(member, toAttribute(builder, std::move(object)));
  auto emit = [&] { return fail("bad " + quote(member) + ": "); };
  auto dtype = DTypeAttr::getChecked(emit, loc.getContext(), type, ArrayRef<int64_t>(range),
                                     scaleMin, scale, scale ? zeroPoint : std::nullopt);
  if (!dtype)
    return failure();
  return dtype;
}

/// The symbol of an octet.dtypes, made at its first use.
FailureOr<FlatSymbolRefAttr> Reader::readDTypes(const llvm::json::Value &value) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return fail("expected objects as \"dtype_configs\"");
  NamedAttrList members, fx;
  for (const auto &[key, member] : *object) {
    StringRef name = key;
    if (name == "is_dynamic" && member.getAsBoolean() == true) {
      members.set("dynamic", builder.getUnitAttr());
    } else if (name == "bias_dtype" && member.getAsString()) {
      Type type = parseFxType(loc.getContext(), *member.getAsString());
      if (!type)
        return fail("expected a data type as \"bias_dtype\", but got ")
               << quote(*member.getAsString());
      members.set("bias", TypeAttr::get(type));
    } else if (name == "input_dtype" || name == "output_dtype" || name == "weight_dtype") {
      auto dtype = readDType(name, member, fx);
      if (failed(dtype))
        return failure();
      members.set(name.drop_back(StringRef("_dtype").size()), *dtype);
    } else {
      fx.set(name, toAttribute(builder, member));
    }
  }
  if (!fx.empty())
    members.set("fx", fx.getDictionary(loc.getContext()));
  auto [place, isNew] = dtypes.try_emplace(members.getDictionary(loc.getContext()));
  if (isNew) {
    std::string name = "types" + std::to_string(dtypes.size());
    members.set("sym_name", builder.getStringAttr(name));
    OpBuilder::atBlockEnd(dtypesBlock)
        .insert(Operation::create(
            loc, OperationName(DTypesOp::getOperationName(), loc.getContext()), TypeRange(),
            ValueRange(), members.getDictionary(loc.getContext()), nullptr, BlockRange(), 0));
    place->second = FlatSymbolRefAttr::get(loc.getContext(), name);
  }
  return place->second;
}

LogicalResult Reader::readObservations(const llvm::json::Object &config) {
  observation = Observation::different;
  oneActivation = std::nullopt;
  const llvm::json::Object *numbers = config.getObject("num_tensor_args_to_observation_type");
  std::pair<const llvm::json::Value *, bool> given[] = {
      {config.get("observation_type"), false}, {numbers ? numbers->get("1") : nullptr, true}};
  for (auto [value, isOfOne] : given) {
    if (!value)
      continue;
    auto name = value->getAsString();
    auto parsed = name ? parseFxObservation(*name) : std::nullopt;
    if (!parsed)
      return fail("expected OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT, "
                  "OUTPUT_SHARE_OBSERVER_WITH_INPUT or INPUT_OUTPUT_NOT_OBSERVED as an "
                  "observation type");
    if (!isOfOne)
      observation = *parsed;
    else if (*parsed != observation)
      oneActivation = *parsed;
  }
  return success();
}

/// The configuration that says how a pattern is quantized. PyTorch fuses a pattern into a module
/// and quantizes that by its own configuration, so that the pattern's may have no data types.
const llvm::json::Object &Reader::getQuantization(const llvm::json::Object &config) const {
  const llvm::json::Value *types = config.get("dtype_configs");
  bool hasTypes = types && !(types->getAsArray() && types->getAsArray()->empty());
  auto fused = config.getString("fused_module");
  const llvm::json::Object *found = fused && !hasTypes ? modules.lookup(*fused) : nullptr;
  return found ? *found : config;
}

LogicalResult Reader::readDTypesList(const llvm::json::Object &config,
                                     SmallVector<Attribute> &symbols) {
  const llvm::json::Value *types = config.get("dtype_configs");
  if (!types)
    return success();
  if (!types->getAsArray())
    return fail("expected a list as \"dtype_configs\"");
  for (const llvm::json::Value &element : *types->getAsArray()) {
    auto symbol = readDTypes(element);
    if (failed(symbol))
      return failure();
    symbols.push_back(*symbol);
  }
  return success();
}

LogicalResult Reader::readConfig(const llvm::json::Object &config) {
  const llvm::json::Object &quantization = getQuantization(config);
  SmallVector<Attribute> symbols;
  auto links = readLinks(config);
  if (failed(links) || failed(readObservations(quantization)) ||
      failed(readDTypesList(quantization, symbols)))
    return failure();
  NamedAttrList fx;
  for (const auto &[key, value] : config) {
    StringRef name = key;
    if (name != "pattern" && name != "observation_type" && name != "dtype_configs")
      fx.set(name, toAttribute(builder, value));
  }
  ChainOp chain = ChainOp::create(
      builder, loc, makeName(*links), builder.getArrayAttr(symbols), observation,
      oneActivation ? ObservationAttr::get(loc.getContext(), *oneActivation) : ObservationAttr(),
      FloatUses::observed, FloatOperands::observed, IntegerAttr(), *links,
      SmallVector<bool>(links->size(), false), DictionaryAttr());
  if (!fx.empty())
    chain.setFxAttr(fx.getDictionary(loc.getContext()));
  return success();
}

OwningOpRef<ModuleOp> Reader::read(StringRef text) {
  FailureOr<llvm::json::Value> json = parseJson(loc, text);
  if (failed(json))
    return nullptr;
  const llvm::json::Object *object = json->getAsObject();
  const llvm::json::Array *configs = object ? object->getArray("configs") : nullptr;
  auto name = object ? object->getString("name") : std::nullopt;
  if (!configs || !name || object->size() != 2) {
    (void)fail("expected an object with a \"name\" and a list \"configs\", as "
               "BackendConfig.to_dict() gives it");
    return nullptr;
  }
  OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
  builder.setInsertionPointToEnd(module->getBody());
  auto backend = BackendOp::create(builder, loc, *name, builder.getStringAttr("torch"));
  dtypesBlock = &backend.getBody().emplaceBlock();
  Block chains;
  builder.setInsertionPointToEnd(&chains);
  for (const llvm::json::Value &config : *configs)
    if (const llvm::json::Object *object = config.getAsObject())
      if (auto name = object->getString("pattern"))
        modules[*name] = object;
  for (const llvm::json::Value &config : *configs) {
    if (!config.getAsObject())
      (void)fail("expected objects as \"configs\"");
    if (!config.getAsObject() || failed(readConfig(*config.getAsObject()))) {
      return nullptr;
    }
  }
  dtypesBlock->getOperations().splice(dtypesBlock->end(), chains.getOperations());
  return failed(verify(*module)) ? nullptr : std::move(module);
}

OwningOpRef<ModuleOp> octet::parseJsonBackend(StringRef text, MLIRContext *context,
                                              StringRef file) {
  return Reader(context, file).read(text);
}
