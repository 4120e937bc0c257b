//===- SortedSteps.cpp - steps of bytes before steps of i16 ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SortedSteps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static Value loadBytes(KernelBuilder &b, Value memory, Value at, int64_t count) {
  return vector::LoadOp::create(b, VectorType::get({count}, b.getI8Type()), memory, ValueRange{at});
}

static void storeWord(KernelBuilder &b, Value word, Value memory, Value at) {
  word = vector::BroadcastOp::create(b, VectorType::get({1}, b.getI32Type()), word);
  b.store(b.bitcast(word, b.getI8Type()), memory, at);
}

static Value loadWord(KernelBuilder &b, Value memory, Value at) {
  Value word = b.bitcast(loadBytes(b, memory, at, 4), b.getI32Type());
  return vector::ExtractOp::create(b, word, ArrayRef<int64_t>{0});
}

static Value loadIndex(KernelBuilder &b, Value memory, Value at) {
  return arith::IndexCastOp::create(b, b.getIndexType(), loadWord(b, memory, at));
}

/// What `make` makes of the number of an order of bytes.
static Value selectOrder(KernelBuilder &b, codegen::Index order,
                         function_ref<Value(ArrayRef<int8_t> bytes)> make) {
  Value selected = make(StepOrders::kBytes[0]);
  for (int64_t number = 1; number < (int64_t)StepOrders::kBytes.size(); ++number)
    selected =
        arith::SelectOp::create(b, order == number, make(StepOrders::kBytes[number]), selected);
  return selected;
}

/// The four bytes of an order, the first one lowest.
static Value makeOrderWord(KernelBuilder &b, ArrayRef<int8_t> bytes) {
  int32_t word = 0;
  for (auto [place, byte] : llvm::enumerate(bytes))
    word |= (int32_t)byte << 8 * place;
  return b.constI(word);
}

static Value reorderLanes(KernelBuilder &b, Value weights, ArrayRef<int8_t> bytes) {
  SmallVector<int64_t> order;
  for (int64_t byte = 0; byte < 64; ++byte)
    order.push_back(byte / 4 * 4 + bytes[byte % 4]);
  return vector::ShuffleOp::create(b, weights, weights, order);
}

/// The runs [begin, end). Bounds: steps of a run, bytes in front of weights.
static void writeSorted(EmittedCode &c, Value from, Value orders, Value to,
                        ArrayRef<codegen::Index> bounds, codegen::Index begin, codegen::Index end) {
  using codegen::Index;
  KernelBuilder &b = c.b;
  Index steps = bounds[0], front = bounds[1], size = front + steps * 128;
  auto loadCode = [&](Index at) -> Index {
    return {b, arith::IndexCastUIOp::create(b, b.getIndexType(), b.load(orders, at))};
  };
  auto toWord = [&](Index index) -> Value {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  };
  c.loop(begin, end, [&](Index run) {
    Index source = run * (steps * 64), target = run * size, codes = run * (steps + 2),
          numBytes = loadCode(codes + 1);
    storeWord(b, toWord(loadCode(codes)), to, target);
    storeWord(b, toWord(numBytes), to, target + 4);
    auto forSteps = [&](Index first, Index last,
                        function_ref<void(Index number, Index order, Value weights)> write) {
      c.loop(first, last, [&](Index number) {
        Index code = loadCode(codes + number + 2), step = code % StepOrders::kMostSteps,
              order = code >> StepOrders::kOrderBit, place = target + number * 4;
        storeWord(b, toWord(step * 4), to, place + 8);
        Value word =
            selectOrder(b, order, [&](ArrayRef<int8_t> bytes) { return makeOrderWord(b, bytes); });
        storeWord(b, word, to, place + steps * 4 + 8);
        write(number, order, loadBytes(b, from, source + step * 64, 64));
      });
    };
    forSteps(c.index(0), numBytes, [&](Index number, Index order, Value weights) {
      Value ordered = selectOrder(
          b, order, [&](ArrayRef<int8_t> bytes) { return reorderLanes(b, weights, bytes); });
      b.store(ordered, to, target + front + number * 64);
    });
    forSteps(numBytes, steps, [&](Index number, Index, Value weights) {
      auto [even, odd] = b.widenBytes(weights, /*isSigned=*/true);
      Index place = target + front + number * 128 - numBytes * 64;
      b.store(b.bitcast(even, b.getI8Type()), to, place);
      b.store(b.bitcast(odd, b.getI8Type()), to, place + 64);
    });
  });
}

