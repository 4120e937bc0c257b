//===- Leave.h - a program without Octet ----------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_LEAVE_H
#define OCTET_LIB_QUANTIZE_LEAVE_H

#include "mlir/IR/BuiltinOps.h"

namespace octet {

/// Inlines groups and removes the policy, observers that nothing names, and Octet's attributes.
/// Fails, with an error emitted, if there is a group of quantized types, whose types imply
/// arithmetic.
mlir::LogicalResult removeOctet(mlir::ModuleOp module);

/// Fails, with an error emitted, if an operator of Octet is left, for which upstream has none.
mlir::LogicalResult checkNothingLeft(mlir::ModuleOp module);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_LEAVE_H
