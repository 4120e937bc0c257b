//===- SortedSteps.cpp - steps of bytes before steps of i16 ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SortedSteps.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Of a pair of weights, in magnitude: 255 * 128 fits in i16.
static constexpr int64_t kLargestSum = 128;

double codegen::countLargePairs(ArrayRef<int8_t> filter, int64_t channels,
                                const DenseShape &shape) {
  int64_t taps = shape.kernelRows * shape.kernelColumns, length = shape.runLength(),
          outputs = filter.size() / (channels * taps);
  auto getWeight = [&](int64_t output, int64_t run, int64_t at) -> int64_t {
    int64_t channel = at % shape.channels,
            tap = run * (length / shape.channels) + at / shape.channels;
    return at < length && channel < channels ? filter[(output * channels + channel) * taps + tap]
                                             : 0;
  };
  auto isLarge = [&](int64_t output, int64_t run, int64_t at) {
    return std::abs(getWeight(output, run, at) + getWeight(output, run, at + 1)) > kLargestSum;
  };
  int64_t large = 0, all = 0;
  for (int64_t first = 0; first < outputs; first += kPanelOutputs)
    for (int64_t run = 0; run < shape.kernelRows * shape.runsPerRow(); ++run)
      for (int64_t at = 0; at < length; at += 4, ++all)
        large += llvm::any_of(llvm::seq(first, std::min(first + kPanelOutputs, outputs)),
                              [&](int64_t output) {
                                return isLarge(output, run, at) || isLarge(output, run, at + 2);
                              });
  return (double)large / all;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static Value loadBytes(KernelBuilder &b, Value memory, Value at, int64_t count) {
  return vector::LoadOp::create(b, VectorType::get({count}, b.getI8Type()), memory, ValueRange{at});
}

static void storeInt(KernelBuilder &b, Value index, Value memory, Value at) {
  Value word = arith::IndexCastOp::create(b, b.getI32Type(), index);
  word = vector::BroadcastOp::create(b, VectorType::get({1}, b.getI32Type()), word);
  b.store(b.bitcast(word, b.getI8Type()), memory, at);
}

static Value loadInt(KernelBuilder &b, Value memory, Value at) {
  Value word = b.bitcast(loadBytes(b, memory, at, 4), b.getI32Type());
  return arith::IndexCastOp::create(b, b.getIndexType(),
                                    vector::ExtractOp::create(b, word, ArrayRef<int64_t>{0}));
}

/// 1 if all pairs of a step's weights, those at even places and the others, are small, else 0.
static codegen::Index countFitting(KernelBuilder &b, Value even, Value odd) {
  Value limit = arith::ConstantOp::create(
      b, DenseElementsAttr::get(cast<VectorType>(even.getType()), (int16_t)kLargestSum));
  Value sums = arith::AddIOp::create(b, arith::AddIOp::create(b, even, odd), limit);
  Value largest = vector::ReductionOp::create(b, vector::CombiningKind::MAXUI, sums);
  Value most = arith::ConstantOp::create(b, b.getI16IntegerAttr(2 * kLargestSum));
  Value fits = arith::CmpIOp::create(b, arith::CmpIPredicate::ule, largest, most);
  return {b, arith::SelectOp::create(b, fits, b.index(1), b.index(0))};
}

/// The runs [begin, end). Bounds: steps of a run, bytes in front of weights. A step is written
/// where the next one of its kind goes, and counted if it is of this kind.
static void writeSorted(EmittedCode &c, Value from, Value to, ArrayRef<codegen::Index> bounds,
                        codegen::Index begin, codegen::Index end) {
  using codegen::Index;
  KernelBuilder &b = c.b;
  Index steps = bounds[0], front = bounds[1], size = front + (steps + 1) * 128;
  c.loop(begin, end, [&](Index run) {
    Index source = run * (steps * 64), target = run * size;
    auto forSteps = [&](Index first, function_ref<Index(Value bytes, Index written)> write) {
      auto body = [&](Value step, ValueRange carried) -> SmallVector<Value> {
        Index written(b, carried[0]);
        storeInt(b, Index(b, step) * 4, to, target + written * 4 + 4);
        return {written + write(loadBytes(b, from, source + Index(b, step) * 64, 64), written)};
      };
      return Index(b, b.loop(b.index(0), steps, 1, ValueRange{first}, body)[0]);
    };
    Index numBytes = forSteps(c.index(0), [&](Value bytes, Index written) {
      auto [even, odd] = b.widenBytes(bytes, /*isSigned=*/true);
      b.store(bytes, to, target + front + written * 64);
      return countFitting(b, even, odd);
    });
    storeInt(b, numBytes, to, target);
    forSteps(numBytes, [&](Value bytes, Index written) {
      auto [even, odd] = b.widenBytes(bytes, /*isSigned=*/true);
      Index place = target + front + written * 128 - numBytes * 64;
      b.store(b.bitcast(even, b.getI8Type()), to, place);
      b.store(b.bitcast(odd, b.getI8Type()), to, place + 64);
      return c.index(1) - countFitting(b, even, odd);
    });
  });
}

KernelArgument SortedSteps::sort(ProgramEmitter &emitter, KernelArgument panels) const {
  int64_t runs = panels.type.getNumElements() / (steps * kByteStep);
  auto type = MemRefType::get({runs * bytesPerRun()}, emitter.getBuilder().getI8Type());
  return emitter.prepare({"write_sorted", panels, type, {steps, bytesOfPlaces()}, runs},
                         writeSorted);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

SmallVector<Value> SortedSteps::add(KernelBuilder &b, const TileProducts &products, Value input,
                                    ArrayRef<Value> pixels, Value weights, Value run,
                                    ValueRange sums) const {
  Value numBytes = loadInt(b, weights, run), front = b.addIndex(run, bytesOfPlaces());
  auto addStep = [&](Value step, ValueRange carried, auto addPixel) {
    Value place = loadInt(b, weights, b.addIndex(b.addIndex(run, b.mulIndex(step, 4)), 4));
    SmallVector<Value> next;
    for (auto [sum, pixel] : llvm::zip(carried, pixels))
      next.push_back(addPixel(sum, products.broadcast(b, input, b.addIndex(pixel, place))));
    return next;
  };
  auto addBytes = [&](Value step, ValueRange carried) {
    Value bytes = loadBytes(b, weights, b.addIndex(front, b.mulIndex(step, kByteStep)), kByteStep);
    return addStep(step, carried, [&](Value sum, Value four) {
      return products.multiplyAddFitting(b, sum, four, bytes);
    });
  };
  auto withBytes = b.loop(b.index(0), numBytes, 1, sums, addBytes);
  front = b.createIndex<arith::SubIOp>(front, b.mulIndex(numBytes, kWordStep - kByteStep));
  auto addWords = [&](Value step, ValueRange carried) {
    SmallVector<Value> words =
        products.loadWeights(b, weights, b.addIndex(front, b.mulIndex(step, kWordStep)));
    return addStep(step, carried, [&](Value sum, Value four) {
      for (auto [part, word] : llvm::zip(products.split(b, four), words))
        sum = products.multiplyAdd(b, sum, part, word);
      return sum;
    });
  };
  return b.loop(numBytes, b.index(steps), 1, withBytes, addWords);
}
