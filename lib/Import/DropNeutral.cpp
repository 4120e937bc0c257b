//===- DropNeutral.cpp - sums with 0 and products with 1 disappear --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters leave them behind: a copy as a sum with 0, the factor 1 of x * sigmoid(1 * x). They
// hide an idiom, and the border to an operator with integers, from what looks for these.
//
//===----------------------------------------------------------------------===//

#include "ApplyPatterns.h"
#include "mlir/IR/PatternMatch.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Import/Passes.h"

namespace octet {
#define GEN_PASS_DEF_DROPNEUTRALPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

/// Whether all elements of an f32 constant are this number.
static bool isAll(Value value, float number) {
  auto values = nn::getConstantValues<float>(value);
  return succeeded(values) && !values->empty() &&
         llvm::all_of(*values, [&](float element) { return element == number; });
}

namespace {
/// [N.neutral] x + 0, x - 0, x * 1, x / 1 -> x
template <typename OpTy> struct DropNeutral : OpRewritePattern<OpTy> {
  DropNeutral(MLIRContext *context, Pass::Statistic &numDropped)
      : OpRewritePattern<OpTy>(context), numDropped(numDropped) {}

  static constexpr float kNeutral = llvm::is_one_of<OpTy, nn::AddOp, nn::SubOp>::value ? 0 : 1;
  static constexpr bool kCommutes = llvm::is_one_of<OpTy, nn::AddOp, nn::MulOp>::value;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    Value kept;
    if (isAll(op.getRhs(), kNeutral))
      kept = op.getLhs();
    else if (kCommutes && isAll(op.getLhs(), kNeutral))
      kept = op.getRhs();
    if (!kept || kept.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "requires a neutral constant that widens no shape");
    rewriter.replaceOp(op, kept);
    ++numDropped;
    return success();
  }

  Pass::Statistic &numDropped;
};

/// See Passes.td.
struct DropNeutralPass : octet::impl::DropNeutralPassBase<DropNeutralPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DropNeutral<nn::AddOp>, DropNeutral<nn::SubOp>, DropNeutral<nn::MulOp>,
                 DropNeutral<nn::DivOp>>(&getContext(), numDropped);
    if (failed(applyToNetwork(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
