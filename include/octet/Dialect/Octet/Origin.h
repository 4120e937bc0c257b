//===- Origin.h - the origin of operators and values -----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_OCTET_ORIGIN_H
#define OCTET_DIALECT_OCTET_ORIGIN_H

#include "mlir/IR/PatternMatch.h"
#include "octet/Dialect/Octet/Octet.h"

namespace octet {

/// The discardable attribute that holds the origin of an operator of any dialect.
inline constexpr llvm::StringLiteral kOriginAttr = "octet.origin";

/// Null where the operator has none, as in IR written by hand.
OriginAttr getOrigin(mlir::Operation *op);
/// The origin of the operator that computes the value. For a function's argument or a constant, an
/// origin of its name. Null if there is none.
OriginAttr getOrigin(mlir::Value value);
/// A null origin removes the attribute.
void setOrigin(mlir::Operation *op, OriginAttr origin);
/// The source's name of an operator, or "".
llvm::StringRef getSourceName(mlir::Operation *op);

/// The discardable attribute of a function that names its own QConfig mapping.
inline constexpr llvm::StringLiteral kMappingAttr = "octet.qconfig_mapping";

/// The discardable attribute that holds the decision about an operator or a group.
inline constexpr llvm::StringLiteral kDecisionAttr = "octet.decision";
/// Null where nothing was decided.
DecisionAttr getDecision(mlir::Operation *op);

/// Sets the origin of operators that a rewrite inserts without one: as the listener of a pattern
/// driver, to the origin of the pattern's root; else to the origin that was set last. Constants,
/// terminators and symbols have names of their own and no origin.
class OriginPropagation : public mlir::RewriterBase::Listener {
public:
  explicit OriginPropagation(OriginAttr source = {}) : source(source) {}
  explicit OriginPropagation(mlir::Operation *source) : source(getOrigin(source)) {}

  void setSource(OriginAttr origin) { source = origin; }

  void notifyPatternBegin(const mlir::Pattern &, mlir::Operation *root) override {
    source = getOrigin(root);
  }
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint previous) override;

private:
  OriginAttr source;
};

} // namespace octet

#endif // OCTET_DIALECT_OCTET_ORIGIN_H
