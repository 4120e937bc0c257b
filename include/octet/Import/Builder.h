//===- Builder.h - a network made operator by operator ----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For front ends that walk a program of their own, such as a traced PyTorch module. Operators are
// those of the dialect nn, or what the table of ONNX's operators composes of them.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_IMPORT_BUILDER_H
#define OCTET_IMPORT_BUILDER_H

#include "octet/Import/Import.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <variant>

namespace octet {

/// An attribute as a front end has it. Text is an ONNX string, or an MLIR attribute of an nn op; a
/// flag is a unit attribute of an nn op.
using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>,
                                    std::vector<double>, std::vector<std::string>>;
using AttributeValues = std::vector<std::pair<std::string, AttributeValue>>;

/// The function `main` of a module, made from its inputs to its outputs. Errors have the text of
/// the diagnostics, without a place: the front end knows it.
class NetworkBuilder {
public:
  /// A value: its number in the order of making.
  using Id = int64_t;
  /// Element types are numbers of ONNX's TensorProto::DataType.
  struct Type {
    int32_t element;
    std::vector<int64_t> shape;
  };

  NetworkBuilder();
  ~NetworkBuilder();

  /// The origin of the operators that follow, and their line in the user's program.
  void setOrigin(llvm::StringRef name, llvm::StringRef sourceClass, int64_t index,
                 llvm::StringRef file, unsigned line);

  llvm::Expected<Id> addInput(llvm::StringRef name, const Type &type);
  /// The memory must stay as long as the builder. Integers are i64, truth values bytes of 0 and 1.
  llvm::Expected<Id> addConstant(llvm::StringRef name, const Type &type,
                                 llvm::ArrayRef<char> bytes);
  /// An op of the dialect nn, named without its dialect, or of `octet`, named with it. Its shape is
  /// inferred, or `shape`; the type of its elements is that of its first operand, or `element`. A
  /// missing operand is -1.
  llvm::Expected<Id> add(llvm::StringRef op, llvm::ArrayRef<Id> operands,
                         const AttributeValues &attributes,
                         std::optional<std::vector<int64_t>> shape = {},
                         std::optional<int32_t> element = {});
  /// An op whose results have these types, as MLIR writes them.
  llvm::Expected<std::vector<Id>> addTyped(llvm::StringRef op, llvm::ArrayRef<Id> operands,
                                           const AttributeValues &attributes,
                                           llvm::ArrayRef<std::string> types);
  /// The results of an ONNX operator of the newest opset ("ConvTranspose", "com.microsoft::Gelu").
  llvm::Expected<std::vector<Id>> compose(llvm::StringRef op, llvm::ArrayRef<Id> operands,
                                          const AttributeValues &attributes, unsigned numResults);
  /// Adds a finished network as a function of this one, which `call` calls. `mapping`: the text of
  /// a QConfig mapping that is the function's own, or empty.
  llvm::Error addFunction(llvm::StringRef symbol, const NetworkBuilder &network,
                          llvm::StringRef mapping);
  /// The results of a function that was added.
  llvm::Expected<std::vector<Id>> call(llvm::StringRef symbol, llvm::ArrayRef<Id> operands);
  Type getType(Id value) const;
  int64_t getNumValues() const;
  /// Ends the function. Two outputs may be one value.
  llvm::Error finish(llvm::ArrayRef<std::pair<std::string, Id>> outputs);

  mlir::ModuleOp getModule() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace octet

#endif // OCTET_IMPORT_BUILDER_H
