//===- Node.cpp - one ONNX node during import --------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Node.h"
#include "GraphImporter.h"
#include "mlir/IR/Verifier.h"
#include "octet/Support/Quote.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;
using onnx::AttributeProto;

Node::Node(GraphImporter &importer, const onnx::NodeProto &proto, int64_t opset,
           ArrayRef<Entry> inputs)
    : proto(proto), importer(importer), version(opset), location(importer.getLoc(proto)),
      inputs(inputs) {}

OpBuilder &Node::builder() { return importer.builder; }

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Shape Node::shape(unsigned i) const { return shapeOf(inputs[i]); }

FailureOr<Value> Node::value(unsigned i) {
  if (!has(i))
    return invalid("lacks its input " + Twine(i));
  return toValue(inputs[i]);
}

FailureOr<Value> Node::toValue(const Entry &entry) {
  if (entry.tensor && entry.tensor->isInteger())
    return unsupported("a constant of integers as operand of a computation at run time");
  if (entry.value)
    return entry.value;
  if (failed(checkConstant(*entry.tensor)))
    return failure();
  return importer.materialize(entry.tensor);
}

bool Node::allConstant() const {
  return llvm::all_of(inputs, [](const Entry &entry) { return !entry || entry.tensor; });
}

FailureOr<Shape> Node::integers(unsigned i, StringRef role) {
  const HostTensor *tensor = constant(i);
  if (!tensor)
    return unsupported(role + " computed at run time");
  auto *values = tensor->integers();
  if (!values)
    return invalid("has floats as " + role + "; expected integers");
  return Shape(values->begin(), values->end());
}

FailureOr<std::vector<float>> Node::floats(unsigned i, StringRef role) {
  const HostTensor *tensor = constant(i);
  if (!tensor)
    return unsupported(role + " computed at run time");
  auto values = tensor->floats();
  if (!values)
    return invalid("has integers as " + role + "; expected floats");
  return std::move(*values);
}

FailureOr<float> Node::scalar(unsigned i, StringRef role) {
  auto values = floats(i, role);
  if (failed(values))
    return failure();
  if (values->size() != 1)
    return invalid("has " + Twine(values->size()) + " values as " + role + "; expected one");
  return values->front();
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *Node::attribute(StringRef name) const {
  for (const AttributeProto &attribute : proto.attribute())
    if (StringRef(attribute.name()) == name)
      return &attribute;
  return nullptr;
}

int64_t Node::getInt(StringRef name, int64_t otherwise) const {
  auto *found = attribute(name);
  return found ? found->i() : otherwise;
}

float Node::getFloat(StringRef name, float otherwise) const {
  auto *found = attribute(name);
  return found ? found->f() : otherwise;
}

StringRef Node::getString(StringRef name, StringRef otherwise) const {
  auto *found = attribute(name);
  return found ? StringRef(found->s()) : otherwise;
}

std::optional<Shape> Node::getInts(StringRef name) const {
  auto *found = attribute(name);
  return found ? std::optional(Shape(found->ints().begin(), found->ints().end())) : std::nullopt;
}

FailureOr<int64_t> Node::normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return invalid("has the axis " + Twine(axis) + "; its input has " + Twine(rank) +
                   " dimensions");
  return axis < 0 ? axis + rank : axis;
}

LogicalResult Node::normalizeAxes(Shape &axes, int64_t rank) {
  for (int64_t &axis : axes) {
    auto normal = normalizeAxis(axis, rank);
    if (failed(normal))
      return failure();
    axis = *normal;
  }
  Shape sorted(axes);
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return invalid("names an axis twice");
  return success();
}

