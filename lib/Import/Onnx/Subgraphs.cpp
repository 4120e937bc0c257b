//===- Subgraphs.cpp - graphs inside of nodes, and functions ------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs are inlined: their nodes are imported as the nodes around them are.
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "LaterFields.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Bounds what loops in loops, and functions that call themselves, can ask for.
static constexpr int64_t kMostInlined = 1 << 17, kMostDepth = 64;

/// Every name that a graph gives a meaning of its own.
static void forEachDefined(const onnx::GraphProto &graph,
                           function_ref<void(const std::string &)> define) {
  for (const auto &input : graph.input())
    define(input.name());
  for (const auto &tensor : graph.initializer())
    define(tensor.name());
  for (const auto &node : graph.node())
    for (const std::string &name : node.output())
      define(name);
}

void octet::onnx_import::forEachRead(const onnx::NodeProto &node,
                                     llvm::function_ref<void(const std::string &)> read) {
  for (const std::string &name : node.input())
    if (!name.empty())
      read(name);
  for (const auto &attribute : node.attribute()) {
    if (!attribute.has_g())
      continue;
    // Branches may call their results as the node does.
    llvm::StringSet<> own;
    forEachDefined(attribute.g(), [&](const std::string &name) { own.insert(name); });
    auto readOther = [&](const std::string &name) {
      if (!own.contains(name))
        read(name);
    };
    for (const auto &inner : attribute.g().node())
      forEachRead(inner, readOther);
    for (const auto &output : attribute.g().output())
      readOther(output.name());
  }
}

namespace {
/// Gives the names that a graph defines their meaning of before at the end of its life.
class Scope {
public:
  Scope(llvm::StringMap<Entry> &entries, const onnx::GraphProto &graph) : entries(entries) {
    auto hide = [&](const std::string &name) {
      if (saved.count(name))
        return;
      saved[name] = entries.lookup(name);
      entries.erase(name);
    };
    forEachDefined(graph, hide);
  }
  ~Scope() {
    for (auto &entry : saved) {
      entries.erase(entry.first());
      if (entry.second)
        entries[entry.first()] = entry.second;
    }
  }
  const llvm::StringMap<Entry> &names() const { return saved; }

private:
  llvm::StringMap<Entry> &entries;
  llvm::StringMap<Entry> saved;
};
} // namespace

LogicalResult GraphImporter::importNodes(const onnx::GraphProto &body) {
  auto order = sortNodes(fileLoc, body);
  if (failed(checkGraph(fileLoc, body)) || failed(order)) {
    isDamaged = true;
    return failure();
  }
  findReaders(*order, body);
  for (const auto &tensor : body.initializer())
    initializers[tensor.name()] = &tensor;
  if (failed(checkInitializers(body))) {
    isDamaged = true;
    return failure();
  }
  for (int i : *order) {
    const onnx::NodeProto &node = body.node(i);
    if (!needed.contains(&node))
      continue;
    checkNode(node);
    if (failed(importNode(node))) {
      isDamaged = true;
      return failure();
    }
    releaseInputs(node);
  }
  return success();
}

void GraphImporter::declare(const onnx::GraphProto &graph) {
  declarations.clear();
  for (const auto *list : {&graph.value_info(), &graph.output()})
    for (const auto &declaration : *list)
      declarations[declaration.name()] = &declaration;
}

bool GraphImporter::mayInline(const onnx::GraphProto &body) {
  numInlined += body.node_size();
  return numInlined <= kMostInlined && depth < kMostDepth;
}

FailureOr<SmallVector<Entry>> GraphImporter::call(const onnx::GraphProto &body,
                                                  ArrayRef<Entry> arguments) {
  llvm::SaveAndRestore<bool> reads(readsAssumed);
  llvm::SaveAndRestore<OriginAttr> origin(current);
  llvm::SaveAndRestore<int64_t> level(depth, depth + 1);
  auto outer = initializers;
  auto outerDeclarations = std::move(declarations);
  declare(body);
  Scope scope(entries, body);
  for (auto [input, argument] : llvm::zip(body.input(), arguments))
    if (argument)
      entries[input.name()] = argument;
  LogicalResult status = importNodes(body);
  SmallVector<Entry> results;
  for (const auto &output : body.output()) {
    bool isKnown =
        succeeded(status) && !unknown.count(output.name()) && !assumed.contains(output.name());
    auto entry = isKnown ? lookup(output.name(), fileLoc) : FailureOr<Entry>();
    if (isKnown && failed(entry))
      isDamaged = true;
    if (failed(entry) || refuseMasked(*entry))
      status = failure();
    else
      results.push_back(*entry);
    --readers[output.name()];
  }
  for (const auto &name : scope.names()) {
    unknown.erase(name.first());
    assumed.erase(name.first());
  }
  initializers = std::move(outer);
  declarations = std::move(outerDeclarations);
  origins.setSource(origin.get());
  return failed(status) ? FailureOr<SmallVector<Entry>>() : results;
}

