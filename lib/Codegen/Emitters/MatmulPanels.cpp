//===- MatmulPanels.cpp - how products of two quantized values multiply ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatmulPanels.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

SmallVector<Value> MatmulPanels::makeOnes(KernelBuilder &b, int64_t count) const {
  SmallVector<int8_t> bytes(64, 0);
  std::fill_n(bytes.begin(), count, 1);
  auto type = VectorType::get({64}, b.getI8Type());
  Value ones = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(bytes)));
  return products.split(b, ones);
}

static Value splatByte(KernelBuilder &b, Type type, int8_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<ShapedType>(type), b.getI8IntegerAttr(value)));
}

/// Four rows of the columns side by side in each lane, as signed bytes; those that are not there
/// are zero.
Value MatmulPanels::packStep(KernelBuilder &b, Value from, ArrayRef<Value> rows, Value to, Value at,
                             Value sum) const {
  auto row = VectorType::get({16}, b.getI8Type());
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < 16; ++lane)
    for (int64_t i = 0; i < 4; ++i)
      order.push_back(i * 16 + lane);
  SmallVector<Value> quad;
  for (Value place : rows)
    quad.push_back(vector::LoadOp::create(b, row, from, ValueRange{place}));
  while (quad.size() < 4)
    quad.push_back(splatByte(b, row, (int8_t)-offset()));
  Value bytes = concatVectors(b, b.getLoc(), quad);
  bytes = vector::ShuffleOp::create(b, bytes, bytes, order);
  if (offset() != 0) // flipping the top bit takes it off
    bytes = arith::XOrIOp::create(b, bytes, splatByte(b, bytes.getType(), -128));
  SmallVector<Value> parts{bytes};
  if (products.readsI16()) {
    auto [even, odd] = b.widenBytes(bytes, /*isSigned=*/true);
    parts = {even, odd};
  }
  for (auto [part, value, one] : llvm::enumerate(parts, makeOnes(b, 64))) {
    b.store(b.bitcast(value, b.getI8Type()), to, b.addIndex(at, part * products.partSize()));
    sum = products.multiplyAdd(b, sum, one, value);
  }
  return sum;
}

Value MatmulPanels::pack(KernelBuilder &b, Value from, Value base, int64_t step, Value to,
                         Value at) const {
  auto packRows = [&](Value i, int64_t count, Value sum) {
    auto rows = llvm::map_to_vector(llvm::seq(count), [&](int64_t row) {
      return b.addIndex(base, b.mulIndex(b.addIndex(b.mulIndex(i, 4), row), step));
    });
    return packStep(b, from, rows, to, b.addIndex(b.mulIndex(i, products.weightSize()), at), sum);
  };
  Value sum = b.loop(b.index(0), b.index(depth / 4), 1, ValueRange{b.constI(0)},
                     [&](Value i, ValueRange carried) {
                       return SmallVector<Value>{packRows(i, 4, carried[0])};
                     })[0];
  return depth % 4 ? packRows(b.index(depth / 4), depth % 4, sum) : sum;
}

Value MatmulPanels::sumRow(KernelBuilder &b, Value memory, Value base) const {
  auto addTo = [&](Value sum, Value at, ArrayRef<Value> ones) {
    Value bytes =
        vector::LoadOp::create(b, VectorType::get({64}, b.getI8Type()), memory, ValueRange{at});
    for (auto [part, one] : llvm::zip(products.split(b, bytes), ones))
      sum = products.multiplyAdd(b, sum, part, one);
    return sum;
  };
  SmallVector<Value> ones = makeOnes(b, 64);
  Value sum = b.loop(b.index(0), b.index(depth / 64), 1, ValueRange{b.constI(0)},
                     [&](Value i, ValueRange carried) {
                       Value at = b.addIndex(base, b.mulIndex(i, 64));
                       return SmallVector<Value>{addTo(carried[0], at, ones)};
                     })[0];
  if (depth % 64)
    sum = addTo(sum, b.addIndex(base, depth / 64 * 64), makeOnes(b, depth % 64));
  return b.splat(vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum));
}

Value MatmulPanels::getPartOfRow(KernelBuilder &b, Value memory, Value base, Value za,
                                 Value zb) const {
  Value shift = b.sub(b.constI(offset()), zb), depthTimesZero = b.mul(za, b.constI(depth));
  return b.mul(shift, b.sub(sumRow(b, memory, base), depthTimesZero));
}

SmallVector<Value> MatmulPanels::multiply(KernelBuilder &b, Value memory, ArrayRef<Value> bases,
                                          Value packed, ArrayRef<Value> panels,
                                          SmallVector<Value> sums) const {
  return b.loop(b.index(0), b.index(steps()), 1, sums, [&](Value step, ValueRange carried) {
    SmallVector<Value> next(carried);
    auto weights = llvm::map_to_vector(panels, [&](Value panel) {
      return products.loadWeights(b, packed,
                                  b.addIndex(b.mulIndex(step, products.weightSize()), panel));
    });
    for (auto [i, base] : llvm::enumerate(bases)) {
      Value at = b.addIndex(base, b.mulIndex(step, products.inputs()));
      SmallVector<Value> input = products.split(b, products.broadcast(b, memory, at));
      for (size_t p = 0; p < panels.size(); ++p)
        for (auto [part, x] : llvm::enumerate(input)) {
          Value &sum = next[i * panels.size() + p];
          sum = products.multiplyAdd(b, sum, x, weights[p][part]);
        }
    }
    return next;
  });
}
