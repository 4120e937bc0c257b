//===- BackendJson.cpp - names and values that both directions share ------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackendJson.h"
#include "Chains.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "octet/Support/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace octet;

FailureOr<llvm::json::Value> octet::parseJson(Location loc, StringRef text) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (value)
    return std::move(*value);
  return emitError(loc) << "expected JSON, but got something else: "
                        << llvm::toString(value.takeError());
}

namespace {
/// A name of PyTorch and the type that it means.
struct TypeRow {
  StringLiteral name;
  Type (*make)(MLIRContext *);
};
struct ObservationRow {
  StringLiteral name;
  Observation observation;
};
} // namespace

template <unsigned width, IntegerType::SignednessSemantics signedness>
static Type makeInteger(MLIRContext *context) {
  return IntegerType::get(context, width, signedness);
}

template <typename FloatTy> static Type makeFloat(MLIRContext *context) {
  return FloatTy::get(context);
}

static constexpr TypeRow kTypes[] = {
    {"quint8", makeInteger<8, IntegerType::Unsigned>},
    {"qint8", makeInteger<8, IntegerType::Signed>},
    {"quint4x2", makeInteger<4, IntegerType::Unsigned>},
    {"qint32", makeInteger<32, IntegerType::Signed>},
    {"uint8", makeInteger<8, IntegerType::Signless>},
    {"f16", makeFloat<Float16Type>},
    {"bf16", makeFloat<BFloat16Type>},
    {"f32", makeFloat<Float32Type>},
};

static constexpr ObservationRow kObservations[] = {
    {"OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT", Observation::different},
    {"OUTPUT_SHARE_OBSERVER_WITH_INPUT", Observation::shared},
    {"INPUT_OUTPUT_NOT_OBSERVED", Observation::none},
};

Type octet::parseFxType(MLIRContext *context, StringRef name) {
  auto *row = llvm::find_if(kTypes, [&](const TypeRow &row) { return row.name == name; });
  return row == std::end(kTypes) ? Type() : row->make(context);
}

StringRef octet::getFxName(Type type) {
  auto *row = llvm::find_if(
      kTypes, [&](const TypeRow &row) { return row.make(type.getContext()) == type; });
  return row == std::end(kTypes) ? StringRef() : StringRef(row->name);
}

std::optional<Observation> octet::parseFxObservation(StringRef name) {
  for (const ObservationRow &row : kObservations)
    if (row.name == name)
      return row.observation;
  return std::nullopt;
}

StringRef octet::getFxName(Observation observation) {
  return llvm::find_if(kObservations,
                       [&](const ObservationRow &row) { return row.observation == observation; })
      ->name;
}

Attribute octet::toAttribute(Builder &builder, const llvm::json::Value &value) {
  if (value.getAsNull())
    return builder.getUnitAttr();
  if (auto truth = value.getAsBoolean())
    return builder.getBoolAttr(*truth);
  if (auto integer = value.getAsInteger(); integer && value.kind() == llvm::json::Value::Number)
    return builder.getI64IntegerAttr(*integer);
  if (auto number = value.getAsNumber())
    return builder.getF64FloatAttr(*number);
  if (auto text = value.getAsString())
    return builder.getStringAttr(*text);
  if (const llvm::json::Array *list = value.getAsArray())
    return builder.getArrayAttr(llvm::map_to_vector(
        *list, [&](const llvm::json::Value &element) { return toAttribute(builder, element); }));
  NamedAttrList members;
  for (const auto &[key, member] : *value.getAsObject())
    members.set(StringRef(key), toAttribute(builder, member));
  return members.getDictionary(builder.getContext());
}

llvm::json::Value octet::toJson(Attribute attribute) {
  if (auto truth = dyn_cast<BoolAttr>(attribute))
    return truth.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return integer.getInt();
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return number.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue().str();
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    llvm::json::Array elements;
    for (Attribute element : list)
      elements.push_back(toJson(element));
    return elements;
  }
  auto dictionary = dyn_cast<DictionaryAttr>(attribute);
  if (!dictionary)
    return nullptr;
  llvm::json::Object members;
  for (NamedAttribute member : dictionary)
    members[member.getName().strref()] = toJson(member.getValue());
  return members;
}

//===----------------------------------------------------------------------===//
// Translations
//===----------------------------------------------------------------------===//

static LogicalResult exportBackend(Operation *op, llvm::raw_ostream &os) {
  auto module = dyn_cast<ModuleOp>(op);
  auto backends = module ? llvm::to_vector(module.getOps<BackendOp>()) : SmallVector<BackendOp>();
  if (backends.size() != 1)
    return op->emitError("expected one 'octet.backend', but got ") << backends.size();
  return failed(resolveInclusion(backends[0])) ? failure() : writeJsonBackend(backends[0], os);
}

void octet::registerBackendTranslations() {
  static TranslateFromMLIRRegistration toJson(
      "export-backend-config", "write a backend as PyTorch's BackendConfig.to_dict(), in JSON",
      exportBackend, [](DialectRegistry &registry) { registry.insert<OctetDialect>(); });
  static TranslateToMLIRRegistration fromJson(
      "import-backend-config", "read PyTorch's BackendConfig.to_dict(), in JSON, as a backend",
      [](llvm::SourceMgr &sources, MLIRContext *context) -> OwningOpRef<Operation *> {
        context->getOrLoadDialect<OctetDialect>();
        const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(sources.getMainFileID());
        return parseJsonBackend(buffer->getBuffer(), context, buffer->getBufferIdentifier());
      });
}
