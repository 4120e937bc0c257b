//===- HistogramState.cpp - counts of values by magnitude -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HistogramState.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <cstddef>
#include <cstring>

using namespace mlir;
using namespace octet;

/// Narrower bins than this would need a reciprocal beyond f32.
static constexpr int64_t kMinExponent = -120;

static_assert(sizeof(HistogramHeader) == 16);

//===----------------------------------------------------------------------===//
// On the host
//===----------------------------------------------------------------------===//

static HistogramHeader &getHeader(MutableArrayRef<char> state) {
  return *stateAs<HistogramHeader>(state);
}
static int64_t *getCounts(MutableArrayRef<char> state) {
  return stateAs<int64_t>(state.drop_front(sizeof(HistogramHeader)));
}

void HistogramKind::init(MutableArrayRef<char> state) const {
  memset(state.data(), 0, getBytes());
  getHeader(state).range = ValueRange32();
  getHeader(state).exponent = kMinExponent;
}

static float getMagnitude(ValueRange32 range) {
  return std::max(std::fabs(range.min), std::fabs(range.max));
}

/// The exponent that lets 2^binBits bins reach `magnitude` (finite).
static int32_t getExponent(float magnitude, int64_t binBits) {
  return std::max<int32_t>((int32_t)(llvm::bit_cast<uint32_t>(magnitude) >> 23) - 126 - binBits,
                           kMinExponent);
}

static void widen(MutableArrayRef<char> state, int64_t numBins, int32_t exponent) {
  HistogramHeader &header = getHeader(state);
  if (exponent <= header.exponent)
    return;
  int64_t shift = std::min<int64_t>(exponent - header.exponent, 63);
  int64_t *counts = getCounts(state);
  for (int64_t sign = 0; sign < 2; ++sign)
    for (int64_t bin = 0; bin < numBins; ++bin) {
      int64_t count = std::exchange(counts[sign * numBins + bin], 0);
      counts[sign * numBins + (bin >> shift)] += count;
    }
  header.exponent = exponent;
}

void HistogramKind::update(ArrayRef<float> data, MutableArrayRef<char> state) const {
  ValueRange32 &range = getHeader(state).range, seen;
  for (float x : data)
    if (std::isfinite(x))
      seen.include(x);
  int64_t *counts = getCounts(state);
  if (!seen.isEmpty()) {
    range.include(seen.min);
    range.include(seen.max);
    widen(state, getNumBins(), getExponent(getMagnitude(range), binBits));
    if (numPeaks)
      countMagnitude(getMagnitude(seen), {counts + 2 * getNumBins() + 2, (size_t)numPeaks});
  }
  float inverse = std::ldexp(1.0f, -getHeader(state).exponent);
  for (float x : data) {
    int64_t counter = 2 * getNumBins() + (std::isnan(x) ? 1 : 0);
    if (std::isfinite(x))
      counter = (int64_t)(std::fabs(x) * inverse) + (x < 0 ? getNumBins() : 0);
    ++counts[counter];
  }
}

void HistogramKind::merge(MutableArrayRef<char> state, ArrayRef<char> other) const {
  std::vector<char> more(other.begin(), other.begin() + getBytes());
  int32_t exponent = std::max(getHeader(state).exponent, getHeader(more).exponent);
  widen(state, getNumBins(), exponent);
  widen(more, getNumBins(), exponent);
  for (int64_t counter = 0; counter < getNumCounters(); ++counter)
    getCounts(state)[counter] += getCounts(more)[counter];
  ValueRange32 range = getHeader(more).range;
  if (range.isEmpty())
    return;
  getHeader(state).range.include(range.min);
  getHeader(state).range.include(range.max);
}

