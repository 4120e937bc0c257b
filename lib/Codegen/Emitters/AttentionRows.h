//===- AttentionRows.h - from a row of scores to its weights ----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_ATTENTIONROWS_H
#define OCTET_LIB_CODEGEN_EMITTERS_ATTENTIONROWS_H

#include "../Attention.h"
#include "Emitters.h"

namespace octet::codegen {

/// Element-wise operators of an attention, and what they read from outside.
class AttentionBody {
public:
  /// Adds the arguments.
  AttentionBody(GroupOp group, mlir::ArrayRef<mlir::Operation *> ops, mlir::Value yielded,
                Signature &signature);

  /// What they yield at `indices` of `shape`; `known`: values of the group that they read.
  mlir::Value emit(KernelBuilder &b, mlir::ValueRange args, mlir::ArrayRef<int64_t> shape,
                   mlir::ValueRange indices, llvm::DenseMap<mlir::Value, mlir::Value> known) const;
  /// The same for ranges.
  Interval getRange(mlir::Value inner, Interval range) const;

private:
  FusedOp fused;
  const Signature &signature;
  llvm::SmallVector<std::pair<mlir::Value, int>> inputs;
};

/// Makes the weights of a row of scores, and their sum.
class AttentionRows {
public:
  /// `range`: of the scores. Adds the arguments.
  AttentionRows(Attention &parts, GroupOp group, Interval range, Signature &signature);

  /// Writes the weights of the scores from `scoresAt` on to `weightsAt` of `weights`; returns their
  /// sum. `indices`: of the row, whose last one this sets.
  mlir::Value emit(KernelBuilder &b, mlir::ValueRange args,
                   mlir::MutableArrayRef<mlir::Value> indices, mlir::Value scores,
                   mlir::Value scoresAt, mlir::Value weights, mlir::Value weightsAt) const;
  mlir::Value loadZeroPoint(KernelBuilder &b, mlir::ValueRange args) const;

private:
  mlir::Value fold(KernelBuilder &b, float neutral,
                   llvm::function_ref<mlir::Value(mlir::Value)> element, JoinFn join) const;

  Attention &parts;
  const Signature &signature;
  AttentionBody body; ///< f
  int params;         ///< of the weights
  bool isFinite;      ///< differences and what f makes of them are numbers
  bool isSmall;       ///< the latter over the scale are within int16, with a zero point, too
  bool isInside;      ///< they are quantized within the bounds
  bool hasZeroPoint;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_ATTENTIONROWS_H
