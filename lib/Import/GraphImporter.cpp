//===- GraphImporter.cpp - one ONNX graph becomes one function ---------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "Operators.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet::onnx_import;

GraphImporter::GraphImporter(ModuleOp module, Location fileLoc, const onnx::ModelProto &model, TensorReader &reader,
                             const ImportOptions &options)
    : builder(module.getBodyRegion()), fileLoc(fileLoc), model(model), graph(model.graph()), reader(reader),
      options(options), opset(getOpset(model)) {}

LogicalResult GraphImporter::run() {
  for (const auto &tensor : graph.initializer()) {
    initializers[tensor.name()] = &tensor;
    if (auto error = reader.check(tensor))
      return emitError(fileLoc) << "the initializer \"" << tensor.name() << "\" " << llvm::toString(std::move(error));
  }
  auto order = sortNodes(fileLoc, graph);
  if (failed(order) || failed(checkNodes()) || failed(createFunction()))
    return failure();
  for (int i : *order)
    if (failed(importNode(graph.node(i))))
      return failure();
  return unsupportedNodes.empty() ? finishFunction() : reportUnsupported();
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::checkOptions() {
  for (const auto &entry : options.inputShapes) {
    bool known = llvm::any_of(graph.input(), [&](const auto &input) {
      return StringRef(input.name()) == entry.first() && !isInitializer(input.name());
    });
    if (known)
      continue;
    auto diagnostic = emitError(fileLoc) << "--input-shape names \"" << entry.first() << "\", but the inputs are";
    for (const auto &input : graph.input())
      if (!isInitializer(input.name()))
        diagnostic << " \"" << input.name() << "\"";
    return diagnostic;
  }
  return success();
}

/// The shape of an input with its open dimensions taken from `--input-shape`.
FailureOr<Shape> GraphImporter::getInputShape(const onnx::ValueInfoProto &input) {
  const auto &type = input.type().tensor_type();
  auto error = [&] { return emitError(fileLoc) << "the input \"" << input.name() << "\" "; };
  auto given = options.inputShapes.find(input.name());
  bool isGiven = given != options.inputShapes.end();
  Shape shape;
  std::string printed;
  for (const auto &dim : type.shape().dim()) {
    bool known = dim.has_dim_value() && dim.dim_value() != -1;
    shape.push_back(known ? dim.dim_value() : -1);
    printed += (printed.empty() ? "" : "x") + (known ? std::to_string(dim.dim_value())
                                               : dim.dim_param().empty() ? "?" : dim.dim_param());
    if (known && dim.dim_value() < 1)
      return error() << "has the dimension " << dim.dim_value() << "; expected a positive one";
  }
  if (isGiven) {
    bool fits = !type.has_shape() || shape.size() == given->second.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = shape[i] < 0 || shape[i] == given->second[i];
    if (!fits)
      return error() << "has the shape " << printed << ", which --input-shape " << input.name() << "="
                     << printShape(given->second) << " contradicts";
    shape = given->second;
  } else if (options.unknownBatch == UnknownBatch::One && !shape.empty() && shape[0] < 0 &&
             llvm::all_of(ShapeRef(shape).drop_front(), [](int64_t size) { return size > 0; })) {
    shape[0] = 1;
    emitRemark(fileLoc) << "the input \"" << input.name() << "\" of shape " << printed << " is imported with batch 1";
  }
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }) || (!type.has_shape() && !isGiven))
    return error() << "has the shape " << (type.has_shape() ? printed : "unknown") << "; give all its dimensions with "
                   << "--input-shape " << input.name() << "=" << (shape.empty() ? "..." : "1")
                   << (shape.size() > 1 ? "x..." : "");
  if (llvm::is_contained(shape, 0) || !countElements(shape))
    return error() << "has the shape " << printShape(shape) << "; expected positive dimensions with a product of at most "
                   << kMaxElements;
  return shape;
}

