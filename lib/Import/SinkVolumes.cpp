//===- SinkVolumes.cpp - volumes behind element-wise operators -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Movable.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace octet;

namespace {
/// A volume [N, C, D, H, W] whose slices [N * D, C, H, W], or columns [N, C, D, H * W], lie in
/// another value: the image. `moves` leads from there to the volume.
struct Volume {
  Value image;
  SmallVector<Operation *, 3> moves;

  explicit Volume(Value value) {
    auto outer = value.getDefiningOp<nn::ReshapeOp>();
    if (!outer || outer.getType().getRank() != 5)
      return;
    ArrayRef<int64_t> s = outer.getType().getShape();
    auto transpose = outer.getInput().getDefiningOp<nn::TransposeOp>();
    auto inner = transpose ? transpose.getInput().getDefiningOp<nn::ReshapeOp>() : nullptr;
    if (inner && transpose.getPermutation() == ArrayRef<int64_t>{0, 2, 1, 3} &&
        inner.getType().getShape() == ArrayRef<int64_t>{s[0], s[2], s[1], s[3] * s[4]} &&
        isImage(inner.getInput(), s[0] * s[2], s[1])) {
      image = inner.getInput();
      moves = {inner, transpose, outer};
    } else if (!transpose && isImage(outer.getInput(), s[0], s[1])) {
      image = outer.getInput();
      moves = {outer};
    }
  }
  bool isReadOnce() const {
    return llvm::all_of(moves, [](Operation *move) { return move->hasOneUse(); });
  }
  static bool isImage(Value value, int64_t count, int64_t channels) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
    return shape.size() == 4 && shape[0] == count && shape[1] == channels;
  }
};

/// op(volume(x), volume(z)) -> volume(op(x, z)), so that op is fused with the convolution that made
/// x; also of a normalization of channels.
struct SinkVolume : RewritePattern {
  SinkVolume(MLIRContext *context, bool partsOnly, Pass::Statistic &numSunk)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), partsOnly(partsOnly), numSunk(numSunk) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool isNorm = isa<nn::BatchNormOp>(op);
    if (!isNorm && !isMovable(op))
      return rewriter.notifyMatchFailure(op, "requires an element-wise operator");
    ArrayRef<int64_t> shape = cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    std::optional<Volume> first;
    bool isReadOnce = false;
    SmallVector<Value> operands(op->getOperands());
    for (Value &operand : MutableArrayRef(operands).take_front(isNorm ? 1 : operands.size())) {
      if (isOneConstant(operand, 4))
        continue;
      Volume volume(operand);
      if (!volume.image || cast<RankedTensorType>(operand.getType()).getShape() != shape ||
          (partsOnly && !llvm::all_of(volume.moves, isPart)) ||
          (first && (volume.image.getType() != first->image.getType() ||
                     volume.moves.size() != first->moves.size())))
        return rewriter.notifyMatchFailure(op, "requires volumes of the result's shape");
      isReadOnce |= volume.isReadOnce();
      operand = volume.image;
      first = volume;
    }
    if (!isReadOnce)
      return rewriter.notifyMatchFailure(op, "requires a volume that nothing else reads");
    move(op, operands, *first, rewriter);
    ++numSunk;
    return success();
  }

private:
  void move(Operation *op, ArrayRef<Value> operands, const Volume &volume,
            PatternRewriter &rewriter) const {
    Type element = getElementTypeOrSelf(op->getResult(0));
    Operation *last = rewriter.clone(*op);
    last->setOperands(operands);
    last->getResult(0).setType(cast<RankedTensorType>(volume.image.getType()).clone(element));
    for (Operation *step : volume.moves) {
      Operation *copy = rewriter.clone(*step);
      copy->setOperand(0, last->getResult(0));
      copy->getResult(0).setType(
          cast<RankedTensorType>(step->getResult(0).getType()).clone(element));
      last = copy;
    }
    rewriter.replaceOp(op, last);
  }

  bool partsOnly;
  Pass::Statistic &numSunk;
};

/// The value [N, D, C, H * W] that is a volume [N, C, D, H, W] once its second and third dimensions
/// are exchanged; null if `value` is no such volume.
static Value findSlices(Value value) {
  auto outer = value.getDefiningOp<nn::ReshapeOp>();
  auto transpose = outer ? outer.getInput().getDefiningOp<nn::TransposeOp>() : nullptr;
  if (!transpose || outer.getType().getRank() != 5 ||
      transpose.getPermutation() != ArrayRef<int64_t>{0, 2, 1, 3})
    return {};
  ArrayRef<int64_t> volume = outer.getType().getShape(), moved = transpose.getType().getShape();
  return volume.take_front(3) == moved.take_front(3) ? transpose.getInput() : Value();
}

/// pad(volume(x)) -> volume(pad(x)), of slices in front of and behind others.
struct SinkPadOfVolume : OpRewritePattern<nn::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::PadOp pad, PatternRewriter &rewriter) const override {
    Value slices = findSlices(pad.getInput());
    auto isSlice = [](ArrayRef<int64_t> pads) {
      return pads[0] == 0 && pads[1] == 0 && pads[3] == 0 && pads[4] == 0;
    };
    if (!slices || !isSlice(pad.getLow()) || !isSlice(pad.getHigh()))
      return rewriter.notifyMatchFailure(pad, "requires pads of a volume's first dimension");
    RankedTensorType type = pad.getType();
    SmallVector<int64_t> shape(cast<RankedTensorType>(slices.getType()).getShape());
    shape[1] = type.getDimSize(2);
    Value padded = nn::PadOp::create(rewriter, pad.getLoc(), type.clone(shape), slices,
                                     ArrayRef<int64_t>{0, pad.getLow()[2], 0, 0},
                                     ArrayRef<int64_t>{0, pad.getHigh()[2], 0, 0}, pad.getValue());
    std::swap(shape[1], shape[2]);
    auto moved = nn::TransposeOp::create(rewriter, pad.getLoc(), type.clone(shape), padded,
                                         ArrayRef<int64_t>{0, 2, 1, 3});
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(pad, type, moved);
    return success();
  }
};

/// A volume whose channels, in groups, move behind its slices again: only a reshape.
struct CancelTransposes : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::TransposeOp transpose,
                                PatternRewriter &rewriter) const override {
    auto groups = transpose.getInput().getDefiningOp<nn::ReshapeOp>();
    auto inner = groups ? groups.getInput().getDefiningOp<nn::TransposeOp>() : nullptr;
    if (!inner || inner.getPermutation() != ArrayRef<int64_t>{0, 2, 1, 3} ||
        transpose.getPermutation() != ArrayRef<int64_t>{0, 3, 1, 2, 4})
      return rewriter.notifyMatchFailure(transpose, "requires channels of a volume");
    Value slices = inner.getInput();
    ArrayRef<int64_t> shape = cast<RankedTensorType>(slices.getType()).getShape();
    ArrayRef<int64_t> moved = transpose.getType().getShape();
    if (moved[1] != shape[1] || moved[2] * moved[3] != shape[2] || moved[4] != shape[3])
      return rewriter.notifyMatchFailure(transpose, "requires groups of channels");
    rewriter.replaceOpWithNewOp<nn::ReshapeOp>(transpose, transpose.getType(), slices);
    return success();
  }
};
} // namespace

void octet::addVolumePatterns(RewritePatternSet &patterns, bool partsOnly,
                              Pass::Statistic &numSunk) {
  patterns.add<SinkVolume>(patterns.getContext(), partsOnly, numSunk);
  patterns.add<SinkPadOfVolume, CancelTransposes>(patterns.getContext());
}
