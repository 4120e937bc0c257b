//===- FoldAffine.h - affine operators into weights -------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_FOLDAFFINE_H
#define OCTET_LIB_QUANTIZE_FOLDAFFINE_H

#include "octet/Backend/Backend.h"

namespace octet {

/// Folds the affine operator that `match` (of `fold`) ends with into the weight and bias of the
/// operator in front of it. Fails without a change if the constants do not fit.
mlir::LogicalResult foldAffine(FoldOp fold, const Match &match);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_FOLDAFFINE_H
