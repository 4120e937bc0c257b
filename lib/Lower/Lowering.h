//===- Lowering.h - what the parts of octet-lower share ---------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_LOWER_LOWERING_H
#define OCTET_LIB_LOWER_LOWERING_H

#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Lower/Passes.h"
#include "octet/Numerics/Quantize.h"
#include <optional>

namespace octet::lower {

/// The outcome of an attempt to give an op its integer form: `Lowered`, `NotConcerned` (nothing
/// quantized touches it), `Separate` (it computes real numbers between a dequantize and a quantize
/// of their own, which costs less), or why it stays float (Reasons.def).
enum class Outcome {
  Lowered,
  NotConcerned,
  Separate,
#define OCTET_LOWER_REASON(name, code, refused, why, remedy) name,
#include "octet/Lower/Reasons.def"
};

/// One run of the pass. Nothing is erased while ops are visited: an op that was replaced is left
/// without uses.
struct Lowering {
  Lowering(mlir::MLIRContext *context, bool isStrict)
      : builder(context, &origins), isStrict(isStrict) {}

  OriginPropagation origins;
  mlir::OpBuilder builder;
  bool isStrict;
  int64_t numLowered = 0, numTables = 0, numFallback = 0;

  /// Dispatches on the op.
  Outcome lower(mlir::Operation *op);

  /// Products with weights, alone or in a group.
  Outcome lowerProduct(nn::ProductOpInterface product);
  Outcome lowerGroup(GroupOp group);
  /// Products of two activations.
  Outcome lowerMatmul(nn::MatmulOp product);
  /// A linear layer, alone or in the group `unit`, whose input is quantized in each run
  /// [N.dynamic_product].
  Outcome lowerDynamic(mlir::Operation *unit, nn::ProductOpInterface product);
  /// A product, alone or in the group `unit`, whose input has 16 bits [N.wide].
  Outcome lowerWide(mlir::Operation *unit, nn::ProductOpInterface product,
                    llvm::ArrayRef<mlir::Value> operands);
  /// Data movement, max pools and nearest resampling: values are copied, a change of scale is a
  /// table [N.concat].
  Outcome lowerMovement(mlir::Operation *op);
  /// The same for a group of data movement alone, as a stack or a pixel shuffle is.
  Outcome lowerMovementGroup(GroupOp group);
  /// Average pools and means over H and W [N.avg_pool].
  Outcome lowerMean(mlir::Operation *op);
  /// Sums and softmax, which read quantized values and give real ones.
  Outcome lowerToReal(mlir::Operation *op);
  /// Linear resampling: the law of real numbers between those of quantized ones.
  Outcome lowerResampling(mlir::Operation *op);
  /// The element-wise operators in front of a quantize: a table [N.table], or a group on quantized
  /// types [N.elementwise].
  Outcome lowerQuantize(QuantizeOp quantize);

  /// Says that `op` stays float and why; fails where that is an error.
  mlir::LogicalResult reportFallback(mlir::Operation *op, Outcome reason);

private:
  /// Values of `source` at the parameters of `type`: itself, or a table [N.table].
  mlir::Value convertTo(mlir::Value source, mlir::quant::QuantizedType type, mlir::Location loc);
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> conversions;

  /// The high and the low bytes of integers of 16 bits.
  std::pair<mlir::Value, mlir::Value> splitBytes(mlir::Value integers);
  llvm::DenseMap<mlir::Value, std::pair<mlir::Value, mlir::Value>> bytesOf;