FailureOr<Histogram> HistogramKind::read(EmitError emitError, ArrayRef<char> state) const {
  const HistogramHeader &header = *stateAs<HistogramHeader>(state);
  ArrayRef<int64_t> counts(stateAs<int64_t>(state.drop_front(sizeof(HistogramHeader))),
                           getNumCounters());
  int64_t numBins = getNumBins();
  if (counts[2 * numBins + 1])
    return emitError() << "expected numbers, but the observer has seen NaN";
  bool isFinite = std::isfinite(header.range.min) && std::isfinite(header.range.max);
  // The widest bins reach the largest f32.
  if (!(isFinite || header.range.isEmpty()) || header.exponent < kMinExponent ||
      header.exponent > 128 - binBits)
    return emitError() << "expected the statistics of a histogram, but got damaged ones";
  return Histogram{header, counts.take_front(numBins), counts.slice(numBins, numBins),
                   counts[2 * numBins], counts.take_back(numPeaks)};
}

double Histogram::getBinWidth() const { return std::ldexp(1.0, header.exponent); }

int64_t Histogram::getTotal() const {
  int64_t total = 0;
  for (int64_t count : llvm::concat<const int64_t>(positive, negative))
    total += count;
  return total;
}

void Histogram::forEachBin(llvm::function_ref<void(double, double, int64_t)> bin) const {
  double width = getBinWidth(), min = header.range.min, max = header.range.max;
  auto visit = [&](double low, double high, int64_t count) {
    if (count)
      bin(std::max(low, min), std::min(high, max), count);
  };
  for (int64_t k = getNumBins() - 1; k >= 0; --k)
    visit(-(k + 1) * width, -k * width, negative[k]);
  for (int64_t k = 0; k < getNumBins(); ++k)
    visit(k * width, (k + 1) * width, positive[k]);
}

//===----------------------------------------------------------------------===//
// Emitted code
//===----------------------------------------------------------------------===//

namespace {
/// The emitted form of HistogramKind::update.
struct Emitter {
  OpBuilder &b;
  Location loc;
  HistogramKind kind;
  Value state, offset;

