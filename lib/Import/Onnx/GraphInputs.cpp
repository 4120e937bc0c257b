//===- GraphInputs.cpp - the function's arguments and results -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "GraphImporter.h"
#include "Operators.h"
#include "Quantization.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

bool GraphImporter::isInput(StringRef name) const {
  return !isInitializer(name) && llvm::any_of(graph.input(), [&](const auto &input) {
    return name == StringRef(input.name());
  });
}

int64_t GraphImporter::getSize(StringRef dimension) const {
  auto given = options.inputShapes.find(dimension.str());
  bool isGiven = given != options.inputShapes.end() && given->second.size() == 1;
  return isGiven && !isInput(dimension) ? given->second.front() : -1;
}

LogicalResult GraphImporter::checkNamesInput(StringRef option, StringRef name) {
  if (isInput(name))
    return success();
  auto diagnostic = emitError(fileLoc)
                    << option << " names " << quote(name) << ", but the inputs are";
  for (const auto &input : graph.input())
    if (isInput(input.name()))
      diagnostic << " " << quote(input.name());
  return diagnostic;
}

LogicalResult GraphImporter::checkOptions() {
  llvm::StringSet<> dimensions;
  for (const auto &input : graph.input())
    for (const auto &dim : input.type().tensor_type().shape().dim())
      dimensions.insert(dim.dim_param());
  for (const auto &entry : options.inputShapes)
    if (!(entry.second.size() == 1 && dimensions.contains(entry.first)) &&
        failed(checkNamesInput("--input-shape", entry.first)))
      return failure();
  for (const auto &entry : options.inputValues)
    if (failed(checkNamesInput("--input-value", entry.first())))
      return failure();
  return success();
}

/// One dimension for a message: "3", "N", "?".
static std::string printDimension(const onnx::TensorShapeProto::Dimension &dim, bool known) {
  if (known)
    return std::to_string(dim.dim_value());
  return dim.dim_param().empty() ? "?" : escapeText(dim.dim_param());
}

/// The shape of an input with its open dimensions taken from `--input-shape`.
FailureOr<Shape> GraphImporter::getInputShape(const onnx::ValueInfoProto &input) {
  const auto &type = input.type().tensor_type();
  auto refuse = [&](const Twine &reason, const Twine &remedy = "") {
    obstacles.push_back({ObstacleKind::Input, fileLoc, "", "",
                         ("the input " + Twine(quote(input.name())) + " " + reason).str(),
                         remedy.str()});
    return failure();
  };
  auto given = options.inputShapes.find(input.name());
  bool isGiven = given != options.inputShapes.end();
  Shape shape;
  std::string printed;
  for (const auto &dim : type.shape().dim()) {
    bool known = dim.has_dim_value() && dim.dim_value() != -1;
    shape.push_back(known ? dim.dim_value() : getSize(dim.dim_param()));
    printed += (printed.empty() ? "" : "x") + printDimension(dim, known);
    if (known && dim.dim_value() < 0)
      return refuse("has the dimension " + Twine(dim.dim_value()) + "; expected none below 0");
  }
  if (isGiven) {
    bool fits = !type.has_shape() || shape.size() == given->second.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = shape[i] < 0 || shape[i] == given->second[i];
    if (!fits)
      return refuse((printed.empty() ? "is a scalar" : "has the shape " + printed) +
                    ", which --input-shape " + escapeText(input.name()) + "=" +
                    printShape(given->second) + " contradicts");
    shape = given->second;
  } else if (options.unknownBatch == UnknownBatch::One && !shape.empty() && shape[0] < 0 &&
             llvm::all_of(ShapeRef(shape).drop_front(), [](int64_t size) { return size > 0; })) {
    shape[0] = 1;
    emitRemark(fileLoc) << "the input " << quote(input.name()) << " of shape " << printed
                        << " is imported with batch 1";
  }
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }) || (!type.has_shape() && !isGiven))
    return refuse("has the shape " + (type.has_shape() ? printed : "unknown"),
                  "give all its dimensions with --input-shape " + escapeText(input.name()) + "=" +
                      (shape.empty() ? "..." : "1") + (shape.size() > 1 ? "x..." : ""));
  bool isConstant = options.inputValues.count(input.name());
  if (!llvm::is_contained(shape, 0) &&
      !countElements(shape, isConstant ? kMaxConstantElements : kMaxElements))
    return refuse("has the shape " + printShape(shape) +
                  "; expected dimensions with a product of at most " +
                  Twine(isConstant ? kMaxConstantElements : kMaxElements));
  return shape;
}

