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
  auto group = dyn_cast<GroupOp>(op);
  if (!group) {
    (isa<nn::ConvOp, nn::LinearOp>(op) ? root = op : body.emplace_back(op));
    yielded = op->getResult(0);
    return;
  }
  for (Operation &inner : group.getBody().front().without_terminator()) {
    if (isa<nn::ConvOp, nn::LinearOp>(inner) && !root)
      root = &inner;
    else
      body.push_back(&inner);
  }
  yielded = group.getTerminator()->getOperand(0);
}

Value FusedOp::getOuter(Value inner) const {
  auto argument = dyn_cast<BlockArgument>(inner);
  if (auto group = dyn_cast<GroupOp>(op); group && argument)
    return group.getInputs()[argument.getArgNumber()];
  return inner;
}

SmallVector<Value> FusedOp::getBodyInputs() const {
  llvm::SetVector<Value> inputs;
  for (Operation *inner : body)
    for (Value operand : inner->getOperands())
      if (inner == op || isa<BlockArgument>(operand))
        inputs.insert(operand);
  return inputs.takeVector();
}

std::string FusedOp::describeBody() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::DenseMap<Value, int64_t> numbers;
  auto number = [&](Value value) { return numbers.try_emplace(value, numbers.size()).first->second; };
  for (Operation *inner : body) {
    os << inner->getName() << inner->getAttrDictionary() << '(';
    for (Value operand : inner->getOperands())
      os << number(operand) << ',';
    os << ")->" << number(inner->getResult(0)) << ';';
  }
  os << number(yielded);
  return text;
}

Value codegen::emitBody(KernelBuilder &b, const FusedOp &fused, llvm::DenseMap<Value, Value> known) {
  for (Operation *inner : fused.body) {
    SmallVector<Value> operands = llvm::map_to_vector(inner->getOperands(), [&](Value v) { return known.lookup(v); });
    known[inner->getResult(0)] = emitElementwise(b, inner, operands);
  }
  return known.lookup(fused.yielded);
}
