//===- ChooseQParams.cpp - the scale and zero point of a run --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/ChooseQParams.h"
#include "Emitters.h"
#include "MergedViews.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kLanes = 16;
/// Vectors that are compared side by side: a CPU does not wait for the extremes so far.
static constexpr int64_t kVectors = 4;

static Value widen(KernelBuilder &b, Value x) {
  return arith::ExtFOp::create(b, b.ofLanes(b.getF64Type()), x);
}

static Value constDouble(KernelBuilder &b, double value) {
  return b.splat(arith::ConstantOp::create(b, b.getF64FloatAttr(value)));
}

static Value toInteger(KernelBuilder &b, Value small) {
  // Adding and subtracting it rounds what is small beside it.
  Value shift = constDouble(b, 0x1.8p52);
  return arith::FPToSIOp::create(b, b.i32(), b.sub(b.add(small, shift), shift));
}

/// [N.dynamic] Scale (f32) and zero point (i32) of values from `min` to `max` (f32), zero among
/// them.
static std::pair<Value, Value> chooseAsOnnx(KernelBuilder &b, Value min, Value max) {
  Value zero = b.constF(0), most = b.constF(255);
  Value scale = b.maxF(b.div(b.sub(max, min), most), b.constF(std::numeric_limits<float>::min()));
  Value point = b.minF(b.maxF(b.sub(zero, b.div(min, scale)), zero), most);
  return {scale, toInteger(b, widen(b, point))};
}

namespace {
/// [N.choose_qparams] of one range, in code; f64 where nothing else is said.
class ChooseParams {
public:
  ChooseParams(KernelBuilder &b, ArrayRef<int64_t> range) : b(b), low(range[0]), high(range[1]) {}

  /// Scale (f32) and zero point (i32) of values from `min` to `max` (f32), zero among them.
  std::pair<Value, Value> emit(Value min, Value max) {
    Value scale = chooseScale(min, max);
    Value isSmall = less(scale, real(numerics::kLeastDynamicScale));
    auto [smallMin, smallMax] = reachLeastScale(min, max, scale);
    min = wide(select(isSmall, smallMin, min));
    max = wide(select(isSmall, smallMax, max));
    scale = select(isSmall, real(numerics::kLeastDynamicScale), scale);
    return {narrow(scale), chooseZeroPoint(b.div(min, scale), b.div(max, scale))};
  }

private:
  Value chooseScale(Value min, Value max) {
    Value scale = b.div(b.sub(wide(max), wide(min)), real(high - low));
    Value infinity = b.constF(std::numeric_limits<float>::infinity());
    Value isUnfit = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                          b.div(b.constF(1), narrow(scale)), infinity);
    return select(isUnfit, real(numerics::kScaleOfZeros), scale);
  }

  /// The values that the least scale reaches, in f32.
  std::pair<Value, Value> reachLeastScale(Value min, Value max, Value scale) {
    Value zero = b.constF(0), least = b.constF(numerics::kLeastDynamicScale);
    Value reach = b.mul(least, b.constF(high - low)), factor = b.div(least, narrow(scale));
    Value isMinZero = equal(min, zero), isMaxZero = equal(max, zero);
    Value newMin = select(isMaxZero, arith::NegFOp::create(b, reach), b.mul(min, factor));
    Value newMax = select(isMaxZero, max, b.mul(max, factor));
    return {select(isMinZero, min, newMin), select(isMinZero, reach, newMax)};
  }

  Value chooseZeroPoint(Value fromMin, Value fromMax) {
    auto distance = [&](int64_t end, Value steps) {
      return b.sub(real(std::abs(end)), math::AbsFOp::create(b, steps));
    };
    Value isMinNearer = less(distance(low, fromMin), distance(high, fromMax));
    Value point = select(isMinNearer, b.sub(real(low), fromMin), b.sub(real(high), fromMax));
    point = select(less(real(low), point), point, real(low));
    point = select(less(point, real(high)), point, real(high));
    return toInteger(b, point);
  }

  Value real(double value) { return constDouble(b, value); }
  Value wide(Value x) { return widen(b, x); }
  Value narrow(Value x) { return arith::TruncFOp::create(b, b.f32(), x); }
  Value less(Value x, Value y) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }

  KernelBuilder &b;
  const int64_t low, high;
};
} // namespace

static Value larger(KernelBuilder &b, Value acc, Value x) { return b.maxF(x, acc); }
static Value smaller(KernelBuilder &b, Value acc, Value x) { return b.minF(x, acc); }

namespace {
/// The search for the least and the largest element of rows, zero among them. Neither depends on
/// the order, or on elements that are compared twice.
class Extremes {
public:
  Extremes(KernelBuilder &b, const TensorView &x)
      : b(b), x(x), rows(getRows(x.shape())), length(x.shape().back()),
        inVectors(x.strides.steps.back() == 1 && length >= kLanes && !b.level.isScalar()) {}

