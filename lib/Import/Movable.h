//===- Movable.h - what reshapes and transposes may change places with -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_MOVABLE_H
#define OCTET_LIB_IMPORT_MOVABLE_H

#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"

namespace octet {

/// Whether an operator computes element by element a result that data movement takes, which is of
/// no other floats than f32.
inline bool isMovable(mlir::Operation *op) {
  if (!op->hasTrait<nn::Elementwise>() || op->getNumResults() != 1)
    return false;
  mlir::Type element = mlir::getElementTypeOrSelf(op->getResult(0).getType());
  return !llvm::isa<mlir::FloatType>(element) || element.isF32();
}

/// Moves of an operator may lack its class and number, by which calls of one name differ.
inline bool isOfOneCall(mlir::Operation *a, mlir::Operation *b) {
  OriginAttr x = a ? getOrigin(a) : OriginAttr(), y = getOrigin(b);
  return x && y && x.getName() == y.getName() &&
         (!x.getIndex() || !y.getIndex() || x.getIndex() == y.getIndex());
}

/// Whether a move belongs to an operator that computes what it moves. A pixel shuffle only moves.
inline bool isPart(mlir::Operation *move) {
  mlir::Operation *source = move;
  do {
    source = source->getOperand(0).getDefiningOp();
    if (!isOfOneCall(source, move))
      return false;
  } while (source->hasTrait<nn::DataMovement>() && source->getNumOperands() > 0);
  return true;
}

inline bool isOneConstant(mlir::Value value, int64_t mostDimensions) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && constant.getType().getNumElements() == 1 &&
         constant.getType().getRank() <= mostDimensions;
}

/// Patterns that move volumes, which convolutions over three dimensions slice.
void addVolumePatterns(mlir::RewritePatternSet &patterns, bool partsOnly,
                       mlir::Pass::Statistic &numSunk);

} // namespace octet

#endif // OCTET_LIB_IMPORT_MOVABLE_H
