//===- Alignment.h - a graph laid over a program that it need not match ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_ALIGNMENT_H
#define OCTET_LIB_QUANTIZE_ALIGNMENT_H

#include "octet/Backend/Backend.h"

namespace octet {

/// One thing that keeps a graph from matching.
struct Difference {
  /// What of `op` differs, and how: "operand 1", "is a constant, not an octet.activation".
  std::string part, text, remedy;
  mlir::Operation *op = nullptr;
  /// Set if this operator stands between `op` and `behind`.
  mlir::Operation *between = nullptr, *behind = nullptr;
  /// Set if the result of this operator has more readers than in the graph.
  mlir::Operation *extraReaderOf = nullptr;

  /// As a sentence about `subject`.
  std::string describe(mlir::Operation *subject) const;
};

/// `it stands between nn.conv "c" and nn.relu "r"`.
std::string describeAround(const Difference &difference, mlir::Operation *subject);

/// Which operators lie on the octet.match of a graph, and what differs.
struct Alignment {
  llvm::SmallVector<std::pair<MatchOp, mlir::Operation *>, 4> ops;
  llvm::SmallVector<std::pair<mlir::Operation *, mlir::Value>, 4> leaves;
  llvm::SmallVector<Difference, 2> differences;
  /// The matches on which no operator lies; known in the end.
  int64_t numMissing = 0;

  mlir::Operation *lookup(MatchOp match) const;
  bool isInterruptedBy(mlir::Operation *op) const;
  /// With fewer differences; with as many, but more operators in place.
  bool isNearer(const Alignment &other) const;
  /// Counts what is missing, and adds readers of inner values that the graph does not have.
  void finish(mlir::Region &graph);
};

/// Whether `op` has one of the names of the match.
bool isNamed(MatchOp match, mlir::Operation *op);

/// The best alignment with `op` on `match`.
Alignment alignAround(MatchOp match, mlir::Operation *op);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_ALIGNMENT_H
