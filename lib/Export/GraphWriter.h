//===- GraphWriter.h - building an ONNX graph -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_EXPORT_GRAPHWRITER_H
#define OCTET_LIB_EXPORT_GRAPHWRITER_H

#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/StringMap.h"
#include <onnx/onnx_pb.h>

namespace octet::exporter {

/// The domain of operators that onnxruntime adds to ONNX.
inline constexpr llvm::StringLiteral kMicrosoft = "com.microsoft";

/// One node under construction.
class Node {
public:
  explicit Node(onnx::NodeProto &proto) : proto(proto) {}
  Node &attribute(llvm::StringRef name, int64_t value);
  Node &attribute(llvm::StringRef name, float value);
  Node &attribute(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  Node &attribute(llvm::StringRef name, llvm::StringRef value);
  Node &domain(llvm::StringRef name);
  /// An output in front of those there are.
  Node &addFirstOutput(std::string name);

private:
  onnx::AttributeProto &add(llvm::StringRef name, onnx::AttributeProto::AttributeType type);
  onnx::NodeProto &proto;
};

/// The graph so far: which tensor each value is, and names that are unique.
class GraphWriter {
public:
  explicit GraphWriter(onnx::GraphProto &graph) : graph(graph) {}

  /// The tensor of a value that was written.
  std::string nameOf(mlir::Value value) const { return names.lookup(value); }
  void setName(mlir::Value value, std::string name) { names[value] = std::move(name); }
  /// The tensor that `value` is to be, once it is written; the first reservation holds. `name` is
  /// already unique.
  void reserve(mlir::Value value, std::string name) {
    reserved.try_emplace(value, std::move(name));
  }
  /// Transfers the name reserved for `from` to `to`.
  void passReservation(mlir::Value from, mlir::Value to);
  std::string makeUnique(llvm::StringRef name);

  /// Adds a node that computes the tensor `output`.
  Node addNode(llvm::StringRef type, llvm::ArrayRef<std::string> inputs, llvm::StringRef output);
  /// Adds a node for `op`, whose output is the op's result.
  Node addNode(mlir::Operation *op, llvm::StringRef type, llvm::ArrayRef<std::string> inputs);
  /// As above, on the op's operands.
  Node addNode(mlir::Operation *op, llvm::StringRef type);
  /// The tensor that a result will be: as reserved, or like `name`.
  std::string nameResult(mlir::Operation *op, llvm::StringRef name);

  /// Adds an initializer and returns its name.
  std::string addInitializer(llvm::StringRef name, onnx::TensorProto::DataType type,
                             llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<char> bytes);
  std::string addInts(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  std::string addFloats(llvm::StringRef name, llvm::ArrayRef<float> values);
  std::string addScalar(llvm::StringRef name, float value);

  void addInterface(onnx::ValueInfoProto &info, llvm::StringRef name, mlir::Type type);

  onnx::GraphProto &graph;

private:
  llvm::DenseMap<mlir::Value, std::string> names, reserved;
  llvm::StringMap<int64_t> taken, takenByNodes; // tensors and nodes are named apart
};

onnx::TensorProto::DataType getDataType(mlir::Type elementType);
/// The source node's name, or the op's own.
llvm::StringRef getName(mlir::Operation *op);

/// Writes one op of the nn dialect; fails after an error.
llvm::LogicalResult writeOperator(GraphWriter &writer, mlir::Operation *op);
void writeConstant(GraphWriter &writer, nn::ConstantOp op);
llvm::LogicalResult writeQuantize(GraphWriter &writer, QuantizeOp op);
llvm::LogicalResult writeDequantize(GraphWriter &writer, DequantizeOp op);
llvm::LogicalResult writeDequantizeWeights(GraphWriter &writer, DequantizeWeightsOp op);

} // namespace octet::exporter

#endif // OCTET_LIB_EXPORT_GRAPHWRITER_H
