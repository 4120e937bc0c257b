//===- SinkTransposes.cpp - transposes of images behind element-wise operators ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyPatterns.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Import/Passes.h"

namespace octet {
#define GEN_PASS_DEF_SINKTRANSPOSESPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Whether a convolution, pool or normalization computes an image, perhaps with element-wise
/// operators behind it.
static bool isImage(Value value) {
  constexpr int kMostOperators = 16;
  for (int i = 0; i < kMostOperators; ++i) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<nn::ConvOp, nn::MaxPoolOp, nn::AvgPoolOp, nn::BatchNormOp>(op))
      return true;
    if (!op || !op->hasTrait<nn::Elementwise>())
      return false;
    auto operands = op->getOperands();
    auto next = llvm::find_if(operands, [&](Value x) { return x.getType() == value.getType(); });
    if (next == operands.end())
      return false;
    value = *next;
  }
  return false;
}

/// A constant of one number, or of numbers along one dimension, for what is not transposed; null
/// for others.
static Value moveConstant(Value value, ArrayRef<int64_t> order, PatternRewriter &rewriter) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto values = nn::getConstantValues<float>(value);
  int64_t rank = order.size();
  if (!constant || failed(values) || constant.getType().getRank() > rank)
    return {};
  if (values->size() == 1)
    return value;
  SmallVector<int64_t> shape(rank, 1);
  ArrayRef<int64_t> own = constant.getType().getShape();
  if (llvm::count_if(own, [](int64_t size) { return size != 1; }) != 1)
    return {};
  for (auto [i, size] : llvm::enumerate(own))
    shape[order[rank - own.size() + i]] = size;
  std::string name = (nn::getConstantName(constant) + ".channels").str();
  return nn::createConstant<float>(rewriter, constant.getLoc(), name,
                                   constant.getType().clone(shape), *values);
}

namespace {
/// op(transpose(x), transpose(z), c) -> transpose(op(x, z, c'))
struct SinkTranspose : RewritePattern {
  SinkTranspose(MLIRContext *context, Pass::Statistic &numSunk)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), numSunk(numSunk) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!op->hasTrait<nn::Elementwise>() || op->getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "requires an element-wise operator");
    nn::TransposeOp first;
    for (Value operand : op->getOperands())
      if (auto transpose = operand.getDefiningOp<nn::TransposeOp>(); transpose && !first)
        first = transpose;
    if (!first || !isImage(first.getInput()))
      return rewriter.notifyMatchFailure(op, "requires an image that is transposed");
    ArrayRef<int64_t> order = first.getPermutation();
    ArrayRef<int64_t> shape = typeOf(op->getResult(0)).getShape();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto transpose = operand.getDefiningOp<nn::TransposeOp>();
      bool isAlike = transpose && transpose.getPermutation() == order &&
                     typeOf(operand).getShape() == shape && mayLosePlace(transpose);
      operands.push_back(isAlike ? transpose.getInput() : moveConstant(operand, order, rewriter));
      if (!operands.back())
        return rewriter.notifyMatchFailure(op, "requires operands that are transposed alike");
    }
    Operation *sunk = rewriter.clone(*op);
    sunk->setOperands(operands);
    RankedTensorType type = typeOf(op->getResult(0));
    sunk->getResult(0).setType(typeOf(first.getInput()).clone(type.getElementType()));
    rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, type, sunk->getResult(0),
                                                 rewriter.getDenseI64ArrayAttr(order));
    ++numSunk;
    return success();
  }

private:
  /// Whether all that read what is transposed may read what it is made of.
  static bool mayLosePlace(nn::TransposeOp transpose) {
    return llvm::all_of(transpose->getUsers(), [](Operation *user) {
      return user->hasTrait<nn::Elementwise>() || isa<nn::TransposeOp>(user);
    });
  }

  Pass::Statistic &numSunk;
};

/// transpose(transpose(x)) -> x
struct CancelTransposes : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp outer, PatternRewriter &rewriter) const override {
    auto inner = outer.getInput().getDefiningOp<nn::TransposeOp>();
    if (!inner ||
        !isIdentityPermutation(applyPermutation(inner.getPermutation(), outer.getPermutation())))
      return rewriter.notifyMatchFailure(outer, "requires the inverse of a transpose");
    rewriter.replaceOp(outer, inner.getInput());
    return success();
  }
};

/// See Passes.td.
struct SinkTransposesPass : octet::impl::SinkTransposesPassBase<SinkTransposesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkTranspose>(&getContext(), numSunk);
    patterns.add<CancelTransposes>(&getContext());
    if (failed(applyToNetwork(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
