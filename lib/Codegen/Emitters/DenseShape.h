//===- DenseShape.h - what a dense kernel walks over ------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_DENSESHAPE_H
#define OCTET_LIB_CODEGEN_EMITTERS_DENSESHAPE_H

#include "../Products/Products.h"
#include "Fused.h"
#include "Packing.h"
#include "Windows.h"
#include "llvm/Support/MathExtras.h"

namespace octet::codegen {

/// Vectors of pixels (mostly one) and panels of a tile.
struct DenseTile {
  int64_t vectors, panels;
  /// Whether eight outputs behind the last whole panel are computed in the tiles of this panel, for
  /// two pixels in one vector.
  bool hasHalfPanel = false;
};

/// A dense convolution or linear layer as rows of pixels. Of several groups each is such a product
/// on channels of its own.
struct DenseShape {
  int64_t rows, columns;     ///< of an image's output pixels
  int64_t channels, outputs; ///< channel pitch of the input, output channels (of a group)
  int64_t kernelRows, kernelColumns;
  int64_t inRow, inPixel; ///< input elements from one output row, pixel to the next
  int64_t kernelRowStep, kernelColumnStep; ///< input elements from one tap to the next
  int64_t inBase; ///< input element of the first tap of the first output pixel
  int64_t outRow, outPixel, outBase, outPitch;
  bool isInteger;
  int64_t images = 1, inImage = 0, outImage = 0; ///< elements from one image to the next
  int64_t groups = 1,
          filterGroups =
              1; ///< groups; how many of the filter's are one of them, with zeros between
  int64_t pixelsPerVector =
      1; ///< 2 of eight outputs, 4 of four, …: lanes of a pixel after those of the one before
  bool isTransposed = false; ///< rows are the tensors' columns
  int64_t bytesPerStep = 4;  ///< of integers
  Window rowWindow{1, 1, 1, 0, 1, 1}, columnWindow = rowWindow;

  /// Of the result.
  int64_t pixels() const { return images * rows * columns; }
  /// Side-by-side elements under one tap, or under one kernel row where its taps touch.
  bool hasMergedRow() const { return kernelColumnStep == channels; }
  int64_t runLength() const { return hasMergedRow() ? kernelColumns * channels : channels; }
  int64_t runsPerRow() const { return hasMergedRow() ? 1 : kernelColumns; }
  /// Steps of the innermost loop per run: some bytes or one float at a time.
  int64_t stepsPerRun() const {
    return isInteger ? llvm::divideCeil(runLength(), bytesPerStep) : runLength();
  }
  int64_t stepsPerPanel() const { return kernelRows * runsPerRow() * stepsPerRun(); }
  int64_t panels() const { return llvm::divideCeil(outputs, kPanelOutputs); }
  /// Groups do not fill their panels: lanes that are left over are computed and not stored.
  bool hasPartialGroups() const { return groups > 1 && outputs % kPanelOutputs != 0; }
  bool lastPanelOverlaps() const { return outputs > kPanelOutputs && outputs % kPanelOutputs != 0; }
  /// The order of a filter of `channels` channels.
  PanelOrder getPanelOrder(int64_t channels) const;
};

/// For products of a row of pixels with panels, in so many steps. Few pixels: more panels; else
/// tiles that divide a row well and keep enough accumulators busy.
DenseTile chooseTile(int64_t accumulators, int64_t pixels, int64_t panels, int64_t steps,
                     int64_t pixelsPerVector = 1, const TileCosts &costs = {});
/// The same of floats.
DenseTile chooseFloatTile(const CpuLevel &level, int64_t pixels, int64_t panels, int64_t steps,
                          int64_t pixelsPerVector = 1);

/// The tile of a layer whose last panel has eight outputs: with half a panel, if that costs less
/// than the whole one, half of which is computed twice.
DenseTile chooseHalvedTile(int64_t accumulators, int64_t pixels, int64_t panels, int64_t steps);

/// The shape of a convolution or linear layer that tiles take.
std::optional<DenseShape> getDenseShape(const FusedOp &fused);

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_DENSESHAPE_H
