//===- Groups.cpp - operators that become one step ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Groups.h"
#include "Buffers.h"
#include "mlir/IR/IRMapping.h"
#include "octet/Dialect/Octet/Origin.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Whether a value of this type is the same in a register as in memory, where half precision, for
/// one, is rounded.
static bool isExactInRegisters(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF32() || element.isInteger(1) || element.isInteger(64);
}

bool codegen::isElementwisePart(Operation *op) {
  return (op->hasTrait<nn::Elementwise>() || isa<DequantizeOp>(op)) && op->getNumResults() == 1 &&
         isExactInRegisters(op->getResult(0).getType());
}

bool codegen::isRealProduct(Operation *op) {
  return isa<nn::LinearOp>(op) && isQuantized(op->getOperand(0).getType()) &&
         !isQuantized(op->getResult(0).getType());
}

bool codegen::isConvToFloat(Operation *op) {
  auto isF32 = [](Type type) { return getElementTypeOrSelf(type).isF32(); };
  return isa<nn::ConvOp>(op) && isF32(op->getResult(0).getType()) &&
         (isQuantized(op->getOperand(0).getType()) || llvm::all_of(op->getOperandTypes(), isF32)) &&
         llvm::all_of(op->getOperands().drop_front(),
                      [](Value value) { return value.getDefiningOp<nn::ConstantOp>(); });
}

llvm::SetVector<Value> codegen::getInputs(ArrayRef<Operation *> parts) {
  llvm::SetVector<Value> inputs;
  for (Operation *part : parts)
    for (Value operand : part->getOperands())
      if (!llvm::is_contained(parts, operand.getDefiningOp()))
        inputs.insert(operand);
  return inputs;
}

GroupOp codegen::moveIntoGroup(ArrayRef<Operation *> parts, ValueRange scratch) {
  SmallVector<Operation *> inOrder(parts);
  llvm::sort(inOrder, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Operation *root = inOrder.back();
  OriginPropagation origins(root);
  OpBuilder builder(root, &origins);
  llvm::SetVector<Value> inputs = getInputs(parts);
  inputs.insert(scratch.begin(), scratch.end());
  auto group = GroupOp::create(builder, root->getLoc(), root->getResult(0).getType(),
                               /*pattern=*/nullptr, inputs.getArrayRef());
  Block *body = builder.createBlock(&group.getBody());
  IRMapping inside;
  for (Value input : inputs)
    inside.map(input, body->addArgument(input.getType(), input.getLoc()));
  bool isQuantize = isa<QuantizeOp>(root);
  for (Operation *part : inOrder)
    if (part != root || !isQuantize)
      builder.clone(*part, inside);
  Value yielded = isQuantize ? root->getOperand(0) : root->getResult(0);
  YieldOp::create(builder, root->getLoc(), inside.lookup(yielded));
  root->getResult(0).replaceAllUsesWith(group.getResult());
  for (Operation *part : llvm::reverse(inOrder))
    part->erase();
  return group;
}
