//===- GraphImporter.cpp - one ONNX graph becomes one function ---------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "ElementTypes.h"
#include "Operators.h"
#include "Quantization.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

GraphImporter::GraphImporter(ModuleOp module, Location fileLoc, const onnx::ModelProto &model,
                             TensorReader &reader, const ImportOptions &options)
    : builder(module.getBodyRegion(), &origins), fileLoc(fileLoc), model(model),
      graph(model.graph()), reader(reader), options(options), opset(getOpset(model)) {
  for (const auto &tensor : graph.initializer())
    initializers[tensor.name()] = &tensor;
  declare(graph);
}

LogicalResult GraphImporter::run() {
  auto order = sortNodes(fileLoc, graph);
  if (failed(order))
    return failure();
  findReaders(*order, graph);
  if (failed(checkInitializers(graph)) || failed(createFunction()))
    return failure();
  for (const auto &node : graph.node())
    if (needed.contains(&node))
      checkNode(node);
  for (int i : *order) {
    const onnx::NodeProto &node = graph.node(i);
    if (!needed.contains(&node))
      continue;
    if (failed(importNode(node)) || isDamaged)
      return failure();
    releaseInputs(node);
    dropFolded();
  }
  for (const auto &output : graph.output())
    if (auto entry = entries.find(output.name()); entry != entries.end())
      refuseMasked(entry->second);
  return obstacles.empty() ? finishFunction() : reportObstacles(fileLoc, obstacles);
}

void GraphImporter::findReaders(ArrayRef<int> order, const onnx::GraphProto &graph) {
  for (const auto &output : graph.output())
    ++readers[output.name()];
  for (int i : llvm::reverse(order)) {
    const onnx::NodeProto &node = graph.node(i);
    if (llvm::none_of(node.output(), [&](const auto &name) { return readers.count(name); }))
      continue;
    needed.insert(&node);
    forEachRead(node, [&](const std::string &name) { ++readers[name]; });
  }
  llvm::StringSet<> nodeNames;
  for (const auto &node : graph.node())
    if (!nodeNames.insert(node.name()).second)
      namesakes.insert(&node);
}