  mlir::Value makeTable(GroupOp group, QuantizeOp quantize);
  /// Lowers a product on these quantized operands without an epilogue.
  void lowerAlone(nn::ProductOpInterface product, llvm::ArrayRef<mlir::Value> operands);
};

/// Whether `op` is a product with weights: one of two activations has no integer form.
bool isProduct(mlir::Operation *op);
/// The quantized tensor behind a real-valued operand, or null.
mlir::Value getQuantizedSource(mlir::Value real);
/// Whether these are integers of 16 bits with one scale; false for null.
bool isWide(mlir::Value integers);
/// Whether `product` on these quantized operands (null where one is real) has the integer form
/// [N.accumulate], with the proof of [N.overflow].
Outcome checkProduct(nn::ProductOpInterface product, llvm::ArrayRef<mlir::Value> operands);
/// What quantizes the input of a product, alone or in the group `unit`, in each run; or null.
DequantizeDynamicOp getDynamicInput(mlir::Operation *unit, mlir::Operation *product);
/// The quantize that is the only user of a real value, or null.
QuantizeOp getOnlyQuantize(mlir::Value real);
mlir::quant::QuantizedType getQuantizedType(mlir::Value value);
mlir::RankedTensorType withElementType(mlir::Value value, mlir::Type elementType);
/// Whether the kernels of `op` take or give such an activation (Kernels.def): `Lowered`, or why
/// not.
Outcome checkActivation(const kernel::FormRow &form, mlir::quant::QuantizedType type,
                        mlir::Operation *op);
/// A copy of `op` with other operands and another result type.
mlir::Value cloneOnto(mlir::OpBuilder &builder, mlir::Operation *op, mlir::ValueRange operands,
                      mlir::Type resultType);

/// Signed activations become unsigned ones of the same real values [N.signed]; filters stay signed,
/// and so do arguments and results.
void normalizeStorage(mlir::func::FuncOp function);

/// Every batch norm becomes a multiply-add [N.batch_norm]; how many. Fails, with an error, where a
/// parameter is no constant.
mlir::FailureOr<int64_t> expandBatchNorms(mlir::func::FuncOp function);

/// Whether `constant` holds f32 values that elements of `value` are computed with: one for all, or
/// one per channel.
bool isChannelConstant(mlir::Value constant, mlir::Value value, int64_t channelAxis);

/// Element-wise operators on constants and residuals between a product (or a group around one) and
/// its quantize belong to its epilogue, whether the backend has a pattern for them or not [N.form].
/// Makes one group of all, behind the last one; false if there are none. `givesFloats`: of a
/// product whose result is float, up to what is no such operator; further operands are floats of
/// its shape.
bool absorbReaders(mlir::Operation *product, int64_t channelAxis, bool givesFloats = false);

/// For element-wise ops, which are lowered from the quantize behind them: whether there is one.
Outcome awaitQuantize(mlir::Operation *op);

/// Quantizes or dequantizes a constant now, by [N.quantize] and [N.dequantize]; false if the
/// operand is none.
bool foldConstant(QuantizeOp quantize);
bool foldConstant(DequantizeOp dequantize);
/// [N.dequantize_weights], or f32 of floats of 16 bits [N.half].
bool foldConstant(DequantizeWeightsOp dequantize);

/// Operators that compute with floats and have their weights in fewer bits: those with a kernel
/// that reads the weights as they are stored become a group with their octet.dequantize_weights.
void groupStoredWeights(mlir::Block &block);

/// Takes clamps at the end of `body` into the storage bounds of `type`, which the yielded value is
/// quantized to [N.narrow]: quantizing is monotone, so clamping before or behind it is the same.
mlir::quant::QuantizedType foldClamps(mlir::Block &body, mlir::quant::QuantizedType type);
/// [N.coarse] Says at silu and gelu where 8 bits of the result are kept.
void markCoarseActivations(mlir::func::FuncOp function);

/// Gives channels whose stored value is the same whatever a convolution or linear layer reads no
/// weights, and that value as a bias. The number of layers that have such channels.
int64_t replaceConstantOutputs(mlir::Block &block);

/// Moves clamps of quantized values in front of the quantize, where its type is that behind the
/// clamp [N.join].
void joinClamps(mlir::Block &block);
/// Whether every reader of the quantized value takes whatever type it has.
bool mayNarrow(QuantizeOp quantize);

/// The float law of one element-wise op, or nothing if `op` has none.
std::optional<float> evaluateScalar(mlir::Operation *op, llvm::ArrayRef<float> operands);
/// Whether the law knows `op` as a function of single elements.
bool isScalarOp(mlir::Operation *op);
/// The real value that `body` yields when its first argument holds the storage value `q` and the
/// others hold `constants`.
float evaluateBody(mlir::Block &body, int64_t q, llvm::ArrayRef<float> constants);

} // namespace octet::lower

#endif // OCTET_LIB_LOWER_LOWERING_H
