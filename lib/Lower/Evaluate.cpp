//===- Evaluate.cpp - the float law on the compiler's side ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Numerics/FloatOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

#pragma STDC FP_CONTRACT OFF

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using numerics::QuantParams;
using quant::QuantizedType;

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
      .Case([&](nn::SqrtOp) { return std::sqrt(x()); })
      .Case([&](nn::NegOp) { return -x(); })
      .Case([&](nn::ClipOp clip) { return numerics::clip(x(), value(clip.getMin()), value(clip.getMax())); })
      .Case([&](nn::LeakyReluOp leaky) { return numerics::leakyRelu(x(), value(leaky.getAlpha())); })
      .Case([&](nn::EluOp elu) { return numerics::elu(x(), value(elu.getAlpha())); })
      .Case([&](nn::HardSigmoidOp hard) {
        return numerics::hardSigmoid(x(), value(hard.getAlpha()), value(hard.getBeta()));
      })
      .Case([&](nn::AddOp) { return x() + y(); })
      .Case([&](nn::SubOp) { return x() - y(); })
      .Case([&](nn::MulOp) { return x() * y(); })
      .Case([&](nn::DivOp) { return x() / y(); })
      .Default([](Operation *) { return Result(); });
}

bool lower::isScalarOp(Operation *op) {
  static constexpr float ones[] = {1.0f, 1.0f};
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
    SmallVector<float, 2> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookup(operand));
    values[op.getResult(0)] = *evaluateScalar(&op, operands);
  }
  return values.lookup(body.getTerminator()->getOperand(0));
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Calls `element(index, parameters of its channel)` for every element of a tensor of `type`.
static void forEachElement(RankedTensorType type, QuantizedType quantized,
                           llvm::function_ref<void(int64_t, const QuantParams &)> element) {
  SmallVector<QuantParams, 0> params;
  for (int64_t channel = 0; channel < numerics::getNumChannels(quantized); ++channel)
    params.push_back(numerics::getParams(quantized, channel));
  int64_t axis = numerics::getChannelAxis(quantized), inner = 1;
  for (int64_t dim = axis + 1; axis >= 0 && dim < type.getRank(); ++dim)
    inner *= type.getDimSize(dim);
  for (int64_t index = 0; index < type.getNumElements(); ++index)
    element(index, params[index / inner % params.size()]);
}

bool lower::foldConstant(QuantizeOp quantize) {
  auto values = nn::getConstantValues<float>(quantize.getInput());
  QuantizedType quantized = getQuantizedType(quantize.getResult());
  if (failed(values) || quantized.getStorageTypeIntegralWidth() != 8)
    return false;
  auto type = cast<RankedTensorType>(quantize.getResult().getType());
  SmallVector<int8_t, 0> bytes(values->size());
  forEachElement(type, quantized, [&](int64_t index, const QuantParams &params) {
    bytes[index] = static_cast<int8_t>(numerics::quantize((*values)[index], params));
  });
  auto constant = quantize.getInput().getDefiningOp<nn::ConstantOp>();
  OpBuilder builder(quantize);
  Value folded = nn::createConstant<int8_t>(builder, constant.getLoc(), nn::getConstantName(constant), type, bytes);
  quantize.replaceAllUsesWith(folded);
  return true;
}

/// The stored integers of a quantized constant.
static FailureOr<SmallVector<int64_t, 0>> getStoredValues(Value value) {
  auto widen = [](auto values) {
    SmallVector<int64_t, 0> wide;
    if (succeeded(values))
      wide.assign(values->begin(), values->end());
    return wide;
  };
  if (!value.getDefiningOp<nn::ConstantOp>())
    return failure();
  QuantizedType type = getQuantizedType(value);
  SmallVector<int64_t, 0> stored;
  if (type.getStorageTypeIntegralWidth() == 8)
    stored = widen(nn::getConstantValues<int8_t>(value));
  if (type.getStorageTypeIntegralWidth() == 32)
    stored = widen(nn::getConstantValues<int32_t>(value));
  if (stored.empty())
    return failure();
  if (!type.isSigned() && type.getStorageTypeIntegralWidth() == 8)
    for (int64_t &q : stored)
      q &= 0xFF;
  return stored;
}

bool lower::foldConstant(DequantizeOp dequantize) {
  auto stored = getStoredValues(dequantize.getInput());
  if (failed(stored))
    return false;
  auto type = cast<RankedTensorType>(dequantize.getResult().getType());
  SmallVector<float, 0> values(stored->size());
  forEachElement(type, getQuantizedType(dequantize.getInput()), [&](int64_t index, const QuantParams &params) {
    values[index] = numerics::dequantize((*stored)[index], params);
  });
  auto constant = dequantize.getInput().getDefiningOp<nn::ConstantOp>();
  OpBuilder builder(dequantize);
  Value folded = nn::createConstant<float>(builder, constant.getLoc(), nn::getConstantName(constant), type, values);
  dequantize.replaceAllUsesWith(folded);
  return true;
}
