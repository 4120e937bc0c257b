//===- Products.h - how tiles multiply --------------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_PRODUCTS_PRODUCTS_H
#define OCTET_LIB_CODEGEN_PRODUCTS_PRODUCTS_H

#include "../ProgramEmitter.h"

namespace octet::codegen {

/// What a dense layer does, for which it chooses how to multiply.
struct DenseWork {
  int64_t pixels;     ///< that read the weights
  int64_t columns;    ///< of them, in a row
  int64_t inputBytes; ///< side by side under a pixel
  int64_t steps;      ///< of a panel
  int64_t weightBytes;
  bool hasLeastWeights;                       ///< -128
  llvm::function_ref<double()> countSaved;    ///< share of the time that sorted steps take less
  bool sharesVectors;                         ///< between pixels, of few outputs
  llvm::function_ref<bool()> hasShortResults; ///< sums become results by few parameters
};

/// What a way to multiply says of tiles.
struct TileCosts {
  int64_t mostVectors = 14; ///< of pixels, whose input fits in registers beside their sums
  double nextPanel = 0;     ///< of each panel but the first, in multiplications of vectors
  int64_t stepsInCache = std::numeric_limits<int64_t>::max(); ///< of all panels, for that to hold
  int64_t panelSums = 0; ///< of one panel, if more than of several, whose weights need registers
};

/// How the tiles of dense and depthwise kernels multiply: what differs between CPU levels, and
/// between integers and floats. A step multiplies a vector of sixteen lanes of the input,
/// `inputs()` elements in each, by a vector of weights; both come in `parts()` values, which are
/// multiplied one by one.
class TileProducts {
public:
  virtual ~TileProducts() = default;

  /// Input elements of a lane in one step.
  virtual int64_t inputs() const = 0;
  virtual int64_t parts() const { return 1; }
  /// Elements in memory of one part of the weights.
  virtual int64_t partSize() const = 0;
  int64_t weightSize() const { return parts() * partSize(); }

  /// How a dense layer multiplies: like this, or in a way that takes less memory, holds larger sums
  /// or is faster.
  virtual const TileProducts &forDense(const DenseWork & /*work*/) const { return *this; }
  /// How products of two values multiply.
  virtual const TileProducts &forValues() const { return *this; }
  /// Whether bytes of the input are signed.
  virtual bool takesSigned() const { return false; }
  /// Whether vectors may hold two pixels of eight outputs, and tiles such vectors beside others.
  virtual bool takesHalfPanels() const { return false; }
  /// Whether a tile's input stays in registers while the weights come and go, or the other way
  /// round.
  virtual bool keepsInput(int64_t /*inputVectors*/) const { return false; }

  virtual TileCosts getTileCosts() const { return {}; }

  /// Whether the weights are i16 in memory, which a prologue makes of their bytes.
  virtual bool readsI16() const { return false; }
  /// Whether two steps of the weights are one, of eight bytes a lane, which a prologue makes.
  virtual bool readsJoinedSteps() const { return false; }
  /// Whether the steps of a panel's run lie in an order of their own (SortedSteps).
  virtual bool sortsSteps() const { return false; }
  /// The input elements of one lane, in all lanes.
  virtual mlir::Value broadcast(KernelBuilder &b, mlir::Value memory, mlir::Value at) const;
  /// The parts of a vector of the input.
  virtual llvm::SmallVector<mlir::Value> split(KernelBuilder & /*b*/, mlir::Value input) const {
    return {input};
  }
  /// How many steps' elements of a lane one load may bring, a power of two.
  virtual int64_t stepsPerLoad() const { return 1; }
  /// The input of so many steps, which lie side by side: the elements of one lane in all lanes,
  /// split.
  virtual llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  broadcastSteps(KernelBuilder &b, mlir::Value memory, mlir::Value at, int64_t steps) const;
  /// One part from memory, of weights or of input that was split before.
  virtual mlir::Value load(KernelBuilder &b, mlir::Value memory, mlir::Value at) const;
  /// The same of weights, lanes 8 to 15 in both halves.
  mlir::Value loadSecondHalf(KernelBuilder &b, mlir::Value memory, mlir::Value at) const;
  /// 64 bytes of weights as they are multiplied.
  virtual mlir::Value fromBytes(KernelBuilder & /*b*/, mlir::Value bytes) const { return bytes; }
  /// All parts of a vector of weights.
  llvm::SmallVector<mlir::Value> loadWeights(KernelBuilder &b, mlir::Value memory,
                                             mlir::Value at) const;
  /// `sum` and the products of a part of the input with the same part of the weights.
  virtual mlir::Value multiplyAdd(KernelBuilder &b, mlir::Value sum, mlir::Value input,
                                  mlir::Value weights) const = 0;

  /// Vectors of sixteen lanes that a sum takes between `openSum` and `closeSums`.
  virtual int64_t vectorsPerSum() const { return 1; }
  /// 32-bit lanes of a register that holds sums.
  virtual int64_t registerLanes() const { return 4; }
  /// How many sums a level's registers hold.
  virtual int64_t countSums(int64_t accumulators) const { return accumulators / vectorsPerSum(); }
  /// The values that hold a sum: one, or one for each part of the weights.
  virtual int64_t partsPerSum() const { return 1; }
  virtual llvm::SmallVector<mlir::Value> openSum(KernelBuilder & /*b*/, mlir::Value sum) const {
    return {sum};
  }
  /// One vector of sixteen lanes for each pixel.
  virtual llvm::SmallVector<mlir::Value> closeSums(KernelBuilder & /*b*/,
                                                   mlir::ValueRange parts) const {
    return {parts[0]};
  }
  /// Pixels whose sums are held together: their input is loaded by `loadPixels`.
  virtual int64_t pixelsPerSum() const { return 1; }
  /// The input of so many steps of each of these pixels, at its place, of which `size` bytes a step
  /// are there.
  virtual llvm::SmallVector<mlir::Value> loadPixels(KernelBuilder & /*b*/, mlir::Value /*memory*/,
                                                    llvm::ArrayRef<mlir::Value> /*at*/,
                                                    int64_t /*steps*/, int64_t /*size*/) const {
    return {};
  }
  /// How many steps `multiplyAddSteps` takes, at most.
  virtual int64_t stepsPerSum() const { return 1; }
  /// `multiplyAdd` of several steps to an open sum.
  virtual mlir::Value multiplyAddSteps(KernelBuilder &b, mlir::Value sum, mlir::ValueRange inputs,
                                       mlir::ValueRange weights) const {
    return multiplyAdd(b, sum, inputs[0], weights[0]);
  }
};

/// Four signed bytes a lane.
const TileProducts &getSignedProducts();

/// One fused multiply-add in each lane.
const TileProducts &getFloatProducts();

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_PRODUCTS_PRODUCTS_H
