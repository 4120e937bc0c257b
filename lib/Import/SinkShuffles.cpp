//===- SinkShuffles.cpp - channels become pixels behind other operators ------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyPatterns.h"
#include "Movable.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Import/Passes.h"

namespace octet {
#define GEN_PASS_DEF_SINKSHUFFLESPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
/// Reshapes and transposes behind which every channel of [N, C * phases, ...] lies in one of the
/// channels of [N, C, ...], so many side by side in each, and slices of its pixels.
struct Shuffle {
  Value source; ///< in front of the moves; null if `value` is not shuffled
  SmallVector<Operation *> moves;
  int64_t phases = 1;

  explicit Shuffle(Value value) {
    Value inner = value;
    while (inner.hasOneUse() && takesMove(inner.getDefiningOp()))
      inner = moves.back()->getOperand(0);
    if (phases > 1)
      source = inner;
  }

private:
  bool takesMove(Operation *op) {
    if (auto transpose = dyn_cast_if_present<nn::TransposeOp>(op)) {
      ArrayRef<int64_t> order = transpose.getPermutation();
      if (order.size() < 2 || order[0] != 0 || order[1] != 1)
        return false;
    } else if (isa_and_present<nn::ReshapeOp>(op)) {
      RankedTensorType from = typeOf(op->getOperand(0)), to = typeOf(op->getResult(0));
      if (from.getRank() < 2 || to.getRank() < 2 || from.getDimSize(0) != to.getDimSize(0) ||
          to.getDimSize(1) == 0 || from.getDimSize(1) % to.getDimSize(1) != 0)
        return false;
      phases *= from.getDimSize(1) / to.getDimSize(1);
    } else if (isa_and_present<nn::SliceOp>(op)) {
      RankedTensorType from = typeOf(op->getOperand(0)), to = typeOf(op->getResult(0));
      if (from.getRank() < 3 || from.getShape().take_front(2) != to.getShape().take_front(2))
        return false;
    } else {
      return false;
    }
    moves.push_back(op);
    return true;
  }
};
} // namespace

/// Whether an operator computes every element from one of its first operand and from constants of
/// one number, or of one for each channel.
static bool isChannelwise(Operation *op) {
  auto isConstant = [](Value value) { return succeeded(nn::getConstantValues<float>(value)); };
  if (isa<nn::BatchNormOp>(op))
    return llvm::all_of(llvm::drop_begin(op->getOperands()), isConstant);
  if (!isMovable(op) || typeOf(op->getOperand(0)).getShape() != typeOf(op->getResult(0)).getShape())
    return false;
  RankedTensorType type = typeOf(op->getResult(0));
  return llvm::all_of(llvm::drop_begin(op->getOperands()), [&](Value value) {
    RankedTensorType other = typeOf(value);
    int64_t missing = type.getRank() - other.getRank();
    return isConstant(value) && llvm::all_of(llvm::enumerate(other.getShape()), [&](auto dim) {
             return dim.value() == 1 || missing + (int64_t)dim.index() == 1;
           });
  });
}

/// Whether a convolution computes the value, perhaps with operators behind it that move in front of
/// a shuffle.
static bool isOfConvolution(Value value) {
  while (Operation *op = value.hasOneUse() ? value.getDefiningOp() : nullptr) {
    if (isa<nn::ConvOp>(op))
      return true;
    if (!isChannelwise(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// Whether the moves are no operators of their own, but what a convolution was imported with.
static bool areParts(const Shuffle &shuffle) {
  Operation *conv = shuffle.source.getDefiningOp();
  return llvm::all_of(shuffle.moves, [&](Operation *move) {
    OriginAttr origin = getOrigin(move);
    return origin && !origin.getSourceClass() && origin.getName().getValue() == getSourceName(conv);
  });
}

/// The constant, each of its numbers for a channel as often as the channel has phases; `rank` is
/// that of the tensor whose channels they are, or 1.
static Value repeatPerChannel(nn::ConstantOp constant, int64_t phases, int64_t rank,
                              PatternRewriter &rewriter) {
  SmallVector<float, 0> values = *nn::getConstantValues<float>(constant);
  if (values.size() > 1 || rank == 1) {
    SmallVector<float, 0> repeated;
    for (float value : values)
      repeated.append(phases, value);
    values = std::move(repeated);
  }
  SmallVector<int64_t> shape(std::max<int64_t>(1, rank - 1), 1);
  shape[0] = values.size();
  std::string name = (nn::getConstantName(constant) + ".repeated").str();
  return nn::createConstant<float>(rewriter, constant.getLoc(), name,
                                   constant.getType().clone(shape), values);
}

namespace {
/// op(shuffle(x)) -> shuffle(op(x)) of an x that a convolution computes.
struct SinkShuffle : RewritePattern {
  SinkShuffle(MLIRContext *context, bool partsOnly, Pass::Statistic &numSunk)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), partsOnly(partsOnly), numSunk(numSunk) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (op->getNumOperands() == 0 || !isa<RankedTensorType>(op->getOperand(0).getType()) ||
        !isChannelwise(op))
      return rewriter.notifyMatchFailure(op, "requires an operator on each channel");
    Shuffle shuffle(op->getOperand(0));
    if (!shuffle.source || !isOfConvolution(shuffle.source))
      return rewriter.notifyMatchFailure(op, "requires channels of a convolution, shuffled");
    if (partsOnly && !(isa<nn::BatchNormOp>(op) && areParts(shuffle)))
      return rewriter.notifyMatchFailure(op, "requires a normalization behind parts");
    RankedTensorType type = typeOf(shuffle.source);
    SmallVector<Value> operands{shuffle.source};
    for (Value value : llvm::drop_begin(op->getOperands()))
      operands.push_back(repeatPerChannel(value.getDefiningOp<nn::ConstantOp>(), shuffle.phases,
                                          isa<nn::BatchNormOp>(op) ? 1 : type.getRank(), rewriter));
    move(op, operands, shuffle, rewriter);
    ++numSunk;
    return success();
  }

private:
  static void move(Operation *op, ArrayRef<Value> operands, const Shuffle &shuffle,
                   PatternRewriter &rewriter) {
    Type element = typeOf(op->getResult(0)).getElementType();
    Operation *last = rewriter.clone(*op);
    last->setOperands(operands);
    last->getResult(0).setType(typeOf(shuffle.source).clone(element));
    for (Operation *step : llvm::reverse(shuffle.moves)) {
      Operation *copy = rewriter.clone(*step);
      copy->setOperand(0, last->getResult(0));
      copy->getResult(0).setType(typeOf(step->getResult(0)).clone(element));
      last = copy;
    }
    rewriter.replaceOp(op, last);
  }

  bool partsOnly;
  Pass::Statistic &numSunk;
};

struct SinkShufflesPass : octet::impl::SinkShufflesPassBase<SinkShufflesPass> {
  using SinkShufflesPassBase::SinkShufflesPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SinkShuffle>(&getContext(), partsOnly, numSunk);
    if (failed(applyToNetwork(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
