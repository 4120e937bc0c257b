//===- ConstantMemory.h - constants whose bytes are freed -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_CONSTANTMEMORY_H
#define OCTET_SUPPORT_CONSTANTMEMORY_H

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"

/// The bytes of large constants are resources of the context, which keeps them until it ends. What
/// copies of a network, and the stages that a network has passed, leave behind is freed here.
namespace octet {

/// Constants whose bytes are resources.
using StoredConstants = llvm::DenseSet<mlir::DenseResourceElementsAttr>;

/// Those that an operator, or one inside of it, has in an attribute.
StoredConstants getStoredConstants(mlir::Operation *op);

/// Frees the bytes of constants, which no one may read any more, but for those that `reader` has.
void freeConstants(const StoredConstants &constants, mlir::Operation *reader = nullptr);

/// Constants of an operator, but those of the operator that it is a copy of: freed on request, at
/// the latest in the end.
class TemporaryConstants {
public:
  /// Without an original, all constants are temporary.
  explicit TemporaryConstants(mlir::Operation *original = nullptr);
  TemporaryConstants(const TemporaryConstants &) = delete;
  TemporaryConstants &operator=(const TemporaryConstants &) = delete;
  ~TemporaryConstants() { free(); }

  /// Adds the constants that the copy has now.
  void note(mlir::Operation *copy);
  /// Frees what was noted.
  void free();

private:
  StoredConstants kept, noted;
};

} // namespace octet

#endif // OCTET_SUPPORT_CONSTANTMEMORY_H
