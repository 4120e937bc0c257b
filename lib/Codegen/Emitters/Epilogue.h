//===- Epilogue.h - what happens to an accumulator --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_EPILOGUE_H
#define OCTET_LIB_CODEGEN_EMITTERS_EPILOGUE_H

#include "Emitters.h"
#include "ShiftedSums.h"
#include "octet/Numerics/Requantize.h"

namespace octet::codegen {

/// From the accumulator of a convolution or linear layer to the stored value, in the form that the
/// law prescribes for the fused body: [N.requantize], [N.residual], [N.epilogue], or float
/// throughout.
class Epilogue {
public:
  /// Chooses the form and adds the arguments it needs. Parameters per channel are in lanes of
  /// blocks of `block` channels (getLaneChannel), or in natural order (0).
  Epilogue(const FusedOp &fused, Signature &signature, int64_t block = 0,
           const ShiftedSums &shifted = {});

  /// Lanes may be in another order than channels: nothing but per-channel parameters is read.
  static bool takesAnyOrder(const FusedOp &fused);

  /// From now on four lanes each are at the positions `position`, `position + stride` and so on.
  void readQuarters(int64_t stride) { quarterStride = stride; }
  /// From now on lanes hold so many channels, again and again (0: all are others).
  void readRepeated(int64_t channels) { period = channels; }

  bool isQuantizedResult() const { return resultIsQuantized; }
  bool isLong() const { return hasLongChain(fused) || rounding >= 0; }

  /// `acc`: i32 (quantized product) or f32 lanes of the channels at `position`. Result: i32 values
  /// for pack(), or f32.
  mlir::Value emit(KernelBuilder &b, mlir::ValueRange args, mlir::Value acc, mlir::Value position,
                   mlir::ValueRange indices, int64_t laneAxis) const;
  /// Stored bytes of one or four vectors of a quantized result (kernel.pack).
  mlir::Value pack(KernelBuilder &b, mlir::ValueRange args, mlir::ValueRange values,
                   bool inLanes = false) const;
  /// The value of emit() in natural order, stored at its place in the result.
  void emitAndStore(KernelBuilder &b, mlir::ValueRange args, mlir::Value acc,
                    mlir::ValueRange indices, int64_t laneAxis) const;
  TensorView getResult(mlir::ValueRange args) const { return signature.getTensor(result, args); }

private:
  enum class Form { requantize, residual, general, floats };
  Form chooseForm() const;
  void addMultipliers();
  void addResultParameters();
  /// The quantized operand of the only addition, if the body is just that.
  mlir::Value getResidual() const;
  mlir::Value loadPerChannel(KernelBuilder &b, mlir::ValueRange args, int number,
                             mlir::Value position, int64_t laneAxis, bool again = false) const;
  mlir::Value scaleSum(KernelBuilder &b, mlir::ValueRange args, mlir::Value acc, mlir::Value factor,
                       mlir::Value addend, mlir::Value position, int64_t laneAxis) const;
  /// Where [low, high] of the result are.
  mlir::Value getBounds(mlir::ValueRange args) const;
  std::pair<mlir::Value, mlir::Value> loadBounds(KernelBuilder &b, mlir::ValueRange args) const;
  void applyDynamic(KernelBuilder &b, mlir::ValueRange args, mlir::Value position,
                    mlir::ValueRange indices, int64_t laneAxis, mlir::Value &acc,
                    mlir::Value &factor) const;
  Interval addRounding(llvm::MutableArrayRef<float> factors, llvm::MutableArrayRef<float> addends);
  float addFactorsOfBody(llvm::MutableArrayRef<float> factors,
                         llvm::MutableArrayRef<float> addends);
  float addResidual(const QuantParams &out, size_t numOutputs);
  mlir::Value emitRounding(KernelBuilder &b, mlir::ValueRange args, mlir::Value scaled) const;
  /// An accumulator as f32.
  mlir::Value sumToFloat(KernelBuilder &b, mlir::ValueRange args, mlir::Value sum,
                         mlir::Value position, int64_t laneAxis) const;
  mlir::Value finish(KernelBuilder &b, mlir::ValueRange args, mlir::Value scaled,
                     mlir::Value position, int64_t laneAxis) const;

  const FusedOp &fused;
  Signature &signature;
  int64_t block; ///< channels whose lanes are in one order; 0: natural order
  ShiftedSums shifted;
  Form form;
  bool resultIsQuantized;
  QuantizeOperands loadQuantizeOperands(KernelBuilder &b, mlir::ValueRange args,
                                        mlir::Value position, int64_t laneAxis) const;

  bool packClamps = false; ///< what is rounded is inside int32: bounds are the pack's concern
  bool isSmall = false;    ///< what is rounded is proven to be inside int32
  bool isWord = false;     ///< inside int16, so or once clamped; zero points may be added there
  bool isBounded = false;  ///< so is, in the general form, that values of the body are numbers
  bool multipliesByReciprocals = false; ///< instead of dividing by scales
  bool roundsNumbers = false;           ///< of what is quantized before the body, products are
  bool clampsBelow = true, clampsAbove = true; ///< and need these clamps
  ByteBounds byteBounds;                       ///< behind a pack
  int64_t channelAxis;                         ///< of the result
  int64_t quarterStride = 0;                   ///< 0: lanes are side by side
  int64_t period = 0;                          ///< 0: lanes are different channels
  int result, multiplier = -1;                 ///< multiplier: M[c] or S[c]
  int addends = -1;                            ///< B[c] or b[c] of a bias in floats
  int middles = -1;                            ///< what is taken off the floats that sums are
  int leastProducts = -1;                      ///< what sums begin with, times M[c]: -2^23 * M[c]
  int scales = -1, reciprocals = -1,
      zeroPoints = -1; ///< of a result quantized per channel; behind reciprocals, their rests
  int bounds = -1;     ///< its [low, high]
  int residual = -1, residualMultiplier = -1;
  int rounding = -1; ///< of what is quantized before the body: [low, high, scale] around zero
  int filterSums = -1, dynamicScale = -1,
      dynamicZeroPoint = -1; ///< of an input that is quantized in each run
  llvm::SmallVector<std::pair<mlir::Value, int>> inputs; ///< body inputs as tensors
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_EPILOGUE_H
