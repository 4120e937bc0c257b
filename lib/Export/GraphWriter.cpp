//===- GraphWriter.cpp - building an ONNX graph ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphWriter.h"
#include "octet/Dialect/Octet/Origin.h"

using namespace mlir;
using namespace octet;
using namespace octet::exporter;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

onnx::AttributeProto &Node::add(StringRef name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto &attribute = *proto.add_attribute();
  attribute.set_name(name.str());
  attribute.set_type(type);
  return attribute;
}

Node &Node::attribute(StringRef name, int64_t value) {
  add(name, onnx::AttributeProto::INT).set_i(value);
  return *this;
}

Node &Node::attribute(StringRef name, float value) {
  add(name, onnx::AttributeProto::FLOAT).set_f(value);
  return *this;
}

Node &Node::attribute(StringRef name, ArrayRef<int64_t> values) {
  onnx::AttributeProto &attribute = add(name, onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute.add_ints(value);
  return *this;
}

Node &Node::attribute(StringRef name, StringRef value) {
  add(name, onnx::AttributeProto::STRING).set_s(value.str());
  return *this;
}

Node &Node::domain(StringRef name) {
  proto.set_domain(name.str());
  return *this;
}

Node &Node::addFirstOutput(std::string name) {
  proto.add_output(std::move(name));
  std::rotate(proto.mutable_output()->begin(), std::prev(proto.mutable_output()->end()),
              proto.mutable_output()->end());
  return *this;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef exporter::getName(Operation *op) {
  StringRef name = getSourceName(op);
  return name.empty() ? op->getName().stripDialect() : name;
}

static std::string makeUniqueIn(llvm::StringMap<int64_t> &taken, StringRef name) {
  std::string unique = name.str();
  while (!taken.try_emplace(unique).second)
    unique = (name + "_" + Twine(++taken[name])).str();
  return unique;
}

std::string GraphWriter::makeUnique(StringRef name) { return makeUniqueIn(taken, name); }

void GraphWriter::passReservation(Value from, Value to) {
  if (auto found = reserved.find(from); found != reserved.end())
    reserve(to, std::string(found->second));
}

std::string GraphWriter::nameResult(Operation *op, StringRef name) {
  Value result = op->getResult(0);
  auto found = reserved.find(result);
  return names[result] = found == reserved.end() ? makeUnique(name) : found->second;
}

//===----------------------------------------------------------------------===//
// Nodes, initializers, inputs and outputs
//===----------------------------------------------------------------------===//

static Node addNamedNode(onnx::GraphProto &graph, std::string name, StringRef type,
                         ArrayRef<std::string> inputs, StringRef output) {
  onnx::NodeProto &node = *graph.add_node();
  node.set_op_type(type.str());
  node.set_name(std::move(name));
  for (const std::string &input : inputs)
    node.add_input(input);
  node.add_output(output.str());
  return Node(node);
}

Node GraphWriter::addNode(StringRef type, ArrayRef<std::string> inputs, StringRef output) {
  return addNamedNode(graph, makeUniqueIn(takenByNodes, output), type, inputs, output);
}

/// Ops of one source node have the same name, which is made unique.
Node GraphWriter::addNode(Operation *op, StringRef type, ArrayRef<std::string> inputs) {
  return addNamedNode(graph, makeUniqueIn(takenByNodes, getName(op)), type, inputs,
                      nameResult(op, getName(op)));
}

Node GraphWriter::addNode(Operation *op, StringRef type) {
  SmallVector<std::string> inputs;
  for (Value operand : op->getOperands())
    inputs.push_back(nameOf(operand));
  return addNode(op, type, inputs);
}

std::string GraphWriter::addInitializer(StringRef name, onnx::TensorProto::DataType type,
                                        ArrayRef<int64_t> shape, ArrayRef<char> bytes) {
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(makeUnique(name));
  tensor.set_data_type(type);
  for (int64_t size : shape)
    tensor.add_dims(size);
  tensor.set_raw_data(bytes.data(), bytes.size());
  return tensor.name();
}

template <typename T> static ArrayRef<char> asBytes(ArrayRef<T> values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

std::string GraphWriter::addInts(StringRef name, ArrayRef<int64_t> values) {
  return addInitializer(name, onnx::TensorProto::INT64, values.size(), asBytes(values));
}

std::string GraphWriter::addFloats(StringRef name, ArrayRef<float> values) {
  return addInitializer(name, onnx::TensorProto::FLOAT, values.size(), asBytes(values));
}

std::string GraphWriter::addScalar(StringRef name, float value) {
  return addInitializer(name, onnx::TensorProto::FLOAT, {}, asBytes(ArrayRef<float>(value)));
}

onnx::TensorProto::DataType exporter::getDataType(Type elementType) {
  if (auto quantized = dyn_cast<quant::QuantizedType>(elementType)) {
    if (quantized.getStorageTypeIntegralWidth() == 32)
      return onnx::TensorProto::INT32;
    if (quantized.getStorageTypeIntegralWidth() == 16)
      return quantized.isSigned() ? onnx::TensorProto::INT16 : onnx::TensorProto::UINT16;
    return quantized.isSigned() ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
  }
  if (isa<FloatType>(elementType))
    return elementType.isF16()    ? onnx::TensorProto::FLOAT16
           : elementType.isBF16() ? onnx::TensorProto::BFLOAT16
           : elementType.isF64()  ? onnx::TensorProto::DOUBLE
                                  : onnx::TensorProto::FLOAT;
  bool isUnsigned = elementType.isUnsignedInteger();
  switch (elementType.getIntOrFloatBitWidth()) {
  case 2:
  case 4: // a byte for each element
    return isUnsigned ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8;
  case 1:
    return onnx::TensorProto::BOOL;
  case 8:
    return isUnsigned ? onnx::TensorProto::UINT8 : onnx::TensorProto::INT8;
  case 16:
    return isUnsigned ? onnx::TensorProto::UINT16 : onnx::TensorProto::INT16;
  case 32:
    return isUnsigned ? onnx::TensorProto::UINT32 : onnx::TensorProto::INT32;
  case 64:
    return isUnsigned ? onnx::TensorProto::UINT64 : onnx::TensorProto::INT64;
  default:
    return onnx::TensorProto::UNDEFINED;
  }
}

void GraphWriter::addInterface(onnx::ValueInfoProto &info, StringRef name, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  info.set_name(name.str());
  info.mutable_type()->mutable_tensor_type()->set_elem_type(getDataType(tensor.getElementType()));
  auto *shape = info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int64_t size : tensor.getShape())
    shape->add_dim()->set_dim_value(size);
}
