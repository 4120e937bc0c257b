//===- Fused.cpp - plain and fused operators under one view ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fused.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

FusedOp::FusedOp(Operation *op) : op(op) {
  auto add = [&](Operation *part) {
    auto candidate = dyn_cast<nn::ProductOpInterface>(part);
    if (!product && candidate && candidate.getWeightOperand())
      product = part;
    else if (isa<DequantizeDynamicOp>(part))
      dynamic = part;
    else if (isa<QuantizeOp>(part) && product && part->getOperand(0) == product->getResult(0) &&
             product->hasOneUse())
      rounding = part;
    else
      body.push_back(part);
  };
  auto group = dyn_cast<GroupOp>(op);
  yielded = group ? group.getYielded() : op->getResult(0);
  if (!group) {
    add(op);
    return;
  }
  for (Operation &inner : group.getBody().front().without_terminator())
    add(&inner);
}

Value FusedOp::getOuter(Value inner) const {
  auto group = dyn_cast<GroupOp>(op);
  return group ? group.getOuter(inner) : inner;
}

bool codegen::hasFloatBias(const FusedOp &fused) {
  return fused.product->getNumOperands() > 2 && isQuantized(fused.getInput().getType()) &&
         !isQuantized(fused.getOuter(fused.product->getOperand(2)).getType());
}

FailureOr<SmallVector<float, 0>> codegen::getAddends(const FusedOp &fused) {
  return hasFloatBias(fused) ? getBiasValues<float>(fused) : SmallVector<float, 0>();
}

SmallVector<Value> FusedOp::getBodyInputs() const {
  llvm::SetVector<Value> inputs;
  for (Operation *inner : body)
    for (Value operand : inner->getOperands())
      if (inner == op || isa<BlockArgument>(operand))
        inputs.insert(operand);
  return inputs.takeVector();
}
