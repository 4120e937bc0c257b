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

/// Moves of an operator may lack its class and number, by which calls of one name differ.
static bool isOfOneCall(Operation *a, Operation *b) {
  OriginAttr x = a ? getOrigin(a) : OriginAttr(), y = getOrigin(b);
  return x && y && x.getName() == y.getName() &&
         (!x.getIndex() || !y.getIndex() || x.getIndex() == y.getIndex());
}

/// Whether a move belongs to an operator that computes what it moves. A pixel shuffle only moves.
static bool isPart(Operation *move) {
  Operation *source = move;
  do {
    source = source->getOperand(0).getDefiningOp();
    if (!isOfOneCall(source, move))
      return false;
  } while (source->hasTrait<nn::DataMovement>() && source->getNumOperands() > 0);
  return true;
}

static bool isOneConstant(Value value, int64_t mostDimensions) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  return constant && constant.getType().getNumElements() == 1 &&
         constant.getType().getRank() <= mostDimensions;
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
    patterns.add<SinkReshape, SinkVolume, HoistActivation>(&getContext(), partsOnly, numSunk);
    patterns.add<JoinReshapes>(&getContext(), partsOnly);
    patterns.add<SinkPadOfVolume, CancelTransposes>(&getContext());
    if (!partsOnly) {
      patterns.add<HoistTranspose>(&getContext(), numHoisted);
      patterns.add<SplitSequence>(&getContext());
    }
    if (failed(applyToNetwork(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
