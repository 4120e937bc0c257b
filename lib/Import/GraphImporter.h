//===- GraphImporter.h - one ONNX graph becomes one function ----*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_GRAPHIMPORTER_H
#define OCTET_LIB_IMPORT_GRAPHIMPORTER_H

#include "Node.h"
#include "TensorReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "octet/Import/Import.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace octet::onnx_import {

/// Newest opset whose operator definitions were read when the table was written.
inline constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

/// Parses the message and checks what does not depend on operators: opset, names, number of definitions per name,
/// UTF-8. Errors are emitted at `loc`.
llvm::LogicalResult parseModel(mlir::Location loc, llvm::StringRef bytes, onnx::ModelProto &model);
/// The version of the default domain.
int64_t getOpset(const onnx::ModelProto &model);
/// Indices of the nodes such that definitions come before uses; stable. Emits an error for a cycle.
llvm::FailureOr<std::vector<int>> sortNodes(mlir::Location loc, const onnx::GraphProto &graph);

class GraphImporter {
public:
  GraphImporter(mlir::ModuleOp module, mlir::Location fileLoc, const onnx::ModelProto &model, TensorReader &reader,
                const ImportOptions &options);

  llvm::LogicalResult run();

  mlir::OpBuilder builder;

  /// A location named like the node, or its first output if it has no name or shares it with a node before.
  mlir::Location getLoc(const onnx::NodeProto &node);
  mlir::InFlightDiagnostic emitError(mlir::Location loc);
  llvm::LogicalResult addUnsupported(const onnx::NodeProto &node, const llvm::Twine &reason);
  llvm::LogicalResult define(const onnx::NodeProto &node, unsigned output, const Entry &entry);
  /// An nn.constant of a host tensor, one per tensor.
  llvm::FailureOr<mlir::Value> materialize(const HostTensorRef &tensor, mlir::Location user);

private:
  llvm::LogicalResult createFunction();
  llvm::FailureOr<Shape> getInputShape(const onnx::ValueInfoProto &input);
  llvm::LogicalResult checkOptions();
  /// Every node against the operator table, so that all unsupported ones are known.
  llvm::LogicalResult checkNodes();
  llvm::LogicalResult importNode(const onnx::NodeProto &proto);
  llvm::FailureOr<Entry> lookup(llvm::StringRef name, mlir::Location user);
  llvm::LogicalResult finishFunction();
  llvm::LogicalResult reportUnsupported();
  llvm::StringRef getNodeName(const onnx::NodeProto &node) const;
  int64_t getDomainVersion(llvm::StringRef domain) const;
  bool isInitializer(llvm::StringRef name) const { return initializers.count(name); }

  mlir::Location fileLoc;
  const onnx::ModelProto &model;
  const onnx::GraphProto &graph;
  TensorReader &reader;
  const ImportOptions &options;
  int64_t opset;

  mlir::func::FuncOp function;
  llvm::StringMap<const onnx::TensorProto *> initializers;
  llvm::StringMap<Entry> entries;
  /// Results of nodes that are not supported; what reads them is not imported.
  llvm::StringSet<> poisoned;
  llvm::DenseMap<const HostTensor *, mlir::Value> constants;
  std::vector<HostTensorRef> keptAlive;
  llvm::StringSet<> readNames; ///< inputs of nodes and outputs of the graph
  llvm::DenseSet<const onnx::NodeProto *> namesakes; ///< nodes whose name a node before has
  std::vector<std::string> unsupportedNodes;
  llvm::DenseSet<const onnx::NodeProto *> unsupportedProtos;
};

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_GRAPHIMPORTER_H