FailureOr<std::optional<Shape>> Node::integersFrom(StringRef attribute, unsigned i) {
  if (auto values = getInts(attribute))
    return values;
  if (!has(i))
    return std::optional<Shape>();
  auto values = integers(i, attribute);
  if (failed(values))
    return failure();
  return std::optional(std::move(*values));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult Node::setResult(FailureOr<Value> value, unsigned i) {
  if (failed(value))
    return failure();
  if (!countElements(shapeOf(*value)) || llvm::is_contained(shapeOf(*value), 0))
    return unsupported("a result of shape " + printShape(shapeOf(*value)));
  return importer.define(proto, i, Entry{nullptr, *value});
}

LogicalResult Node::setResult(HostTensor tensor, bool keepName) {
  if (failed(countComputed(tensor)))
    return failure();
  if (!keepName)
    tensor.name = proto.output(0);
  return importer.define(proto, 0, Entry{std::make_shared<HostTensor>(std::move(tensor)), {}});
}

LogicalResult Node::setResult(const Entry &entry, unsigned i) {
  return importer.define(proto, i, entry);
}

FailureOr<SmallVector<Entry>> Node::composeAll(LogicalResult (*import)(Node &),
                                               ArrayRef<Entry> inputs) {
  Node inner(importer, proto, version, inputs);
  if (failed(import(inner)))
    return failure();
  SmallVector<Entry> results;
  for (unsigned i = 0; i < numOutputs(); ++i)
    results.push_back(importer.take(proto, i));
  return results;
}

FailureOr<Entry> Node::compose(LogicalResult (*import)(Node &), ArrayRef<Entry> inputs) {
  auto results = composeAll(import, inputs);
  return failed(results) ? FailureOr<Entry>() : results->front();
}

LogicalResult Node::setResults(ArrayRef<Entry> values) {
  if (values.size() < numOutputs())
    return invalid("has " + Twine(numOutputs()) + " outputs, but its graph gives " +
                   Twine(values.size()));
  for (unsigned i = 0; i < numOutputs(); ++i)
    if (wants(i) && failed(importer.define(proto, i, values[i])))
      return failure();
  return success();
}

FailureOr<SmallVector<Entry>> Node::call(const onnx::GraphProto &body, ArrayRef<Entry> arguments) {
  if (!importer.mayInline(body))
    return unsupported("so many nodes in loops and branches");
  return importer.call(body, arguments);
}

LogicalResult Node::setStored(HostTensor tensor) {
  importer.addStored(tensor.size());
  tensor.name = proto.output(0);
  return setResult(Entry{std::make_shared<HostTensor>(std::move(tensor)), {}});
}

LogicalResult Node::checkConstant(const HostTensor &tensor) {
  if (tensor.size() > 0)
    return success();
  return invalid("reads the constant " + quote(tensor.name) + ", which has no elements");
}

LogicalResult Node::countComputed(const HostTensor &tensor) {
  if (importer.addComputed(tensor.size()))
    return success();
  return unsupported(
      "a constant of shape " + printShape(tensor.shape) +
      "; with it, the constants computed during the import would exceed their limit; "
      "store it in the file");
}

FailureOr<Value> Node::materialize(HostTensor tensor) {
  if (failed(checkConstant(tensor)) || failed(countComputed(tensor)))
    return failure();
  return importer.materialize(std::make_shared<HostTensor>(std::move(tensor)));
}

StringRef octet::onnx_import::getFirstOutput(const onnx::NodeProto &node) {
  for (const std::string &name : node.output())
    if (!name.empty())
      return name;
  return "";
}

std::string Node::nameConstant(const Twine &role) const {
  return (getFirstOutput(proto) + "/" + role).str();
}

FailureOr<Value> Node::number(StringRef role, float value) {
  return materialize({nameConstant(role), {}, std::vector<float>{value}});
}

/// The verifier's message without the name of the op, which the network's author does not know.
FailureOr<Value> Node::createVerified(llvm::function_ref<Operation *()> create) {
  std::string problem;
  Operation *op;
  {
    ScopedDiagnosticHandler handler(builder().getContext(), [&](Diagnostic &diagnostic) {
      StringRef text = problem.empty() ? StringRef(problem = diagnostic.str()) : "";
      if (text.starts_with("'"))
        problem = text.split("' op ").second.str();
    });
    op = create();
    if (op && succeeded(verify(op, /*verifyRecursively=*/false)))
      return op->getResult(0);
  }
  if (op)
    op->erase();
  return invalid(problem);
}

Value Node::reshape(Value value, ShapeRef shape) {
  if (shapeOf(value) == shape)
    return value;
  return nn::ReshapeOp::create(builder(), loc(), RankedTensorType::get(shape, f32()), value);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

LogicalResult Node::unsupported(const Twine &reason) {
  return importer.addUnsupported(proto, reason);
}

LogicalResult Node::invalid(const Twine &reason, const Twine &remedy) {
  return importer.addInvalid(proto, reason, remedy);
}
