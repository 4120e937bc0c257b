//===- Chains.h - the short forms of backends -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_BACKEND_CHAINS_H
#define OCTET_LIB_BACKEND_CHAINS_H

#include "octet/Backend/Backend.h"

namespace octet {

/// One alternative of a chain's link: a part, and the classes that its operators must have; none if
/// null.
struct Choice {
  PartOp part;
  mlir::ArrayAttr classes;
};
using Link = llvm::SmallVector<Choice>;

/// The alternatives of a chain's links; those of one part are one. Fails, with an error emitted, if
/// the backend does not have one.
llvm::FailureOr<llvm::SmallVector<Link>> readLinks(mlir::Operation *chain, mlir::ArrayAttr links);

/// The octet.dtypes that the symbols of a chain name, lists resolved; fails with an error emitted.
llvm::FailureOr<mlir::ArrayAttr> readDTypes(ChainOp chain);

/// Whether a file has what an octet.backend must not have when passes read it.
bool isUnresolved(BackendOp backend);

/// Puts the entries of the included file into the backend.
llvm::LogicalResult resolveInclusion(BackendOp backend);

/// Replaces chains by patterns and folds; erases parts and lists of data types, which only these
/// use. Fails, with an error emitted, if that is not possible or the result does not verify.
llvm::LogicalResult resolveChains(BackendOp backend);

} // namespace octet

#endif // OCTET_LIB_BACKEND_CHAINS_H
