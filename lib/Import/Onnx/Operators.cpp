//===- Operators.cpp - table of the ONNX operators ---------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "octet/Import/Onnx.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace octet::onnx_import;
using llvm::StringRef;
using onnx::AttributeProto;

static constexpr OperatorRow kOperators[] = {
#define OCTET_ONNX_OPERATOR(name, function, minInputs, maxInputs, attributes)                      \
  {#name, function, minInputs, maxInputs, attributes},
#define OCTET_QUANTIZED_OPERATOR(name, function, minInputs, maxInputs, attributes)                 \
  {#name, function, minInputs, maxInputs, attributes, "", true},
#define OCTET_MICROSOFT_OPERATOR(name, function, minInputs, maxInputs, attributes)                 \
  {#name, function, minInputs, maxInputs, attributes, "com.microsoft", true},
#define OCTET_FUSED_OPERATOR(name, function, minInputs, maxInputs, attributes)                     \
  {#name, function, minInputs, maxInputs, attributes, "com.microsoft"},
#define OCTET_PREVIEW_OPERATOR(name, function, minInputs, maxInputs, attributes)                   \
  {#name, function, minInputs, maxInputs, attributes, "ai.onnx.preview"},
#define OCTET_ML_OPERATOR(name, function, minInputs, maxInputs, attributes)                        \
  {#name, function, minInputs, maxInputs, attributes, "ai.onnx.ml"},
#define OCTET_SEQUENCE_OPERATOR(name, function, minInputs, maxInputs, attributes)                  \
  {#name, function, minInputs, maxInputs, attributes, "", true, true},
#include "Operators.def"
};

llvm::ArrayRef<OperatorRow> octet::onnx_import::getOperatorTable() { return kOperators; }

const OperatorRow *octet::onnx_import::findOperator(StringRef domain, StringRef name) {
  StringRef known = domain == "ai.onnx" ? "" : domain;
  for (const OperatorRow &row : kOperators)
    if (row.name == name && row.domain == known)
      return &row;
  return nullptr;
}

bool octet::onnx_import::mayLackFirstOutput(const OperatorRow &row) {
  return row.import == importRNN || row.import == importGRU || row.import == importLSTM;
}

/// The values an attribute holds, as text; "..." for tensors and graphs.
static std::string printAttribute(const AttributeProto &attribute) {
  std::string text = octet::escapeText(attribute.name()) + "=";
  llvm::raw_string_ostream os(text);
  auto list = [&](const auto &values) {
    os << "[";
    llvm::interleaveComma(values, os);
    os << "]";
  };
  switch (attribute.type()) {
  case AttributeProto::INT:
    os << attribute.i();
    break;
  case AttributeProto::FLOAT:
    os << attribute.f();
    break;
  case AttributeProto::STRING:
    os << octet::quote(attribute.s());
    break;
  case AttributeProto::INTS:
    list(attribute.ints());
    break;
  case AttributeProto::FLOATS:
    list(attribute.floats());
    break;
  default:
    os << "...";
  }
  return text;
}

/// The type letter of the table for an attribute that is stored.
static StringRef getTypeLetters(const AttributeProto &attribute) {
  switch (attribute.type()) {
  case AttributeProto::INT:
    return "i";
  case AttributeProto::FLOAT:
    return "f";
  case AttributeProto::STRING:
    return "s";
  case AttributeProto::TENSOR:
    return "t";
  case AttributeProto::GRAPH:
    return "g";
  case AttributeProto::INTS:
    return "is";
  case AttributeProto::FLOATS:
    return "fs";
  case AttributeProto::STRINGS:
    return "ss";
  case AttributeProto::TYPE_PROTO:
    return "p";
  default:
    return "";
  }
}

/// Whether no integer of the attribute is so large that shape arithmetic could overflow.
static bool isInRange(const AttributeProto &attribute) {
  auto fits = [](int64_t value) { return value >= -kMaxElements && value <= kMaxElements; };
  return fits(attribute.i()) && llvm::all_of(attribute.ints(), fits) && attribute.ints_size() < 64;
}

/// Checks one attribute against its entry ("pads:is", "mode:s=constant|edge").
static NodeCheck checkAttribute(StringRef entry, const AttributeProto &attribute) {
  auto [typed, values] = entry.split('=');
  StringRef type = typed.split(':').second;
  StringRef stored = getTypeLetters(attribute);
  if (stored != (type == "ls" ? "is" : type))
    return {"has an attribute " + printAttribute(attribute) + " of the wrong type", ""};
  if (type != "ls" && !isInRange(attribute))
    return {"has an attribute " + printAttribute(attribute) + " out of range", ""};
  if (values.empty())
    return {};
  std::string value = type == "i" ? std::to_string(attribute.i()) : attribute.s();
  llvm::SmallVector<StringRef> allowed;
  values.split(allowed, '|');
  return llvm::is_contained(allowed, value)
             ? NodeCheck{}
             : NodeCheck{"", "attribute " + printAttribute(attribute)};
}

NodeCheck octet::onnx_import::checkNode(const OperatorRow &row, const onnx::NodeProto &node) {
  if (node.input_size() < row.minInputs ||
      (row.maxInputs >= 0 && node.input_size() > row.maxInputs))
    return {"has " + std::to_string(node.input_size()) + " inputs; expected " +
                std::to_string(row.minInputs) +
                (row.maxInputs < 0               ? " or more"
                 : row.maxInputs > row.minInputs ? " to " + std::to_string(row.maxInputs)
                                                 : ""),
            ""};
  llvm::SmallVector<StringRef> entries;
  row.attributes.split(entries, ' ', -1, /*KeepEmpty=*/false);
  NodeCheck result;
  llvm::StringSet<> given;
  for (const AttributeProto &attribute : node.attribute()) {
    if (!given.insert(attribute.name()).second)
      return {"has the attribute " + octet::escapeText(attribute.name()) + " twice", ""};
    auto *entry =
        llvm::find_if(entries, [&](StringRef e) { return e.split(':').first == attribute.name(); });
    NodeCheck check = entry == entries.end()
                          ? NodeCheck{"", "attribute " + printAttribute(attribute)}
                          : checkAttribute(*entry, attribute);
    if (!check.invalid.empty())
      return check;
    if (result.unsupported.empty())
      result.unsupported = check.unsupported;
  }
  return result;
}

void octet::listOnnxOperators(llvm::raw_ostream &os) {
  os << "operator                 attributes\n";
  for (const OperatorRow &row : kOperators) {
    std::string name = (row.domain + (row.domain.empty() ? "" : ".") + row.name).str();
    os << llvm::left_justify(name, 25) << (name.size() < 25 ? "" : " ");
    llvm::SmallVector<StringRef> entries;
    row.attributes.split(entries, ' ', -1, /*KeepEmpty=*/false);
    llvm::interleave(
        entries, os,
        [&](StringRef entry) {
          auto [typed, values] = entry.split('=');
          os << typed.split(':').first << (values.empty() ? "" : "=") << values;
        },
        ", ");
    os << "\n";
  }
}
