//===- InnerValues.h - values inside of the source's operators --*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An import may compute an operator of the source by several, the last of which only move values:
// a transposed convolution drops a border in the end. Observers see what the source has: the
// result. The values in front of it take the result's type.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_INNERVALUES_H
#define OCTET_LIB_QUANTIZE_INNERVALUES_H

#include "Plan.h"

namespace octet {

/// Whether `op` moves values and is a part of the operator of the source that computes one of its
/// operands. Moves that a program of PyTorch has itself have a class, and those of other files a
/// name of their own.
bool movesOfProducer(mlir::Operation *op);
/// What `value` is inside of the operator that computes it in the source, before it is moved; null
/// if it is not moved there.
mlir::Value getInnerValue(mlir::Value value);
/// The value that `value` becomes inside of the operator that computes it in the source, or null.
mlir::Value getOuterValue(mlir::Value value);

/// Puts an octet.observe of the same observer on the inner values of those that are observed.
void observeInnerValues(ObserveOp op);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_INNERVALUES_H
