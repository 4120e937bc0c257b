//===- Fused.h - plain and fused operators under one view -------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_FUSED_H
#define OCTET_LIB_CODEGEN_EMITTERS_FUSED_H

#include "Signature.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Numerics/Arithmetic.h"
#include "llvm/ADT/DenseMap.h"

namespace octet::codegen {

using Interval = numerics::IntervalArithmetic::Real;

/// An operator with what is fused behind it: an `octet.group`, or a plain op (a product
/// without a body, or a body of one op).
struct FusedOp {
  mlir::Operation *op = nullptr;      ///< in the network
  mlir::Operation *product = nullptr; ///< product with weights, if any
  /// octet.dequantize_dynamic in front of the product, if its input is quantized in each run.
  mlir::Operation *dynamic = nullptr;
  /// octet.quantize of the product's result inside of the group, if the body reads that.
  mlir::Operation *rounding = nullptr;
  llvm::SmallVector<mlir::Operation *> body; ///< element-wise ops in order
  mlir::Value yielded;

  explicit FusedOp(mlir::Operation *op);
  /// The product, which there is, by its interface.
  nn::ProductOpInterface getProduct() const { return llvm::cast<nn::ProductOpInterface>(product); }
  /// The value in the network that a value of the body stands for: the operand of a block argument.
  mlir::Value getOuter(mlir::Value inner) const;
  mlir::Value getResult() const { return op->getResult(0); }
  /// The product as the body reads it.
  mlir::Value getProductValue() const { return (rounding ? rounding : product)->getResult(0); }
  /// What the product multiplies, as it lies in memory: integers, or real numbers.
  mlir::Value getInput() const { return getOuter((dynamic ? dynamic : product)->getOperand(0)); }
  /// Operands of the body that come from outside (not the product's), each once.
  llvm::SmallVector<mlir::Value> getBodyInputs() const;
};

/// [N.float_bias] Whether the product sums integers and its bias is a real number.
bool hasFloatBias(const FusedOp &fused);

/// The values of the product's bias; empty if it has none, or for int32_t a float one. Fails if it
/// is not a constant of T.
template <typename T> llvm::FailureOr<llvm::SmallVector<T, 0>> getBiasValues(const FusedOp &fused) {
  if (fused.product->getNumOperands() < 3 || (std::is_same_v<T, int32_t> && hasFloatBias(fused)))
    return llvm::SmallVector<T, 0>();
  return nn::getConstantValues<T>(fused.getOuter(fused.product->getOperand(2)));
}

/// [N.float_bias] The values of such a bias; empty if it has none. Fails if it is not a constant.
llvm::FailureOr<llvm::SmallVector<float, 0>> getAddends(const FusedOp &fused);

/// Values of the body's ops by the float laws; `known` starts with the outer inputs (real values)
/// and the product's result.
mlir::Value emitBody(KernelBuilder &b, const FusedOp &fused,
                     llvm::DenseMap<mlir::Value, mlir::Value> known);

/// What the body yields, from the ranges of the product's value and of the outer inputs; unbounded
/// where any of its values may be infinite or no number.
Interval getBodyRange(const FusedOp &fused, const llvm::DenseMap<mlir::Value, Interval> &ranges);

/// Whether an op of the body is a chain of many operations, in which each waits for the one before.
bool hasLongChain(const FusedOp &fused);

/// One element-wise op on real values, by its law.
mlir::Value emitElementwise(KernelBuilder &b, mlir::Operation *op, mlir::ValueRange operands);
/// The law of a combination, of real numbers or integers.
mlir::Value emitCombination(KernelBuilder &b, nn::Combination combination, mlir::Value x,
                            mlir::Value y);
/// [N.exp] of numbers that are 0 at most.
mlir::Value emitExpOfSmall(KernelBuilder &b, mlir::Value x);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_FUSED_H
