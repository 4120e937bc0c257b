//===- DenseShape.cpp - what a dense kernel walks over --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DenseShape.h"
#include "Epilogue.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

PanelOrder DenseShape::getPanelOrder(int64_t channels) const {
  return {outputs, channels, this->channels, kernelRows * kernelColumns,
          kernelColumns / runsPerRow()};
}

/// What a row of tiles of `height` pixels and `width` panels costs, which are `count` sums.
static double getTileCost(int64_t steps, double count, int64_t width, int64_t height,
                          const TileCosts &costs) {
  // Dot products, loads of weights and broadcasts, and what does not overlap when too few
  // chains are in flight.
  double nextPanel = width * steps <= costs.stepsInCache ? costs.nextPanel : 0;
  double stalls = count < 4 ? (4.0 - count) * 0.8 : count < 8 ? (8.0 - count) * 0.1 : 0;
  return steps * (count + stalls + 0.12 * (width + 0.5 * height) + (width - 1) * nextPanel) +
         3.0 * count + 4;
}

DenseTile codegen::chooseTile(int64_t accumulators, int64_t pixels, int64_t panels, int64_t steps,
                              int64_t pixelsPerVector, const TileCosts &costs) {
  // Three panels read each of their weights for eight vectors of pixels, or not at all.
  constexpr int64_t kThree = 3, kFewestVectors = 8;
  DenseTile best{1, 1};
  double bestCost = 1e30;
  for (int64_t width : {1, 2, 3, 4, 8})
    for (int64_t vectors = 1; vectors <= costs.mostVectors; ++vectors) {
      int64_t count = vectors * width, height = vectors * pixelsPerVector;
      int64_t most = width == 1 ? std::max(accumulators, costs.panelSums) : accumulators;
      if (count > most || height > pixels || width > panels ||
          (width == kThree && vectors < kFewestVectors))
        continue;
      double tiles = llvm::divideCeil(pixels, height) * llvm::divideCeil(panels, width);
      double cost = tiles * getTileCost(steps, count, width, height, costs);
      if (cost < bestCost) {
        bestCost = cost;
        best = {vectors, width};
      }
    }
  return best;
}

DenseTile codegen::chooseFloatTile(const CpuLevel &level, int64_t pixels, int64_t panels,
                                   int64_t steps, int64_t pixelsPerVector) {
  TileCosts costs;
  costs.panelSums = level.floatPanelSums;
  return chooseTile(level.floatSums ? level.floatSums : level.accumulators, pixels, panels, steps,
                    pixelsPerVector, costs);
}

DenseTile codegen::chooseHalvedTile(int64_t accumulators, int64_t pixels, int64_t panels,
                                    int64_t steps) {
  TileCosts costs;
  DenseTile best = chooseTile(accumulators, pixels, panels, steps);
  auto getCost = [&](int64_t vectors, int64_t width, double count) {
    return llvm::divideCeil(pixels, vectors) * getTileCost(steps, count, width, vectors, costs);
  };
  auto getWholeCost = [&](const DenseTile &tile) {
    int64_t rest = panels % tile.panels;
    double cost =
        panels / tile.panels * getCost(tile.vectors, tile.panels, tile.vectors * tile.panels);
    return rest ? cost + getCost(tile.vectors, rest, tile.vectors * rest) : cost;
  };
  double bestCost = getWholeCost(best);
  int64_t whole = panels - 1;
  for (int64_t width : {1, 2, 4, 8})
    for (int64_t vectors = 2; vectors <= std::min(costs.mostVectors, pixels); vectors += 2) {
      if (width > whole || vectors * width + vectors / 2 > accumulators)
        continue;
      int64_t last = (whole - 1) % width + 1; // of the tiles with half a panel beside
      double cost = (whole - last) / width * getCost(vectors, width, vectors * width) +
                    getCost(vectors, last, vectors * (last + 0.5));
      if (cost < bestCost) {
        bestCost = cost;
        best = {vectors, width, /*hasHalfPanel=*/true};
      }
    }
  return best;
}

/// NHWC pixels without a gap: they may be counted through rows and images.
static bool hasNoBorder(RankedTensorType type) { return getLayout(type) && !hasBorder(type); }

/// Input and result have no gaps, and neither has what the body reads beside, or it is the same for
/// all pixels.
static bool isOneRow(const FusedOp &fused, RankedTensorType in, int64_t channelAxis,
                     bool (*hasNoGaps)(RankedTensorType)) {
  RankedTensorType out = getTensorType(fused.getResult());
  return hasNoGaps(in) && hasNoGaps(out) && llvm::all_of(fused.getBodyInputs(), [&](Value inner) {
           RankedTensorType type = getTensorType(fused.getOuter(inner));
           int64_t missing = out.getRank() - type.getRank();
           bool isAlike = type.getShape() == out.getShape() && hasNoGaps(type);
           return isAlike || llvm::all_of(llvm::enumerate(type.getShape()), [&](auto dim) {
                    return dim.value() == 1 || missing + (int64_t)dim.index() == channelAxis;
                  });
         });
}

