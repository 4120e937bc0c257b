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

/// The operand of a sum with `value` that is a dequantized tensor, or null.
static Value getResidual(Operation *op, Value value) {
  auto add = dyn_cast<nn::AddOp>(op);
  if (!add)
    return {};
  Value other = add.getLhs() == value ? add.getRhs() : add.getLhs();
  return getQuantizedSource(other) ? other : Value();
}

/// The clamps and sums with dequantized tensors between `value` and a quantize, each read once;
/// empty if something else is there.
static SmallVector<Operation *> getReaders(Value value) {
  SmallVector<Operation *> readers;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (isa<QuantizeOp>(user))
      return readers;
    if (!isa<nn::ReluOp, nn::ClipOp>(user) && !getResidual(user, value))
      return {};
    readers.push_back(user);
    value = user->getResult(0);
  }
  return {};
}

/// Copies `op`, or the ops of a group, to the builder's place; returns the copy of its result.
static Value copyInto(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  if (auto group = dyn_cast<GroupOp>(op))
    return group.cloneBody(builder, mapping);
  return builder.clone(*op, mapping)->getResult(0);
}

bool lower::absorbReaders(Operation *product) {
  SmallVector<Operation *> readers = getReaders(product->getResult(0));
  if (readers.empty())
    return false;
  llvm::SmallSetVector<Value, 4> inputs(product->operand_begin(), product->operand_end());
  Value value = product->getResult(0);
  for (Operation *reader : readers) {
    if (Value residual = getResidual(reader, value))
      inputs.insert(residual);
    value = reader->getResult(0);
  }
  OriginPropagation origins(readers.back());
  OpBuilder builder(readers.back(), &origins);
  auto group = GroupOp::create(builder, readers.back()->getLoc(), value.getType(),
                               /*pattern=*/nullptr, inputs.getArrayRef());
  Block *body = builder.createBlock(&group.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  mapping.map(product->getResult(0), copyInto(builder, product, mapping));
  for (Operation *reader : readers)
    builder.clone(*reader, mapping);
  YieldOp::create(builder, group.getLoc(), mapping.lookup(value));
  value.replaceAllUsesWith(group.getResult());
  return true;
}
