//===- Pairs.cpp - products of two i16 a lane -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "StepOrders.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// For levels that multiply i16 and add two products: bytes at even
/// places are one part, the others another. Weights are i16 in memory, made
/// when a model is made.
struct PairProducts : TileProducts {
  int64_t inputs() const override { return 4; }
  int64_t parts() const override { return 2; }
  int64_t partSize() const override { return 64; }

  /// i16 take twice the memory. Few pixels of a layer with many weights wait
  /// for these: they are better off widening bytes.
  const TileProducts &forDense(const DenseWork &work) const override {
    if (work.pixels > (work.weightBytes < 64 * 1024 ? 1 : 16))
      return *this;
    return *getByteProducts();
  }
  /// Few pixels fit in registers, but not all the weights.
  bool keepsInput(int64_t inputVectors) const override { return inputVectors <= 2; }

  /// A pixel's bytes are widened once for all panels, which each pixel reads from the first cache.
  TileCosts getTileCosts() const override {
    TileCosts costs;
    costs.nextPanel = -0.5;
    costs.stepsInCache = 24 * 1024 / weightSize();
    return costs;
  }
  bool takesHalfPanels() const override { return true; }
  bool readsI16() const override { return true; }
  SmallVector<Value> split(KernelBuilder &b, Value input) const override {
    auto [even, odd] = b.widenBytes(input, /*isSigned=*/false);
    return {even, odd};
  }
  Value fromBytes(KernelBuilder &b, Value bytes) const override {
    return b.bitcast(bytes, b.getI16Type());
  }
  Value multiplyAdd(KernelBuilder &b, Value sum, Value input, Value weights) const override {
    return kernel::Dot2Op::create(b, sum.getType(), sum, input, weights);
  }
};

/// Steps that fit are multiplied as bytes (SortedSteps), these are the others.
struct SortedPairProducts : PairProducts {
  bool readsI16() const override { return false; }
  bool takesHalfPanels() const override { return false; }
  bool sortsSteps() const override { return true; }
};

const SortedPairProducts sortedPairs;

/// For levels that multiply pairs of bytes, too: two thirds of the instructions, or half of them.
struct MixedPairProducts : PairProducts {
  const TileProducts &forDense(const DenseWork &work) const override {
    // Tiles of one panel, and three loops instead of one, which take as long as so many steps.
    constexpr double kLeast = 0.14, kLoops = 4;
    const TileProducts &products = PairProducts::forDense(work);
    double least = kLeast + kLoops * products.inputs() / work.inputBytes;
    bool maySave = products.readsI16() && least <= StepOrders::kMostSaved;
    return maySave && work.countSaved() >= least ? sortedPairs : products;
  }
};
} // namespace

const TileProducts *codegen::getMixedPairProducts() {
  static const MixedPairProducts products;
  return &products;
}

const TileProducts *codegen::getPairProducts() {
  static const PairProducts products;
  return &products;
}
