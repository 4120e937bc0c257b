//===- Histogram.cpp - the range that loses least -------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.histogram] Bin k of a sign holds the values with trunc(|x| / 2^exponent) = k. Whatever
// the order of the data, the exponent is that of the largest magnitude, and widening by one adds
// bins 2k and 2k + 1: the counts depend on the data only.
//
//===----------------------------------------------------------------------===//

#include "EmitReduction.h"
#include "HistogramSearch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <cmath>
#include <cstddef>
#include <cstring>

using namespace mlir;
using namespace octet;

static constexpr int64_t kBins = HistogramState::kBins;
/// log2(kBins)
static constexpr int64_t kBinBits = 12;
/// Narrower bins than this would need a reciprocal beyond f32; the widest reach the largest f32.
static constexpr int64_t kMinExponent = -120, kMaxExponent = 128 - kBinBits;
/// Counters: positive bins, negative bins, infinities, NaN.
static constexpr int64_t kInfinities = 2 * kBins, kNaNs = 2 * kBins + 1, kCounters = 2 * kBins + 2;

static_assert(sizeof(HistogramState) == 16 + 8 * kCounters && (1 << kBinBits) == kBins);

static QuantTarget getTarget(const HistogramObserverAttr &observer) {
  return {observer.getDtype(), observer.getScheme(), observer.getRange(), observer.getEps()};
}

LogicalResult HistogramObserverAttr::verify(EmitError emitError, IntegerType dtype, Scheme,
                                            DenseI64ArrayAttr range, FloatAttr eps, int64_t bins) {
  if (bins < 1 || bins > kBins)
    return emitError() << "expected 1 to " << kBins << " bins, but got " << bins;
  return verifyTarget(emitError, dtype, range, eps);
}

ObserverSpec HistogramObserverAttr::getSpec() const { return getTarget(*this).getSpec(); }

int64_t HistogramObserverAttr::getStateBytes(RankedTensorType) const {
  return sizeof(HistogramState);
}

void HistogramObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  memset(state.data(), 0, sizeof(HistogramState));
  auto &histogram = *stateAs<HistogramState>(state);
  histogram.range = ValueRange32();
  histogram.exponent = kMinExponent;
}

/// The exponent that lets kBins bins reach `magnitude` (finite).
static int32_t getExponent(float magnitude) {
  uint32_t bits;
  memcpy(&bits, &magnitude, sizeof(bits));
  return std::max<int32_t>((int32_t)(bits >> 23) - 126 - kBinBits, kMinExponent);
}

static void widen(HistogramState &histogram, int32_t exponent) {
  if (exponent <= histogram.exponent)
    return;
  int64_t shift = std::min<int64_t>(exponent - histogram.exponent, 63);
  for (int64_t sign = 0; sign < 2; ++sign)
    for (int64_t bin = 0; bin < kBins; ++bin) {
      int64_t count = std::exchange(histogram.counts[sign * kBins + bin], 0);
      histogram.counts[sign * kBins + (bin >> shift)] += count;
    }
  histogram.exponent = exponent;
}

void HistogramObserverAttr::updateState(RankedTensorType, ArrayRef<float> data,
                                        MutableArrayRef<char> state) const {
  auto &histogram = *stateAs<HistogramState>(state);
  for (float x : data)
    if (std::isfinite(x))
      histogram.range.include(x);
  if (!histogram.range.isEmpty())
    widen(histogram,
          getExponent(std::max(std::fabs(histogram.range.min), std::fabs(histogram.range.max))));
  float inverse = std::ldexp(1.0f, -histogram.exponent);
  for (float x : data) {
    int64_t counter = std::isnan(x) ? kNaNs : kInfinities;
    if (std::isfinite(x))
      counter = (int64_t)(std::fabs(x) * inverse) + (x < 0 ? kBins : 0);
    ++histogram.counts[counter];
  }
}

LogicalResult HistogramObserverAttr::mergeState(RankedTensorType, MutableArrayRef<char> state,
                                                ArrayRef<char> other) const {
  auto &histogram = *stateAs<HistogramState>(state);
  HistogramState more = *stateAs<HistogramState>(other);
  int32_t exponent = std::max(histogram.exponent, more.exponent);
  widen(histogram, exponent);
  widen(more, exponent);
  for (int64_t counter = 0; counter < kCounters; ++counter)
    histogram.counts[counter] += more.counts[counter];
  if (!more.range.isEmpty()) {
    histogram.range.include(more.range.min);
    histogram.range.include(more.range.max);
  }
  return success();
}

namespace {
/// The emitted form of updateState.
struct Emitter {
  OpBuilder &b;
  Location loc;
  Value state;

  Value i32(int32_t value) { return arith::ConstantIntOp::create(b, loc, value, 32); }
  Value i64(int64_t value) { return arith::ConstantIntOp::create(b, loc, value, 64); }
  Value index(int64_t value) { return emitIndex(b, loc, value); }
  Value getCounters() {
    return emitStateView(b, loc, state, b.getI64Type(), kCounters,
                         offsetof(HistogramState, counts));
  }

