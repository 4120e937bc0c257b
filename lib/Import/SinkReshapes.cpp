//===- SinkReshapes.cpp - reshapes behind element-wise operators -------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Import/Passes.h"

namespace octet {
#define GEN_PASS_DEF_SINKRESHAPESPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

/// Whether only dimensions of size 1 are added or removed.
static bool changesOnesOnly(nn::ReshapeOp reshape) {
  auto withoutOnes = [](RankedTensorType type) {
    SmallVector<int64_t> shape(type.getShape());
    llvm::erase(shape, 1);
    return shape;
  };
  return withoutOnes(reshape.getInput().getType()) == withoutOnes(reshape.getResult().getType());
}

static bool isOneConstant(Value value, int64_t mostDimensions) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && constant.getType().getNumElements() == 1 &&
         constant.getType().getRank() <= mostDimensions;
}

namespace {

/// op(reshape(x), reshape(z)) -> reshape(op(x, z))
struct SinkReshape : RewritePattern {
  SinkReshape(MLIRContext *context, Pass::Statistic &numSunk)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), numSunk(numSunk) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<nn::Elementwise>())
      return rewriter.notifyMatchFailure(op, "requires an element-wise operator");
    nn::ReshapeOp first;
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<nn::ReshapeOp>();
      if (reshape && !first)
        first = reshape;
    }
    if (!first || !changesOnesOnly(first))
      return rewriter.notifyMatchFailure(op, "requires an operand with other dimensions of size 1");
    RankedTensorType source = first.getInput().getType();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<nn::ReshapeOp>();
      bool isAlike = reshape && operand.getType() == op->getResult(0).getType() &&
                     reshape.getInput().getType() == source;
      if (!isAlike && !isOneConstant(operand, source.getRank()))
        return rewriter.notifyMatchFailure(
            op, "requires operands of one shape or constants of one element");
      operands.push_back(isAlike ? reshape.getInput() : operand);
    }
    Operation *sunk = rewriter.clone(*op);
    sunk->setOperands(operands);
    sunk->getResult(0).setType(source);
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, op->getResult(0).getType(), sunk->getResult(0));
    ++numSunk;
    return success();
  }

  Pass::Statistic &numSunk;
};

/// reshape(reshape(x)) -> reshape(x), or x
struct JoinReshapes : OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ReshapeOp reshape, PatternRewriter &rewriter) const override {
    auto inner = reshape.getInput().getDefiningOp<nn::ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(reshape, "requires a reshape of a reshape");
    if (inner.getInput().getType() == reshape.getType())
      rewriter.replaceOp(reshape, inner.getInput());
    else
      rewriter.modifyOpInPlace(reshape,
                               [&] { reshape.getInputMutable().assign(inner.getInput()); });
    return success();
  }
};

/// transpose(concat(reshape(x), reshape(y))) -> concat(transpose(reshape(x)),
/// transpose(reshape(y)))
struct HoistTranspose : OpRewritePattern<nn::TransposeOp> {
  HoistTranspose(MLIRContext *context, Pass::Statistic &numHoisted)
      : OpRewritePattern(context), numHoisted(numHoisted) {}

  LogicalResult matchAndRewrite(nn::TransposeOp transpose,
                                PatternRewriter &rewriter) const override {
    auto concat = transpose.getInput().getDefiningOp<nn::ConcatOp>();
    auto isOnlyReshaped = [](Value input) {
      return input.hasOneUse() && input.getDefiningOp<nn::ReshapeOp>();
    };
    if (!concat || !concat->hasOneUse() || !llvm::all_of(concat.getInputs(), isOnlyReshaped))
      return rewriter.notifyMatchFailure(
          transpose, "requires a concatenation of reshapes, all of which are read once");
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<Value> inputs;
    for (Value input : concat.getInputs()) {
      auto type = cast<RankedTensorType>(input.getType());
      SmallVector<int64_t> shape =
          llvm::map_to_vector(permutation, [&](int64_t axis) { return type.getDimSize(axis); });
      inputs.push_back(nn::TransposeOp::create(rewriter, transpose.getLoc(), type.clone(shape),
                                               input, permutation));
    }
    int64_t axis = llvm::find(permutation, concat.getAxis()) - permutation.begin();
    auto result =
        nn::ConcatOp::create(rewriter, concat.getLoc(), transpose.getType(), inputs, axis);
    setOrigin(result, getOrigin(concat.getOperation()));
    rewriter.replaceOp(transpose, result);
    ++numHoisted;
    return success();
  }

  Pass::Statistic &numHoisted;
};

struct SinkReshapesPass : octet::impl::SinkReshapesPassBase<SinkReshapesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkReshape>(&getContext(), numSunk);
    patterns.add<HoistTranspose>(&getContext(), numHoisted);
    patterns.add<JoinReshapes>(&getContext());
    OriginPropagation origins;
    GreedyRewriteConfig config;
    config.setListener(&origins);
    config.enableFolding(false).enableConstantCSE(false); // constants keep their locations
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
