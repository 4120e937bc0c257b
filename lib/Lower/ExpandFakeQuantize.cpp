//===- ExpandFakeQuantize.cpp - fake-quantize as quantize and dequantize --===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Support/Constants.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_EXPANDFAKEQUANTIZEPASS
#include "octet/Lower/Passes.h.inc"
} // namespace octet

/// [N.fake_quantize] The rounded numbers of a constant; null if the operand is none, or of a
/// dialect that makes no constants.
static Value roundConstant(OpBuilder &builder, FakeQuantizeOp op) {
  auto values = getConstantValues<float>(op.getInput());
  if (failed(values))
    return {};
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto params = numerics::getParams(cast<quant::QuantizedType>(op.getQuantizedType()));
  SmallVector<float, 0> rounded(values->size());
  numerics::forEachElement(type.getShape(), params, [&](int64_t i, int64_t channel) {
    rounded[i] = numerics::fakeQuantize((*values)[i], params, channel);
  });
  std::string name = (getConstantName(getConstantElements(op.getInput())) + ".rounded").str();
  return createConstantLike<float>(builder, op.getLoc(), op.getInput(), name, type, rounded);
}

static Value makePair(OpBuilder &builder, FakeQuantizeOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Value quantized =
      QuantizeOp::create(builder, op.getLoc(), type.clone(op.getQuantizedType()), op.getInput());
  return DequantizeOp::create(builder, op.getLoc(), type, quantized);
}

namespace {
struct ExpandFakeQuantize : octet::impl::ExpandFakeQuantizePassBase<ExpandFakeQuantize> {
  void runOnOperation() override {
    getOperation().walk([&](FakeQuantizeOp op) {
      OriginPropagation origins(op);
      OpBuilder builder(op, &origins);
      Value expanded = roundConstant(builder, op);
      op.replaceAllUsesWith(expanded ? expanded : makePair(builder, op));
      op.erase();
      ++numExpanded;
    });
  }
};
} // namespace
