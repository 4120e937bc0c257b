//===- Absorb.cpp - clamps and residuals behind a product -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;

/// Whether `op` adds a dequantized tensor of the same shape to `value`.
static bool addsResidual(Operation *op, Value value) {
  auto add = dyn_cast<nn::AddOp>(op);
  if (!add)
    return false;
  Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
  return getQuantizedSource(other) && other.getType() == value.getType();
}

/// Whether a reader of `value` computes each element from that of `value` and constants that are
/// the same for all pixels.
static bool isScalarOpOnConstants(Operation *op, Value value, int64_t channelAxis) {
  return isScalarOp(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return operand == value || isChannelConstant(operand, value, channelAxis);
         });
}

/// The element-wise operators on constants and the sums with residuals between `value` and a
/// quantize, each read once; empty if something else is there.
static SmallVector<Operation *> getReaders(Value value, int64_t channelAxis) {
  SmallVector<Operation *> readers;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (isa<QuantizeOp>(user))
      return readers;
    if (!isScalarOpOnConstants(user, value, channelAxis) && !addsResidual(user, value))
      return {};
    readers.push_back(user);
    value = user->getResult(0);
  }
  return {};
}

/// The element-wise operators on constants and on floats of the same shape that read `value`, one
/// behind the other, each the only reader.
static SmallVector<Operation *> getReadersOfFloats(Value value, int64_t channelAxis) {
  SmallVector<Operation *> readers;
  auto isBeside = [&](Value operand) {
    return operand.getType() == value.getType() || isChannelConstant(operand, value, channelAxis);
  };
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (!isScalarOp(user) || user->getResult(0).getType() != value.getType() ||
        !llvm::all_of(user->getOperands(), isBeside))
      return readers;
    readers.push_back(user);
    value = user->getResult(0);
  }
  return readers;
}

/// Copies `op`, or the ops of a group, to the builder's place; returns the copy of its result.
static Value copyInto(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  if (auto group = dyn_cast<GroupOp>(op))
    return group.cloneBody(builder, mapping);
  return builder.clone(*op, mapping)->getResult(0);
}

bool lower::isChannelConstant(Value constant, Value value, int64_t channelAxis) {
  auto type = cast<RankedTensorType>(constant.getType()),
       result = cast<RankedTensorType>(value.getType());
  int64_t missing = result.getRank() - type.getRank();
  if (!constant.getDefiningOp<nn::ConstantOp>() || !type.getElementType().isF32() || missing < 0)
    return false;
  return llvm::all_of(llvm::enumerate(type.getShape()), [&](auto dim) {
    int64_t axis = missing + dim.index();
    return dim.value() == 1 || (axis == channelAxis && dim.value() == result.getDimSize(axis));
  });
}

/// One group of the product and its readers, behind the last one.
static void absorb(Operation *product, ArrayRef<Operation *> readers) {
  llvm::SmallSetVector<Value, 4> inputs(product->operand_begin(), product->operand_end());
  Value value = product->getResult(0);
  for (Operation *reader : readers) {
    for (Value operand : reader->getOperands())
      if (operand != value)
        inputs.insert(operand);
    value = reader->getResult(0);
  }
  OriginPropagation origins(readers.back());
  OpBuilder builder(readers.back(), &origins);
  builder.setInsertionPointAfter(readers.back()); // The walk over the block stands before it.
  auto group = GroupOp::create(builder, readers.back()->getLoc(), value.getType(),
                               /*pattern=*/nullptr, inputs.getArrayRef());
  Block *body = builder.createBlock(&group.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  Value computed = copyInto(builder, product, mapping);
  mapping.map(product->getResult(0), computed);
  if (DecisionAttr decision = getDecision(product))
    computed.getDefiningOp()->setAttr(kDecisionAttr, decision);
  for (Operation *reader : readers)
    builder.clone(*reader, mapping);
  YieldOp::create(builder, group.getLoc(), mapping.lookup(value));
  value.replaceAllUsesWith(group.getResult());
}

bool lower::absorbReaders(Operation *product, int64_t channelAxis, bool givesFloats) {
  auto find = givesFloats ? getReadersOfFloats : getReaders;
  SmallVector<Operation *> readers = find(product->getResult(0), channelAxis);
  if (!readers.empty())
    absorb(product, readers);
  return !readers.empty();
}
