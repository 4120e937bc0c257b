//===- Bytes.cpp - products of four bytes a lane --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

Value TileProducts::broadcast(KernelBuilder &b, Value memory, Value at) const {
  return kernel::Broadcast4Op::create(b, VectorType::get({64}, b.getI8Type()), memory, at);
}

SmallVector<SmallVector<Value>> TileProducts::broadcastSteps(KernelBuilder &b, Value memory,
                                                             Value at, int64_t steps) const {
  SmallVector<SmallVector<Value>> inputs;
  for (int64_t step = 0; step < steps; ++step)
    inputs.push_back(split(b, broadcast(b, memory, b.addIndex(at, step * this->inputs()))));
  return inputs;
}

Value TileProducts::load(KernelBuilder &b, Value memory, Value at) const {
  return fromBytes(
      b, vector::LoadOp::create(b, VectorType::get({64}, b.getI8Type()), memory, ValueRange{at}));
}

Value TileProducts::loadSecondHalf(KernelBuilder &b, Value memory, Value at) const {
  Value half = vector::LoadOp::create(b, VectorType::get({32}, b.getI8Type()), memory,
                                      ValueRange{b.addIndex(at, 32)});
  SmallVector<int64_t> twice =
      llvm::map_to_vector(llvm::seq<int64_t>(0, 64), [](int64_t byte) { return byte % 32; });
  return fromBytes(b, vector::ShuffleOp::create(b, half, half, twice));
}

SmallVector<Value> TileProducts::loadWeights(KernelBuilder &b, Value memory, Value at) const {
  SmallVector<Value> loaded{load(b, memory, at)};
  for (int64_t part = 1; part < parts(); ++part)
    loaded.push_back(load(b, memory, b.addIndex(at, part * partSize())));
  return loaded;
}

namespace {
/// For levels with an instruction that multiplies bytes and adds four products
/// (or without any).
struct ByteProducts : TileProducts {
  explicit ByteProducts(bool isSigned = false) : isSigned(isSigned) {}
  int64_t inputs() const override { return 4; }
  int64_t partSize() const override { return 64; }
  bool takesHalfPanels() const override { return true; }
  Value multiplyAdd(KernelBuilder &b, Value sum, Value input, Value weights) const override {
    return kernel::Dot4Op::create(b, sum.getType(), sum, input, weights, isSigned);
  }
  bool takesSigned() const override { return isSigned; }

private:
  bool isSigned;
};
} // namespace

const TileProducts *codegen::getByteProducts() {
  static const ByteProducts products;
  return &products;
}

const TileProducts &codegen::getSignedProducts() {
  static const ByteProducts products(/*isSigned=*/true);
  return products;
}
