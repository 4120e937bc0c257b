//===- Operators.h - table of the ONNX operators ----------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_OPERATORS_H
#define OCTET_LIB_IMPORT_ONNX_OPERATORS_H

#include "Node.h"

namespace octet::onnx_import {

/// One row of Operators.def.
struct OperatorRow {
  llvm::StringLiteral name;
  llvm::LogicalResult (*import)(Node &node);
  int minInputs, maxInputs; ///< maxInputs < 0: any number
  /// Attributes that are understood, separated by spaces: `name:type` with type i (integer), f
  /// (float), s (string), t (tensor), g (graph), p (type), is/fs/ss (lists), ls (integers of any
  /// size);
  /// `=v|w` behind it if only these values are.
  llvm::StringLiteral attributes;
  llvm::StringLiteral domain = ""; ///< "": ONNX's own
  bool takesQuantized = false;     ///< reads quantized values as they are, with their parameters
  bool takesSequences = false;     ///< inputs may be sequences
};

llvm::ArrayRef<OperatorRow> getOperatorTable();
const OperatorRow *findOperator(llvm::StringRef domain, llvm::StringRef name);

/// Why some operators are refused whose operands are no constants.
inline constexpr llvm::StringLiteral kShapedByData = "the shape of its result depends on data";

/// Recurrent operators may have other results only.
bool mayLackFirstOutput(const OperatorRow &row);

/// The result of checking a node's attributes and number of inputs against the table.
struct NodeCheck {
  std::string invalid;     ///< not ONNX: wrong type, too many inputs
  std::string unsupported; ///< the first attribute (or value) without a meaning here
};
NodeCheck checkNode(const OperatorRow &row, const onnx::NodeProto &node);

#define OCTET_ONNX_OPERATOR(name, function, ...) llvm::LogicalResult function(Node &node);
#include "Operators.def"

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_OPERATORS_H