  Value i32(int32_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); }
  Value i64(int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 64); }
  Value f32(float value) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value)); }
  Value index(int64_t value) { return emitIndex(b, loc, value); }
  Value getView(Type element, int64_t count, int64_t member) {
    Value start = arith::AddIOp::create(b, loc, offset, index(member));
    return emitStateView(b, loc, state, element, count, start);
  }
  Value getCounters() {
    return getView(b.getI64Type(), kind.getNumCounters(), sizeof(HistogramHeader));
  }

  /// The largest magnitude in a range; 0 if it is empty.
  Value emitMagnitude(Value min, Value max) {
    Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, min, max);
    Value magnitude =
        emitMax(b, loc, math::AbsFOp::create(b, loc, min), math::AbsFOp::create(b, loc, max));
    return arith::SelectOp::create(b, loc, isEmpty, f32(0.0f), magnitude);
  }

  /// Counts a run with such finite elements; one without any counts nowhere.
  void emitPeak(MinMax seen) {
    Value isSome = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLE, seen.min, seen.max);
    emitCountMagnitude(b, loc, emitMagnitude(seen.min, seen.max), isSome, getCounters(),
                       2 * kind.getNumBins() + 2);
  }

  /// Includes the finite elements in the range and returns its largest magnitude; 0 if it is empty.
  Value emitRange(const FlatTensor &tensor, Value base) {
    MinMax seen = emitMinMax(b, loc, tensor, base, Values::Finite);
    if (kind.numPeaks)
      emitPeak(seen);
    Value range = getView(b.getF32Type(), 2, offsetof(HistogramHeader, range));
    Value min = emitMin(b, loc, seen.min, memref::LoadOp::create(b, loc, range, index(0)));
    Value max = emitMax(b, loc, seen.max, memref::LoadOp::create(b, loc, range, index(1)));
    memref::StoreOp::create(b, loc, emitPlusZero(b, loc, min), range, index(0));
    memref::StoreOp::create(b, loc, emitPlusZero(b, loc, max), range, index(1));
    return emitMagnitude(min, max);
  }

  /// Widens the bins to hold `magnitude` and returns the exponent.
  Value emitWiden(Value magnitude) {
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), magnitude);
    Value biased = arith::ShRUIOp::create(b, loc, bits, i32(23));
    Value needed = arith::SubIOp::create(b, loc, biased, i32(126 + kind.binBits));
    Value exponents = getView(b.getI32Type(), 1, offsetof(HistogramHeader, exponent));
    Value old = memref::LoadOp::create(b, loc, exponents, index(0));
    Value exponent = arith::MaxSIOp::create(b, loc, needed, old);
    memref::StoreOp::create(b, loc, exponent, exponents, index(0));
    Value isWider = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, exponent, old);
    scf::IfOp::create(b, loc, isWider, [&](OpBuilder &b, Location loc) {
      Emitter{b, loc, kind, state, offset}.emitAddBins(
          arith::SubIOp::create(b, loc, exponent, old));
      scf::YieldOp::create(b, loc);
    });
    return exponent;
  }

  void emitAddBins(Value shift) {
    Value shift64 = arith::MinSIOp::create(
        b, loc, arith::ExtSIOp::create(b, loc, b.getI64Type(), shift), i64(63));
    Value distance = arith::IndexCastOp::create(b, loc, b.getIndexType(), shift64);
    Value counters = getCounters();
    int64_t numBins = kind.getNumBins();
    emitLoops(b, loc, {{2, numBins}, {numBins, 1}}, index(0), {},
              [&](OpBuilder &b, Location loc, Value from, ValueRange) -> SmallVector<Value> {
                Value sign = arith::AndIOp::create(b, loc, from, emitIndex(b, loc, numBins));
                Value bin = arith::AndIOp::create(b, loc, from, emitIndex(b, loc, numBins - 1));
                Value to = arith::AddIOp::create(b, loc, sign,
                                                 arith::ShRUIOp::create(b, loc, bin, distance));
                Value count = memref::LoadOp::create(b, loc, counters, from);
                memref::StoreOp::create(b, loc, arith::ConstantIntOp::create(b, loc, 0, 64),
                                        counters, from);
                Value sum = arith::AddIOp::create(b, loc, count,
                                                  memref::LoadOp::create(b, loc, counters, to));
                memref::StoreOp::create(b, loc, sum, counters, to);
                return {};
              });
  }

  /// The counter of one value.
  Value emitCounter(Value x, Value inverse) {
    Value magnitude = math::AbsFOp::create(b, loc, x);
    Value inf = f32(std::numeric_limits<float>::infinity()), zero = f32(0.0f);
    Value isFinite = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, magnitude, inf);
    Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
    Value isNegative = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, zero);
    Value finite = arith::SelectOp::create(b, loc, isFinite, magnitude, zero);
    Value bin = arith::FPToSIOp::create(b, loc, b.getI32Type(),
                                        arith::MulFOp::create(b, loc, finite, inverse));
    int32_t numBins = kind.getNumBins();
    Value sign = arith::SelectOp::create(b, loc, isNegative, i32(numBins), i32(0));
    Value counter = arith::AddIOp::create(b, loc, bin, sign);
    Value other = arith::SelectOp::create(b, loc, isNaN, i32(2 * numBins + 1), i32(2 * numBins));
    return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                      arith::SelectOp::create(b, loc, isFinite, counter, other));
  }

  void emitCount(const FlatTensor &tensor, Value base, Value exponent) {
    Value bits =
        arith::ShLIOp::create(b, loc, arith::SubIOp::create(b, loc, i32(127), exponent), i32(23));
    Value inverse = arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
    Value counters = getCounters();
    emitLoops(b, loc, tensor.dims, base, {},
              [&](OpBuilder &b, Location loc, Value index, ValueRange) -> SmallVector<Value> {
                Value x = memref::LoadOp::create(b, loc, tensor.memory, index);
                Value counter = Emitter{b, loc, kind, state, offset}.emitCounter(x, inverse);
                Value count = memref::LoadOp::create(b, loc, counters, counter);
                Value one = arith::ConstantIntOp::create(b, loc, 1, 64);
                memref::StoreOp::create(b, loc, arith::AddIOp::create(b, loc, count, one), counters,
                                        counter);
                return {};
              });
  }
};
} // namespace

void HistogramKind::emitUpdate(OpBuilder &builder, Location loc, const FlatTensor &tensor,
                               Value base, Value state, Value offset) const {
  Emitter emitter{builder, loc, *this, state, offset};
  emitter.emitCount(tensor, base, emitter.emitWiden(emitter.emitRange(tensor, base)));
}
