//===- Products.h - how tiles multiply --------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_PRODUCTS_PRODUCTS_H
#define OCTET_LIB_CODEGEN_PRODUCTS_PRODUCTS_H

#include "../ProgramEmitter.h"

namespace octet::codegen {

/// How the tiles of dense and depthwise kernels multiply: what differs between CPU levels, and
/// between integers and floats. A step multiplies a vector of sixteen lanes of the input,
/// `inputs()` elements in each, by a vector of weights; both come in `parts()` values, which are
/// multiplied one by one.
class TileProducts {
public:
  virtual ~TileProducts() = default;

  /// Input elements of a lane in one step.
  virtual int64_t inputs() const = 0;
  virtual int64_t parts() const { return 1; }
  /// Elements in memory of one part of the weights.
  virtual int64_t partSize() const = 0;
  int64_t weightSize() const { return parts() * partSize(); }

  /// How a dense layer multiplies whose weights are read by so many pixels, some of which may be
  /// -128: like this, or in a way that takes less memory or holds larger sums.
  virtual const TileProducts &forDense(int64_t /*pixels*/, int64_t /*weightBytes*/,
                                       bool /*hasLeastWeights*/) const {
    return *this;
  }
  /// How products of two values multiply, whose sums do not begin with what a shift takes off.
  virtual const TileProducts &forValues() const { return *this; }
  /// Added to every element of the input before it is multiplied.
  virtual int64_t inputShift() const { return 0; }
  /// The parameters of an input of this type behind the shift.
  QuantParams getInputParams(mlir::RankedTensorType input) const;
  /// Whether a tile's input stays in registers while the weights come and go, or the other way
  /// round.
  virtual bool keepsInput(int64_t /*inputVectors*/) const { return false; }

  /// Vectors of pixels whose input fits in registers beside their sums with one panel.
  virtual int64_t mostVectors() const { return 14; }

  /// Whether the weights are i16 in memory, which a prologue makes of their bytes.
  virtual bool readsI16() const { return false; }
  /// The input elements of one lane, in all lanes.
  virtual mlir::Value broadcast(KernelBuilder &b, mlir::Value memory, mlir::Value at) const;
  /// The parts of a vector of the input.
  virtual llvm::SmallVector<mlir::Value> split(KernelBuilder & /*b*/, mlir::Value input) const {
    return {input};
  }
  /// How many steps' elements of a lane one load may bring, a power of two.
  virtual int64_t stepsPerLoad() const { return 1; }
  /// The input of so many steps, which lie side by side: the elements of one lane in all lanes,
  /// split.
  virtual llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  broadcastSteps(KernelBuilder &b, mlir::Value memory, mlir::Value at, int64_t steps) const;
  /// One part from memory, of weights or of input that was split before.
  virtual mlir::Value load(KernelBuilder &b, mlir::Value memory, mlir::Value at) const;
  /// All parts of a vector of weights.
  llvm::SmallVector<mlir::Value> loadWeights(KernelBuilder &b, mlir::Value memory,
                                             mlir::Value at) const;
  /// `sum` and the products of a part of the input with the same part of the weights.
  virtual mlir::Value multiplyAdd(KernelBuilder &b, mlir::Value sum, mlir::Value input,
                                  mlir::Value weights) const = 0;

  /// Vectors of sixteen lanes that a sum takes between `openSum` and `closeSum`.
  virtual int64_t vectorsPerSum() const { return 1; }
  virtual mlir::Value openSum(KernelBuilder & /*b*/, mlir::Value sum) const { return sum; }
  virtual mlir::Value closeSum(KernelBuilder & /*b*/, mlir::Value sum) const { return sum; }
  /// How many steps `multiplyAddSteps` takes, at most.
  virtual int64_t stepsPerSum() const { return 1; }
  /// `multiplyAdd` of several steps to an open sum.
  virtual mlir::Value multiplyAddSteps(KernelBuilder &b, mlir::Value sum, mlir::ValueRange inputs,
                                       mlir::ValueRange weights) const {
    return multiplyAdd(b, sum, inputs[0], weights[0]);
  }
};

/// One fused multiply-add in each lane.
const TileProducts &getFloatProducts();

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_PRODUCTS_PRODUCTS_H
