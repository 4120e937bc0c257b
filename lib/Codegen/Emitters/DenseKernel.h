//===- DenseKernel.h - one dense kernel -------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_DENSEKERNEL_H
#define OCTET_LIB_CODEGEN_EMITTERS_DENSEKERNEL_H

#include "DenseSums.h"
#include "Epilogue.h"
#include "SortedSteps.h"
#include "Winograd.h"

namespace octet::codegen {

/// The arguments and the code of one dense kernel.
class DenseKernel {
public:
  DenseKernel(ProgramEmitter &emitter, const FusedOp &fused, const DenseShape &shape);

  /// False if the weights or the bias are no constants of the product's types.
  bool addArguments();
  void emit(const kernel::KernelRow &row);

private:
  /// Where an image and a group begin: elements of the input and the result, panels and outputs.
  /// Null: where all begins.
  struct Origin {
    mlir::Value image, in, out, panel, output;
  };
  /// Eight outputs are left beside whole panels. With two pixels in a vector, lanes are in another
  /// order than channels.
  bool canHalvePanel() const {
    return products.takesHalfPanels() && shape.isInteger && shape.groups == 1 &&
           shape.lastPanelOverlaps() && shape.outputs % kPanelOutputs == kPanelOutputs / 2 &&
           Epilogue::takesAnyOrder(fused);
  }
  int64_t wholePanels() const { return shape.panels() - tile.hasHalfPanel; }
  void emitGroup(KernelBuilder &b, mlir::ValueRange args, mlir::Value begin, mlir::Value end,
                 mlir::Value group);
  /// Some panels that tiles have side by side, perhaps with half a panel behind.
  struct Panels {
    mlir::Value first;
    int64_t count;
    bool hasHalf = false;
  };
  /// Blocks of tiles, each transformed once for all panels.
  void emitWinograd(KernelBuilder &b, mlir::ValueRange args, mlir::Value begin, mlir::Value end);
  void emitUnit(KernelBuilder &b, mlir::ValueRange args, mlir::Value unit, Origin origin,
                Panels panels);
  void emitTile(KernelBuilder &b, mlir::ValueRange args, const Origin &origin, mlir::Value row,
                mlir::Value column, Panels panels);
  /// The taps of a kernel's rows or columns that are multiplied for `count` outputs from `first`
  /// on: those that getTaps finds, or all, where hardly any lies beyond the input, or its border is
  /// not zero.
  Taps chooseTaps(KernelBuilder &b, const Window &window, mlir::Value first, int64_t count) const;
  int64_t countUnits() const {
    return winograd ? winograd->countBlocks() : shape.images * unitsPerImage();
  }
  /// A unit of the range: a row of tiles, or one tile where there is one row.
  int64_t unitsPerImage() const {
    return shape.rows > 1 ? shape.rows : llvm::divideCeil(shape.columns, tilePixels());
  }
  int64_t tilePixels() const { return storedVectors() * shape.pixelsPerVector; }
  int64_t storedVectors() const { return tile.vectors * products.pixelsPerSum(); }
  /// Whether weights come from memory or far caches, so that few tiles wait for each of them.
  bool waitsForWeights(KernelBuilder &b) const {
    constexpr int64_t kManyBytes = 64 * 1024;
    int64_t bytes = shape.isInteger ? 1 : 4, mostTiles = shape.isInteger ? 64 : 16;
    int64_t tiles = shape.images * shape.rows * llvm::divideCeil(shape.columns, tilePixels());
    return !b.keepsStructure && !products.sortsSteps() && tiles > 1 && tiles <= mostTiles &&
           shape.panels() * shape.stepsPerPanel() * products.weightSize() * bytes >= kManyBytes;
  }
  /// Lanes of a vector that are stored.
  int64_t usedLanes() const { return std::min<int64_t>(16, shape.outputs * shape.pixelsPerVector); }
  bool mayOverlap(KernelBuilder &b, int64_t panel, int64_t panels) const {
    return panel + 1 == panels && !tile.hasHalfPanel &&
           (shape.lastPanelOverlaps() || (b.keepsStructure && shape.outputs >= 16));
  }
  llvm::SmallVector<mlir::Value> getOutputs(KernelBuilder &b, const Origin &origin,
                                            mlir::Value firstPanel, int64_t panels);
  llvm::SmallVector<mlir::Value> getPositions(KernelBuilder &b, const Origin &origin,
                                              mlir::Value firstPanel, int64_t panels);
  llvm::SmallVector<mlir::Value> closeSums(KernelBuilder &b, llvm::ArrayRef<mlir::Value> sums,
                                           int64_t panels);
  /// Where parameters of the outputs in half a panel begin: in the second half of its lanes.
  mlir::Value getHalfPosition(KernelBuilder &b) const {
    return b.index(wholePanels() * kPanelOutputs + kPanelOutputs / 2);
  }
  /// Sums whose results are one vector of stored values.
  struct StoredVector {
    mlir::Value sums, position, channel;
    int64_t pixel; ///< of the tile
    bool joins;    ///< it lies behind the vector before
    bool isOfTwoPixels = false;
    mlir::Value place = {}; ///< in the result
  };
  llvm::SmallVector<StoredVector> getStoredVectors(KernelBuilder &b,
                                                   llvm::ArrayRef<mlir::Value> acc,
                                                   const Origin &origin, Panels panels);
  llvm::SmallVector<mlir::Value> getIndices(KernelBuilder &b, const Origin &origin, mlir::Value row,
                                            mlir::Value pixel, mlir::Value channel);
  void storeTile(KernelBuilder &b, mlir::ValueRange args, llvm::ArrayRef<mlir::Value> acc,
                 const Origin &origin, mlir::Value row, mlir::Value column, Panels panels);
  void storeBytes(KernelBuilder &b, mlir::ValueRange args, llvm::ArrayRef<mlir::Value> values,
                  mlir::Value memory, llvm::ArrayRef<StoredVector> vectors);
  void storePixels(KernelBuilder &b, mlir::Value vector, mlir::Value memory, mlir::Value place);

  ProgramEmitter &emitter;
  const FusedOp &fused;
  DenseShape shape;
  Signature signature;
  std::optional<StepOrders> orders; ///< of the weights, where they decide how to multiply
  const TileProducts &products;
  std::optional<WinogradTiles> winograd;
  DenseTile tile; ///< its vectors are those of sums
  int input = -1, weights = -1, initial = -1;
  std::optional<Epilogue> epilogue;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_DENSEKERNEL_H
