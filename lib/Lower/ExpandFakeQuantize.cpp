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

/// [N.fake_quantize] A constant of the rounded numbers of another one, in integers with a
/// dequantize if they are bytes, which products want. Null if the operand is no constant, or of a
/// dialect that makes no others.
static Value roundConstant(OpBuilder &builder, FakeQuantizeOp op) {
  auto values = getConstantValues<float>(op.getInput());
  if (failed(values))
    return {};
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto quantized = cast<quant::QuantizedType>(op.getQuantizedType());
  auto params = numerics::getParams(quantized);
  std::string name = getConstantName(getConstantElements(op.getInput())).str();
  if (quantized.getStorageTypeIntegralWidth() == 8) {
    SmallVector<int8_t, 0> stored(values->size());
    numerics::forEachElement(type.getShape(), params, [&](int64_t i, int64_t channel) {
      float rounded = numerics::fakeQuantize((*values)[i], params, channel);
      stored[i] = (int8_t)numerics::quantizeWeight(rounded, params, channel);
    });
    Value constant = createConstantLike<int8_t>(builder, op.getLoc(), op.getInput(), name + ".i8",
                                                type.clone(quantized), stored);
    return constant ? DequantizeOp::create(builder, op.getLoc(), type, constant).getResult()
                    : Value();
  }
  numerics::forEachElement(type.getShape(), params, [&](int64_t i, int64_t channel) {
    (*values)[i] = numerics::fakeQuantize((*values)[i], params, channel);
  });
  return createConstantLike<float>(builder, op.getLoc(), op.getInput(), name + ".rounded", type,
                                   *values);
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
