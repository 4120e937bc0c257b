//===- GraphImporter.h - one ONNX graph becomes one function ----*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
#define OCTET_LIB_IMPORT_ONNX_GRAPHIMPORTER_H

#include "ComputedConstants.h"
#include "Node.h"
#include "Obstacles.h"
#include "TensorReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Import/Import.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <deque>

namespace octet::onnx_import {

/// Newest opset whose operator definitions were read when the table was written.
inline constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

/// Parses the message and checks what does not depend on operators: opset, names, number of
/// definitions per name, UTF-8. Errors are emitted at `loc`.
llvm::LogicalResult parseModel(mlir::Location loc, llvm::StringRef bytes, onnx::ModelProto &model);
/// The version of the default domain.
int64_t getOpset(const onnx::ModelProto &model);
/// Checks names and their definitions in one graph, not in those inside of its nodes.
llvm::LogicalResult checkGraph(mlir::Location loc, const onnx::GraphProto &graph);
/// Calls `read` with the inputs of the node and all that graphs inside of it read.
void forEachRead(const onnx::NodeProto &node, llvm::function_ref<void(const std::string &)> read);
/// Indices of the nodes such that definitions come before uses; stable. Emits an error for a cycle.
llvm::FailureOr<std::vector<int>> sortNodes(mlir::Location loc, const onnx::GraphProto &graph);

/// Imports what the graph's outputs need. A node that cannot be imported is noted as an obstacle,
/// and import goes on with what the file says of its results, so that all obstacles are found;
/// only damage of the file ends the import at once.
class GraphImporter {
public:
  GraphImporter(mlir::ModuleOp module, mlir::Location fileLoc, const onnx::ModelProto &model,
                TensorReader &reader, const ImportOptions &options);

  llvm::LogicalResult run();

  OriginPropagation origins; ///< of the node being imported
  mlir::OpBuilder builder;

  /// A location named like the node, or its first output if it has no name or shares it with a node
  /// before.
  mlir::Location getLoc(const onnx::NodeProto &node);
  /// Notes that ONNX allows the node, but this importer does not; returns failure.
  llvm::LogicalResult addUnsupported(const onnx::NodeProto &node, const llvm::Twine &reason);
  /// Notes that ONNX does not allow the node; returns failure.
  llvm::LogicalResult addInvalid(const onnx::NodeProto &node, const llvm::Twine &reason,
                                 const llvm::Twine &remedy = "");
  llvm::LogicalResult define(const onnx::NodeProto &node, unsigned output, const Entry &entry);
  /// A result that was defined, if it was, and is undefined again.
  Entry take(const onnx::NodeProto &node, unsigned output);
  /// A node that is in no file, for as long as the import takes.
  onnx::NodeProto *keepNode() { return instances.emplace_back().add_node(); }
  /// An nn.constant of a host tensor, one per tensor; its dequantized value if the file holds
  /// integers.
  mlir::Value materialize(const HostTensorRef &tensor);
  /// The nn.constants of transposed matrices; another matrix may come to lie where one was.
  llvm::DenseMap<const HostTensor *, std::pair<HostTensorRef::weak_type, mlir::Value>> transposed;
  /// The host tensor of an nn.constant that `materialize` made.
  HostTensorRef getConstant(mlir::Value constant) const;
  ComputedConstants computed;
  /// Operators on constants whose large results the import computed: they go when the node is
  /// imported.
  llvm::SetVector<mlir::Operation *> folded;

  /// Imports the nodes of a graph inside of a node, whose inputs are `arguments`; returns its
  /// outputs, or failure behind an obstacle. Names of graphs around it are seen inside.
  llvm::FailureOr<llvm::SmallVector<Entry>> call(const onnx::GraphProto &body,
                                                 llvm::ArrayRef<Entry> arguments);
  /// The results of one node of no graph, whose inputs are `inputs`; or failure after an error.
  llvm::FailureOr<llvm::SmallVector<Entry>> apply(const onnx::NodeProto &node,
                                                  llvm::ArrayRef<Entry> inputs, OriginAttr origin);
  /// Counts the nodes of a graph to be called; false if there are too many.
  bool mayInline(const onnx::GraphProto &body);

private:
  /// Takes the types of tensors from a graph, and those of no other.
  void declare(const onnx::GraphProto &graph);
  /// Counts the uses of each tensor, and finds the nodes that the outputs need.
  void findReaders(llvm::ArrayRef<int> order, const onnx::GraphProto &graph);
  /// Checks a node against the operator table.
  void checkNode(const onnx::NodeProto &node);
  llvm::LogicalResult checkInitializers(const onnx::GraphProto &graph);
  llvm::LogicalResult importNodes(const onnx::GraphProto &body);
  /// The function of the file that the node calls, or null.
  const onnx::FunctionProto *findFunction(const onnx::NodeProto &node) const;
  llvm::LogicalResult importFunction(const onnx::NodeProto &proto,
                                     const onnx::FunctionProto &function,
                                     llvm::ArrayRef<Entry> inputs);