  /// Of the rows from `first` to `end`.
  std::pair<Value, Value> find(Value first, Value end) {
    b.lanes = inVectors ? kLanes : 1;
    int64_t vectors = inVectors ? std::min(kVectors, length / kLanes) : 1;
    SmallVector<Value> found(2 * vectors, b.constF(0));
    found = b.loop(first, end, 1, found, [&](Value row, ValueRange carried) {
      at = b.splitIndex(row, rows);
      return ofRow(vectors, carried);
    });
    auto joined = std::pair(join(ArrayRef(found).take_front(vectors), smaller),
                            join(ArrayRef(found).take_back(vectors), larger));
    b.lanes = 1;
    return joined;
  }

private:
  SmallVector<Value> ofRow(int64_t vectors, ValueRange carried) {
    int64_t block = vectors * b.lanes;
    return b.loop(b.index(0), b.index(llvm::divideCeil(length, block)), 1, carried,
                  [&](Value i, ValueRange found) {
                    Value first = b.getBlock(i, length, block);
                    SmallVector<Value> next(found);
                    for (int64_t v = 0; v < vectors; ++v) {
                      at.back() = b.addIndex(first, v * b.lanes);
                      Value element = loadReal(b, x, at, inVectors ? at.size() - 1 : -1);
                      next[v] = smaller(b, found[v], element);
                      next[vectors + v] = larger(b, found[vectors + v], element);
                    }
                    return next;
                  });
  }

  Value join(ArrayRef<Value> vectors, JoinFn joinTwo) {
    Value all = vectors.front();
    for (Value vector : vectors.drop_front())
      all = joinTwo(b, all, vector);
    return inVectors ? joinLanes(b, all, joinTwo) : all;
  }

  KernelBuilder &b;
  const TensorView &x;
  const SmallVector<int64_t> rows;
  const int64_t length;
  const bool inVectors;
  SmallVector<Value> at;
};
} // namespace

namespace {
/// The code of one search, for a tensor or for each of its rows.
class Search {
public:
  Search(KernelBuilder &b, ChooseQParamsOp op, TensorView x, Value scales, Value zeroPoints)
      : b(b), op(op), x(std::move(x)), scales(scales), zeroPoints(zeroPoints) {}

  void ofTensor() {
    mergeDimensions(x);
    auto [min, max] =
        Extremes(b, x).find(b.index(0), b.index(ShapedType::getNumElements(getRows(x.shape()))));
    store(b.index(0), choose(min, max));
  }

  /// Sixteen rows at a time have their parameters computed in lanes: divisions take longer than the
  /// search in a short row. Their extremes lie where the parameters will.
  void ofRows(Value begin, Value end) {
    b.loop(begin, end, 1, [&](Value row) {
      auto [min, max] = Extremes(b, x).find(row, b.addIndex(row, 1));
      store(row, {min, b.bitcast(max, b.getI32Type())});
    });
    Value sixteen = b.index(kLanes), count = arith::SubIOp::create(b, end, begin);
    Value whole = b.mulIndex(arith::DivUIOp::create(b, count, sixteen), kLanes);
    Value rest = b.level.isScalar() ? begin : b.addIndex(begin, whole);
    auto replace = [&](Value row) {
      Value min = b.load(scales, row), max = b.bitcast(b.load(zeroPoints, row), b.getF32Type());
      store(row, choose(min, max));
    };
    if (!b.level.isScalar()) {
      b.lanes = kLanes;
      b.loop(begin, rest, kLanes, replace);
      b.lanes = 1;
    }
    b.loop(rest, end, 1, replace);
  }

private:
  std::pair<Value, Value> choose(Value min, Value max) {
    return op.getOnnx() ? chooseAsOnnx(b, min, max) : ChooseParams(b, op.getRange()).emit(min, max);
  }
  void store(Value place, std::pair<Value, Value> params) {
    b.store(params.first, scales, place);
    b.store(params.second, zeroPoints, place);
  }

  KernelBuilder &b;
  ChooseQParamsOp op;
  TensorView x;
  Value scales, zeroPoints;
};
} // namespace

LogicalResult codegen::emitChooseQParams(ProgramEmitter &emitter, ChooseQParamsOp op) {
  Signature signature(emitter);
  int input = signature.addTensor(op.getInput()), scale = signature.addTensor(op.getScale()),
      zeroPoint = signature.addTensor(op.getZeroPoint());
  emitter.addStep(op, kernel::Kernels::reduce, signature.arguments,
                  op.getScale().getType().getNumElements(),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    Search search(b, op, signature.getTensor(input, args),
                                  signature.getTensor(scale, args).memory,
                                  signature.getTensor(zeroPoint, args).memory);
                    if (op.getPerRow())
                      return search.ofRows(begin, end);
                    b.loop(begin, end, 1, [&](Value) { search.ofTensor(); });
                  });
  return success();
}