/// How many groups become one, with zeros between, whose products are exact for integers only: as
/// many as cost least. Fewer groups leave lanes of panels and bytes of steps unused, more multiply
/// zeros.
static int64_t countMergedGroups(int64_t groups, int64_t outputs, int64_t channels, int64_t taps,
                                 bool isInteger) {
  constexpr int64_t kMost = 32, kEpilogueSteps = 8;
  int64_t best = 1, bestCost = std::numeric_limits<int64_t>::max();
  for (int64_t merged = 1; merged <= std::min(groups, isInteger ? kMost : 1); ++merged) {
    if (groups % merged != 0)
      continue;
    int64_t steps =
        taps * (isInteger ? llvm::divideCeil(merged * channels, 4) : channels) + kEpilogueSteps;
    int64_t cost =
        groups / merged * (int64_t)llvm::divideCeil(merged * outputs, kPanelOutputs) * steps;
    if (cost < bestCost) {
      best = merged;
      bestCost = cost;
    }
  }
  return best;
}

/// A tile is of one row: images of one column (sequences) are walked over as images of one row.
static void transpose(DenseShape &s) {
  std::swap(s.kernelRows, s.kernelColumns);
  std::swap(s.rows, s.columns);
  std::swap(s.inRow, s.inPixel);
  std::swap(s.kernelRowStep, s.kernelColumnStep);
  std::swap(s.outRow, s.outPixel);
  std::swap(s.rowWindow, s.columnWindow);
  s.isTransposed = true;
}

/// The shape of a convolution that tiles take: NHWC on both sides, border in the buffer.
static std::optional<DenseShape> getConvShape(const FusedOp &fused, nn::ConvOp conv,
                                              RankedTensorType in, RankedTensorType out) {
  nn::LayoutAttr inLayout = getLayout(in), outLayout = getLayout(out);
  if (!inLayout || !outLayout)
    return std::nullopt;
  auto filter = conv.getFilter().getType().getShape();
  int64_t groups = conv.getGroups(), taps = filter[2] * filter[3];
  int64_t merged = countMergedGroups(groups, filter[0] / groups, filter[1], taps, isQuantized(in));
  Strides x = getStrides(in), y = getStrides(out);
  DenseShape shape;
  shape.isInteger = isQuantized(in);
  shape.groups = groups / merged;
  shape.filterGroups = merged;
  shape.channels = shape.groups == 1 ? inLayout.getChannels() : merged * filter[1];
  shape.outputs = filter[0] / shape.groups;
  shape.images = in.getDimSize(0);
  shape.inImage = x.steps[0];
  shape.outImage = y.steps[0];
  shape.kernelRows = filter[2];
  shape.kernelColumns = filter[3];
  shape.rows = out.getDimSize(2);
  shape.columns = out.getDimSize(3);
  shape.inRow = x.steps[2] * conv.getStrides()[0];
  shape.inPixel = x.steps[3] * conv.getStrides()[1];
  shape.kernelRowStep = x.steps[2] * conv.getDilations()[0];
  shape.kernelColumnStep = x.steps[3] * conv.getDilations()[1];
  shape.inBase = x.offset - conv.getPads()[0] * x.steps[2] - conv.getPads()[1] * x.steps[3];
  shape.rowWindow = getWindow(conv, 0);
  shape.columnWindow = getWindow(conv, 1);
  shape.outRow = y.steps[2];
  shape.outPixel = y.steps[3];
  shape.outBase = y.offset;
  shape.outPitch = outLayout.getChannels();
  bool isPointwise =
      filter[2] * filter[3] == 1 && conv.getStrides()[0] == 1 && conv.getStrides()[1] == 1;
  if (isPointwise && isOneRow(fused, in, /*channelAxis=*/1, hasNoBorder)) {
    shape.columns *= shape.images * shape.rows;
    shape.images = shape.rows = 1;
  } else if (shape.columns == 1 && shape.kernelColumns == 1) {
    transpose(shape);
  }
  return shape;
}

static DenseShape getLinearShape(RankedTensorType in, RankedTensorType out) {
  int64_t depth = in.getShape().back(), outputs = out.getShape().back();
  DenseShape shape;
  shape.isInteger = isQuantized(in);
  shape.channels = depth;
  shape.outputs = outputs;
  shape.kernelRows = shape.kernelColumns = shape.rows = 1;
  shape.columns = out.getNumElements() / outputs;
  shape.inRow = shape.kernelRowStep = shape.inBase = shape.outRow = shape.outBase = 0;
  shape.kernelColumnStep = shape.channels;
  shape.inPixel = depth;
  shape.outPixel = shape.outPitch = outputs;
  return shape;
}

/// Outputs that fill an even part of a vector, side by side: lanes that are left over hold them
/// again (getLaneChannel), so that other pixels can have these. Three, or five to seven,
/// straddle registers: loading takes longer than multiplying.
static bool canShareVectors(const DenseShape &shape) {
  bool fits = shape.outputs < kPanelOutputs && kPanelOutputs % shape.outputs == 0 &&
              shape.columns * shape.outputs >= kPanelOutputs;
  return fits && shape.isInteger && shape.groups == 1 && shape.outPixel == shape.outputs;
}

std::optional<DenseShape> codegen::getDenseShape(const FusedOp &fused) {
  RankedTensorType in = getTensorType(fused.getInput()), out = getTensorType(fused.getResult());
  std::optional<DenseShape> shape;
  if (auto conv = dyn_cast<nn::ConvOp>(fused.product))
    shape = getConvShape(fused, conv, in, out);
  else if (in.getRank() > 1 && isOneRow(fused, in, out.getRank() - 1, isRowMajor))
    shape = getLinearShape(in, out);
  if (shape && canShareVectors(*shape) && Epilogue::takesAnyOrder(fused))
    shape->pixelsPerVector = kPanelOutputs / shape->outputs;
  return shape;
}
