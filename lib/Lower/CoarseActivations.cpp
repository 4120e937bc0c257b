//===- CoarseActivations.cpp - activations of which 8 bits are kept -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

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

/// Whether a quantize keeps 8 bits, in steps that are larger than what is coarse.
static bool isCoarse(QuantizeOp quantize) {
  constexpr double kLeastScale = 0x1p-10;
  auto type = getQuantizedType(quantize.getResult());
  return type.getStorageTypeIntegralWidth() == 8 &&
         llvm::all_of(numerics::getParams(type).scales,
                      [](float scale) { return scale >= kLeastScale; });
}

/// Whether 8 bits are all that is kept of `value`; no operator before makes errors larger, or if
/// those are `relative`, the values that they are parts of.
static bool isKeptCoarsely(Value value, bool relative) {
  Operation *reader = getOnlyReader(value);
  while (
      !relative &&
      isa_and_nonnull<nn::AddOp, nn::SubOp, nn::MaxOp, nn::MinOp, nn::ReluOp, nn::ClipOp>(reader))
    reader = getOnlyReader(reader->getResult(0));
  auto quantize = dyn_cast_if_present<QuantizeOp>(reader);
  return quantize && isCoarse(quantize);
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
