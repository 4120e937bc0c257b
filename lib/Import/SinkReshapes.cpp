//===- SinkReshapes.cpp - reshapes behind element-wise operators ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyPatterns.h"
#include "Movable.h"
#include "mlir/IR/TypeUtilities.h"
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

/// Whether a product with weights computes the value, perhaps with element-wise operators behind
/// it.
static bool isOfProduct(Value value) {
  while (value.hasOneUse()) {
    Operation *op = value.getDefiningOp();
    if (auto product = dyn_cast_if_present<nn::ProductOpInterface>(op))
      return product.getWeightOperand();
    if (!op || !op->hasTrait<nn::Elementwise>() ||
        !llvm::all_of(llvm::drop_begin(op->getOperands()),
                      [](Value other) { return isOneConstant(other, 8); }))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

namespace {
/// op(reshape(x), reshape(z)) -> reshape(op(x, z))
struct SinkReshape : RewritePattern {
  SinkReshape(MLIRContext *context, bool partsOnly, Pass::Statistic &numSunk)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), partsOnly(partsOnly), numSunk(numSunk) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isMovable(op))
      return rewriter.notifyMatchFailure(op, "requires an element-wise operator");
    nn::ReshapeOp first;
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<nn::ReshapeOp>();
      if (reshape && !first && (!partsOnly || isPart(reshape)))
        first = reshape;
    }
    if (!first || !changesOnesOnly(first))
      return rewriter.notifyMatchFailure(op, "requires an operand with other dimensions of size 1");
    RankedTensorType source = first.getInput().getType();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto reshape = operand.getDefiningOp<nn::ReshapeOp>();
      bool isAlike = reshape && operand.getType() == op->getResult(0).getType() &&
                     reshape.getInput().getType() == source && (!partsOnly || isPart(reshape));
      if (!isAlike && !isOneConstant(operand, source.getRank()))
        return rewriter.notifyMatchFailure(
            op, "requires operands of one shape or constants of one element");
      operands.push_back(isAlike ? reshape.getInput() : operand);
    }
    Operation *sunk = rewriter.clone(*op);
    sunk->setOperands(operands);
    sunk->getResult(0).setType(source);
    Type type = op->getResult(0).getType();
    auto moved = rewriter.replaceOpWithNewOp<nn::ReshapeOp>(op, type, sunk->getResult(0));
    // A part without a class stays one: patterns of the operator's class are not for moves.
    OriginAttr origin = getOrigin(sunk), part = getOrigin(first.getOperation());
    if (origin && part && !part.getSourceClass())
      setOrigin(moved, OriginAttr::get(origin.getName()));
    ++numSunk;
    return success();
  }

  bool partsOnly;
  Pass::Statistic &numSunk;
};

/// op(moves(x)) -> moves(op(x)) of an x that a product with weights computes, to be fused with it.
struct HoistActivation : RewritePattern {
  HoistActivation(MLIRContext *context, bool partsOnly, Pass::Statistic &numSunk)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), partsOnly(partsOnly), numSunk(numSunk) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (!isMovable(op))
      return rewriter.notifyMatchFailure(op, "requires an element-wise operator");
    OpOperand *moved = nullptr;
    for (OpOperand &operand : op->getOpOperands())
      if (!moved && operand.get().getType() == op->getResult(0).getType())
        moved = &operand;
    SmallVector<Operation *> moves;
    Value source = moved ? moved->get() : Value();
    while (source && source.hasOneUse() &&
           isa_and_nonnull<nn::ReshapeOp, nn::TransposeOp>(source.getDefiningOp())) {
      moves.push_back(source.getDefiningOp());
      source = moves.back()->getOperand(0);
    }
    if (moves.empty() || !isOfProduct(source) || (partsOnly && !llvm::all_of(moves, isPart)))
      return rewriter.notifyMatchFailure(op, "requires what a product computes, moved");
    auto type = cast<RankedTensorType>(source.getType());
    for (OpOperand &operand : op->getOpOperands())
      if (&operand != moved && !isOneConstant(operand.get(), type.getRank()))
        return rewriter.notifyMatchFailure(op, "requires constants of one element beside it");
    Operation *last = rewriter.clone(*op);
    last->setOperand(moved->getOperandNumber(), source);
    last->getResult(0).setType(type);
    for (Operation *move : llvm::reverse(moves)) {
      Operation *copy = rewriter.clone(*move);
      copy->setOperand(0, last->getResult(0));
      last = copy;
    }
    rewriter.replaceOp(op, last);
    ++numSunk;
    return success();
  }

  bool partsOnly;
  Pass::Statistic &numSunk;
};

