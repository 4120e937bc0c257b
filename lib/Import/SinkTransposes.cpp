//===- SinkTransposes.cpp - transposes of images behind what they pass through ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyPatterns.h"
#include "Movable.h"
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

/// What `op` computes an image of, if it does so wherever its operand is one; else null.
static Value getImageOperand(Operation *op) {
  if (isa<nn::ConcatOp, nn::SliceOp, nn::PadOp>(op))
    return op->getOperand(0);
  if (op->hasTrait<nn::Elementwise>()) {
    auto operands = op->getOperands();
    Type type = op->getResult(0).getType();
    auto it = llvm::find_if(operands, [&](Value x) { return x.getType() == type; });
    return it == operands.end() ? Value() : *it;
  }
  // A shuffle, as of a transposed convolution's phases.
  auto outer = dyn_cast<nn::ReshapeOp>(op);
  auto transpose = outer ? outer.getInput().getDefiningOp<nn::TransposeOp>() : nn::TransposeOp();
  auto inner = transpose ? transpose.getInput().getDefiningOp<nn::ReshapeOp>() : nn::ReshapeOp();
  bool isShuffle = inner && outer.getType().getRank() == typeOf(inner.getInput()).getRank();
  return isShuffle ? inner.getInput() : Value();
}

/// Whether a convolution, pool, resize or normalization computes an image, perhaps with others
/// behind it that leave one.
static bool isImage(Value value) {
  constexpr int kMostOperators = 16;
  for (int i = 0; i < kMostOperators; ++i) {
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<nn::ConvOp, nn::MaxPoolOp, nn::AvgPoolOp, nn::BatchNormOp, nn::ResizeOp>(
            op))
      return true;
    value = op ? getImageOperand(op) : Value();
    if (!value)
      return false;
  }
  return false;
}

/// Whether all that `op` reads are transposes like this one.
static bool readsAlike(nn::ConcatOp op, nn::TransposeOp transpose) {
  return llvm::all_of(op.getInputs(), [&](Value input) {
    auto other = input.getDefiningOp<nn::TransposeOp>();
    return other && other.getPermutation() == transpose.getPermutation();
  });
}

/// Whether all that read what is transposed may read what it is made of.
static bool mayLosePlace(nn::TransposeOp transpose) {
  return llvm::all_of(transpose->getUsers(), [&](Operation *user) {
    auto concat = dyn_cast<nn::ConcatOp>(user);
    return user->hasTrait<nn::Elementwise>() || isa<nn::TransposeOp>(user) ||
           (concat && readsAlike(concat, transpose));
  });
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

/// Replaces `op`, whose operands are transposed, by the transpose of the same of `operands`, which
/// are not, and returns that.
static Operation *sink(Operation *op, ValueRange operands, ArrayRef<int64_t> order,
                       PatternRewriter &rewriter) {
  Operation *sunk = rewriter.clone(*op);
  sunk->setOperands(operands);
  RankedTensorType type = typeOf(op->getResult(0));
  sunk->getResult(0).setType(
      type.clone(applyPermutation(type.getShape(), invertPermutationVector(order))));
  rewriter.replaceOpWithNewOp<nn::TransposeOp>(op, type, sunk->getResult(0),
                                               rewriter.getDenseI64ArrayAttr(order));
  return sunk;
}

namespace {
/// op(transpose(x), transpose(z), c) -> transpose(op(x, z, c'))
struct SinkTranspose : RewritePattern {
  SinkTranspose(MLIRContext *context, Pass::Statistic &numSunk)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), numSunk(numSunk) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isMovable(op))
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
    sink(op, operands, order, rewriter);
    ++numSunk;
    return success();
  }

private:
  Pass::Statistic &numSunk;
};

/// concat(transpose(x), transpose(z)) -> transpose(concat(x, z))
struct SinkConcat : OpRewritePattern<nn::ConcatOp> {
  SinkConcat(MLIRContext *context, Pass::Statistic &numSunk)
      : OpRewritePattern(context), numSunk(numSunk) {}

  LogicalResult matchAndRewrite(nn::ConcatOp op, PatternRewriter &rewriter) const override {
    auto first = op.getInputs().front().getDefiningOp<nn::TransposeOp>();
    if (!first || !readsAlike(op, first))
      return rewriter.notifyMatchFailure(op, "requires values that are transposed alike");
    ArrayRef<int64_t> order = first.getPermutation();
    SmallVector<Value> images;
    for (Value input : op.getInputs()) {
      auto transpose = input.getDefiningOp<nn::TransposeOp>();
      if (!mayLosePlace(transpose) || !isImage(transpose.getInput()))
        return rewriter.notifyMatchFailure(op,
                                           "requires images that nothing else reads transposed");
      images.push_back(transpose.getInput());
    }
    int64_t axis = order[op.getAxis()];
    cast<nn::ConcatOp>(sink(op, images, order, rewriter)).setAxis(axis);
    ++numSunk;
    return success();
  }

private:
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
    patterns.add<SinkTranspose, SinkConcat>(&getContext(), numSunk);
    patterns.add<CancelTransposes>(&getContext());
    if (failed(applyToNetwork(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