/// Damage ends the import; a type that is not supported is an obstacle.
LogicalResult GraphImporter::checkInitializers(const onnx::GraphProto &graph) {
  for (const auto &tensor : graph.initializer()) {
    if (!readers.count(tensor.name()))
      continue;
    std::string place = "the initializer " + quote(tensor.name()) + " ";
    if (!isElementTypeSupported(tensor.data_type())) {
      obstacles.push_back({ObstacleKind::Initializer, fileLoc, "", "",
                           place + "has the element type " + printElementType(tensor.data_type()) +
                               ", which is not supported"});
      unknown[tensor.name()] = /*isConstant=*/true;
    } else if (auto error = reader.check(tensor)) {
      return emitError(fileLoc) << place << Cause(std::move(error));
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Names and places
//===----------------------------------------------------------------------===//

StringRef GraphImporter::getNodeName(const onnx::NodeProto &node) const {
  bool isUnique = !node.name().empty() && !namesakes.contains(&node);
  StringRef name = isUnique ? StringRef(node.name()) : getFirstOutput(node);
  return name.empty() ? StringRef(node.op_type()) : name;
}

Location GraphImporter::getLoc(const onnx::NodeProto &node) {
  return NameLoc::get(builder.getStringAttr(getNodeName(node)));
}

octet::OriginAttr GraphImporter::makeOrigin(const onnx::NodeProto &node) {
  StringRef name = getNodeName(node);
  size_t end = name.find_last_of("./");
  StringRef part = end == StringRef::npos ? "" : name.take_front(end);
  return octet::OriginAttr::get(builder.getContext(), builder.getStringAttr(name),
                                builder.getStringAttr(node.op_type()),
                                numImported[(part + "/" + node.op_type()).str()]++);
}

int64_t GraphImporter::getDomainVersion(StringRef domain) const {
  for (const auto &entry : model.opset_import())
    if (StringRef(entry.domain()) == domain)
      return entry.version();
  return 1;
}

//===----------------------------------------------------------------------===//
// Obstacles
//===----------------------------------------------------------------------===//

static bool isOnnxDomain(StringRef domain) { return domain.empty() || domain == "ai.onnx"; }

LogicalResult GraphImporter::addUnsupported(const onnx::NodeProto &node, const Twine &reason) {
  if (!refused.insert(&node))
    return failure();
  bool isOnnx = isOnnxDomain(node.domain());
  std::string type = escapeText(node.op_type()) + ", domain " +
                     (isOnnx ? "ai.onnx" : escapeText(node.domain())) + ", opset " +
                     std::to_string(isOnnx ? opset : getDomainVersion(node.domain()));
  obstacles.push_back(
      {ObstacleKind::Operator, getLoc(node), getNodeName(node).str(), type, reason.str()});
  return failure();
}

LogicalResult GraphImporter::addInvalid(const onnx::NodeProto &node, const Twine &reason,
                                        const Twine &remedy) {
  if (refused.insert(&node) && !readsAssumed)
    obstacles.push_back({ObstacleKind::Node, getLoc(node), getNodeName(node).str(), "",
                         (escapeText(node.op_type()) + " " + reason).str(), remedy.str()});
  return failure();
}

/// Of an operator whose operand is no constant, known or not: whether its result has no shape.
static bool isShapedByData(const onnx::NodeProto &node) {
  return isOnnxDomain(node.domain()) &&
         llvm::is_contained({"NonZero", "Unique"}, StringRef(node.op_type()));
}

/// Why no row of the table can have the operator, if there is a reason.
static StringRef explainAbsence(const onnx::NodeProto &node) {
  constexpr StringLiteral random = "its result is random", training = "an operator of training";
  if (StringRef(node.domain()) == "ai.onnx.preview.training")
    return training;
  if (StringRef(node.domain()) == "ai.onnx.ml" && StringRef(node.op_type()) == "ZipMap")
    return "its result is a map; export the network without it (skl2onnx: "
           "options={\"zipmap\": False})";
  if (!isOnnxDomain(node.domain()))
    return "no such operator here";
  return llvm::StringSwitch<StringRef>(node.op_type())
      .Case("ImageDecoder", kShapedByData)
      .Cases({"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"}, random)
      .Cases({"RandomUniform", "RandomUniformLike"}, random)
      .Cases({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}, training)
      .Default("no such operator here");
}

void GraphImporter::checkNode(const onnx::NodeProto &node) {
  const OperatorRow *row = findOperator(node.domain(), node.op_type());
  if (findFunction(node))
    return;
  if (!row) {
    (void)addUnsupported(node, explainAbsence(node));
    return;
  }
  NodeCheck check = onnx_import::checkNode(*row, node);
  if (!check.invalid.empty())
    (void)addInvalid(node, check.invalid);
  else if (node.output(0).empty() && !mayLackFirstOutput(*row))
    (void)addInvalid(node, "has no first output");
  else if (!check.unsupported.empty())
    (void)addUnsupported(node, check.unsupported);
}

/// The type in the file of a tensor that was not imported.
static Type getDeclaredType(const onnx::ValueInfoProto *declaration, MLIRContext *context) {
  if (!declaration || !declaration->type().tensor_type().has_shape())
    return {};
  const auto &type = declaration->type().tensor_type();
  Type element = getProgramType(context, type.elem_type());
  Shape shape;
  for (const auto &dim : type.shape().dim())
    shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  bool isStatic = llvm::all_of(shape, [](int64_t size) { return size > 0; });
  return element && isStatic && countElements(shape) ? RankedTensorType::get(shape, element)
                                                     : Type();
}

void GraphImporter::giveUp(const onnx::NodeProto &node, bool isFolded) {
  for (const auto &name : node.output()) {
    if (name.empty() || entries.count(name))
      continue;
    Type type =
        isFolded ? Type() : getDeclaredType(declarations.lookup(name), builder.getContext());
    if (!type) {
      unknown[name] = isFolded;
      continue;
    }
    auto placeholder =
        UnrealizedConversionCastOp::create(builder, getLoc(node), type, ValueRange());
    entries[name] = Entry{nullptr, placeholder.getResult(0)};
    assumed.insert(name);
  }
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::importOperator(const onnx::NodeProto &proto, ArrayRef<Entry> inputs) {
  if (const onnx::FunctionProto *function = findFunction(proto))
    return importFunction(proto, *function, inputs);
  const OperatorRow *row = findOperator(proto.domain(), proto.op_type());
  for (int i = 0; i < row->minInputs; ++i)
    if (!inputs[i])
      return addInvalid(proto, "lacks its input " + Twine(i));
  if (!row->takesSequences &&
      llvm::any_of(inputs, [](const Entry &input) { return !!input.sequence; }))
    return addInvalid(proto, "reads a sequence; expected tensors");
  Node node(*this, proto, opset, inputs);
  return row->takesQuantized ? row->import(node) : importOnReals(node, row->import);
}

LogicalResult GraphImporter::importNode(const onnx::NodeProto &proto) {
  SmallVector<Entry> inputs;
  auto hasGraph = [](const auto &attribute) { return attribute.has_g(); }; // which may read others
  bool isKnown = true, isFolded = llvm::none_of(proto.attribute(), hasGraph), readsMasked = false;
  readsAssumed = false;
  for (const auto &name : proto.input()) {
    if (auto found = unknown.find(name); found != unknown.end()) {
      isKnown = false;
      isFolded &= found->second;
      continue;
    }
    auto entry = name.empty() ? FailureOr<Entry>(Entry()) : lookup(name, getLoc(proto));
    if (failed(entry))
      return failure();
    isFolded &= !entry->value && !entry->sequence && !entry->masked;
    readsMasked |= !!entry->masked;
    readsAssumed |= assumed.contains(name);
    inputs.push_back(*entry);
  }
  if (!isFolded && isShapedByData(proto) && !evaluateInputs(proto, inputs)) {
    if (isKnown && !readsAssumed && !readsMasked && succeeded(importMask(proto, inputs[0])))
      return success();
    readsAssumed = false;
    (void)addUnsupported(proto, kShapedByData);
  }
  if (refused.contains(&proto) || !isKnown || (isFolded && computed.isExhausted())) {
    giveUp(proto, isFolded);
    return success();
  }
  current = makeOrigin(proto);
  origins.setSource(current);
  if (readsMasked) {
    if (isOnnxDomain(proto.domain()) && !findFunction(proto) &&
        succeeded(importMasked(proto, inputs)))
      return success();
    llvm::for_each(inputs, [&](const Entry &input) { refuseMasked(input); });
    giveUp(proto, isFolded);
    return success();
  }
  size_t numObstacles = obstacles.size(), numRefused = refused.size();
  LogicalResult status = importOperator(proto, inputs);
  if (failed(status) && !isDamaged && evaluateInputs(proto, inputs)) {
    obstacles.erase(obstacles.begin() + numObstacles, obstacles.end());
    while (refused.size() > numRefused) // the node, and those inside of it
      refused.pop_back();
    status = importOperator(proto, inputs);
  }
  if (isDamaged)
    return failure();
  for (const auto &name : proto.output())
    if (succeeded(status) && !entries.count(name) && readers.lookup(name) > 0)
      status = addUnsupported(proto, "its result " + quote(name));
  if (failed(status))
    giveUp(proto, isFolded);
  if (readsAssumed)
    for (const auto &name : proto.output())
      assumed.insert(name);
  return success();
}

FailureOr<SmallVector<Entry>> GraphImporter::apply(const onnx::NodeProto &node,
                                                   ArrayRef<Entry> inputs, OriginAttr origin) {
  refused.clear();
  obstacles.clear();
  current = origin;
  checkNode(node);
  bool isImported = obstacles.empty() && succeeded(importOperator(node, inputs));
  folded.clear(); // the caller may hold their values
  SmallVector<Entry> results;
  for (int i = 0; i < node.output_size(); ++i)
    results.push_back(take(node, i));
  if (!isImported || !obstacles.empty()) {
    for (const Obstacle &obstacle : obstacles)
      emitError(obstacle.loc) << obstacle.getText();
    return failure();
  }
  return results;
}

LogicalResult GraphImporter::define(const onnx::NodeProto &node, unsigned output,
                                    const Entry &entry) {
  entries[node.output(output)] = entry;
  return success();
}

Entry GraphImporter::take(const onnx::NodeProto &node, unsigned output) {
  auto found = entries.find(node.output(output));
  if (found == entries.end())
    return {};
  Entry entry = found->second;
  entries.erase(found);
  return entry;
}

FailureOr<Entry> GraphImporter::lookup(StringRef name, Location user) {
  if (auto found = entries.find(name); found != entries.end())
    return found->second;
  if (auto found = initializers.find(name); found != initializers.end()) {
    auto tensor = reader.read(*found->second);
    if (!tensor)
      return emitError(fileLoc) << "the initializer " << quote(name) << " "
                                << Cause(tensor.takeError());
    computed.addStored((*tensor)->size());
    return entries[name] = Entry{*tensor, {}};
  }
  return emitError(user) << "the tensor " << quote(name)
                         << " is read, but no node, input or initializer defines it; the file is "
                            "damaged or incomplete";
}

void GraphImporter::releaseInputs(const onnx::NodeProto &proto) {
  forEachRead(proto, [&](const std::string &name) {
    if (--readers[name] == 0)
      entries.erase(name);
  });
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Little-endian integers as wide as a type stores them.
static std::vector<char> packIntegers(ArrayRef<int64_t> values, Type element) {
  unsigned bits = getStorageElementType(element).getIntOrFloatBitWidth();
  std::vector<char> bytes;
  bytes.reserve(values.size() * (bits / 8));
  for (int64_t value : values)
    for (unsigned bit = 0; bit < bits; bit += 8)
      bytes.push_back(static_cast<char>(value >> bit));
  return bytes;
}

HostTensorRef GraphImporter::getConstant(Value constant) const {
  for (const HostTensorRef &tensor : keptAlive)
    if (constants.lookup(tensor.get()) == constant)
      return tensor;
  return nullptr;
}

Value GraphImporter::materialize(const HostTensorRef &tensor) {
  Value &constant = constants[tensor.get()];
  if (constant)
    return constant;
  keptAlive.push_back(tensor);
  Location loc = NameLoc::get(builder.getStringAttr(tensor->name));
  if (tensor->quantized && (constant = makeDequantized(builder, loc, *tensor)))
    return constant;
  if (auto *integers = tensor->integers()) {
    Type element = getProgramType(builder.getContext(), tensor->elementType());
    auto type = RankedTensorType::get(tensor->shape, element);
    return constant = nn::createConstant(builder, loc, tensor->name, type,
                                         packIntegers(*integers, element))
                          .getResult();
  }
  auto type = RankedTensorType::get(tensor->shape, builder.getF32Type());
  if (auto *single = std::get_if<std::vector<float>>(&tensor->data))
    return constant =
               nn::createConstant<float>(builder, loc, tensor->name, type, *single).getResult();
  return constant = nn::createConstant<float>(builder, loc, tensor->name, type, *tensor->floats())
                        .getResult();
}
