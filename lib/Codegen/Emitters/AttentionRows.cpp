//===- AttentionRows.cpp - from a row of scores to its weights ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionRows.h"
#include "EpilogueBounds.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kLanes = 16;

//===----------------------------------------------------------------------===//
// Element-wise operators
//===----------------------------------------------------------------------===//

static FusedOp makeFused(GroupOp group, ArrayRef<Operation *> ops, Value yielded) {
  FusedOp fused(group);
  fused.product = fused.rounding = fused.dynamic = nullptr;
  fused.body.assign(ops.begin(), ops.end());
  fused.yielded = yielded;
  return fused;
}

AttentionBody::AttentionBody(GroupOp group, ArrayRef<Operation *> ops, Value yielded,
                             Signature &signature)
    : fused(makeFused(group, ops, yielded)), signature(signature) {
  for (Value inner : fused.getBodyInputs())
    inputs.push_back({inner, signature.addTensor(fused.getOuter(inner))});
}

Value AttentionBody::emit(KernelBuilder &b, ValueRange args, ArrayRef<int64_t> shape,
                          ValueRange indices, llvm::DenseMap<Value, Value> known) const {
  int64_t laneAxis = b.lanes > 1 ? shape.size() - 1 : -1;
  for (auto [inner, number] : inputs) {
    TensorView view = signature.getTensor(number, args);
    alignView(view, shape);
    known[inner] = loadReal(b, view, indices, laneAxis);
  }
  return emitBody(b, fused, std::move(known));
}

Interval AttentionBody::getRange(Value inner, Interval range) const {
  llvm::DenseMap<Value, Interval> ranges{{inner, range}};
  for (auto [input, number] : inputs)
    ranges[input] = getOperandRange(fused.getOuter(input));
  return getBodyRange(fused, ranges);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// `difference` is never positive.
static Interval getDifferenceRange(Interval scores) {
  return {numerics::IntervalArithmetic().sub(scores, scores).low, 0};
}

AttentionRows::AttentionRows(Attention &parts, GroupOp group, Interval range, Signature &signature)
    : parts(parts), signature(signature),
      body(group, parts.onDifferences.getArrayRef(), parts.weights.getInput(), signature),
      params(signature.addParametersOf(getTensorType(parts.weights.getResult()))) {
  Interval difference = getDifferenceRange(range),
           result = body.getRange(parts.difference.getResult(), difference);
  isFinite = range.isBounded() && difference.isBounded() && result.isBounded();
  QuantParams params = paramsOf(parts.weights.getResult());
  constexpr float kMostInWord = (1 << 15) - 512; // a zero point is added
  isSmall = isFinite && result.getMagnitude() / params.scales[0] < kMostInWord;
  isInside = isSmall &&
             std::rint(result.low / params.scales[0]) + params.zeroPoints[0] >= params.low &&
             std::rint(result.high / params.scales[0]) + params.zeroPoints[0] <= params.high;
  hasZeroPoint = params.zeroPoints[0] != 0;
}

Value AttentionRows::loadZeroPoint(KernelBuilder &b, ValueRange args) const {
  return b.loadSplat(signature.getTensor(params, args).zeroPoints, b.index(kZeroPoints));
}

/// The last elements of a row, of which `vector` has sixteen: those that belong to lanes behind the
/// last whole vector, in these; `neutral` in others.
static Value moveRest(KernelBuilder &b, Value vector, int64_t rest, float neutral) {
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    order.push_back(lane < rest ? kLanes - rest + lane : kLanes + lane);
  return vector::ShuffleOp::create(b, vector, b.constF(neutral), order);
}

/// The lanes by the tree of [N.lanes].
static Value joinLanes(KernelBuilder &b, Value vector, JoinFn join) {
  for (int64_t half = kLanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      order.push_back((lane + half) % kLanes);
    vector = join(b, vector, vector::ShuffleOp::create(b, vector, vector, order));
  }
  return vector::ExtractOp::create(b, vector, int64_t(0));
}

/// [N.lanes] over a row. `element(k)` is an element or, with b.lanes 16, those from k on, of which
/// the last sixteen overlap the ones before: it must not matter that it is called for some twice.
Value AttentionRows::fold(KernelBuilder &b, float neutral, function_ref<Value(Value)> element,
                          JoinFn join) const {
  int64_t length = parts.scores.getType().getShape().back(), rest = length % kLanes;
  if (b.lanes == 1)
    return foldRow(b, length, /*inVectors=*/false, neutral, element, join);
  Value lanes = b.loop(b.index(0), b.index(length - rest), kLanes, ValueRange{b.constF(neutral)},
                       [&](Value k, ValueRange carried) {
                         return SmallVector<Value>{join(b, carried[0], element(k))};
                       })[0];
  if (rest)
    lanes = join(b, lanes, moveRest(b, element(b.index(length - kLanes)), rest, neutral));
  return joinLanes(b, lanes, join);
}

Value AttentionRows::emit(KernelBuilder &b, ValueRange args, MutableArrayRef<Value> indices,
                          Value scores, Value scoresAt, Value weights, Value weightsAt) const {
  auto loadScore = [&](Value k) { return b.load(scores, b.addIndex(scoresAt, k)); };
  Value largest =
      b.splat(fold(b, -std::numeric_limits<float>::infinity(), loadScore,
                   [](KernelBuilder &b, Value acc, Value x) { return b.maxF(x, acc); }));
  QuantizeOperands by =
      loadQuantizeOperands(b, signature.getTensor(params, args), indices, /*laneAxis=*/-1);
  by.isSmall = isSmall;
  by.packSaturates = isInside; // nothing is left to be clamped
  by.addsZeroPoint = hasZeroPoint;
  auto shape = parts.scores.getType().getShape();
  return fold(
      b, 0,
      [&](Value k) {
        indices.back() = k;
        Value difference = b.sub(loadScore(k), largest);
        b.valuesAreFinite = isFinite;
        Value weight =
            body.emit(b, args, shape, indices, {{parts.difference.getResult(), difference}});
        Value stored = quantizeBy(b, weight, by);
        b.valuesAreFinite = false;
        b.store(truncate(b, stored), weights, b.addIndex(weightsAt, k));
        Value centred = hasZeroPoint ? b.sub(stored, by.zeroPoint) : stored;
        return b.mul(b.smallToFloat(centred), by.scale);
      },
      [](KernelBuilder &b, Value acc, Value x) { return b.add(acc, x); });
}
