//===- ModelReader.cpp - from bytes to a checked ONNX graph ------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphImporter.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <queue>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static bool isDefaultDomain(StringRef domain) { return domain.empty() || domain == "ai.onnx"; }

int64_t octet::onnx_import::getOpset(const onnx::ModelProto &model) {
  for (const auto &entry : model.opset_import())
    if (isDefaultDomain(entry.domain()))
      return entry.version();
  return 1;
}

static LogicalResult checkOpset(Location loc, const onnx::ModelProto &model) {
  int64_t opset = getOpset(model);
  if (opset >= kOldestOpset && opset <= kNewestOpset)
    return success();
  return emitError(loc) << "opset " << opset << " is not supported"
                        << Remedy("convert the network to one of " + llvm::Twine(kOldestOpset) +
                                  " to " + llvm::Twine(kNewestOpset) + " (onnx.version_converter)");
}

/// Names end up in locations, resources and messages, so they must be text.
static LogicalResult checkText(Location loc, const onnx::GraphProto &graph) {
  auto check = [&](StringRef text, StringRef what) -> LogicalResult {
    size_t offset = 0;
    if (llvm::json::isUTF8(text, &offset) && text.find('\0') == StringRef::npos)
      return success();
    return emitError(loc) << what << " " << quote(text)
                          << " is not valid UTF-8; the file is damaged";
  };
  for (const auto &node : graph.node()) {
    if (failed(check(node.name(), "the node name")) ||
        failed(check(node.op_type(), "the operator name")) ||
        failed(check(node.domain(), "the domain")))
      return failure();
    for (const auto &name : node.input())
      if (failed(check(name, "the tensor name")))
        return failure();
    for (const auto &name : node.output())
      if (failed(check(name, "the tensor name")))
        return failure();
    for (const auto &attribute : node.attribute())
      if (failed(check(attribute.name(), "the attribute name")) ||
          failed(check(attribute.s(), "the attribute")))
        return failure();
  }
  for (const auto &tensor : graph.initializer())
    if (failed(check(tensor.name(), "the initializer name")))
      return failure();
  for (const auto &input : graph.input())
    if (failed(check(input.name(), "the input name")))
      return failure();
  return success();
}

/// One definition per name. (An input may share its name with the initializer that gives its
/// default.)
static LogicalResult checkDefinitions(Location loc, const onnx::GraphProto &graph) {
  llvm::StringSet<> inputs, initializers, defined;
  auto twice = [&](StringRef name, StringRef what) {
    return emitError(loc) << what << " " << quote(name)
                          << " is defined twice; names must be unique";
  };
  for (const auto &input : graph.input())
    if (!inputs.insert(input.name()).second)
      return twice(input.name(), "the input");
  for (const auto &tensor : graph.initializer())
    if (!initializers.insert(tensor.name()).second)
      return twice(tensor.name(), "the initializer");
  for (const auto &node : graph.node())
    for (const auto &name : node.output())
      if (!name.empty() &&
          (inputs.count(name) || initializers.count(name) || !defined.insert(name).second))
        return twice(name, "the tensor");
  return success();
}

LogicalResult octet::onnx_import::checkGraph(Location loc, const onnx::GraphProto &graph) {
  return success(succeeded(checkText(loc, graph)) && succeeded(checkDefinitions(loc, graph)));
}

LogicalResult octet::onnx_import::parseModel(Location loc, StringRef bytes,
                                             onnx::ModelProto &model) {
  google::protobuf::LogSilencer silencer; // the parser's own messages name no file
  if (bytes.size() > INT_MAX)
    return emitError(loc) << "has more than 2 GiB" << Remedy("store its weights as external data");
  if (bytes.empty() || !model.ParseFromArray(bytes.data(), (int)bytes.size()))
    return emitError(loc) << "is not an ONNX file, or is cut off: its " << bytes.size()
                          << " bytes are not a complete protobuf message"
                          << Remedy("export or download it again");
  if (!model.has_graph() || model.graph().output_size() == 0)
    return emitError(loc) << "is not an ONNX network: it holds no graph with outputs"
                          << Remedy("export or download it again");
  const auto &graph = model.graph();
  if (graph.sparse_initializer_size())
    return emitError(loc) << "has sparse initializers, which are not supported"
                          << Remedy("store them dense");
  return success(succeeded(checkOpset(loc, model)) && succeeded(checkGraph(loc, graph)));
}

FailureOr<std::vector<int>> octet::onnx_import::sortNodes(Location loc,
                                                          const onnx::GraphProto &graph) {
  llvm::StringMap<int> producers;
  for (int i = 0; i < graph.node_size(); ++i)
    for (const auto &name : graph.node(i).output())
      if (!name.empty())
        producers[name] = i;
  std::vector<int> pending(graph.node_size(), 0), order;
  std::vector<std::vector<int>> users(graph.node_size());
  for (int i = 0; i < graph.node_size(); ++i) {
    forEachRead(graph.node(i), [&](const std::string &name) {
      if (auto found = producers.find(name); found != producers.end()) {
        users[found->second].push_back(i);
        ++pending[i];
      }
    });
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < graph.node_size(); ++i)
    if (!pending[i])
      ready.push(i);
  while (!ready.empty()) {
    int next = ready.top();
    ready.pop();
    order.push_back(next);
    for (int user : users[next])
      if (!--pending[user])
        ready.push(user);
  }
  if ((int)order.size() == graph.node_size())
    return order;
  int stuck =
      std::find_if(pending.begin(), pending.end(), [](int n) { return n > 0; }) - pending.begin();
  const auto &node = graph.node(stuck);
  return emitError(loc) << "the graph has a cycle: node "
                        << quote(node.name().empty() && node.output_size() ? node.output(0)
                                                                           : node.name())
                        << " needs its own result, directly or through others"
                        << Remedy("export the network again");
}
