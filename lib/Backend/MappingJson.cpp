//===- MappingJson.cpp - QConfig mappings in PyTorch's dictionary form ----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keys are those of QConfigMapping.to_dict(); a QConfig is an object of observers in Octet's
// syntax, or null.
//
//===----------------------------------------------------------------------===//

#include "MappingJson.h"
#include "BackendJson.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "octet/Support/Quote.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace octet;

namespace {
/// Makes the operations of a mapping; every function fails with an error emitted.
class Reader {
public:
  Reader(MLIRContext *context, StringRef file)
      : loc(FileLineColLoc::get(context, file, 1, 1)), builder(context) {}

  OwningOpRef<ModuleOp> read(StringRef text);

private:
  LogicalResult fail(const Twine &text) { return emitError(loc) << text; }
  LogicalResult readMember(StringRef key, const llvm::json::Value &value);
  LogicalResult readNumbers(StringRef key, const llvm::json::Value &value);
  LogicalResult readEntry(StringRef kind, const llvm::json::Array &entry);
  LogicalResult readQConfig(const llvm::json::Value &value, QConfigAttr &qconfig);
  LogicalResult readObserver(StringRef member, const llvm::json::Value &value,
                             ObserverAttrInterface &observer);
  StringAttr getString(StringRef text) { return builder.getStringAttr(text); }

  Location loc;
  OpBuilder builder;
  QConfigMappingOp mapping;
};
} // namespace

LogicalResult Reader::readObserver(StringRef member, const llvm::json::Value &value,
                                   ObserverAttrInterface &observer) {
  auto text = value.getAsString();
  auto attribute = text ? parseAttribute(*text, loc.getContext()) : Attribute();
  observer = dyn_cast_if_present<ObserverAttrInterface>(attribute);
  return observer ? success()
                  : fail("expected the text of an observer as " + quote(member) +
                         ", such as \"#octet.min_max<dtype = ui8>\"");
}

LogicalResult Reader::readQConfig(const llvm::json::Value &value, QConfigAttr &qconfig) {
  if (value.getAsNull())
    return success();
  const llvm::json::Object *object = value.getAsObject();
  if (!object || !object->get("activation"))
    return fail("expected null or an object with an \"activation\" as a QConfig");
  ObserverAttrInterface activation, result, weight, channelActivation, columnActivation,
      trunkActivation;
  for (const auto &[key, observer] : *object) {
    ObserverAttrInterface *member = StringRef(key) == "activation"           ? &activation
                                    : StringRef(key) == "result"             ? &result
                                    : StringRef(key) == "weight"             ? &weight
                                    : StringRef(key) == "channel_activation" ? &channelActivation
                                    : StringRef(key) == "column_activation"  ? &columnActivation
                                    : StringRef(key) == "trunk_activation"   ? &trunkActivation
                                                                             : nullptr;
    if (!member)
      return fail("expected \"activation\", \"result\", \"weight\", \"channel_activation\", "
                  "\"column_activation\" and \"trunk_activation\" in a QConfig, but got " +
                  quote(key));
    if (failed(readObserver(key, observer, *member)))
      return failure();
  }
  qconfig = QConfigAttr::get(loc.getContext(), activation, result, weight, channelActivation,
                             columnActivation, trunkActivation);
  return success();
}

LogicalResult Reader::readEntry(StringRef kind, const llvm::json::Array &entry) {
  bool isOrder = kind == "module_name_object_type_order";
  if (entry.size() != (isOrder ? 4 : 2) || !entry[0].getAsString())
    return fail("expected entries " +
                Twine(isOrder ? "[module, object type, index, QConfig]" : "[key, QConfig]") +
                " in " + quote(kind));
  QConfigAttr qconfig;
  if (failed(readQConfig(entry.back(), qconfig)))
    return failure();
  StringAttr key = getString(*entry[0].getAsString());
  if (kind == "object_type") {
    ObjectTypeOp::create(builder, loc, key, qconfig);
  } else if (kind == "module_name") {
    ModuleNameOp::create(builder, loc, key, qconfig);
  } else if (kind == "module_name_regex") {
    ModuleNameRegexOp::create(builder, loc, key, qconfig);
  } else {
    auto type = entry[1].getAsString();
    auto index = entry[2].getAsInteger();
    if (!type || !index)
      return fail("expected a text and a number behind the module in " + quote(kind));
    ModuleNameObjectTypeOrderOp::create(builder, loc, key, getString(*type),
                                        builder.getI64IntegerAttr(*index), qconfig);
  }
  return success();
}

