//===- Winograd.h - convolutions by fewer products --------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Minimal filtering (Winograd 1980; Lavin and Gray 2016): along an axis of three taps, two outputs
// come of four products for each input channel instead of six, of five where the stride is two. All
// is done in integers: input and weights are i16, sums i32. That is exact where these do not
// overflow.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_WINOGRAD_H
#define OCTET_LIB_CODEGEN_EMITTERS_WINOGRAD_H

#include "DenseShape.h"

namespace octet::codegen {

/// How outputs side by side along one axis are computed: as many products, places, as there are
/// inputs under them.
struct WinogradAxis {
  int64_t taps, stride;

  bool isKnown() const { return taps == 1 || (taps == 3 && stride >= 1 && stride <= 2); }
  int64_t outputs() const { return taps == 1 ? 1 : 2; }
  int64_t places() const { return (outputs() - 1) * stride + taps; }
  /// Sums are 2^shift times those of the convolution, as the filter's transform is.
  int64_t shift() const { return taps == 3 && stride == 1; }

  using Values = llvm::SmallVector<mlir::Value>;
  Values transformInput(KernelBuilder &b, llvm::ArrayRef<mlir::Value> in) const;
  Values transformFilter(KernelBuilder &b, llvm::ArrayRef<mlir::Value> taps) const;
  Values transformSums(KernelBuilder &b, llvm::ArrayRef<mlir::Value> sums) const;
};

/// Tiles of neighbouring outputs of a convolution, counted through rows and images. Blocks of them
/// are transformed into memory and multiplied by one panel after the other.
class WinogradTiles {
public:
  WinogradTiles(const DenseShape &shape, const TileProducts &products);

  /// Whether the convolution is computed like this.
  bool fits() const;
  /// The panels' weights, transformed when a model is made: [panel][place][two channels][lane][2].
  KernelArgument transformWeights(ProgramEmitter &emitter, KernelArgument panels) const;

  int64_t outputRows() const { return vertical.outputs(); }
  int64_t outputColumns() const { return horizontal.outputs(); }
  int64_t countBlocks() const { return llvm::divideCeil(countTiles(), tilesPerBlock()); }
  void allocate(KernelBuilder &b);
  /// Calls `body` with the numbers of a block's tiles in the block.
  void forTiles(KernelBuilder &b, mlir::Value block, llvm::function_ref<void(mlir::Value)> body);
  /// The image, the first row and column of a tile's outputs.
  struct Place {
    mlir::Value image, row, column;
  };
  Place getPlace(KernelBuilder &b, mlir::Value block, mlir::Value tile) const;

  void transformInput(KernelBuilder &b, mlir::Value input, mlir::Value block);
  void multiply(KernelBuilder &b, mlir::Value weights, mlir::Value block, mlir::Value panel);
  /// The sums of a tile with the panel that was multiplied last, row by row.
  llvm::SmallVector<mlir::Value> transformSums(KernelBuilder &b, mlir::Value tile);

private:
  int64_t rowsOfTiles() const { return llvm::divideCeil(shape.rows, outputRows()); }
  int64_t tilesPerRow() const { return llvm::divideCeil(shape.columns, outputColumns()); }
  int64_t countTiles() const { return shape.images * rowsOfTiles() * tilesPerRow(); }
  /// Of a block: the room that there is, and what is used of it.
  int64_t mostTiles() const;
  int64_t tilesPerBlock() const;
  int64_t countPlaces() const { return vertical.places() * horizontal.places(); }
  /// Of transformed input and of sums.
  int64_t bytesPerTile() const { return countPlaces() * (shape.channels * 2 + kPanelOutputs * 4); }
  /// Bytes of a panel's weights at one place.
  int64_t placeSize() const { return shape.channels / 2 * products.partSize(); }
  bool savesProducts() const;
  mlir::Value countGroups(KernelBuilder &b, mlir::Value block) const;
  mlir::Value countTilesOf(KernelBuilder &b, mlir::Value block) const;
  void transformChannels(KernelBuilder &b, mlir::Value input, mlir::Value from, mlir::Value to);
  llvm::SmallVector<mlir::Value> multiplySteps(KernelBuilder &b, mlir::Value weights,
                                               mlir::Value weightsBase, mlir::Value in);

  static constexpr int64_t kGroup = 4; ///< tiles whose sums are in registers together

  const DenseShape &shape;
  const TileProducts &products;
  const WinogradAxis vertical, horizontal;
  mlir::Value transformed; ///< bytes of i16: [place][tile][channel]
  mlir::Value sums;        ///< i32: [place][tile][lane]
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_WINOGRAD_H
