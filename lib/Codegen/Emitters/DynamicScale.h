//===- DynamicScale.h - quantizing by a scale that is a value ---*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_DYNAMICSCALE_H
#define OCTET_LIB_CODEGEN_EMITTERS_DYNAMICSCALE_H

#include "Emitters.h"

namespace octet::codegen {

/// [N.quantize] of `b.lanes` real values.
using QuantizeFn = llvm::function_ref<mlir::Value(mlir::Value real)>;

/// Emits loops over what is quantized by a scale (f32) and a zero point (i32, of which that of
/// `params` is counted): twice where vectors are multiplied by reciprocals, as not all scales have
/// them.
void emitByScale(KernelBuilder &b, const QuantParams &params, mlir::Value scale,
                 mlir::Value zeroPoint, bool inVectors,
                 llvm::function_ref<void(QuantizeFn)> emitLoops);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_DYNAMICSCALE_H
