//===- StridedCopy.h - elements from one place to another -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_STRIDEDCOPY_H
#define OCTET_LIB_CODEGEN_EMITTERS_STRIDEDCOPY_H

#include "../KernelBuilder.h"

namespace octet::codegen {

/// result[resultBase + sum i[d] * resultSteps[d]] = input[inputBase + sum i[d] * inputSteps[d]],
/// counted in elements.
struct StridedCopy {
  llvm::SmallVector<int64_t> shape, inputSteps, resultSteps;
  int64_t inputBase = 0, resultBase = 0;
  /// Where both sides are bytes with the same channels and the same pitch: what lies between two
  /// pixels may go along.
  int64_t channels = 0, pitch = 0;
  /// Elements between those that are copied may be read, and as many behind the last one.
  bool mayReadBetween = false;

  void addDimension(int64_t size, int64_t inputStep, int64_t resultStep) {
    shape.push_back(size);
    inputSteps.push_back(inputStep);
    resultSteps.push_back(resultStep);
  }
  /// Dimensions in the order of the result's memory, without those of one element, and merged where
  /// both sides allow.
  StridedCopy normalized() const;
};

/// A copy in which one dimension is side by side on the one side and another one on the other side,
/// in blocks of rows and columns of these two; the last block may overlap the one before.
class Transposition {
public:
  Transposition(const StridedCopy &copy, mlir::Type element);

  bool isOne() const;
  int64_t getRange() const { return mlir::ShapedType::getNumElements(blocks); }
  void emit(KernelBuilder &b, mlir::ValueRange args, mlir::Value begin, mlir::Value end) const;

private:
  /// Side by side in the result, one after the other: where its rows lie far from each other, as
  /// those of planes do, whole cache lines are written before the next ones.
  int64_t countSquares() const;
  void emitSquare(KernelBuilder &b, mlir::ValueRange args, llvm::ArrayRef<mlir::Value> at) const;

  /// So many of the input's elements side by side are a cache line for floats.
  static constexpr int64_t kMostRows = 16;

  const StridedCopy &copy;
  int64_t columns; ///< 16 bytes
  mlir::VectorType type;
  size_t rowAxis, columnAxis;        ///< side by side in the input, in the result
  int64_t rows = 1;                  ///< of a block
  llvm::SmallVector<int64_t> blocks; ///< of rows, of each index of the other dimensions
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_STRIDEDCOPY_H
