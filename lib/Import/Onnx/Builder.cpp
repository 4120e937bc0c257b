//===- Builder.cpp - a network made operator by operator ------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BuilderState.h"
#include "ElementTypes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Verifier.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/QuantizedSource.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Support/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

onnx::ModelProto onnx_import::makeEmptyModel() {
  onnx::ModelProto model;
  auto *opset = model.add_opset_import();
  opset->set_version(kNewestOpset);
  opset = model.add_opset_import();
  opset->set_domain("com.microsoft");
  opset->set_version(1);
  return model;
}

NetworkBuilder::State::State()
    : context(MLIRContext::Threading::DISABLED), handler(&context, [this](Diagnostic &diagnostic) {
        (text += text.empty() ? "" : "\n") += diagnostic.str();
        return success();
      }) {
  context.loadDialect<func::FuncDialect, nn::NNDialect, OctetDialect>();
  module = ModuleOp::create(UnknownLoc::get(&context));
  importer.emplace(*module, UnknownLoc::get(&context), model, reader, options);
  OpBuilder &builder = importer->builder;
  function = func::FuncOp::create(builder, UnknownLoc::get(&context), "main",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  loc = UnknownLoc::get(&context);
}

/// The constant reads the caller's memory.
Value NetworkBuilder::State::getValue(Id id) {
  BuiltValue &value = values[id];
  if (value.entry.value)
    return value.entry.value;
  if (value.made)
    return value.made;
  OpBuilder &builder = importer->builder;
  bool isHeld = !value.entry.tensor && value.type.getElementType().isF32();
  if (!isHeld)
    return value.made = importer->materialize(getEntry(id).tensor);
  Location place = NameLoc::get(builder.getStringAttr(value.name));
  if (value.bytes.size() < 64) // few elements are inline, in memory that MLIR aligns
    return value.made =
               nn::createConstant(builder, place, value.name, value.type, value.bytes).getResult();
  auto blob = UnmanagedAsmResourceBlob::allocateWithAlign(
      value.bytes, alignof(double), [](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
  auto elements = DenseResourceElementsAttr::get(value.type, value.name, std::move(blob));
  return value.made = nn::ConstantOp::create(builder, place, value.type, elements).getResult();
}

template <typename T> static std::vector<T> copyAs(ArrayRef<char> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

static std::vector<int64_t> copyIntegers(ArrayRef<char> bytes, Type element) {
  if (element.isInteger(64))
    return copyAs<int64_t>(bytes);
  auto widen = [&](auto zero) {
    auto values = copyAs<decltype(zero)>(bytes);
    return std::vector<int64_t>(values.begin(), values.end());
  };
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  switch (element.getIntOrFloatBitWidth()) {
  case 32:
    return isUnsigned ? widen(uint32_t()) : widen(int32_t());
  case 16:
    return isUnsigned ? widen(uint16_t()) : widen(int16_t());
  default:
    return isUnsigned ? widen(uint8_t()) : widen(int8_t());
  }
}

Entry NetworkBuilder::State::getEntry(Id id) {
  if (id < 0)
    return {};
  BuiltValue &value = values[id];
  if (value.entry || value.bytes.data() == nullptr)
    return value.entry;
  auto tensor = std::make_shared<HostTensor>();
  tensor->name = value.name;
  tensor->shape = Shape(value.type.getShape());
  tensor->type = getOnnxType(value.type.getElementType());
  if (value.type.getElementType().isF32())
    tensor->data = copyAs<float>(value.bytes);
  else
    tensor->data = copyIntegers(value.bytes, value.type.getElementType());
  importer->computed.addStored(tensor->size());
  return value.entry = Entry{std::move(tensor), {}};
}

Entry NetworkBuilder::State::getRounded(Id id) {
  Entry entry = getEntry(id);
  auto op = entry.value ? entry.value.getDefiningOp<FakeQuantizeOp>() : nullptr;
  if (!op)
    return entry;
  auto values = getConstantValues<float>(op.getInput());
  if (failed(values))
    return entry;
  auto tensor = std::make_shared<HostTensor>();
  tensor->name = getConstantName(getConstantElements(op.getInput())).str();
  tensor->shape = Shape(cast<RankedTensorType>(op.getType()).getShape());
  tensor->quantized = cast<quant::QuantizedType>(op.getQuantizedType());
  auto params = numerics::getParams(tensor->quantized);
  numerics::forEachElement(tensor->shape, params, [&](int64_t i, int64_t channel) {
    (*values)[i] = numerics::fakeQuantize((*values)[i], params, channel);
  });
  tensor->data = std::vector<float>(values->begin(), values->end());
  return {std::move(tensor), {}};
}

//===----------------------------------------------------------------------===//
// Values without operands
//===----------------------------------------------------------------------===//

NetworkBuilder::NetworkBuilder() : state(std::make_unique<State>()) {}
NetworkBuilder::~NetworkBuilder() = default;

void NetworkBuilder::setOrigin(StringRef name, StringRef sourceClass, int64_t index, StringRef file,
                               unsigned line) {
  MLIRContext *context = &state->context;
  auto nameAttr = StringAttr::get(context, name);
  state->origin = name.str();
  state->originAttr =
      sourceClass.empty()
          ? OriginAttr::get(nameAttr)
          : OriginAttr::get(context, nameAttr, StringAttr::get(context, sourceClass), index);
  state->importer->origins.setSource(state->originAttr);
  state->loc = file.empty() ? NameLoc::get(nameAttr)
                            : NameLoc::get(nameAttr, FileLineColLoc::get(context, file, line, 0));
}

llvm::Expected<NetworkBuilder::Id> NetworkBuilder::addInput(StringRef name, const Type &type) {
  mlir::Type element = getProgramType(&state->context, type.element);
  if (!element)
    return llvm::createStringError("inputs of this type are not supported");
  BuiltValue value;
  value.entry.value =
      state->function.front().addArgument(RankedTensorType::get(type.shape, element),
                                          NameLoc::get(StringAttr::get(&state->context, name)));
  state->inputs.push_back(name.str());
  return state->push(std::move(value));
}

llvm::Expected<NetworkBuilder::Id> NetworkBuilder::addConstant(StringRef name, const Type &type,
                                                               ArrayRef<char> bytes) {
  mlir::Type element = getProgramType(&state->context, type.element);
  if (!element)
    return llvm::createStringError("constants of this type are not supported");
  BuiltValue value;
  value.type = RankedTensorType::get(type.shape, element);
  value.bytes = bytes;
  value.name = name.str();
  return state->push(std::move(value));
}

int64_t NetworkBuilder::getNumValues() const { return state->values.size(); }

NetworkBuilder::Type NetworkBuilder::getType(Id id) const {
  const BuiltValue &value = state->values[id];
  if (value.entry.tensor)
    return {
        value.entry.tensor->elementType(),
        std::vector<int64_t>(value.entry.tensor->shape.begin(), value.entry.tensor->shape.end())};
  auto type = value.entry.value ? cast<RankedTensorType>(value.entry.value.getType()) : value.type;
  mlir::Type element = type.getElementType();
  if (auto quantized = dyn_cast<quant::QuantizedType>(element)) // as the front end has it
    element =
        IntegerType::get(&state->context, quantized.getStorageTypeIntegralWidth(),
                         quantized.isSigned() ? IntegerType::Signless : IntegerType::Unsigned);
  return {getOnnxType(element), type.getShape().vec()};
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

static Attribute makeAttribute(Builder &builder, const AttributeValue &value) {
  if (auto *flag = std::get_if<bool>(&value))
    return *flag ? builder.getUnitAttr() : Attribute();
  if (auto *integer = std::get_if<int64_t>(&value))
    return builder.getI64IntegerAttr(*integer);
  if (auto *real = std::get_if<double>(&value))
    return builder.getF32FloatAttr(static_cast<float>(*real));
  if (auto *integers = std::get_if<std::vector<int64_t>>(&value))
    return builder.getDenseI64ArrayAttr(*integers);
  if (auto *reals = std::get_if<std::vector<double>>(&value))
    return builder.getDenseF32ArrayAttr(
        llvm::map_to_vector(*reals, [](double x) { return (float)x; }));
  if (auto *text = std::get_if<std::string>(&value))
    return parseAttribute(*text, builder.getContext());
  return builder.getStrArrayAttr(
      llvm::map_to_vector(std::get<std::vector<std::string>>(value),
                          [](const std::string &text) { return StringRef(text); }));
}

template <unsigned N> using ExactlyN = OpTrait::NOperands<N>;
template <unsigned N> using AtLeastN = OpTrait::AtLeastNOperands<N>;

/// Whether an op has as many operands as shape inference reads; its verifier would say so only
/// later.
static bool hasItsOperands(Operation *op) {
  unsigned count = op->getNumOperands();
  return !(op->hasTrait<OpTrait::OneOperand>() && count != 1) &&
         !(op->hasTrait<ExactlyN<2>::Impl>() && count != 2) &&
         !(op->hasTrait<ExactlyN<3>::Impl>() && count != 3) &&
         !(op->hasTrait<ExactlyN<5>::Impl>() && count != 5) &&
         !(op->hasTrait<AtLeastN<2>::Impl>() && count < 2);
}

OperationState NetworkBuilder::State::describe(StringRef op, ArrayRef<Id> operands,
                                               const AttributeValues &attributes) {
  OperationState description(loc, op.contains('.') ? op.str() : ("nn." + op).str());
  for (Id id : operands)
    if (id >= 0)
      description.operands.push_back(getValue(id));
  for (const auto &[name, value] : attributes)
    if (Attribute attribute = makeAttribute(importer->builder, value))
      description.addAttribute(name, attribute);
  return description;
}

llvm::Expected<std::vector<NetworkBuilder::Id>>
NetworkBuilder::State::takeResults(Operation *made) {
  if (!text.empty() || failed(verify(made))) {
    made->erase();
    return takeError();
  }
  std::vector<Id> ids;
  for (Value result : made->getResults()) {
    BuiltValue value;
    value.entry.value = result;
    ids.push_back(push(std::move(value)));
  }
  return ids;
}

llvm::Expected<std::vector<NetworkBuilder::Id>>
NetworkBuilder::addTyped(StringRef op, ArrayRef<Id> operands, const AttributeValues &attributes,
                         ArrayRef<std::string> types) {
  OperationState description = state->describe(op, operands, attributes);
  for (const std::string &text : types) {
    mlir::Type type = parseType(text, &state->context);
    if (!type)
      return state->takeError();
    description.addTypes(type);
  }
  return state->takeResults(state->importer->builder.create(description));
}

llvm::Expected<NetworkBuilder::Id> NetworkBuilder::add(StringRef op, ArrayRef<Id> operands,
                                                       const AttributeValues &attributes,
                                                       std::optional<std::vector<int64_t>> shape,
                                                       std::optional<int32_t> element) {
  OperationState description = state->describe(op, operands, attributes);
  if (!element && description.operands.empty())
    return llvm::createStringError("an op without operands needs a type of elements");
  mlir::Type elementType = element ? getProgramType(&state->context, *element)
                                   : getElementTypeOrSelf(description.operands.front().getType());
  description.addTypes(RankedTensorType::get(shape.value_or(std::vector<int64_t>()), elementType));
  Operation *made = state->importer->builder.create(description);
  auto inferring = dyn_cast<nn::InferShapeOpInterface>(made);
  if (inferring && !shape && hasItsOperands(made)) {
    auto inferred = inferring.inferResultShape();
    if (succeeded(inferred))
      made->getResult(0).setType(RankedTensorType::get(*inferred, elementType));
  }
  auto ids = state->takeResults(made);
  if (!ids)
    return ids.takeError();
  return ids->front();
}

static void setAttribute(onnx::AttributeProto &proto, const AttributeValue &value) {
  using onnx::AttributeProto;
  if (auto *flag = std::get_if<bool>(&value)) {
    proto.set_type(AttributeProto::INT), proto.set_i(*flag);
  } else if (auto *integer = std::get_if<int64_t>(&value)) {
    proto.set_type(AttributeProto::INT), proto.set_i(*integer);
  } else if (auto *real = std::get_if<double>(&value)) {
    proto.set_type(AttributeProto::FLOAT), proto.set_f(static_cast<float>(*real));
  } else if (auto *text = std::get_if<std::string>(&value)) {
    proto.set_type(AttributeProto::STRING), proto.set_s(*text);
  } else if (auto *integers = std::get_if<std::vector<int64_t>>(&value)) {
    proto.set_type(AttributeProto::INTS);
    for (int64_t number : *integers)
      proto.add_ints(number);
  } else if (auto *reals = std::get_if<std::vector<double>>(&value)) {
    proto.set_type(AttributeProto::FLOATS);
    for (double number : *reals)
      proto.add_floats(static_cast<float>(number));
  } else {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string &text : std::get<std::vector<std::string>>(value))
      proto.add_strings(text);
  }
}

/// A sequence is an image of one row, for example: such moves of data beside what an operator
/// computes are none of the source's, and have no class there.
static void takeClassOfMoves(Operation *first) {
  bool computes = false;
  for (Operation *op = first; op; op = op->getNextNode())
    computes |= !op->hasTrait<nn::DataMovement>() && !isa<nn::ConstantOp>(op);
  for (Operation *op = first; computes && op; op = op->getNextNode())
    if (OriginAttr origin = getOrigin(op); origin && op->hasTrait<nn::DataMovement>())
      setOrigin(op, OriginAttr::get(origin.getName()));
}

llvm::Expected<std::vector<NetworkBuilder::Id>>
NetworkBuilder::compose(StringRef op, ArrayRef<Id> operands, const AttributeValues &attributes,
                        unsigned numResults) {
  onnx::NodeProto node;
  auto [domain, type] = op.split("::");
  node.set_domain(type.empty() ? "" : domain.str());
  node.set_op_type(type.empty() ? op.str() : type.str());
  node.set_name(state->origin);
  SmallVector<Entry> inputs;
  for (Id id : operands)
    inputs.push_back(state->getRounded(id));
  for (unsigned i = 0; i < inputs.size(); ++i)
    node.add_input(inputs[i] ? "x" + std::to_string(i) : "");
  for (unsigned i = 0; i < numResults; ++i)
    node.add_output(state->origin + "." + std::to_string(state->numComposed++));
  for (const auto &[name, value] : attributes) {
    auto *attribute = node.add_attribute();
    attribute->set_name(name);
    setAttribute(*attribute, value);
  }
  Block &block = state->function.front();
  Operation *last = block.empty() ? nullptr : &block.back();
  auto results = state->importer->apply(node, inputs, state->originAttr);
  if (failed(results))
    return state->takeError();
  takeClassOfMoves(last ? last->getNextNode() : block.empty() ? nullptr : &block.front());
  std::vector<Id> ids;
  for (const Entry &entry : *results) {
    BuiltValue value;
    value.entry = entry;
    ids.push_back(state->push(std::move(value)));
  }
  return ids;
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

llvm::Error NetworkBuilder::finish(ArrayRef<std::pair<std::string, Id>> outputs) {
  OpBuilder &builder = state->importer->builder;
  SmallVector<Value> results;
  SmallVector<DictionaryAttr> inputNames, outputNames;
  auto makeName = [&](StringRef name) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr(name)));
  };
  for (const auto &[name, id] : outputs) {
    results.push_back(state->getValue(id));
    outputNames.push_back(makeName(name));
  }
  for (const std::string &name : state->inputs)
    inputNames.push_back(makeName(name));
  func::FuncOp function = state->function;
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType(function.front().getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllArgAttrs(inputNames);
  function.setAllResultAttrs(outputNames);
  auto isQuantized = [](Operation *op) {
    return isa<QuantizeOp, DequantizeOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
  };
  if (state->module->walk(isQuantized).wasInterrupted())
    (*state->module)->setAttr(kQuantizedSourceAttr, builder.getUnitAttr());
  return failed(verify(*state->module)) ? state->takeError() : llvm::Error::success();
}

ModuleOp NetworkBuilder::getModule() const { return *state->module; }
