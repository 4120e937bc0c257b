//===- Node.cpp - one ONNX node during import --------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Node.h"
#include "Bounds.h"
#include "ElementTypes.h"
#include "GraphImporter.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"
#include "octet/Dialect/NN/IntegerLaws.h"
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

std::string Node::printInputShapes() const {
  std::string shapes;
  for (unsigned i = 0; i < numInputs(); ++i)
    if (has(i))
      shapes += (shapes.empty() ? "" : ", ") + printShape(shape(i));
  return shapes;
}

FailureOr<Value> Node::value(unsigned i) {
  if (has(i) && inputs[i].tensor && inputs[i].tensor->isInteger())
    return unsupported("a constant of integers as operand of a computation at run time");
  if (has(i) && inputs[i].value && !nn::holdsReals(inputs[i].value.getType()))
    return unsupported("operands of " + printElementType(elementType(i)));
  return any(i);
}

FailureOr<Value> Node::any(unsigned i) {
  if (!has(i))
    return invalid("lacks its input " + Twine(i));
  return toValue(inputs[i]);
}

FailureOr<Value> Node::toValue(const Entry &entry) {
  if (entry.value)
    return entry.value;
  if (!getProgramType(builder().getContext(), entry.tensor->elementType()))
    return unsupported("operands of " + printElementType(entry.tensor->elementType()));
  if (failed(checkConstant(*entry.tensor)))
    return failure();
  return importer.materialize(entry.tensor);
}

int32_t Node::elementType(unsigned i) const {
  const Entry &entry = inputs[i];
  return entry.tensor ? entry.tensor->elementType()
                      : getOnnxType(getElementTypeOrSelf(entry.value));
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

std::vector<float> Node::getFloatList(StringRef name) const {
  auto *found = attribute(name);
  return found ? std::vector<float>(found->floats().begin(), found->floats().end())
               : std::vector<float>();
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

LogicalResult Node::setResult(HostTensor tensor, bool keepName, unsigned i) {
  if (failed(countComputed(tensor)))
    return failure();
  if (!keepName)
    tensor.name = proto.output(i);
  return importer.define(proto, i, Entry{std::make_shared<HostTensor>(std::move(tensor)), {}});
}

LogicalResult Node::setResult(const Entry &entry, unsigned i) {
  return importer.define(proto, i, entry);
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

LogicalResult Node::setEmpty(ShapeRef shape, unsigned i) {
  HostTensor empty{proto.output(i), Shape(shape), std::vector<float>()};
  return importer.define(proto, i, Entry{std::make_shared<HostTensor>(std::move(empty)), {}});
}

LogicalResult Node::setStored(HostTensor tensor) {
  importer.computed.addStored(tensor.size());
  tensor.name = proto.output(0);
  return setResult(Entry{std::make_shared<HostTensor>(std::move(tensor)), {}});
}

LogicalResult Node::checkConstant(const HostTensor &tensor) {
  if (tensor.size() > 0)
    return success();
  return invalid("reads the constant " + quote(tensor.name) + ", which has no elements");
}

LogicalResult Node::countComputed(HostTensor &tensor) {
  if ((tensor.counted = importer.computed.add(tensor.size())))
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

FailureOr<Value> Node::materializeTransposed(unsigned i) {
  auto &[source, value] = importer.transposed[inputs[i].tensor.get()];
  if (value && source.lock() == inputs[i].tensor)
    return value;
  auto made = materialize(transpose(*inputs[i].tensor, {1, 0}));
  if (succeeded(made))
    source = inputs[i].tensor, value = *made;
  return made;
}

FailureOr<Value> Node::cast(FailureOr<Value> value, Type element) {
  if (failed(value) || getElementTypeOrSelf(*value) == element)
    return value;
  return createAs<nn::CastOp>(element, *value);
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
  auto type = RankedTensorType::get(shape, getElementTypeOrSelf(value));
  return nn::ReshapeOp::create(builder(), loc(), type, value);
}

//===----------------------------------------------------------------------===//
// Laws of constants
//===----------------------------------------------------------------------===//

using Integers = numerics::HostIntegers;

/// Element `i` of a constant as the laws have it.
static Integers::Number getElement(const HostTensor &tensor, int64_t i) {
  if (auto *integers = tensor.integers())
    return tensor.elementType() == onnx::TensorProto::BOOL ? Integers::Number((*integers)[i] != 0)
                                                           : Integers::Number((*integers)[i]);
  if (auto *single = std::get_if<std::vector<float>>(&tensor.data))
    return (*single)[i];
  return static_cast<float>(std::get<std::vector<double>>(tensor.data)[i]);
}

HostTensor onnx_import::makeTensor(ShapeRef shape, ArrayRef<Integers::Number> numbers,
                                   Type element) {
  HostTensor result{"", Shape(shape), {}, getOnnxType(element)};
  std::vector<int64_t> integers;
  std::vector<float> floats;
  for (const Integers::Number &number : numbers)
    if (auto *real = std::get_if<float>(&number))
      floats.push_back(*real);
    else if (auto *truth = std::get_if<bool>(&number))
      integers.push_back(*truth);
    else
      integers.push_back(wrapInteger(std::get<int64_t>(number), result.type));
  if (isa<IntegerType>(element))
    result.data = std::move(integers);
  else
    result.data = std::move(floats);
  return result;
}

std::optional<Integers::Number> onnx_import::applyLaw(Operation *op,
                                                      ArrayRef<Integers::Number> operands) {
  Integers integers;
  if (!nn::isOfReals(op))
    return nn::applyIntegerLaw(integers, op, operands);
  numerics::HostArithmetic reals;
  auto numbers =
      llvm::map_to_vector(operands, [](Integers::Number x) { return std::get<float>(x); });
  return nn::applyLaw(reals, op, ArrayRef<float>(numbers));
}

HostTensor Node::evaluate(Value value) {
  llvm::DenseMap<Value, HostTensor> known;
  return evaluate(value, known);
}

HostTensor Node::evaluate(Value value, llvm::DenseMap<Value, HostTensor> &known) {
  if (HostTensorRef constant = importer.getConstant(value))
    return *constant;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  ShapeRef shape = shapeOf(value);
  SmallVector<HostTensor> operands;
  for (Value operand : op->getOperands())
    operands.push_back(broadcastTo(evaluate(operand, known), shape));
  std::vector<Integers::Number> numbers;
  for (int64_t i = 0, count = *countElements(shape); i < count; ++i) {
    auto elements = llvm::map_to_vector(
        operands, [&](const HostTensor &tensor) { return getElement(tensor, i); });
    numbers.push_back(*applyLaw(op, elements));
  }
  return known[value] = makeTensor(shape, numbers, getElementTypeOrSelf(value));
}

LogicalResult Node::setComputed(FailureOr<Value> value) {
  if (failed(value) || !allConstant())
    return setResult(value);
  if (!countElements(shapeOf(*value), kMaxConstantElements))
    return unsupported("a computed constant of shape " + printShape(shapeOf(*value)));
  if (!countElements(shapeOf(*value), kMaxSmallElements))
    importer.folded.insert(value->getDefiningOp());
  return setResult(evaluate(*value));
}

LogicalResult Node::setSmallComputed(FailureOr<Value> value) {
  bool isSmall = succeeded(value) && countElements(shapeOf(*value), kMaxSmallElements);
  return isSmall ? setComputed(value) : setResult(value);
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