LogicalResult Reader::readNumbers(StringRef key, const llvm::json::Value &value) {
  SmallVector<int64_t> numbers;
  const llvm::json::Array *list = value.getAsArray();
  for (const llvm::json::Value &number : list ? *list : llvm::json::Array{nullptr})
    if (auto integer = number.getAsInteger())
      numbers.push_back(*integer);
    else
      return fail("expected a list of numbers as " + quote(key));
  if (key == "quantized_inputs")
    mapping.setQuantizedInputs(numbers);
  else
    mapping.setQuantizedOutputs(numbers);
  return success();
}

LogicalResult Reader::readMember(StringRef key, const llvm::json::Value &value) {
  if (key.empty()) {
    QConfigAttr qconfig;
    if (failed(readQConfig(value, qconfig)))
      return failure();
    GlobalOp::create(builder, loc, qconfig);
    return success();
  }
  if (key == "name" || key == "includes") {
    auto text = value.getAsString();
    if (!text)
      return fail("expected a text as " + quote(key));
    if (key == "name")
      mapping.setSymName(*text);
    else
      mapping.setIncludes(*text);
    return success();
  }
  if (key == "quantized_inputs" || key == "quantized_outputs")
    return readNumbers(key, value);
  constexpr StringLiteral kinds[] = {"object_type", "module_name_regex", "module_name",
                                     "module_name_object_type_order"};
  if (!llvm::is_contained(kinds, key))
    return fail("expected \"\", \"object_type\", \"module_name_regex\", \"module_name\", "
                "\"module_name_object_type_order\", \"name\", \"includes\", "
                "\"quantized_inputs\" and \"quantized_outputs\", but got " +
                quote(key));
  const llvm::json::Array *entries = value.getAsArray();
  if (!entries)
    return fail("expected a list of entries as " + quote(key));
  for (const llvm::json::Value &entry : *entries)
    if (!entry.getAsArray())
      return fail("expected a list of entries as " + quote(key));
    else if (failed(readEntry(key, *entry.getAsArray())))
      return failure();
  return success();
}

OwningOpRef<ModuleOp> Reader::read(StringRef text) {
  FailureOr<llvm::json::Value> json = parseJson(loc, text);
  if (failed(json))
    return nullptr;
  OwningOpRef<ModuleOp> module(ModuleOp::create(loc));
  builder.setInsertionPointToEnd(module->getBody());
  mapping = QConfigMappingOp::create(builder, loc, getString("mapping"), /*includes=*/nullptr,
                                     /*quantized_inputs=*/nullptr, /*quantized_outputs=*/nullptr);
  builder.setInsertionPointToEnd(&mapping.getBody().emplaceBlock());
  // In the order of the precedence; that of a kind's entries is the file's.
  std::vector<std::pair<StringRef, const llvm::json::Value *>> members;
  for (const auto &[key, value] : *json->getAsObject())
    members.push_back({key, &value});
  llvm::sort(members, llvm::less_first());
  for (auto [key, value] : members)
    if (failed(readMember(key, *value)))
      return nullptr;
  return failed(verify(*module)) ? nullptr : std::move(module);
}

bool octet::isJson(StringRef text) {
  text = text.ltrim();
  return text.starts_with("{") && !text.starts_with("{-#"); // IR may begin with its resources
}

OwningOpRef<ModuleOp> octet::parseJsonMapping(StringRef text, MLIRContext *context,
                                              StringRef file) {
  return Reader(context, file).read(text);
}
