//===- Clamps.cpp - fused clamps as storage bounds ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using numerics::QuantParams;
using quant::QuantizedType;

/// [N.narrow] `type` with the quantized bounds of a clamp as its own; null if channels disagree or
/// nothing would be left between them.
static QuantizedType narrow(QuantizedType type, std::pair<float, float> clamp) {
  std::optional<std::pair<int64_t, int64_t>> bounds;
  QuantParams params = numerics::getParams(type);
  for (size_t channel = 0; channel < params.scales.size(); ++channel) {
    std::pair own(numerics::quantize(clamp.first, params, channel),
                  numerics::quantize(clamp.second, params, channel));
    if (bounds && *bounds != own)
      return {};
    bounds = own;
  }
  // A quantized type holds at least two values.
  return bounds->first < bounds->second ? numerics::withBounds(type, bounds->first, bounds->second)
                                        : QuantizedType();
}

/// Whether an operator gives real numbers, never NaN, if its operands are quantized, and takes a
/// clamp behind it: a product, alone or in a group, or a sum, difference or product of two values.
static bool takesClamp(Operation *op) {
  auto isProduct = [](Operation &inner) {
    return isa<nn::ConvOp, nn::LinearOp, nn::MatmulOp>(inner);
  };
  auto group = dyn_cast_if_present<GroupOp>(op);
  return group ? llvm::any_of(group.getBody().front(), isProduct)
               : op && (isProduct(*op) || isa<nn::AddOp, nn::SubOp, nn::MulOp>(op));
}

void lower::joinClamps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto outer = op.hasOneUse() ? dyn_cast<QuantizeOp>(*op.user_begin()) : QuantizeOp();
    if (!outer || !nn::getClamp(&op))
      continue;
    auto dequantize = op.getOperand(0).getDefiningOp<DequantizeOp>();
    auto inner = dequantize ? dequantize.getInput().getDefiningOp<QuantizeOp>() : QuantizeOp();
    if (!inner || inner.getResult().getType() != outer.getResult().getType() ||
        !dequantize->hasOneUse() || !inner->hasOneUse() ||
        !takesClamp(inner.getInput().getDefiningOp()))
      continue;
    op.setOperand(0, inner.getInput());
    dequantize->erase();
    inner->erase();
  }
}

QuantizedType lower::foldClamps(Block &body, QuantizedType type) {
  OpOperand &yielded = body.getTerminator()->getOpOperand(0);
  while (Operation *op = yielded.get().getDefiningOp()) {
    auto clamp = nn::getClamp(op);
    QuantizedType narrowed = clamp ? narrow(type, *clamp) : QuantizedType();
    if (!narrowed)
      break;
    type = narrowed;
    yielded.set(op->getOperand(0));
    if (op->use_empty())
      op->erase();
  }
  return type;
}

bool lower::mayNarrow(QuantizeOp quantize) {
  return llvm::all_of(quantize->getUsers(), llvm::IsaPred<DequantizeOp, func::ReturnOp>);
}
