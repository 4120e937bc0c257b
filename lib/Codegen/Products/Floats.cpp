//===- Floats.cpp - products of one float a lane --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
struct FloatProducts : TileProducts {
  int64_t inputs() const override { return 1; }
  int64_t partSize() const override { return 16; }
  Value broadcast(KernelBuilder &b, Value memory, Value at) const override {
    return b.loadSplat(memory, at);
  }
  Value load(KernelBuilder &b, Value memory, Value at) const override { return b.load(memory, at); }
  Value multiplyAdd(KernelBuilder &b, Value sum, Value input, Value weights) const override {
    return b.fma(input, weights, sum);
  }
};
} // namespace

const TileProducts &codegen::getFloatProducts() {
  static const FloatProducts products;
  return products;
}
