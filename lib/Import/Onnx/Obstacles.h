//===- Obstacles.h - what keeps a network from being imported ---*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_OBSTACLES_H
#define OCTET_LIB_IMPORT_ONNX_OBSTACLES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/LogicalResult.h"
#include <string>

namespace octet::onnx_import {

/// In the order in which they are reported.
enum class ObstacleKind {
  Operator,    ///< a node that ONNX allows and this importer does not
  Node,        ///< a node that ONNX does not allow
  Input,       ///< an input of another type, or of unknown shape
  Initializer, ///< a weight of another type
};

/// One thing that is wrong with a network. Import goes on after it, to find the others.
struct Obstacle {
  ObstacleKind kind;
  mlir::Location loc;
  std::string node;     ///< the node's name; empty if this is about something else
  std::string nodeType; ///< "GRU, domain ai.onnx, opset 13"; only of operators
  std::string reason;
  std::string remedy = "";

  /// Both, as a message has them.
  std::string getText() const { return reason + (remedy.empty() ? "" : "; " + remedy); }
};

/// Emits one error about all of them, counted; nodes of one type with one reason share a line.
llvm::LogicalResult reportObstacles(mlir::Location fileLoc, llvm::ArrayRef<Obstacle> obstacles);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_OBSTACLES_H
