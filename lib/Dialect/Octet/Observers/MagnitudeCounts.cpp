//===- MagnitudeCounts.cpp - counts of how large runs and rows are --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MagnitudeCounts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <array>

using namespace mlir;
using namespace octet;

static constexpr int32_t kShift = 21;
static constexpr int64_t kLanes = 16;

void octet::countMagnitude(float magnitude, MutableArrayRef<int64_t> counts) {
  ++counts[llvm::bit_cast<uint32_t>(magnitude) << 1 >> (kShift + 1)];
}

float octet::getTypicalMagnitude(ArrayRef<int64_t> counts) {
  int64_t total = 0, sum = 0;
  for (int64_t count : counts)
    total += count;
  for (auto [bin, count] : llvm::enumerate(counts))
    if (sum += count; count && 2 * sum >= total)
      return llvm::bit_cast<float>(((uint32_t)bin + 1) << kShift);
  return 0;
}

void octet::emitCountMagnitude(OpBuilder &b, Location loc, Value magnitude, Value isCounted,
                               Value counters, int64_t first) {
  auto i32 = [&](int32_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); };
  Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), magnitude);
  bits = arith::ShLIOp::create(b, loc, bits, i32(1));
  Value bin = arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                         arith::ShRUIOp::create(b, loc, bits, i32(kShift + 1)));
  Value counter = arith::AddIOp::create(b, loc, bin, emitIndex(b, loc, first));
  Value one = arith::ExtUIOp::create(b, loc, b.getI64Type(), isCounted);
  Value count = memref::LoadOp::create(b, loc, counters, counter);
  memref::StoreOp::create(b, loc, arith::AddIOp::create(b, loc, count, one), counters, counter);
}

float octet::getMeanSquare(ArrayRef<float> row) {
  std::array<float, kLanes> sums{};
  ArrayRef<float> rest = row;
  for (; (int64_t)rest.size() >= kLanes; rest = rest.drop_front(kLanes))
    for (int64_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += rest[lane] * rest[lane];
  float sum = 0;
  for (float of : sums)
    sum += of;
  for (float x : rest)
    sum += x * x;
  return sum / (float)row.size();
}

/// Sixteen elements from `first` on.
static Value emitLoad(OpBuilder &b, Location loc, Value memory, Value first, int64_t stride) {
  auto vector = VectorType::get({kLanes}, b.getF32Type());
  if (stride == 1)
    return vector::LoadOp::create(b, loc, vector, memory, first);
  SmallVector<Value> elements;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    Value index = arith::AddIOp::create(b, loc, first, emitIndex(b, loc, lane * stride));
    elements.push_back(memref::LoadOp::create(b, loc, memory, index));
  }
  return vector::FromElementsOp::create(b, loc, vector, elements);
}

Value octet::emitMeanSquare(OpBuilder &b, Location loc, Value memory, Value first, StridedDim row) {
  auto vector = VectorType::get({kLanes}, b.getF32Type());
  auto addSquare = [](OpBuilder &b, Location loc, Value x, Value sum) -> SmallVector<Value> {
    return {arith::AddFOp::create(b, loc, sum, arith::MulFOp::create(b, loc, x, x))};
  };
  int64_t whole = row.size / kLanes;
  Value sums =
      emitLoops(b, loc, {{whole, kLanes * row.stride}}, first, emitFloat(b, loc, vector, 0),
                [&](OpBuilder &b, Location loc, Value index, ValueRange carried) {
                  Value x = emitLoad(b, loc, memory, index, row.stride);
                  return addSquare(b, loc, x, carried[0]);
                })
          .front();
  Value sum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, sums,
                                          emitFloat(b, loc, b.getF32Type(), 0));
  int64_t done = whole * kLanes;
  Value rest = arith::AddIOp::create(b, loc, first, emitIndex(b, loc, done * row.stride));
  sum = emitLoops(b, loc, {{row.size - done, row.stride}}, rest, sum,
                  [&](OpBuilder &b, Location loc, Value index, ValueRange carried) {
                    Value x = memref::LoadOp::create(b, loc, memory, index);
                    return addSquare(b, loc, x, carried[0]);
                  })
            .front();
  return arith::DivFOp::create(b, loc, sum, emitFloat(b, loc, b.getF32Type(), (float)row.size));
}
