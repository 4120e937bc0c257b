//===- PartialBody.h - some of a group's operators --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_PARTIALBODY_H
#define OCTET_LIB_CODEGEN_EMITTERS_PARTIALBODY_H

#include "Emitters.h"

namespace octet::codegen {

/// Element-wise operators of a group, and what they read from outside.
class PartialBody {
public:
  /// `addInput` gives the number of an operand of the group in the signature.
  PartialBody(GroupOp group, mlir::ArrayRef<mlir::Operation *> ops, mlir::Value yielded,
              const Signature &signature, llvm::function_ref<int(mlir::Value outer)> addInput);

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

/// The operands that the bodies of a kernel of rows read, each once in the signature.
class RowOperands {
public:
  explicit RowOperands(Signature &signature) : signature(signature) {}
  int add(mlir::Value outer);
  /// Whether the elements of rows of `shape` lie side by side in them and in `target`, or are
  /// alike.
  bool areInVectors(const KernelBuilder &b, mlir::ValueRange args, mlir::ArrayRef<int64_t> shape,
                    int target) const;

private:
  Signature &signature;
  llvm::MapVector<mlir::Value, int> numbers;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_PARTIALBODY_H
