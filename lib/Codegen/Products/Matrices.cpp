//===- Matrices.cpp - products of small matrices --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// For levels that multiply eight bytes of two pixels by those of two outputs, in each sixteen
/// bytes of a register. The sums of two pixels are some values, whose fours
/// are two outputs of the first and the second pixel.
struct MatrixTiles : TileProducts {
  explicit MatrixTiles(int64_t fours) : fours(fours) {}
  int64_t inputs() const override { return 8; }
  int64_t parts() const override { return 8 / fours; }
  int64_t partSize() const override { return 16 * fours; }
  int64_t partsPerSum() const override { return parts(); }
  int64_t pixelsPerSum() const override { return 2; }
  int64_t vectorsPerSum() const override { return 2; }
  int64_t registerLanes() const override { return 4 * fours; }
  int64_t countSums(int64_t accumulators) const override {
    return accumulators * fours / vectorsPerSum();
  }
  int64_t stepsPerLoad() const override { return 2; }
  /// 16 registers of sums: with 24, LLVM keeps some of them on the stack. Where a register has
  /// several fours, input is repeated in these, which each panel more makes use of.
  TileCosts getTileCosts() const override {
    return {/*mostVectors=*/2, /*nextPanel=*/fours == 1 ? 1.0 : 0.0};
  }
  bool keepsInput(int64_t /*inputVectors*/) const override { return true; }
  bool readsJoinedSteps() const override { return true; }
  bool takesSigned() const override { return true; }

  Value load(KernelBuilder &b, Value memory, Value at) const override {
    return vector::LoadOp::create(b, VectorType::get({partSize()}, b.getI8Type()), memory,
                                  ValueRange{at});
  }
  SmallVector<Value> loadPixels(KernelBuilder &b, Value memory, ArrayRef<Value> at, int64_t steps,
                                int64_t size) const override {
    auto type = VectorType::get({steps * size}, b.getI8Type());
    Value first = vector::LoadOp::create(b, type, memory, ValueRange{at[0]}),
          second = vector::LoadOp::create(b, type, memory, ValueRange{at[1]});
    if (size == 8) // As i64, LLVM interleaves; bytes are copied and inserted, twice as many.
      return llvm::map_to_vector(llvm::seq(steps), [&](int64_t step) -> Value {
        SmallVector<int64_t> order;
        for (int64_t word = 0; word < 2 * fours; ++word)
          order.push_back(word % 2 * steps + step);
        return b.bitcast(vector::ShuffleOp::create(b, b.bitcast(first, b.getI64Type()),
                                                   b.bitcast(second, b.getI64Type()), order),
                         b.getI8Type());
      });
    // Beyond the input there is anything, and the weights are zero.
    return llvm::map_to_vector(llvm::seq(steps), [&](int64_t step) -> Value {
      SmallVector<int64_t> order;
      for (int64_t byte = 0; byte < partSize(); ++byte)
        order.push_back((byte / 8 % 2 * steps + step) * size + byte % 8 % size);
      return vector::ShuffleOp::create(b, first, second, order);
    });
  }
  Value multiplyAdd(KernelBuilder &b, Value sum, Value input, Value weights) const override {
    return kernel::Dot8Op::create(b, sum.getType(), sum, input, weights);
  }
  SmallVector<Value> openSum(KernelBuilder &b, Value sum) const override {
    return llvm::map_to_vector(llvm::seq(parts()), [&](int64_t part) -> Value {
      SmallVector<int64_t> order;
      for (int64_t lane = 0; lane < 4 * fours; ++lane)
        order.push_back(2 * (part * fours + lane / 4) + lane % 2);
      return vector::ShuffleOp::create(b, sum, sum, order);
    });
  }
  SmallVector<Value> closeSums(KernelBuilder &b, ValueRange parts) const override {
    Value all = concatVectors(b, b.getLoc(), SmallVector<Value>(parts));
    return llvm::map_to_vector(llvm::seq<int64_t>(2), [&](int64_t pixel) -> Value {
      SmallVector<int64_t> order;
      for (int64_t output = 0; output < 16; ++output)
        order.push_back(output / 2 * 4 + 2 * pixel + output % 2);
      return vector::ShuffleOp::create(b, all, all, order);
    });
  }

  int64_t fours; ///< sums of a register, in fours
};

/// Single pixels, few channels and depthwise kernels multiply by lanes.
struct MatrixProducts : LaneProducts {
  explicit MatrixProducts(int64_t fours) : tiles(fours) {}
  const TileProducts &forDense(const DenseWork &work) const override {
    if (work.columns < 2 || work.sharesVectors || work.inputBytes < 16)
      return LaneProducts::forDense(work);
    return tiles;
  }

  MatrixTiles tiles;
};
} // namespace

const TileProducts *codegen::getMatrixProducts() {
  static const MatrixProducts products(1);
  return &products;
}

const TileProducts *codegen::getMatrix256Products() {
  static const MatrixProducts products(2);
  return &products;
}