  /// Includes the finite elements in the range and returns its largest magnitude; 0 if it is empty.
  Value emitRange(const FlatTensor &tensor) {
    MinMax seen = emitMinMax(b, loc, tensor, index(0), Values::Finite);
    Value range = emitStateView(b, loc, state, b.getF32Type(), 2, offsetof(HistogramState, range));
    Value min = emitMin(b, loc, seen.min, memref::LoadOp::create(b, loc, range, index(0)));
    Value max = emitMax(b, loc, seen.max, memref::LoadOp::create(b, loc, range, index(1)));
    memref::StoreOp::create(b, loc, emitPlusZero(b, loc, min), range, index(0));
    memref::StoreOp::create(b, loc, emitPlusZero(b, loc, max), range, index(1));
    Value isEmpty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, min, max);
    Value magnitude =
        emitMax(b, loc, math::AbsFOp::create(b, loc, min), math::AbsFOp::create(b, loc, max));
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0f));
    return arith::SelectOp::create(b, loc, isEmpty, zero, magnitude);
  }

  /// Widens the bins to hold `magnitude` and returns the exponent.
  Value emitWiden(Value magnitude) {
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), magnitude);
    Value biased = arith::ShRUIOp::create(b, loc, bits, i32(23));
    Value needed = arith::SubIOp::create(b, loc, biased, i32(126 + kBinBits));
    Value exponents =
        emitStateView(b, loc, state, b.getI32Type(), 1, offsetof(HistogramState, exponent));
    Value old = memref::LoadOp::create(b, loc, exponents, index(0));
    Value exponent = arith::MaxSIOp::create(b, loc, needed, old);
    memref::StoreOp::create(b, loc, exponent, exponents, index(0));
    Value isWider = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, exponent, old);
    scf::IfOp::create(b, loc, isWider, [&](OpBuilder &b, Location loc) {
      Emitter{b, loc, state}.emitAddBins(arith::SubIOp::create(b, loc, exponent, old));
      scf::YieldOp::create(b, loc);
    });
    return exponent;
  }

  void emitAddBins(Value shift) {
    Value shift64 = arith::MinSIOp::create(
        b, loc, arith::ExtSIOp::create(b, loc, b.getI64Type(), shift), i64(63));
    Value distance = arith::IndexCastOp::create(b, loc, b.getIndexType(), shift64);
    Value counters = getCounters();
    emitLoops(b, loc, {{2, kBins}, {kBins, 1}}, index(0), {},
              [&](OpBuilder &b, Location loc, Value from, ValueRange) -> SmallVector<Value> {
                Value sign = arith::AndIOp::create(b, loc, from, emitIndex(b, loc, kBins));
                Value bin = arith::AndIOp::create(b, loc, from, emitIndex(b, loc, kBins - 1));
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
    Value inf = arith::ConstantOp::create(
        b, loc, b.getF32FloatAttr(std::numeric_limits<float>::infinity()));
    Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0.0f));
    Value isFinite = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, magnitude, inf);
    Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, x, x);
    Value isNegative = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, zero);
    Value finite = arith::SelectOp::create(b, loc, isFinite, magnitude, zero);
    Value bin = arith::FPToSIOp::create(b, loc, b.getI32Type(),
                                        arith::MulFOp::create(b, loc, finite, inverse));
    Value sign = arith::SelectOp::create(b, loc, isNegative, i32(kBins), i32(0));
    Value counter = arith::AddIOp::create(b, loc, bin, sign);
    Value other = arith::SelectOp::create(b, loc, isNaN, i32(kNaNs), i32(kInfinities));
    return arith::IndexCastOp::create(b, loc, b.getIndexType(),
                                      arith::SelectOp::create(b, loc, isFinite, counter, other));
  }

  void emitCount(const FlatTensor &tensor, Value exponent) {
    Value bits =
        arith::ShLIOp::create(b, loc, arith::SubIOp::create(b, loc, i32(127), exponent), i32(23));
    Value inverse = arith::BitcastOp::create(b, loc, b.getF32Type(), bits);
    Value counters = getCounters();
    emitLoops(b, loc, tensor.dims, index(0), {},
              [&](OpBuilder &b, Location loc, Value index, ValueRange) -> SmallVector<Value> {
                Value x = memref::LoadOp::create(b, loc, tensor.memory, index);
                Value counter = Emitter{b, loc, state}.emitCounter(x, inverse);
                Value count = memref::LoadOp::create(b, loc, counters, counter);
                Value one = arith::ConstantIntOp::create(b, loc, 1, 64);
                memref::StoreOp::create(b, loc, arith::AddIOp::create(b, loc, count, one), counters,
                                        counter);
                return {};
              });
  }
};
} // namespace

void HistogramObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType,
                                       Value data, Value state) const {
  FlatTensor tensor = flatten(builder, loc, data);
  Emitter emitter{builder, loc, state};
  emitter.emitCount(tensor, emitter.emitWiden(emitter.emitRange(tensor)));
}

/// Whether statistics, which may come from a file, are of finite values in bins of a possible
/// width.
static bool isSound(const HistogramState &histogram) {
  bool isFinite = std::isfinite(histogram.range.min) && std::isfinite(histogram.range.max);
  return (isFinite || histogram.range.isEmpty()) && histogram.exponent >= kMinExponent &&
         histogram.exponent <= kMaxExponent;
}

FailureOr<quant::QuantizedType>
HistogramObserverAttr::getQuantizedType(EmitError emitError, RankedTensorType,
                                        ArrayRef<char> state) const {
  const HistogramState &histogram = *stateAs<HistogramState>(state);
  if (histogram.counts[kNaNs])
    return emitError() << "expected numbers, but the observer has seen NaN";
  if (!isSound(histogram))
    return emitError() << "expected the statistics of a histogram, but got damaged ones";
  ValueRange32 range =
      histogram.range.isEmpty() ? histogram.range : searchRange(histogram, getBins());
  return getQuantizedTypeOfRange(emitError, getTarget(*this), range);
}
