//===- CheckQConfig.h - observers against data types ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_CHECKQCONFIG_H
#define OCTET_LIB_QUANTIZE_CHECKQCONFIG_H

#include "Plan.h"

namespace octet {

std::string printType(mlir::Type type);

/// Whether the data types say what becomes of a bias of f32: f32, or integers (si32, or nothing).
bool takesBias(DTypesOp dtypes);

/// One observer against one data type of the backend; `role` is what the message calls it.
std::optional<Reason> checkObserver(DTypeAttr dtype, ObserverAttrInterface observer,
                                    llvm::StringRef role);

/// The weight's observer against the kind of the data types: their weight's type, and real zero
/// points only where units compute with floats.
std::optional<Reason> checkWeightType(DTypesOp dtypes, ObserverAttrInterface observer);

/// A weight, which is observed or was trained with a type, and the pattern's axis of channels.
std::optional<Reason> checkWeight(DTypesOp dtypes, ObserverAttrInterface observer, int64_t axis,
                                  mlir::OpOperand &operand);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_CHECKQCONFIG_H
