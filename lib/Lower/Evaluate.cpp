//===- Evaluate.cpp - the float law on the compiler's side ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/Laws.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;

std::optional<float> lower::evaluateScalar(Operation *op, ArrayRef<float> operands) {
  numerics::HostArithmetic arithmetic;
  if (!nn::isOfReals(op))
    return std::nullopt;
  return nn::applyLaw(arithmetic, op, operands);
}

bool lower::isScalarOp(Operation *op) {
  static constexpr float ones[] = {1.0f, 1.0f, 1.0f};
  return evaluateScalar(op, ones).has_value();
}

float lower::evaluateBody(Block &body, int64_t q, ArrayRef<float> constants) {
  llvm::DenseMap<Value, float> values;
  for (auto [argument, constant] : llvm::zip(body.getArguments().drop_front(), constants))
    values[argument] = constant;
  for (Operation &op : body.without_terminator()) {
    if (auto dequantize = dyn_cast<DequantizeOp>(op)) {
      values[op.getResult(0)] =
          numerics::dequantize(q, numerics::getParams(getQuantizedType(dequantize.getInput())));
      continue;
    }
    SmallVector<float, 3> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    values[op.getResult(0)] = *evaluateScalar(&op, operands);
  }
  return values.lookup(body.getTerminator()->getOperand(0));
}