  llvm::LogicalResult createFunction();
  mlir::Value castInterface(mlir::Value value, mlir::Type element, llvm::StringRef name);
  void addArgument(const onnx::ValueInfoProto &input);
  mlir::quant::QuantizedType findQuantizedType(llvm::StringRef name, int32_t elementType,
                                               ShapeRef shape);
  mlir::quant::QuantizedType readParameters(const onnx::NodeProto &proto, unsigned i,
                                            int32_t elementType, ShapeRef shape);
  llvm::FailureOr<Shape> getInputShape(const onnx::ValueInfoProto &input);
  llvm::LogicalResult checkOptions();
  bool isInput(llvm::StringRef name) const;
  /// The size that `--input-shape` gives the dimensions of inputs of this name, or -1.
  int64_t getSize(llvm::StringRef dimension) const;
  llvm::LogicalResult checkNamesInput(llvm::StringRef option, llvm::StringRef name);
  void addConstantInput(const onnx::ValueInfoProto &input, ShapeRef shape);
  llvm::LogicalResult finishFunction();

  llvm::LogicalResult importNode(const onnx::NodeProto &proto);
  llvm::LogicalResult importOperator(const onnx::NodeProto &proto, llvm::ArrayRef<Entry> inputs);
  /// NonZero of a mask, or Unique, which chooses; nodes that read what is chosen, if what they make
  /// of it has a known shape.
  llvm::LogicalResult importMask(const onnx::NodeProto &proto, const Entry &mask);
  llvm::LogicalResult importDistinct(const onnx::NodeProto &proto, const Entry &rows);
  llvm::LogicalResult importMasked(const onnx::NodeProto &proto, llvm::ArrayRef<Entry> inputs);
  llvm::LogicalResult importSizes(const onnx::NodeProto &proto, llvm::ArrayRef<Entry> inputs,
                                  const Masked &masked);
  llvm::LogicalResult importOnRows(const onnx::NodeProto &proto, llvm::ArrayRef<Entry> inputs,
                                   const Masked &masked);
  llvm::LogicalResult importOnAll(const onnx::NodeProto &proto, llvm::ArrayRef<Entry> all,
                                  const Masked &masked);
  llvm::LogicalResult scatterRows(const onnx::NodeProto &proto, llvm::ArrayRef<Entry> inputs,
                                  const Masked &masked);
  /// Refuses the NonZero behind an entry; false if there is none.
  bool refuseMasked(const Entry &entry);
  void importKnown(const onnx::NodeProto &proto, llvm::ArrayRef<Entry> inputs, bool isFolded);
  llvm::FailureOr<Entry> lookup(llvm::StringRef name, mlir::Location user);
  /// The value, if it follows from constants alone.
  HostTensorRef evaluate(mlir::Value value);
  /// Makes constants of the inputs that follow from constants alone; whether there was any.
  bool evaluateInputs(const onnx::NodeProto &proto, llvm::MutableArrayRef<Entry> inputs);
  /// Releases constants without further uses.
  void releaseInputs(const onnx::NodeProto &proto);
  /// Continues behind a node that was not imported.
  void giveUp(const onnx::NodeProto &node, bool isFolded);
  /// Creates a placeholder for a tensor of which only the type in the file is known.
  void assume(llvm::StringRef name, mlir::Type type);

  llvm::StringRef getNodeName(const onnx::NodeProto &node) const;
  /// Counts the node as one more of its class in its part of the graph.
  OriginAttr makeOrigin(const onnx::NodeProto &node);
  int64_t getDomainVersion(llvm::StringRef domain) const;
  bool isInitializer(llvm::StringRef name) const { return initializers.count(name); }

  mlir::Location fileLoc;
  const onnx::ModelProto &model;
  const onnx::GraphProto &graph;
  TensorReader &reader;
  const ImportOptions &options;
  int64_t opset;

  mlir::func::FuncOp function;
  llvm::SmallVector<llvm::StringRef> arguments; ///< names of its arguments
  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<const onnx::ValueInfoProto *> declarations; ///< types by name, if the file says
  llvm::StringMap<int64_t> readers; ///< how many needed nodes and outputs will still read a tensor
  llvm::DenseSet<const onnx::NodeProto *> needed;
  llvm::DenseSet<const onnx::NodeProto *> namesakes; ///< nodes whose name a node before has

  OriginAttr current;                     ///< of the node being imported
  std::deque<onnx::GraphProto> instances; ///< functions as nodes call them
  int64_t numInlined = 0, depth = 0;
  bool isDamaged = false; ///< an error was emitted that no obstacle says

  llvm::StringMap<int64_t> numImported; ///< by part of the graph and operator type
  llvm::StringMap<Entry> entries;
  llvm::DenseMap<const HostTensor *, mlir::Value> constants;
  std::vector<HostTensorRef> keptAlive;
  void dropFolded();

  std::vector<Obstacle> obstacles;
  llvm::SetVector<const onnx::NodeProto *> refused; ///< nodes that are obstacles
  /// Tensors of unknown type behind an obstacle, and whether they would be constants.
  llvm::StringMap<bool> unknown;
  llvm::StringSet<> assumed; ///< tensors that follow from assumptions about others
  bool readsAssumed = false; ///< the node being imported does; no error of its own is believed
};

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
