//===- SortedSteps.h - steps of bytes before steps of i16 -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each run of a panel has its steps in an order of its own (StepOrders): couples whose products are
// added in i16, steps of bytes, which may be in another order, too, and then the others as i16.
// Integers may be summed in any order.
//
// A run in memory: how many couples and how many steps of bytes there are, where each step's input
// begins, the orders of its bytes (i32 each), the weights [16][4 bytes] of the steps of bytes,
// those [2 parts][16][2 i16] of the others.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_SORTEDSTEPS_H
#define OCTET_LIB_CODEGEN_EMITTERS_SORTEDSTEPS_H

#include "../Products/Products.h"
#include "../Products/StepOrders.h"

namespace octet::codegen {

class SortedSteps {
public:
  explicit SortedSteps(int64_t steps) : steps(steps) {}

  int64_t bytesPerRun() const { return bytesOfPlaces() + steps * kWordStep; }

  /// An argument for panels in these orders, which a model writes when it is made.
  KernelArgument sort(ProgramEmitter &emitter, KernelArgument panels,
                      const StepOrders &orders) const;

  /// The sums of pixels, whose input begins at `pixels`, with a run's products.
  llvm::SmallVector<mlir::Value> add(KernelBuilder &b, const TileProducts &products,
                                     mlir::Value input, llvm::ArrayRef<mlir::Value> pixels,
                                     mlir::Value weights, mlir::Value run,
                                     mlir::ValueRange sums) const;

private:
  static constexpr int64_t kByteStep = 64, kWordStep = 128, kPlaces = 8;
  int64_t ordersAt() const { return kPlaces + 4 * steps; }
  int64_t bytesOfPlaces() const { return llvm::alignTo(ordersAt() + 4 * steps, 64); }

  int64_t steps; ///< of a run
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_SORTEDSTEPS_H
