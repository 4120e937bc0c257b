//===- FoldIntoWeights.cpp - pads and biases become part of a layer ----------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Import/Passes.h"

namespace octet {
#define GEN_PASS_DEF_FOLDINTOWEIGHTS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {

/// A pad of H and W with zeros in front of a convolution becomes part of the convolution's own pads.
struct FoldPad : OpRewritePattern<nn::ConvOp> {
  FoldPad(MLIRContext *context, Pass::Statistic &counter) : OpRewritePattern(context), counter(counter) {}

  LogicalResult matchAndRewrite(nn::ConvOp conv, PatternRewriter &rewriter) const override {
    auto pad = conv.getInput().getDefiningOp<nn::PadOp>();
    if (!pad || !pad->hasOneUse() || !pad.getValue().isZero())
      return rewriter.notifyMatchFailure(conv, "requires a zero pad of its own in front");
    auto low = pad.getLow(), high = pad.getHigh();
    if (low[0] || low[1] || high[0] || high[1])
      return rewriter.notifyMatchFailure(conv, "requires a pad of spatial dimensions only");
    auto pads = llvm::to_vector(conv.getPads());
    for (unsigned i = 0; i < 2; ++i) {
      pads[i] += low[2 + i];
      pads[2 + i] += high[2 + i];
    }
    rewriter.modifyOpInPlace(conv, [&] {
      conv.setPads(pads);
      conv.getInputMutable().assign(pad.getInput());
    });
    rewriter.eraseOp(pad);
    ++counter;
    return success();
  }
  Pass::Statistic &counter;
};

/// Whether `value` is a constant that has one value per element of dimension `channelAxis` of `result`, counted from
/// the end, and is the same along all others.
bool isChannelVector(Value value, RankedTensorType result, int64_t channelAxis) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!value.getDefiningOp<nn::ConstantOp>() || !type.getElementType().isF32() || type.getRank() > result.getRank())
    return false;
  int64_t fromEnd = result.getRank() - channelAxis;
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    if (size != (type.getRank() - (int64_t)i == fromEnd ? result.getDimSize(channelAxis) : 1))
      return false;
  return type.getRank() >= fromEnd;
}

/// A constant vector behind a layer without bias is its bias.
template <typename LayerOp>
struct FoldBias : OpRewritePattern<nn::AddOp> {
  FoldBias(MLIRContext *context, Pass::Statistic &counter) : OpRewritePattern(context), counter(counter) {}

  LogicalResult matchAndRewrite(nn::AddOp add, PatternRewriter &rewriter) const override {
    for (auto [sum, vector] : {std::pair(add.getLhs(), add.getRhs()), std::pair(add.getRhs(), add.getLhs())}) {
      auto layer = sum.template getDefiningOp<LayerOp>();
      if (!layer || !layer->hasOneUse() || layer.getBias() || layer.getType() != add.getType())
        continue;
      int64_t axis = std::is_same_v<LayerOp, nn::ConvOp> ? 1 : layer.getType().getRank() - 1;
      if (!isChannelVector(vector, layer.getType(), axis))
        continue;
      setBias(layer, vector.template getDefiningOp<nn::ConstantOp>(), add, rewriter);
      ++counter;
      return success();
    }
    return rewriter.notifyMatchFailure(add, "requires a layer without bias plus a constant vector");
  }

  /// The layer moves behind the vector, which may be defined after it.
  static void setBias(LayerOp layer, nn::ConstantOp vector, nn::AddOp add, PatternRewriter &rewriter) {
    rewriter.setInsertionPoint(add);
    Value bias = vector;
    if (vector.getType().getRank() != 1) {
      auto values = *nn::getConstantValues<float>(vector);
      auto type = RankedTensorType::get({(int64_t)values.size()}, rewriter.getF32Type());
      std::string name = nn::getConstantName(vector).str();
      bias = nn::createConstant<float>(rewriter, vector.getLoc(), name, type, values);
    }
    rewriter.moveOpBefore(layer, add);
    rewriter.modifyOpInPlace(layer, [&] { layer.getBiasMutable().assign(bias); });
    rewriter.replaceOp(add, layer);
  }
  Pass::Statistic &counter;
};

struct FoldIntoWeightsPass : octet::impl::FoldIntoWeightsBase<FoldIntoWeightsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldPad>(&getContext(), numPads);
    patterns.add<FoldBias<nn::ConvOp>, FoldBias<nn::LinearOp>>(&getContext(), numBiases);
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false); // constants keep their locations
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