/// reshape(linear(x)) -> linear(reshape(x)) in front of a batch norm of rows, which folds into the
/// layer then.
struct HoistRows : OpRewritePattern<nn::BatchNormOp> {
  HoistRows(MLIRContext *context, Pass::Statistic &numHoisted)
      : OpRewritePattern(context), numHoisted(numHoisted) {}

  LogicalResult matchAndRewrite(nn::BatchNormOp norm, PatternRewriter &rewriter) const override {
    auto reshape = norm.getInput().getDefiningOp<nn::ReshapeOp>();
    auto linear = reshape ? reshape.getInput().getDefiningOp<nn::LinearOp>() : nullptr;
    if (!linear || !linear->hasOneUse() || !reshape->hasOneUse() ||
        reshape.getType().getRank() != 2 ||
        reshape.getType().getDimSize(1) != linear.getType().getShape().back())
      return rewriter.notifyMatchFailure(norm, "requires rows of a linear layer of its own");
    RankedTensorType type = reshape.getType(), input = linear.getInput().getType();
    rewriter.setInsertionPoint(linear);
    auto rows = nn::ReshapeOp::create(rewriter, reshape.getLoc(),
                                      input.clone({type.getDimSize(0), input.getShape().back()}),
                                      linear.getInput());
    rewriter.modifyOpInPlace(linear, [&] {
      linear.getInputMutable().assign(rows);
      linear.getResult().setType(type);
    });
    rewriter.replaceOp(reshape, linear);
    ++numHoisted;
    return success();
  }

  Pass::Statistic &numHoisted;
};

/// reshape(transpose(x)) -> transpose(reshape(x)) of a sequence [N, H * W, C] that becomes an image
/// [N, C, H, W], whose channels lie side by side before and behind.
struct SplitSequence : OpRewritePattern<nn::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::ReshapeOp reshape, PatternRewriter &rewriter) const override {
    auto transpose = reshape.getInput().getDefiningOp<nn::TransposeOp>();
    ArrayRef<int64_t> image = reshape.getType().getShape();
    if (!transpose || !transpose->hasOneUse() || image.size() != 4 ||
        transpose.getPermutation() != ArrayRef<int64_t>{0, 2, 1} ||
        transpose.getType().getShape().take_front(2) != image.take_front(2))
      return rewriter.notifyMatchFailure(reshape, "requires a sequence with its channels first");
    RankedTensorType type = reshape.getType();
    auto pixels = nn::ReshapeOp::create(rewriter, reshape.getLoc(),
                                        type.clone({image[0], image[2], image[3], image[1]}),
                                        transpose.getInput());
    rewriter.replaceOpWithNewOp<nn::TransposeOp>(reshape, type, pixels,
                                                 ArrayRef<int64_t>{0, 3, 1, 2});
    return success();
  }
};

/// reshape(reshape(x)) -> reshape(x), or x
struct JoinReshapes : OpRewritePattern<nn::ReshapeOp> {
  JoinReshapes(MLIRContext *context, bool partsOnly)
      : OpRewritePattern(context), partsOnly(partsOnly) {}

  LogicalResult matchAndRewrite(nn::ReshapeOp reshape, PatternRewriter &rewriter) const override {
    auto inner = reshape.getInput().getDefiningOp<nn::ReshapeOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(reshape, "requires a reshape of a reshape");
    auto readsPart = [&](Operation *user) { return isOfOneCall(user, reshape); };
    auto hasNoPattern = [](Operation *op) { return isPart(op) && !getOrigin(op).getSourceClass(); };
    if (partsOnly && !(hasNoPattern(inner) && hasNoPattern(reshape)) &&
        (!isPart(inner) || !llvm::all_of(reshape->getUsers(), readsPart)))
      return rewriter.notifyMatchFailure(reshape, "requires parts of other operators");
    if (inner.getInput().getType() == reshape.getType())
      rewriter.replaceOp(reshape, inner.getInput());
    else
      rewriter.modifyOpInPlace(reshape, [&] { reshape->setOperand(0, inner.getInput()); });
    return success();
  }

  bool partsOnly;
};

/// transpose(concat(reshape(x), ...)) -> concat(transpose(reshape(x)), ...)
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
      return rewriter.notifyMatchFailure(transpose, "requires a concatenation of reshapes");
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
  using SinkReshapesPassBase::SinkReshapesPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkReshape, HoistActivation>(&getContext(), partsOnly, numSunk);
    addVolumePatterns(patterns, partsOnly, numSunk);
    patterns.add<JoinReshapes>(&getContext(), partsOnly);
    if (!partsOnly) {
      patterns.add<HoistRows, HoistTranspose>(&getContext(), numHoisted);
      patterns.add<SplitSequence>(&getContext());
    }
    if (failed(applyToNetwork(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
