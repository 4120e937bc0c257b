//===- LaterFields.h - fields that older message definitions lack ------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX 1.12 knows neither defaults of the attributes of functions (IR 9) nor overloads (IR 10):
// protobuf keeps them as unknown fields. Where the definitions have these fields, the first
// overload of each pair is chosen.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_LATERFIELDS_H
#define OCTET_LIB_IMPORT_ONNX_LATERFIELDS_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace octet::onnx_import {

/// The contents of an unknown field of strings or messages, in order.
template <typename Message>
llvm::SmallVector<std::string> getUnknown(const Message &message, int number) {
  llvm::SmallVector<std::string> contents;
  const auto &fields = message.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto &field = fields.field(i);
    if (field.number() == number && field.type() == field.TYPE_LENGTH_DELIMITED)
      contents.push_back(field.length_delimited());
  }
  return contents;
}

template <typename Message>
auto getOverload(const Message &message, int number, int) -> decltype(message.overload()) {
  return message.overload();
}
template <typename Message> std::string getOverload(const Message &message, int number, long) {
  auto contents = getUnknown(message, number);
  return contents.empty() ? std::string() : contents.back();
}
inline std::string getOverload(const onnx::NodeProto &node) { return getOverload(node, 8, 0); }
inline std::string getOverload(const onnx::FunctionProto &function) {
  return getOverload(function, 13, 0);
}

/// Attributes of a function that have a default.
template <typename Function>
auto getDefaults(const Function &function, int)
    -> decltype(llvm::to_vector(function.attribute_proto())) {
  return llvm::to_vector(function.attribute_proto());
}
template <typename Function>
llvm::SmallVector<onnx::AttributeProto> getDefaults(const Function &function, long) {
  llvm::SmallVector<onnx::AttributeProto> defaults;
  for (const std::string &content : getUnknown(function, 11))
    if (!defaults.emplace_back().ParseFromString(content))
      defaults.pop_back();
  return defaults;
}

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_LATERFIELDS_H
