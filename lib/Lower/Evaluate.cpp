//===- Evaluate.cpp - the float law on the compiler's side ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Numerics/FloatOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

#pragma STDC FP_CONTRACT OFF

using namespace mlir;
using namespace octet;
using namespace octet::lower;

std::optional<float> lower::evaluateScalar(Operation *op, ArrayRef<float> operands) {
  using Result = std::optional<float>;
  auto x = [&] { return operands[0]; };
  auto y = [&] { return operands[1]; };
  auto value = [](const APFloat &attribute) { return attribute.convertToFloat(); };
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](nn::ReluOp) { return numerics::relu(x()); })
      .Case([&](nn::SigmoidOp) { return numerics::sigmoid(x()); })
      .Case([&](nn::TanhOp) { return numerics::tanh(x()); })
      .Case([&](nn::SiluOp) { return numerics::silu(x()); })
      .Case([&](nn::HardSwishOp) { return numerics::hardSwish(x()); })
      .Case([&](nn::ExpOp) { return numerics::exp(x()); })
      .Case([&](nn::SqrtOp) { return std::sqrt(x()); }) // [N.sqrt]
      .Case([&](nn::NegOp) { return -x(); })            // [N.neg]
      .Case([&](nn::ClipOp clip) { return numerics::clip(x(), value(clip.getMin()), value(clip.getMax())); })
      .Case([&](nn::LeakyReluOp leaky) { return numerics::leakyRelu(x(), value(leaky.getAlpha())); })
      .Case([&](nn::EluOp elu) { return numerics::elu(x(), value(elu.getAlpha())); })
      .Case([&](nn::HardSigmoidOp hard) {
        return numerics::hardSigmoid(x(), value(hard.getAlpha()), value(hard.getBeta()));
      })
      .Case([&](nn::AddOp) { return x() + y(); }) // [N.add], and the three below
      .Case([&](nn::SubOp) { return x() - y(); })
      .Case([&](nn::MulOp) { return x() * y(); })
      .Case([&](nn::DivOp) { return x() / y(); })
      .Case([&](nn::FmaOp) { return std::fma(x(), y(), operands[2]); }) // [N.batch_norm]
      .Default([](Operation *) { return Result(); });
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
      values[op.getResult(0)] = numerics::dequantize(q, numerics::getParams(getQuantizedType(dequantize.getInput())));
      continue;
    }
    SmallVector<float, 3> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    values[op.getResult(0)] = *evaluateScalar(&op, operands);
  }
  return values.lookup(body.getTerminator()->getOperand(0));
}