/// The parameters that a node gives to its input `i`, in the two inputs behind it; null if none.
quant::QuantizedType GraphImporter::readParameters(const onnx::NodeProto &proto, unsigned i,
                                                   int32_t elementType, ShapeRef shape) {
  SmallVector<Entry> given(std::max<unsigned>(proto.input_size(), i + 3));
  for (unsigned j = i + 1; j < std::min<unsigned>(proto.input_size(), i + 3); ++j)
    if (isInitializer(proto.input(j)))
      if (auto entry = lookup(proto.input(j), fileLoc); succeeded(entry))
        given[j] = *entry;
  const HostTensor *scale = given[i + 1].tensor.get();
  Node node(*this, proto, opset, given);
  bool hasOne = scale && scale->size() == 1, isBlocked = node.getInt("block_size", 0) != 0;
  if (!scale || scale->isInteger() || scale->shape.size() > 1 || isBlocked ||
      (isWide(elementType) && !hasOne))
    return {};
  auto type = readQuantizedType(node, {i + 1, i + 2, node.getInt("axis", 1)}, elementType, shape);
  return succeeded(type) ? *type : quant::QuantizedType();
}

/// The quantized type that the first reader of a tensor of 8-bit or 16-bit integers gives to it,
/// perhaps after it was moved; null if none does.
quant::QuantizedType GraphImporter::findQuantizedType(StringRef name, int32_t elementType,
                                                      ShapeRef shape) {
  if (!holdsActivations(elementType))
    return {};
  llvm::SmallSetVector<StringRef, 8> names; // it is the name of one tensor while it is moved
  names.insert(name);
  for (size_t next = 0; next < names.size(); ++next)
    for (const auto &proto : graph.node()) {
      auto found = llvm::find(proto.input(), names[next]);
      const OperatorRow *row = findOperator(proto.domain(), proto.op_type());
      if (!needed.contains(&proto) || !row || found == proto.input().end() ||
          row->import == importQuantizeLinear)
        continue;
      if (llvm::is_contained({importConvInteger, importMatMulInteger, importMatMulIntegerToFloat},
                             row->import))
        return makeUnitType(builder, elementType);
      bool isMoved = !row->takesQuantized || row->import == importIdentity;
      if (isMoved && proto.output_size() > 0)
        names.insert(proto.output(0));
      else if (auto type = readParameters(proto, found - proto.input().begin(), elementType, shape))
        return next == 0 || isa<quant::UniformQuantizedType>(type) ? type : quant::QuantizedType();
    }
  return {};
}

/// `value`, of an input or output of the graph, with elements of another type.
Value GraphImporter::castInterface(Value value, Type element, StringRef name) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!element || type.getElementType() == element)
    return value;
  MLIRContext *context = builder.getContext();
  origins.setSource(octet::OriginAttr::get(context, builder.getStringAttr(name),
                                           builder.getStringAttr("Cast"), 0));
  Location loc = NameLoc::get(builder.getStringAttr(name));
  return nn::CastOp::create(builder, loc, type.clone(element), value);
}

/// An input that `--input-value` makes a constant.
void GraphImporter::addConstantInput(const onnx::ValueInfoProto &input, ShapeRef shape) {
  int32_t type = input.type().tensor_type().elem_type();
  double value = options.inputValues.lookup(input.name());
  int64_t count = *countElements(shape);
  HostTensor tensor{input.name(), Shape(shape), std::vector<float>(count, value), type};
  if (!isa<FloatType>(getProgramType(builder.getContext(), type)))
    tensor.data = std::vector<int64_t>(count, type == onnx::TensorProto::BOOL
                                                  ? value != 0
                                                  : wrapInteger(std::llrint(value), type));
  entries[input.name()] = Entry{std::make_shared<HostTensor>(std::move(tensor)), nullptr};
}