//===----------------------------------------------------------------------===//
// Functions of the file
//===----------------------------------------------------------------------===//

const onnx::FunctionProto *GraphImporter::findFunction(const onnx::NodeProto &node) const {
  for (const auto &function : model.functions())
    if (function.name() == node.op_type() && function.domain() == node.domain() &&
        getOverload(function) == getOverload(node))
      return &function;
  return nullptr;
}

namespace {
/// What a caller gives a function.
struct Call {
  llvm::StringMap<const onnx::AttributeProto *> attributes;
  llvm::StringSet<> missing; ///< inputs that it does not give

  /// Makes a node of the function, also those in its branches and loops, one of the caller.
  void bind(onnx::NodeProto &node) const;
};
} // namespace

/// Attributes that refer to those of the function become what is given. One that is not is left
/// out: the operator has a default of its own. So are inputs.
void Call::bind(onnx::NodeProto &node) const {
  for (std::string &name : *node.mutable_input())
    if (missing.contains(name))
      name.clear();
  onnx::NodeProto source = node;
  node.clear_attribute();
  for (const auto &attribute : source.attribute()) {
    bool refers = !attribute.ref_attr_name().empty();
    const auto *value = refers ? attributes.lookup(attribute.ref_attr_name()) : &attribute;
    if (!value)
      continue;
    onnx::AttributeProto &copy = *node.add_attribute();
    copy = *value;
    copy.set_name(attribute.name());
    if (!refers && copy.has_g())
      for (onnx::NodeProto &inner : *copy.mutable_g()->mutable_node())
        bind(inner);
  }
}

/// The function's nodes with what the caller gives.
static onnx::GraphProto instantiate(const onnx::FunctionProto &function,
                                    const onnx::NodeProto &caller) {
  Call call;
  auto defaults = getDefaults(function, 0);
  for (const auto &attribute : defaults)
    call.attributes[attribute.name()] = &attribute;
  for (const auto &attribute : caller.attribute())
    call.attributes[attribute.name()] = &attribute;
  onnx::GraphProto graph;
  for (auto [i, name] : llvm::enumerate(function.input())) {
    graph.add_input()->set_name(name);
    if ((int)i >= caller.input_size() || caller.input(i).empty())
      call.missing.insert(name);
  }
  for (const std::string &name : function.output())
    graph.add_output()->set_name(name);
  for (const auto &source : function.node()) {
    onnx::NodeProto &node = *graph.add_node();
    node = source;
    call.bind(node);
  }
  return graph;
}

LogicalResult GraphImporter::importFunction(const onnx::NodeProto &proto,
                                            const onnx::FunctionProto &function,
                                            ArrayRef<Entry> inputs) {
  if (proto.input_size() > function.input_size() || proto.output_size() > function.output_size())
    return addInvalid(proto, "has " + Twine(proto.input_size()) + " inputs and " +
                                 Twine(proto.output_size()) + " outputs; its function has " +
                                 Twine(function.input_size()) + " and " +
                                 Twine(function.output_size()));
  instances.push_back(instantiate(function, proto));
  if (!mayInline(instances.back()))
    return addUnsupported(proto, "functions that call themselves, or so many of their nodes");
  llvm::SaveAndRestore<int64_t> version(opset);
  for (const auto &entry : function.opset_import())
    if (entry.domain().empty() || entry.domain() == "ai.onnx")
      opset = entry.version();
  auto results = call(instances.back(), inputs);
  if (failed(results))
    return failure();
  for (auto [name, result] : llvm::zip(proto.output(), *results))
    if (!name.empty())
      entries[name] = result;
  return success();
}

//===----------------------------------------------------------------------===//
// Operators made of others
//===----------------------------------------------------------------------===//

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

FailureOr<Entry> Node::composeAs(LogicalResult (*import)(Node &),
                                 ArrayRef<std::pair<StringRef, double>> attributes,
                                 ArrayRef<Entry> inputs) {
  onnx::NodeProto &other = *importer.keepNode();
  other.set_name(proto.name());
  other.set_domain(proto.domain());
  other.set_op_type(proto.op_type());
  other.add_output(proto.output(0));
  for (auto [name, number] : attributes) {
    onnx::AttributeProto &attribute = *other.add_attribute();
    attribute.set_name(name.str());
    attribute.set_i((int64_t)number);
    attribute.set_f((float)number);
  }
  Node inner(importer, other, version, inputs);
  return failed(import(inner)) ? FailureOr<Entry>() : importer.take(other, 0);
}
