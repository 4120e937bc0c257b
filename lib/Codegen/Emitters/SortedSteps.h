//===- SortedSteps.h - steps of bytes before steps of i16 -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instruction that multiplies bytes and adds two products in i16 is exact where two weights are
// small enough for inputs of 255: |w0 + w1| <= 128. So each run of a panel has its steps in an
// order of its own: those where all pairs fit, as bytes, then the others, as i16. Integers may be
// summed in any order.
//
// A run in memory: the number of steps of bytes, where each step's input begins (i32, in this
// order), the weights [16][4 bytes] of these steps, those [2 parts][16][2 i16] of the others.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_SORTEDSTEPS_H
#define OCTET_LIB_CODEGEN_EMITTERS_SORTEDSTEPS_H

#include "../Products/Products.h"
#include "DenseShape.h"

namespace octet::codegen {

class SortedSteps {
public:
  explicit SortedSteps(int64_t steps) : steps(steps) {}

  int64_t bytesPerRun() const { return bytesOfPlaces() + (steps + 1) * kWordStep; }

  /// An argument for panels in this order, which a model writes when it is made.
  KernelArgument sort(ProgramEmitter &emitter, KernelArgument panels) const;

  /// The sums of pixels, whose input begins at `pixels`, with a run's products.
  llvm::SmallVector<mlir::Value> add(KernelBuilder &b, const TileProducts &products,
                                     mlir::Value input, llvm::ArrayRef<mlir::Value> pixels,
                                     mlir::Value weights, mlir::Value run,
                                     mlir::ValueRange sums) const;

private:
  static constexpr int64_t kByteStep = 64, kWordStep = 128;
  /// The number of steps of bytes, the places, and room for one more.
  int64_t bytesOfPlaces() const { return llvm::alignTo(4 * (steps + 2), 64); }

  int64_t steps; ///< of a run
};

/// The share of a panel's steps, of a filter [output][channel][tap], that have a pair of weights
/// whose products may not fit.
double countLargePairs(llvm::ArrayRef<int8_t> filter, int64_t channels, const DenseShape &shape);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_SORTEDSTEPS_H
