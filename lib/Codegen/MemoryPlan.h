//===- MemoryPlan.h - one arena with reuse ----------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_MEMORYPLAN_H
#define OCTET_LIB_CODEGEN_MEMORYPLAN_H

#include "Buffers.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace octet::codegen {

/// Where every tensor value of a network lives. In the state, the network's states come first, in
/// the order of its arguments, and observers' statistics behind them.
struct MemoryPlan {
  llvm::DenseMap<mlir::Value, kernel::ArgAttr> addresses;    ///< not for constants
  llvm::MapVector<mlir::StringAttr, int64_t> observerStates; ///< offset by observer symbol
  /// Results of slices that lie in the tensor they are cut from: nothing writes them.
  llvm::DenseSet<mlir::Value> views;
  int64_t arenaBytes = 0;
  int64_t stateBytes = 0;
};

/// Plans by lifetimes in program order: values that are never alive together may share memory.
MemoryPlan planMemory(mlir::func::FuncOp func);

/// The value whose memory this one shares: the input of observers, of reshapes that move nothing or
/// are read through, and of what such a reshape moves beside.
mlir::Value getAliasRoot(mlir::Value value);

/// A reshape of a tensor in NHWC that strides can express and that only transpositions read: they
/// read the tensor itself.
bool isReadThrough(nn::ReshapeOp op);

/// A transposition of such a tensor that only a reshape to another image reads, as of channels that
/// become pixels: the reshape moves all at once.
bool isPartOfShuffle(nn::TransposeOp op);

/// Bytes that kernels may read past the end of an arena buffer.
inline constexpr int64_t kArenaSlack = 256;

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_MEMORYPLAN_H
