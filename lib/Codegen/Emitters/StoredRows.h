//===- StoredRows.h - weights in few bits, row by row -----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_STOREDROWS_H
#define OCTET_LIB_CODEGEN_EMITTERS_STOREDROWS_H

#include "Emitters.h"

namespace octet::codegen {

/// Stored integers of at most 8 bits, or floats of 16 bits, as f32; of less than 8 bits in bytes.
mlir::Value widenStored(KernelBuilder &b, mlir::Value stored, mlir::Type element);
/// The lower and the upper halves of bytes.
std::pair<mlir::Value, mlir::Value> splitNibbles(KernelBuilder &b, mlir::Value bytes);

/// [N.linear] with such a matrix; the operands but the input are constants.
void emitStoredLinear(ProgramEmitter &emitter, GroupOp group, DequantizeWeightsOp weights,
                      nn::LinearOp linear);

/// A matrix behind octet.dequantize_weights in a group, as kernels read it: row after row, integers
/// of at most 4 bits two in a byte, the first in its lower half; each row begins with a byte.
class StoredRows {
public:
  /// The operands are those of `group`, which are constants.
  StoredRows(Signature &signature, GroupOp group, DequantizeWeightsOp weights);

  int64_t rows() const { return type.getDimSize(0); }
  int64_t columns() const { return type.getDimSize(1); }
  /// Calls `use(column, values)` for the real values of a row, in vectors of sixteen and, for what
  /// is left of each block, one by one [N.dequantize_weights].
  void forEach(KernelBuilder &b, mlir::ValueRange args, mlir::Value row,
               llvm::function_ref<void(mlir::Value column, mlir::Value values)> use) const;

private:
  bool isHalf() const { return llvm::isa<mlir::FloatType>(type.getElementType()); }
  bool isPacked() const { return !isHalf() && type.getElementTypeBitWidth() <= 4; }
  /// Scales of a row.
  int64_t blocks() const { return isHalf() ? 1 : llvm::divideCeil(columns(), block); }
  std::vector<int8_t> pack(nn::ConstantOp constant) const;
  /// The bytes of sixteen elements, or of one.
  mlir::Value loadNibbles(KernelBuilder &b, mlir::Value memory, mlir::Value row,
                          mlir::Value column) const;
  mlir::Value load(KernelBuilder &b, mlir::Value memory, mlir::Value row, mlir::Value column) const;

  mlir::RankedTensorType type;
  int64_t rowsOfBlock = 1, block = 1;
  int memory, scales = -1, zeroPoints = -1;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_STOREDROWS_H