/// The function with one argument per graph input (initializers that are listed as inputs are constants).
LogicalResult GraphImporter::createFunction() {
  if (failed(checkOptions()))
    return failure();
  SmallVector<Type> types;
  SmallVector<const onnx::ValueInfoProto *> inputs;
  for (const auto &input : graph.input()) {
    if (isInitializer(input.name()))
      continue;
    if (!input.type().has_tensor_type() || input.type().tensor_type().elem_type() != onnx::TensorProto::FLOAT)
      return emitError(fileLoc) << "the input \"" << input.name()
                                << "\" is not a tensor of float32; other inputs are not supported";
    auto shape = getInputShape(input);
    if (failed(shape))
      return failure();
    types.push_back(RankedTensorType::get(*shape, builder.getF32Type()));
    inputs.push_back(&input);
  }
  function = func::FuncOp::create(builder, UnknownLoc::get(builder.getContext()), "main",
                                  builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  for (auto [i, input] : llvm::enumerate(inputs)) {
    function.setArgAttr(i, nn::kNameAttr, builder.getStringAttr(input->name()));
    entry->getArgument(i).setLoc(NameLoc::get(builder.getStringAttr(input->name())));
    entries[input->name()] = Entry{nullptr, entry->getArgument(i)};
  }
  builder.setInsertionPointToStart(entry);
  return success();
}

LogicalResult GraphImporter::finishFunction() {
  SmallVector<Value> results;
  SmallVector<Type> types;
  for (const auto &output : graph.output()) {
    auto entry = lookup(output.name(), fileLoc);
    if (failed(entry))
      return failure();
    auto value = entry->value ? FailureOr<Value>(entry->value) : materialize(entry->tensor, fileLoc);
    if (failed(value))
      return failure();
    results.push_back(*value);
    types.push_back(value->getType());
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  for (auto [i, output] : llvm::enumerate(graph.output()))
    function.setResultAttr(i, nn::kNameAttr, builder.getStringAttr(output.name()));
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

StringRef GraphImporter::getNodeName(const onnx::NodeProto &node) const {
  bool isUnique = !node.name().empty() && !namesakes.contains(&node);
  return !isUnique && node.output_size() ? node.output(0) : node.name();
}

Location GraphImporter::getLoc(const onnx::NodeProto &node) {
  StringRef name = getNodeName(node);
  return NameLoc::get(builder.getStringAttr(name.empty() ? StringRef(node.op_type()) : name));
}

InFlightDiagnostic GraphImporter::emitError(Location loc) { return mlir::emitError(loc); }

int64_t GraphImporter::getDomainVersion(StringRef domain) const {
  for (const auto &entry : model.opset_import())
    if (StringRef(entry.domain()) == domain)
      return entry.version();
  return 1;
}

static bool isOnnxDomain(StringRef domain) { return domain.empty() || domain == "ai.onnx"; }

LogicalResult GraphImporter::addUnsupported(const onnx::NodeProto &node, const Twine &reason) {
  if (!unsupportedProtos.insert(&node).second)
    return failure();
  std::string line;
  llvm::raw_string_ostream os(line);
  bool isOnnx = isOnnxDomain(node.domain());
  os << "node \"" << getNodeName(node) << "\" (" << node.op_type() << ", domain "
     << (isOnnx ? "ai.onnx" : StringRef(node.domain())) << ", opset "
     << (isOnnx ? opset : getDomainVersion(node.domain())) << "): " << reason;
  unsupportedNodes.push_back(std::move(line));
  return failure();
}

LogicalResult GraphImporter::checkNodes() {
  for (const auto &output : graph.output())
    readNames.insert(output.name());
  llvm::StringSet<> nodeNames;
  for (const auto &node : graph.node()) {
    readNames.insert(node.input().begin(), node.input().end());
    if (!nodeNames.insert(node.name()).second)
      namesakes.insert(&node);
  }
  for (const auto &node : graph.node()) {
    const OperatorRow *row = isOnnxDomain(node.domain()) ? findOperator(node.op_type()) : nullptr;
    if (!row) {
      (void)addUnsupported(node, "no such operator here");
      continue;
    }
    if (node.output_size() == 0 || node.output(0).empty())
      return emitError(getLoc(node)) << node.op_type() << " has no output";
    NodeCheck check = checkNode(*row, node);
    if (!check.invalid.empty())
      return emitError(getLoc(node)) << node.op_type() << " " << check.invalid;
    if (!check.unsupported.empty())
      (void)addUnsupported(node, check.unsupported);
  }
  return success();
}

LogicalResult GraphImporter::reportUnsupported() {
  auto diagnostic = emitError(fileLoc) << unsupportedNodes.size()
                                       << (unsupportedNodes.size() == 1 ? " operator is" : " operators are")
                                       << " not supported";
  for (const std::string &line : unsupportedNodes)
    diagnostic << "\n  " << line;
  diagnostic.attachNote(fileLoc) << "`octet-translate --list-operators` shows what is; nothing was written";
  return diagnostic;
}

LogicalResult GraphImporter::importNode(const onnx::NodeProto &proto) {
  auto poison = [&] {
    for (const auto &name : proto.output())
      poisoned.insert(name);
    return success();
  };
  SmallVector<Entry> inputs;
  bool reads = !unsupportedProtos.contains(&proto);
  for (const auto &name : proto.input())
    reads &= !poisoned.count(name);
  if (!reads)
    return poison();
  for (const auto &name : proto.input()) {
    auto entry = name.empty() ? FailureOr<Entry>(Entry()) : lookup(name, getLoc(proto));
    if (failed(entry))
      return failure();
    inputs.push_back(*entry);
  }
  const OperatorRow *row = findOperator(proto.op_type());
  for (int i = 0; i < row->minInputs; ++i)
    if (!inputs[i])
      return emitError(getLoc(proto)) << proto.op_type() << " lacks its input " << i;
  Node node(*this, proto, opset, inputs);
  if (failed(row->import(node)))
    return unsupportedProtos.contains(&proto) ? poison() : failure();
  for (const auto &name : proto.output()) {
    if (!entries.count(name) && readNames.count(name)) {
      (void)addUnsupported(proto, "its result \"" + name + "\"");
      poisoned.insert(name);
    }
  }
  return success();
}

LogicalResult GraphImporter::define(const onnx::NodeProto &node, unsigned output, const Entry &entry) {
  entries[node.output(output)] = entry;
  return success();
}

FailureOr<Entry> GraphImporter::lookup(StringRef name, Location user) {
  if (auto found = entries.find(name); found != entries.end())
    return found->second;
  if (auto found = initializers.find(name); found != initializers.end()) {
    auto tensor = reader.read(*found->second);
    if (!tensor)
      return emitError(fileLoc) << "the initializer \"" << name << "\" " << llvm::toString(tensor.takeError());
    return entries[name] = Entry{*tensor, {}};
  }
  return emitError(user) << "the tensor \"" << name
                         << "\" is read, but no node, input or initializer defines it; the file is damaged or incomplete";
}

FailureOr<Value> GraphImporter::materialize(const HostTensorRef &tensor, Location user) {
  Value &constant = constants[tensor.get()];
  if (constant)
    return constant;
  if (tensor->size() == 0)
    return emitError(user) << "the constant \"" << tensor->name << "\" has no elements";
  keptAlive.push_back(tensor);
  Location loc = NameLoc::get(builder.getStringAttr(tensor->name));
  if (auto *integers = tensor->integers()) {
    auto type = RankedTensorType::get(tensor->shape, builder.getI64Type());
    return constant = nn::createConstant<int64_t>(builder, loc, tensor->name, type, *integers).getResult();
  }
  auto type = RankedTensorType::get(tensor->shape, builder.getF32Type());
  if (auto *single = std::get_if<std::vector<float>>(&tensor->data))
    return constant = nn::createConstant<float>(builder, loc, tensor->name, type, *single).getResult();
  return constant = nn::createConstant<float>(builder, loc, tensor->name, type, *tensor->floats()).getResult();
}
