//===- Lanes.cpp - products with a lane of a register ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

SmallVector<SmallVector<Value>> LaneProducts::broadcastSteps(KernelBuilder &b, Value memory,
                                                             Value at, int64_t steps) const {
  auto type = VectorType::get({4 * steps}, b.getI8Type());
  Value bytes = vector::LoadOp::create(b, type, memory, ValueRange{at});
  SmallVector<SmallVector<Value>> inputs;
  for (int64_t step = 0; step < steps; ++step) {
    SmallVector<int64_t> order;
    for (int64_t byte = 0; byte < 64; ++byte)
      order.push_back(4 * step + byte % 4);
    inputs.push_back({vector::ShuffleOp::create(b, bytes, bytes, order)});
  }
  return inputs;
}

Value LaneProducts::multiplyAdd(KernelBuilder &b, Value sum, Value input, Value weights) const {
  return kernel::Dot4Op::create(b, sum.getType(), sum, input, weights, /*is_signed=*/true);
}

namespace {
/// Of few steps, a panel's weights stay in registers, beside what the results need; sums of more
/// pixels and other panels' weights do not fit there.
struct KeptWeights : LaneProducts {
  TileCosts getTileCosts() const override { return {/*mostVectors=*/2, /*nextPanel=*/4}; }
};

/// Where results need more, LLVM would take weights out of the loop over tiles and spill them.
struct ReloadedWeights : LaneProducts {
  Value load(KernelBuilder &b, Value memory, Value at) const override {
    auto type = VectorType::get({16}, b.getI8Type());
    auto parts = llvm::map_to_vector(llvm::seq<int64_t>(0, 4), [&](int64_t i) -> Value {
      return kernel::ReloadOp::create(b, type, memory, b.addIndex(at, 16 * i));
    });
    return concatVectors(b, b.getLoc(), parts);
  }
};

const KeptWeights keptWeights;
const ReloadedWeights reloadedWeights;
} // namespace

const TileProducts &LaneProducts::forDense(const DenseWork &work) const {
  if (work.steps < 2 || work.steps > 4 || work.sharesVectors)
    return *this;
  if (work.steps == 2 || work.hasShortResults())
    return keptWeights;
  return reloadedWeights;
}

namespace {
/// Without an instruction for four products: two steps' products of bytes are added in i16, and
/// pairs of those to a sum of two lanes each. With weights from -127 on, i16 hold |2 * 128 * 127|.
struct PairedLaneProducts : LaneProducts {
  explicit PairedLaneProducts(int64_t steps) : steps(steps) {}
  const TileProducts &forDense(const DenseWork &work) const override;
  int64_t vectorsPerSum() const override { return 4; } // two, and i16 on the way to them
  SmallVector<Value> openSum(KernelBuilder &b, Value sum) const override {
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < 32; ++lane)
      order.push_back(lane % 2 == 0 ? lane / 2 : 16);
    return {vector::ShuffleOp::create(b, sum, b.constI(0), order)};
  }
  SmallVector<Value> closeSums(KernelBuilder &b, ValueRange parts) const override {
    auto half = [&](int64_t first) -> Value {
      SmallVector<int64_t> order;
      for (int64_t lane = first; lane < 32; lane += 2)
        order.push_back(lane);
      return vector::ShuffleOp::create(b, parts[0], parts[0], order);
    };
    return {b.add(half(0), half(1))};
  }
  /// LLVM begins the products of all steps at once, and more than these do not fit in registers.
  int64_t stepsPerLoad() const override { return steps; }
  int64_t stepsPerSum() const override { return steps; }
  Value multiplyAddSteps(KernelBuilder &b, Value sum, ValueRange inputs,
                         ValueRange weights) const override {
    auto words = VectorType::get({64}, b.getI16Type());
    Value products;
    for (auto [input, weight] : llvm::zip(inputs, weights)) {
      Value product = arith::MulIOp::create(b, arith::ExtSIOp::create(b, words, input),
                                            arith::ExtSIOp::create(b, words, weight));
      products = products ? arith::AddIOp::create(b, products, product) : product;
    }
    return kernel::AddPairsOp::create(b, sum.getType(), sum, products);
  }

private:
  int64_t steps;
};

const PairedLaneProducts singleSteps(1), pairsOfSteps(2);
} // namespace

const TileProducts &PairedLaneProducts::forDense(const DenseWork &work) const {
  return work.hasLeastWeights ? singleSteps : pairsOfSteps;
}

namespace {
/// For registers of sixteen 32-bit lanes. A product with a lane takes twice as long there, so that
/// four bytes of input are loaded into all lanes.
struct RepeatedProducts : LaneProducts {
  const TileProducts &forDense(const DenseWork & /*work*/) const override { return *this; }
  /// Of registers that hold a quarter.
  int64_t countSums(int64_t accumulators) const override { return 4 * accumulators; }
  TileCosts getTileCosts() const override { return {}; }
  bool keepsInput(int64_t /*inputVectors*/) const override { return false; }
  int64_t stepsPerLoad() const override { return 1; }
  SmallVector<SmallVector<Value>> broadcastSteps(KernelBuilder &b, Value memory, Value at,
                                                 int64_t steps) const override {
    return TileProducts::broadcastSteps(b, memory, at, steps);
  }
};
} // namespace

const TileProducts *codegen::getRepeatedProducts() {
  static const RepeatedProducts products;
  return &products;
}

const TileProducts *codegen::getPairedLaneProducts() { return &pairsOfSteps; }

const TileProducts *codegen::getLaneProducts() {
  static const LaneProducts products;
  return &products;
}
