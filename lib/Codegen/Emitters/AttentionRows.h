//===- AttentionRows.h - from a row of scores to its weights ----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_ATTENTIONROWS_H
#define OCTET_LIB_CODEGEN_EMITTERS_ATTENTIONROWS_H

#include "../Attention.h"
#include "PartialBody.h"

namespace octet::codegen {

/// Makes the weights of rows of scores, and their sums.
class AttentionRows {
public:
  /// `range`: of the scores. Adds the arguments.
  AttentionRows(Attention &parts, GroupOp group, Interval range, Signature &signature);

  struct Row {
    llvm::SmallVector<mlir::Value> indices; ///< the last one is of a column
    mlir::Value scoresAt, weightsAt;        ///< where its scores and weights begin
  };
  /// Writes the weights of the scores; returns their sums. Rows go side by side, so that a CPU is
  /// busy while one waits.
  llvm::SmallVector<mlir::Value> emit(KernelBuilder &b, mlir::ValueRange args,
                                      mlir::MutableArrayRef<Row> rows, mlir::Value scores,
                                      mlir::Value weights) const;
  mlir::Value loadZeroPoint(KernelBuilder &b, mlir::ValueRange args) const;

private:
  Attention &parts;
  const Signature &signature;
  PartialBody body; ///< f
  int params;       ///< of the weights
  bool isFinite;    ///< differences and what f makes of them are numbers
  bool isSmall;     ///< the latter over the scale are within int16, with a zero point, too
  bool isInside;    ///< they are quantized within the bounds
  bool hasZeroPoint;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_ATTENTIONROWS_H