KernelArgument SortedSteps::sort(ProgramEmitter &emitter, KernelArgument panels,
                                 const StepOrders &orders) const {
  int64_t runs = panels.type.getNumElements() / (steps * kByteStep);
  ArrayRef<int16_t> codes = orders.getCodes();
  std::string key(reinterpret_cast<const char *>(codes.data()), codes.size() * sizeof(int16_t));
  KernelArgument stored =
      emitter.getWeights<int16_t>("orders/" + key, [&] { return codes.vec(); }, OCTET_WEIGHTS_UNIT);
  auto type = MemRefType::get({runs * bytesPerRun()}, emitter.getBuilder().getI8Type());
  return emitter.prepareOrdered(
      {"write_sorted", panels, type, {steps, bytesOfPlaces()}, runs, stored}, writeSorted);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {
/// What the loops over a run's steps share.
struct RunProducts {
  KernelBuilder &b;
  const TileProducts &products;
  ArrayRef<Value> pixels;
  Value input, weights;

  Value loadStep(Value first, Value step, int64_t size) const {
    return loadBytes(b, weights, b.addIndex(first, b.mulIndex(step, size)), size);
  }
  Value broadcast(Value pixel, Value place) const {
    return products.broadcast(b, input, b.addIndex(pixel, place));
  }
  Value makePairs(Value four, Value bytes) const {
    auto words = VectorType::get({32}, b.getI16Type());
    return kernel::PairsOp::create(b, words, four, bytes);
  }
  Value addPairs(Value sum, Value pairs) const {
    auto words = cast<VectorType>(pairs.getType());
    Value ones = arith::ConstantOp::create(b, DenseElementsAttr::get(words, (int16_t)1));
    return kernel::Dot2Op::create(b, sum.getType(), sum, pairs, ones);
  }
  SmallVector<Value> forPixels(ValueRange sums,
                               function_ref<Value(Value sum, Value pixel)> add) const {
    SmallVector<Value> next;
    for (auto [sum, pixel] : llvm::zip(sums, pixels))
      next.push_back(add(sum, pixel));
    return next;
  }

  SmallVector<Value> addCouple(ValueRange sums, ArrayRef<Value> places,
                               ArrayRef<Value> bytes) const {
    return forPixels(sums, [&](Value sum, Value pixel) {
      Value first = makePairs(broadcast(pixel, places[0]), bytes[0]),
            second = makePairs(broadcast(pixel, places[1]), bytes[1]);
      return addPairs(sum, arith::AddIOp::create(b, first, second));
    });
  }
  SmallVector<Value> addBytes(ValueRange sums, Value place, Value order, Value bytes) const {
    return forPixels(sums, [&](Value sum, Value pixel) {
      Value four = broadcast(pixel, place);
      four = kernel::Reorder4Op::create(b, four.getType(), four, order);
      return addPairs(sum, makePairs(four, bytes));
    });
  }
  SmallVector<Value> addWords(ValueRange sums, Value place, ArrayRef<Value> words) const {
    return forPixels(sums, [&](Value sum, Value pixel) {
      for (auto [part, word] : llvm::zip(products.split(b, broadcast(pixel, place)), words))
        sum = products.multiplyAdd(b, sum, part, word);
      return sum;
    });
  }
};
} // namespace

SmallVector<Value> SortedSteps::add(KernelBuilder &b, const TileProducts &products, Value input,
                                    ArrayRef<Value> pixels, Value weights, Value run,
                                    ValueRange sums) const {
  RunProducts of{b, products, pixels, input, weights};
  Value numCouples = loadIndex(b, weights, run),
        numBytes = loadIndex(b, weights, b.addIndex(run, 4)),
        front = b.addIndex(run, bytesOfPlaces());
  auto atStep = [&](Value step, int64_t first) {
    return b.addIndex(b.addIndex(run, b.mulIndex(step, 4)), first);
  };
  auto loadPlace = [&](Value step) { return loadIndex(b, weights, atStep(step, kPlaces)); };
  auto addCouple = [&](Value couple, ValueRange carried) {
    Value first = b.mulIndex(couple, 2), second = b.addIndex(first, 1);
    return of.addCouple(
        carried, {loadPlace(first), loadPlace(second)},
        {of.loadStep(front, first, kByteStep), of.loadStep(front, second, kByteStep)});
  };
  auto addBytes = [&](Value step, ValueRange carried) {
    return of.addBytes(carried, loadPlace(step), loadWord(b, weights, atStep(step, ordersAt())),
                       of.loadStep(front, step, kByteStep));
  };
  auto next = b.loop(b.index(0), numCouples, 1, sums, addCouple);
  next = b.loop(b.mulIndex(numCouples, 2), numBytes, 1, next, addBytes);
  Value back = b.createIndex<arith::SubIOp>(front, b.mulIndex(numBytes, kWordStep - kByteStep));
  return b.loop(numBytes, b.index(steps), 1, next, [&](Value step, ValueRange carried) {
    Value at = b.addIndex(back, b.mulIndex(step, kWordStep));
    return of.addWords(carried, loadPlace(step), products.loadWeights(b, weights, at));
  });
}
