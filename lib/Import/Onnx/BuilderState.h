//===- BuilderState.h - what a network builder holds -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_BUILDERSTATE_H
#define OCTET_LIB_IMPORT_ONNX_BUILDERSTATE_H

#include "GraphImporter.h"
#include "octet/Import/Builder.h"

namespace octet {
namespace onnx_import {
/// A model of the newest opset without a graph.
onnx::ModelProto makeEmptyModel();

/// A value as operators of the table read it, and as ops of the dialect do; the second of a
/// constant is made when one reads it.
struct BuiltValue {
  Entry entry;
  mlir::RankedTensorType type; ///< of constants that the caller holds
  llvm::ArrayRef<char> bytes;
  std::string name;
  mlir::Value made;
};
} // namespace onnx_import

struct NetworkBuilder::State {
  State();

  llvm::Error takeError() {
    std::string taken = std::exchange(text, "");
    return llvm::createStringError(taken.empty() ? "not supported" : taken);
  }
  Id push(onnx_import::BuiltValue value) {
    values.push_back(std::move(value));
    return values.size() - 1;
  }
  mlir::Value getValue(Id id);
  onnx_import::Entry getEntry(Id id);
  /// Of a constant that a fake-quantize rounds, the rounded numbers: composed operators move them.
  onnx_import::Entry getRounded(Id id);
  /// An op without results.
  mlir::OperationState describe(llvm::StringRef op, llvm::ArrayRef<Id> operands,
                                const AttributeValues &attributes);
  /// The results of an op that was made; it is erased if it does not verify.
  llvm::Expected<std::vector<Id>> takeResults(mlir::Operation *made);

  mlir::MLIRContext context;
  std::string text; ///< of the diagnostics since the last error was taken
  mlir::ScopedDiagnosticHandler handler;
  const onnx::ModelProto model = onnx_import::makeEmptyModel();
  const ImportOptions options;
  onnx_import::TensorReader reader{""};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<onnx_import::GraphImporter> importer;
  mlir::func::FuncOp function;
  mlir::Location loc = mlir::UnknownLoc::get(&context);
  std::string origin;
  OriginAttr originAttr;
  std::vector<onnx_import::BuiltValue> values;
  llvm::SmallVector<std::string> inputs;
  int64_t numComposed = 0;
};

} // namespace octet

#endif // OCTET_LIB_IMPORT_ONNX_BUILDERSTATE_H
