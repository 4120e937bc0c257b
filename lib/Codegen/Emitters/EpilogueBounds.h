//===- EpilogueBounds.h - what is proven of an epilogue's values -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_EPILOGUEBOUNDS_H
#define OCTET_LIB_CODEGEN_EMITTERS_EPILOGUEBOUNDS_H

#include "Fused.h"
#include "octet/Numerics/Requantize.h"

namespace octet::codegen {

/// The parameters of a tensor's quantized type.
QuantParams paramsOf(mlir::Value value);

/// The parameters of a quantized product.
numerics::ProductTypes getProductTypes(mlir::Value input, mlir::Value filter);

/// S[c] = f32(s_x * s_w[c]) of a quantized convolution or linear layer, one per output channel.
llvm::SmallVector<float> getAccumulatorScales(mlir::Value input, mlir::Value filter);

/// The largest |fma(f32(acc), factor[c], addend[c])|, or infinity; no addends are zeros.
float getProductBound(const FusedOp &fused, llvm::ArrayRef<float> factors,
                      llvm::ArrayRef<float> addends);

/// What an operand of the body may hold.
Interval getOperandRange(mlir::Value outer);

/// What the body yields for such products and all that its other operands may hold.
Interval getEpilogueRange(const FusedOp &fused, Interval product);

/// What operators without a product yield, for all that they may read.
Interval getElementwiseRange(const FusedOp &fused);

/// The clamps of a product's numbers (integers without the zero point) that is quantized before the
/// body. One is not needed if the product never gets there, or if the stored result is the same
/// from the bound on, as behind a relu that comes to zero anyhow.
struct RoundingClamps {
  bool below = true, above = true;
  Interval range; ///< of the real numbers that the body reads

  /// `bound`: the largest number without a clamp, or infinity.
  RoundingClamps(const FusedOp &fused, float bound);
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_EPILOGUEBOUNDS_H
