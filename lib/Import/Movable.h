//===- Movable.h - what reshapes and transposes may change places with -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_MOVABLE_H
#define OCTET_LIB_IMPORT_MOVABLE_H

#include "octet/Dialect/NN/NN.h"

namespace octet {

/// Whether an operator computes element by element a result that data movement takes, which is of
/// no other floats than f32.
inline bool isMovable(mlir::Operation *op) {
  if (!op->hasTrait<nn::Elementwise>() || op->getNumResults() != 1)
    return false;
  mlir::Type element = mlir::getElementTypeOrSelf(op->getResult(0).getType());
  return !llvm::isa<mlir::FloatType>(element) || element.isF32();
}

} // namespace octet

#endif // OCTET_LIB_IMPORT_MOVABLE_H
