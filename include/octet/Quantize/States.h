//===- States.h - what recurrent networks keep from run to run --*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_QUANTIZE_STATES_H
#define OCTET_QUANTIZE_STATES_H

#include "mlir/IR/Block.h"
#include "octet/Backend/Backend.h"
#include "llvm/ADT/DenseSet.h"

namespace octet {

/// The operators that pass a value from an input of floats to an output of the block by moving it
/// or computing element by element, and slices of such inputs.
llvm::DenseSet<mlir::Operation *> findStateOps(mlir::Block &block);

/// The operators from which the next values of states are computed, all the way up. Such a value is
/// an output that an input of its type reaches by being moved and computed with element by element,
/// where there are other inputs.
llvm::DenseSet<mlir::Operation *> findStateSources(mlir::Block &block);

/// The units of a recurrence whose steps the network holds one after the other: at least three of
/// a block with the same weights, each of which reads the result of one before, computed with
/// element by element in between.
llvm::DenseSet<mlir::Operation *> findRecurrentUnits(llvm::ArrayRef<const Unit *> units);

/// What such a recurrence computes element by element: gates, candidates and states.
llvm::DenseSet<mlir::Operation *>
findRecurrentOps(llvm::ArrayRef<const Unit *> units,
                 const llvm::DenseSet<mlir::Operation *> &recurrent);

/// The sums and products of a scan: at least three sums, each of which adds to the one before times
/// what is no constant.
llvm::DenseSet<mlir::Operation *> findScanOps(mlir::Block &block);

/// The operators of these that add what comes from outside to what a recurrence has computed, such
/// as the product of a step's input. A residual, which its own steps compute, is none.
llvm::DenseSet<mlir::Operation *> findGateSums(mlir::Block &block,
                                               llvm::ArrayRef<const Unit *> units);

} // namespace octet

#endif // OCTET_QUANTIZE_STATES_H