/// An argument of the function. An input that cannot be one is an obstacle, and import goes on
/// without it.
void GraphImporter::addArgument(const onnx::ValueInfoProto &input) {
  int32_t type = input.type().has_tensor_type() ? input.type().tensor_type().elem_type() : 0;
  FailureOr<Shape> shape = type ? getInputShape(input) : FailureOr<Shape>();
  Location loc = NameLoc::get(builder.getStringAttr(input.name()));
  bool isEmpty = succeeded(shape) && llvm::is_contained(*shape, 0);
  if (quant::QuantizedType quantized = succeeded(shape) && !isEmpty
                                           ? findQuantizedType(input.name(), type, *shape)
                                           : quant::QuantizedType()) {
    auto tensor = RankedTensorType::get(*shape, quantized);
    arguments.push_back(input.name());
    entries[input.name()] = Entry{nullptr, function.front().addArgument(tensor, loc)};
    return;
  }
  MLIRContext *context = builder.getContext();
  Type element = getCallersType(context, type);
  if (!element)
    obstacles.push_back(
        {ObstacleKind::Input, fileLoc, "", "",
         "the input " + quote(input.name()) +
             (type ? " is a tensor of " + printElementType(type) : " is no tensor"),
         "export the network with inputs that are tensors of float32, int64 or bool"});
  if (failed(shape) || !element) {
    unknown[input.name()] = /*isConstant=*/false;
    return;
  }
  if (options.inputValues.count(input.name()))
    return addConstantInput(input, *shape);
  if (isEmpty) {
    emitWarning(fileLoc) << "the input " << quote(input.name()) << " of shape "
                         << printShape(*shape) << " has no elements and is left out";
    HostTensor empty{input.name(), *shape, std::vector<float>(), type};
    if (!isa<FloatType>(getProgramType(context, type)))
      empty.data = std::vector<int64_t>();
    entries[input.name()] = Entry{std::make_shared<HostTensor>(std::move(empty)), {}};
    return;
  }
  arguments.push_back(input.name());
  Value argument = function.front().addArgument(RankedTensorType::get(*shape, element), loc);
  entries[input.name()] =
      Entry{nullptr, castInterface(argument, getProgramType(context, type), input.name())};
}

/// The function with one argument per graph input (initializers that are listed as inputs are
/// constants).
LogicalResult GraphImporter::createFunction() {
  if (failed(checkOptions()))
    return failure();
  function = func::FuncOp::create(builder, UnknownLoc::get(builder.getContext()), "main",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  for (const auto &input : graph.input())
    if (!isInitializer(input.name()))
      addArgument(input);
  return success();
}

LogicalResult GraphImporter::finishFunction() {
  SmallVector<Value> results;
  SmallVector<Type> types;
  llvm::SmallSetVector<StringRef, 8> outputNames;
  for (const auto &output : graph.output()) {
    if (outputNames.contains(output.name())) // onnxruntime gives the same value twice
      continue;
    auto entry = lookup(output.name(), fileLoc);
    if (failed(entry))
      return failure();
    if (!entry->tensor && !entry->value)
      return emitError(fileLoc) << "the output " << quote(output.name())
                                << " is a sequence or an empty optional; export tensors";
    if (entry->tensor && entry->tensor->size() == 0) {
      emitWarning(fileLoc) << "the output " << quote(output.name()) << " of shape "
                           << printShape(entry->tensor->shape)
                           << " has no elements and is left out";
      continue;
    }
    outputNames.insert(output.name());
    if (entry->integers && !storeIntegers(builder, *entry))
      entry->value = castInterface(entry->value, builder.getI32Type(), output.name());
    MLIRContext *context = builder.getContext();
    int32_t declared = output.type().tensor_type().elem_type();
    if (entry->tensor && !getProgramType(context, entry->tensor->elementType()))
      return emitError(fileLoc) << "the output " << quote(output.name()) << " is a constant of "
                                << printElementType(entry->tensor->elementType());
    Value value = entry->value ? entry->value : materialize(entry->tensor);
    if (nn::holdsReals(value.getType()) &&
        isa_and_nonnull<FloatType>(getCallersType(context, declared)))
      value = castInterface(value, getCallersType(context, declared), output.name());
    results.push_back(value);
    types.push_back(value.getType());
  }
  if (results.empty())
    return emitError(fileLoc) << "no output has elements";
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(builder.getFunctionType(function.front().getArgumentTypes(), types));
  auto makeName = [&](StringRef name) {
    return builder.getDictionaryAttr(
        builder.getNamedAttr(nn::kNameAttr, builder.getStringAttr(name)));
  };
  SmallVector<DictionaryAttr> argumentNames, resultNames;
  for (StringRef name : arguments)
    argumentNames.push_back(makeName(name));
  for (StringRef name : outputNames)
    resultNames.push_back(makeName(name));
  function.setAllArgAttrs(argumentNames);
  function.setAllResultAttrs(resultNames);
  return success();
}
