//===- ToQuant.cpp - the reference model in upstream's operators ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Leave.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_TOQUANTPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

namespace {
struct ToQuant : octet::impl::ToQuantPassBase<ToQuant> {
  void runOnOperation() override {
    WalkResult left = getOperation().walk([](Operation *op) {
      if (isa<ObserveOp>(op))
        op->emitOpError("is an observer, which upstream does not have")
            << Remedy("run octet-convert before");
      else if (isa<ChooseQParamsOp, QuantizeDynamicOp, DequantizeDynamicOp>(op))
        op->emitOpError("has a scale that is computed, and upstream's are those of types")
            << Remedy("give the QConfig observers that are not dynamic");
      else
        return WalkResult::advance();
      return WalkResult::interrupt();
    });
    if (left.wasInterrupted() || failed(removeOctet(getOperation())))
      return signalPassFailure();
    getOperation().walk([&](Operation *op) {
      if (auto quantize = dyn_cast<QuantizeOp>(op))
        replace<quant::QuantizeCastOp>(quantize);
      else if (auto dequantize = dyn_cast<DequantizeOp>(op))
        replace<quant::DequantizeCastOp>(dequantize);
    });
    if (failed(checkNothingLeft(getOperation())))
      signalPassFailure();
  }

  template <typename CastOp, typename OctetOp> void replace(OctetOp op) {
    OpBuilder builder(op);
    op.replaceAllUsesWith(
        CastOp::create(builder, op.getLoc(), op.getResult().getType(), op.getInput()).getResult());
    op.erase();
    ++numCasts;
  }
};
} // namespace
