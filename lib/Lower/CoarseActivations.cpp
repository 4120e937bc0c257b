//===- CoarseActivations.cpp - activations of which 8 bits are kept -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;

/// Follows `value` into groups and out of them to its only reader; null if there are several.
static Operation *getOnlyReader(Value value) {
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    if (auto group = dyn_cast<GroupOp>(use.getOwner()))
      value = group.getBody().getArgument(use.getOperandNumber());
    else if (isa<YieldOp>(use.getOwner()))
      value = use.getOwner()->getParentOp()->getResult(use.getOperandNumber());
    else
      return use.getOwner();
  }
  return nullptr;
}

/// Whether a quantize keeps 8 bits, in steps that are on average (of squares) larger than errors of
/// what is coarse, which factors of at most `factor` made larger.
static bool isCoarse(QuantizeOp quantize, double factor) {
  constexpr double kLeastScale = 0x1p-10;
  auto type = getQuantizedType(quantize.getResult());
  double sum = 0;
  SmallVector<float> scales = numerics::getParams(type).scales;
  for (double scale : scales) {
    double errors = factor * kLeastScale / scale;
    sum += errors * errors;
  }
  return type.getStorageTypeIntegralWidth() == 8 && sum <= double(scales.size());
}

/// The largest magnitude of the constant that `reader` multiplies with; nothing if it does
/// something else.
static std::optional<double> getLargestFactor(Operation *reader) {
  if (!isa_and_nonnull<nn::MulOp>(reader))
    return std::nullopt;
  for (Value operand : reader->getOperands()) {
    auto values = nn::getConstantValues<float>(GroupOp::lookThrough(operand));
    if (failed(values))
      continue;
    double largest = 0;
    for (float value : *values)
      largest = std::max<double>(largest, std::abs(value));
    return largest;
  }
  return std::nullopt;
}

/// Whether 8 bits are all that is kept of `value`; operators before make errors larger by constant
/// factors only, or if errors are `relative`, none makes the values smaller that they are parts of.
static bool isKeptCoarsely(Value value, bool relative) {
  double factor = 1;
  Operation *reader = getOnlyReader(value);
  while (!relative) {
    if (std::optional<double> largest = getLargestFactor(reader))
      factor *= *largest;
    else if (!isa_and_nonnull<nn::AddOp, nn::SubOp, nn::MaxOp, nn::MinOp, nn::ReluOp, nn::ClipOp>(
                 reader))
      break;
    reader = getOnlyReader(reader->getResult(0));
  }
  auto quantize = dyn_cast_if_present<QuantizeOp>(reader);
  return quantize && isCoarse(quantize, factor);
}

void lower::markCoarseActivations(func::FuncOp function) {
  auto mark = [](auto op, bool relative = false) {
    // Of a quantized value, a table has any function.
    if (!getQuantizedSource(GroupOp::lookThrough(op.getInput())) &&
        isKeptCoarsely(op.getResult(), relative))
      op.setCoarse(true);
  };
  function.walk([&](nn::SiluOp op) { mark(op); });
  function.walk([&](nn::GeluOp op) { mark(op); });
  function.walk([&](nn::ExpOp op) { mark(op, /*relative=*/true); });
}
