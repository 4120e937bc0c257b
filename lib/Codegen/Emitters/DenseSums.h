//===- DenseSums.h - the sums of a dense tile -------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_DENSESUMS_H
#define OCTET_LIB_CODEGEN_EMITTERS_DENSESUMS_H

#include "../Products/Products.h"
#include "DenseShape.h"

namespace octet::codegen {

/// Elements of a panel's weights in a run.
int64_t getRunSize(const DenseShape &shape, const TileProducts &products);

/// Emits the loops that add products to the sums of one tile.
class TileSums {
public:
  /// `prefetches`: the next panels' weights, while these are multiplied.
  TileSums(const DenseShape &shape, const TileProducts &products, DenseTile tile, mlir::Value input,
           mlir::Value weights, bool prefetches = false)
      : shape(shape), products(products), tile(tile), input(input), weights(weights),
        prefetches(prefetches) {}

  /// The sums over kernel rows, runs and steps: [N.accumulate] in any order, floats in that of
  /// [N.conv] and [N.linear]. Multiplied are the kernel's `rows` and, where these are runs, its
  /// `columns`. `acc` has the sums of each vector of pixels with each of `panels`, each in its
  /// parts; behind these are those of two pixels each with half a panel, if there are more.
  llvm::SmallVector<mlir::Value> add(KernelBuilder &b, mlir::Value inBase, mlir::Value panelBase,
                                     int64_t panels, llvm::SmallVector<mlir::Value> acc,
                                     const Taps &rows, const Taps &columns);

private:
  llvm::SmallVector<mlir::Value> addRun(KernelBuilder &b, mlir::Value in, mlir::Value w,
                                        int64_t panels, mlir::ValueRange carried);
  void addParts(KernelBuilder &b, llvm::ArrayRef<mlir::Value> inputs, mlir::Value w, int64_t panels,
                llvm::MutableArrayRef<mlir::Value> sums);
  using Inputs = llvm::SmallVector<llvm::SmallVector<mlir::Value>>; ///< [step][part]
  llvm::SmallVector<mlir::Value> addSteps(KernelBuilder &b, mlir::Value in, mlir::Value w,
                                          int64_t steps, int64_t size, int64_t panels,
                                          mlir::ValueRange carried,
                                          llvm::SmallVector<Inputs> pixels = {});
  Inputs loadPanel(KernelBuilder &b, mlir::Value at, int64_t steps);
  void addHalfPanel(KernelBuilder &b, mlir::Value w, llvm::ArrayRef<mlir::Value> first,
                    llvm::ArrayRef<mlir::Value> second, mlir::Value &sum);
  Inputs loadInput(KernelBuilder &b, mlir::Value at, int64_t steps, int64_t size);
  /// Elements of a run that whole steps leave.
  int64_t getRest() const {
    return shape.isInteger ? (int64_t)llvm::alignTo(shape.runLength(), 4) % products.inputs() : 0;
  }
  /// Whether pixels lie so near that loads bring what several of them multiply.
  bool sharesLoads() const {
    return products.pixelsPerSum() == 1 && products.stepsPerLoad() > 1 && shape.inPixel < 16 &&
           shape.stepsPerRun() <= 8;
  }
  llvm::SmallVector<Inputs> loadWindow(KernelBuilder &b, mlir::Value at);
  /// Whether pixels of a tile multiply the same input pixels, under other kernel columns, of which
  /// whole loads follow one another.
  bool sharesColumns() const {
    return products.stepsPerLoad() > 1 && products.stepsPerSum() == 1 && shape.isInteger &&
           shape.pixelsPerVector == 1 && tile.vectors * products.pixelsPerSum() > 1 &&
           shape.kernelColumns > 1 && shape.kernelColumns <= kMostSharedColumns &&
           shape.inPixel < shape.kernelColumns * shape.kernelColumnStep &&
           shape.inPixel % shape.kernelColumnStep == 0 &&
           shape.channels % (products.inputs() * products.stepsPerLoad()) == 0;
  }
  llvm::SmallVector<mlir::Value> addColumns(KernelBuilder &b, mlir::Value in, mlir::Value w,
                                            int64_t panels, mlir::ValueRange carried);

  static constexpr int64_t kMostSharedColumns = 5; ///< code is written for each of them
  void prefetchPanels(KernelBuilder &b, mlir::Value w, int64_t steps, int64_t panels);

  const DenseShape &shape;
  const TileProducts &products;
  const DenseTile tile;
  const mlir::Value input, weights;
  const bool prefetches;
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_DENSESUMS_H
