//===- JoinSteps.cpp - one product for the steps of a sequence ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recurrent cell that is called in a loop multiplies each step of its input by itself, and reads
// all weights for it.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/PatternMatch.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Import/Passes.h"

namespace octet {
#define GEN_PASS_DEF_JOINSTEPSPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

namespace {
/// One index along a dimension of a sequence, whose rows it does not cut.
struct Step {
  nn::SliceOp slice;
  int64_t axis;
};

/// The layers that read steps of a sequence along one axis, with one weight and bias.
using Key = std::tuple<Value, int64_t, Value, Value>;
} // namespace

/// The step that a layer reads, reshaped or not.
static std::optional<Step> findStep(nn::LinearOp layer) {
  Value input = layer.getInput();
  if (auto reshape = input.getDefiningOp<nn::ReshapeOp>())
    input = reshape.getInput();
  auto slice = input.getDefiningOp<nn::SliceOp>();
  if (!slice || !llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; }))
    return std::nullopt;
  auto whole = slice.getInput().getType().getShape();
  std::optional<int64_t> axis;
  for (auto [i, size] : llvm::enumerate(slice.getSizes())) {
    if (size == whole[i])
      continue;
    if (axis || size != 1)
      return std::nullopt;
    axis = i;
  }
  bool keepsRows = axis && *axis + 1 < (int64_t)whole.size() &&
                   layer.getInput().getType().getShape().back() == whole.back();
  return keepsRows ? std::optional(Step{slice, *axis}) : std::nullopt;
}

/// The layer on the whole sequence, and its steps in place of the layers'.
static void join(IRRewriter &rewriter, OriginPropagation &origins,
                 ArrayRef<std::pair<nn::LinearOp, Step>> layers) {
  auto [first, step] = layers.front();
  rewriter.setInsertionPoint(first);
  origins.setSource(getOrigin(first.getOperation()));
  TypedValue<RankedTensorType> sequence = step.slice.getInput();
  SmallVector<int64_t> sizes(sequence.getType().getShape()), ones(sizes.size(), 1);
  sizes.back() = first.getType().getShape().back();
  auto whole = nn::LinearOp::create(rewriter, first.getLoc(), first.getType().clone(sizes),
                                    sequence, first.getFilter(), first.getBias());
  sizes[step.axis] = 1;
  for (auto [layer, part] : layers) {
    rewriter.setInsertionPoint(layer);
    origins.setSource(getOrigin(layer.getOperation()));
    Value result = nn::SliceOp::create(rewriter, layer.getLoc(), whole.getType().clone(sizes),
                                       whole, part.slice.getStarts(), sizes, ones);
    if (result.getType() != layer.getType())
      result = nn::ReshapeOp::create(rewriter, layer.getLoc(), layer.getType(), result);
    auto reshape = layer.getInput().getDefiningOp<nn::ReshapeOp>();
    rewriter.replaceOp(layer, result);
    if (reshape && reshape->use_empty())
      rewriter.eraseOp(reshape);
    if (part.slice->use_empty())
      rewriter.eraseOp(part.slice);
  }
}

namespace {
/// See Passes.td.
struct JoinStepsPass : octet::impl::JoinStepsPassBase<JoinStepsPass> {
  void runOnOperation() override {
    llvm::MapVector<Key, SmallVector<std::pair<nn::LinearOp, Step>>> groups;
    for (auto layer : getOperation().getOps<nn::LinearOp>())
      if (auto step = findStep(layer); step && layer.getType().getElementType().isF32())
        groups[{step->slice.getInput(), step->axis, layer.getFilter(), layer.getBias()}]
            .emplace_back(layer, *step);
    OriginPropagation origins;
    IRRewriter rewriter(&getContext(), &origins);
    for (auto &[key, layers] : groups) {
      llvm::SmallDenseSet<int64_t> indices;
      auto [sequence, axis, filter, bias] = key;
      for (auto [layer, step] : layers)
        indices.insert(step.slice.getStarts()[step.axis]);
      int64_t length = cast<RankedTensorType>(sequence.getType()).getDimSize(axis);
      if (indices.size() < 2 || 2 * (int64_t)indices.size() < length)
        continue;
      join(rewriter, origins, layers);
      numJoined += layers.size();
    }
  }
};
} // namespace
