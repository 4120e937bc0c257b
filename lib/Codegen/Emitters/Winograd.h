//===- Winograd.h - 3x3 convolutions by fewer products ----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// F(2x2, 3x3) (Winograd 1980; Lavin and Gray 2016): four outputs come of sixteen products for each
// input channel instead of 36. Twice the filter's transform along either axis is an integer, so
// that all is: input and weights are i16, the sums, four times those of the convolution, i32. That
// is exact where these do not overflow.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_WINOGRAD_H
#define OCTET_LIB_CODEGEN_EMITTERS_WINOGRAD_H

#include "DenseShape.h"

namespace octet::codegen {

/// Tiles of 2 x 2 outputs of a convolution, counted through rows and images. Blocks of them are
/// transformed into memory and multiplied by one panel after the other.
class WinogradTiles {
public:
  /// Outputs of a tile along either axis, inputs under it, and products, which are its places.
  static constexpr int64_t kOutputs = 2, kInputs = 4, kPlaces = kInputs * kInputs;

  WinogradTiles(const DenseShape &shape, const TileProducts &products)
      : shape(shape), products(products) {}

  /// Whether the convolution is computed like this.
  bool fits() const;
  /// The panels' weights, transformed when a model is made: [panel][place][two channels][lane][2].
  KernelArgument transformWeights(ProgramEmitter &emitter, KernelArgument panels) const;

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
  int64_t rowsOfTiles() const { return llvm::divideCeil(shape.rows, kOutputs); }
  int64_t tilesPerRow() const { return llvm::divideCeil(shape.columns, kOutputs); }
  int64_t countTiles() const { return shape.images * rowsOfTiles() * tilesPerRow(); }
  /// Of a block: the room that there is, and what is used of it.
  int64_t mostTiles() const;
  int64_t tilesPerBlock() const;
  /// Of transformed input and of sums.
  int64_t bytesPerTile() const { return kPlaces * (shape.channels * 2 + kPanelOutputs * 4); }
  /// Bytes of a panel's weights at one place.
  int64_t placeSize() const { return shape.channels / 2 * products.partSize(); }
  mlir::Value countGroups(KernelBuilder &b, mlir::Value block) const;
  mlir::Value countTilesOf(KernelBuilder &b, mlir::Value block) const;
  void transformChannels(KernelBuilder &b, mlir::Value input, mlir::Value from, mlir::Value to);

  static constexpr int64_t kGroup = 4; ///< tiles whose sums are in registers together

  const DenseShape &shape;
  const TileProducts &products;
  mlir::Value transformed; ///< bytes of i16: [place][tile][channel]
  mlir::Value sums;        ///< i32: [place][tile][lane]
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_WINOGRAD_H
