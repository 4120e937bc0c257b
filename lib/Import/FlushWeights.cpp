//===- FlushWeights.cpp - weights too small to matter become zero ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Training that shrinks weights leaves subnormal numbers behind, with which processors multiply ten
// times slower.
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/NN/Constants.h"
#include "octet/Import/Passes.h"
#include "octet/Numerics/FloatOps.h"

namespace octet {
#define GEN_PASS_DEF_FLUSHWEIGHTSPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {
/// See Passes.td.
struct FlushWeightsPass : octet::impl::FlushWeightsPassBase<FlushWeightsPass> {
  void runOnOperation() override {
    llvm::MapVector<nn::ConstantOp, SmallVector<OpOperand *>> readers;
    getOperation().walk([&](nn::ProductOpInterface product) {
      OpOperand *weight = product.getWeightOperand();
      auto constant = weight ? weight->get().getDefiningOp<nn::ConstantOp>() : nn::ConstantOp();
      if (constant && constant.getType().getElementType().isF32())
        readers[constant].push_back(weight);
    });
    for (auto &[constant, weights] : readers)
      flush(constant, weights);
  }

  /// Other readers of the constant keep its values.
  void flush(nn::ConstantOp constant, ArrayRef<OpOperand *> weights) {
    FailureOr<SmallVector<float, 0>> values = nn::getConstantValues<float>(constant);
    int64_t count = succeeded(values) ? numerics::flushTiny(values->data(), values->size()) : 0;
    if (count == 0)
      return;
    numFlushed += count;
    OpBuilder builder(constant);
    std::string name = (nn::getConstantName(constant) + ".flushed").str();
    Value flushed = nn::createConstant<float>(builder, constant.getLoc(), name, constant.getType(),
                                              ArrayRef<float>(*values));
    for (OpOperand *weight : weights)
      weight->set(flushed);
    if (constant->use_empty())
      constant.erase();
  }
};
} // namespace
