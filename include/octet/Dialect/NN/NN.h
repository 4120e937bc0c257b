//===- NN.h - the nn dialect ------------------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_NN_H
#define OCTET_DIALECT_NN_NN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace octet::nn {

/// Result depends element by element on the operands; see NNBase.td.
template <typename ConcreteType>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteType, Elementwise> {};
/// Result's elements are copies of the operand's; see NNBase.td.
template <typename ConcreteType>
class DataMovement : public mlir::OpTrait::TraitBase<ConcreteType, DataMovement> {};

/// Whether this is a tensor of real numbers (f32 or quantized), not of integers.
bool holdsReals(mlir::Type type);
/// Whether all operands and the result of an op are tensors of real numbers.
bool isOfReals(mlir::Operation *op);
/// The bounds of relu, or of clip if the first is less than the second; nothing for other
/// operators.
std::optional<std::pair<float, float>> getClamp(mlir::Operation *op);

/// Traits about the elements of an op's operands and result, with their verifiers; see NNBase.td.
llvm::LogicalResult verifyReals(mlir::Operation *op);
llvm::LogicalResult verifyOneKind(mlir::Operation *op);
llvm::LogicalResult verifyIntegers(mlir::Operation *op);
template <typename ConcreteType> struct OfReals : mlir::OpTrait::TraitBase<ConcreteType, OfReals> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyReals(op); }
};
template <typename ConcreteType>
struct OfOneKind : mlir::OpTrait::TraitBase<ConcreteType, OfOneKind> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyOneKind(op); }
};
template <typename ConcreteType>
struct OfIntegers : mlir::OpTrait::TraitBase<ConcreteType, OfIntegers> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyIntegers(op); }
};

/// Compares the inferred with the actual result shape (InferShapeOpInterface).
llvm::LogicalResult verifyInferredShape(mlir::Operation *op);
/// NumPy broadcasting; on failure emits an error on `op`.
llvm::FailureOr<llvm::SmallVector<int64_t>>
broadcastShapes(mlir::Operation *op, llvm::ArrayRef<int64_t> lhs, llvm::ArrayRef<int64_t> rhs);
/// `input` without `axes`, or with 1 in their places; on failure emits an error on `op`.
llvm::FailureOr<llvm::SmallVector<int64_t>> inferReducedShape(mlir::Operation *op,
                                                              llvm::ArrayRef<int64_t> input,
                                                              llvm::ArrayRef<int64_t> axes,
                                                              bool keepDims);

} // namespace octet::nn

#include "octet/Dialect/NN/NNInterfaces.h.inc"

#include "octet/Dialect/NN/NNDialect.h.inc"
#include "octet/Dialect/NN/NNEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "octet/Dialect/NN/NNAttrs.h.inc"

#define GET_OP_CLASSES
#include "octet/Dialect/NN/NNOps.h.inc"

namespace octet::nn {

/// The multiply-adds of the products in `op` and its regions.
int64_t countMultiplyAdds(mlir::Operation *op);

/// Name of the argument and result attribute that carries a tensor's source name.
inline constexpr llvm::StringLiteral kNameAttr = "nn.name";

/// Creates `OpTy` with its inferred result shape and the given element type (null: that of its
/// first operand). `args` are the arguments of the op's builder behind the result type. Returns a
/// null op after an error.
template <typename OpTy, typename... Args>
OpTy createInferred(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType,
                    Args &&...args) {
  mlir::Type some = elementType ? elementType : mlir::Type(builder.getF32Type());
  auto op = OpTy::create(builder, loc, mlir::RankedTensorType::get({}, some),
                         std::forward<Args>(args)...);
  if (!elementType)
    elementType = mlir::getElementTypeOrSelf(op->getOperand(0));
  auto shape = op.inferResultShape();
  if (llvm::failed(shape)) {
    op.erase();
    return nullptr;
  }
  op.getResult().setType(mlir::RankedTensorType::get(*shape, elementType));
  return op;
}

} // namespace octet::nn

#endif // OCTET_DIALECT_NN_NN_H
