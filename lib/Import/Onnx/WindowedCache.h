//===- WindowedCache.h - keys of a window only ------------------*- C++ -*- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_WINDOWEDCACHE_H
#define OCTET_LIB_IMPORT_ONNX_WINDOWEDCACHE_H

#include "Compose.h"

namespace octet::onnx_import {

/// A cache of onnxruntime's `sliding_window_cache`: `capacity` rows, of which the first ones hold
/// the last positions, in order. Where there is no room for another, `capacity - window + 1` of
/// them make way. Steps of several positions leave the cache as steps of one do.
class WindowedCache {
public:
  WindowedCache(Node &node, int64_t batch, int64_t capacity, int64_t queries, int64_t window)
      : node(node), batch(batch), capacity(capacity), queries(queries), window(window) {}

  /// How many positions there were and are now, [batch] each.
  llvm::LogicalResult setCounts(MaybeValue before, MaybeValue now);
  /// Truth values, [batch, 1, queries, capacity + queries]: which rows of the cache and, behind it,
  /// of now a query sees.
  MaybeValue makeMask();
  /// The cache behind this step, of [batch, heads, capacity + queries, size].
  MaybeValue evict(mlir::Value rows);

private:
  /// How many rows hold one of the last of so many positions.
  MaybeValue countRows(mlir::Value positions);
  MaybeValue number(llvm::StringRef role, int64_t value);
  MaybeValue numbers(llvm::StringRef role, ShapeRef shape,
                     llvm::function_ref<int64_t(int64_t)> get);

  Node &node;
  int64_t batch, capacity, queries, window;
  mlir::Value before, now, rowsBefore; ///< [batch, 1]
};

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_WINDOWEDCACHE_H
