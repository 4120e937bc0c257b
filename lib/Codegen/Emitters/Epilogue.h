//===- Epilogue.h - what happens to an accumulator --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_EPILOGUE_H
#define OCTET_LIB_CODEGEN_EMITTERS_EPILOGUE_H

#include "Emitters.h"

namespace octet::codegen {

/// From the accumulator of a convolution or linear layer to the stored value, in the form that the law prescribes for
/// the fused body: [N.requantize], [N.residual], [N.epilogue], or float throughout.
class Epilogue {
public:
  /// Chooses the form and adds the arguments it needs.
  Epilogue(const FusedOp &fused, Signature &signature);

  bool isQuantizedResult() const { return form != Form::floats && resultIsQuantized; }
  /// `acc`: i32 (quantized root) or f32 lanes. Result: i32 storage values inside the bounds, or f32.
  mlir::Value emit(KernelBuilder &b, mlir::ValueRange args, mlir::Value acc, mlir::ValueRange indices,
                   int64_t laneAxis) const;
  /// The same, stored at its place in the result.
  void emitAndStore(KernelBuilder &b, mlir::ValueRange args, mlir::Value acc, mlir::ValueRange indices,
                    int64_t laneAxis) const;

private:
  enum class Form { requantize, residual, general, floats };
  Form chooseForm() const;
  /// The quantized operand of the only addition, if the body is just that.
  mlir::Value getResidual() const;
  mlir::Value emitClamped(KernelBuilder &b, mlir::ValueRange args, mlir::Value scaled, mlir::ValueRange indices,
                          int64_t laneAxis) const;

  const FusedOp &fused;
  const Signature &signature;
  Form form;
  bool resultIsQuantized;
  int64_t channelAxis;             ///< of the result
  int result, multiplier = -1;     ///< multiplier: M[c] or S[c]
  int residual = -1, residualMultiplier = -1;
  llvm::SmallVector<std::pair<mlir::Value, int>> inputs; ///< body inputs as tensors
};

/// S[c] = f32(s_x * s_w[c]) of a quantized convolution or linear layer, one per output channel.
llvm::SmallVector<float> getAccumulatorScales(mlir::Operation *root);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_EPILOGUE_H
