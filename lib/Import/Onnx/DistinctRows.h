//===- DistinctRows.h - different rows of a value ---------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_DISTINCTROWS_H
#define OCTET_LIB_IMPORT_ONNX_DISTINCTROWS_H

#include "Node.h"

namespace octet::onnx_import {

/// All rows in the order in which Unique gives the different ones: of equal rows, `mask` holds for
/// the first. Where each was, how many are equal to it; and of the rows as they were, which of the
/// different ones each is.
struct DistinctRows {
  mlir::Value mask, rows, places, counts, which;
};

/// What the node's Unique makes of integers that are computed in the run; failure without an
/// obstacle where it is not composed.
llvm::FailureOr<DistinctRows> findDistinctRows(Node &node);

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_DISTINCTROWS_H
