//===- ObservedWeights.h - the type that weights will have ------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_PIPELINES_OBSERVEDWEIGHTS_H
#define OCTET_LIB_PIPELINES_OBSERVEDWEIGHTS_H

#include "octet/Dialect/Octet/Octet.h"

namespace octet {

/// The type that the observer of a constant gives it if these are its values; null if it gives
/// none.
mlir::quant::QuantizedType getTypeOfConstant(ObserveOp op, llvm::ArrayRef<float> values);

} // namespace octet

#endif // OCTET_LIB_PIPELINES_OBSERVEDWEIGHTS_H
