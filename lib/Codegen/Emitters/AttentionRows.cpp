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

/// `difference` is never positive.
static Interval getDifferenceRange(Interval scores) {
  return {numerics::IntervalArithmetic().sub(scores, scores).low, 0};
}

AttentionRows::AttentionRows(Attention &parts, GroupOp group, Interval range, Signature &signature)
    : parts(parts), signature(signature),
      body(group, parts.onDifferences.getArrayRef(), parts.weights.getInput(), signature,
           [&](Value outer) { return signature.addTensor(outer); }),
      params(signature.addParametersOf(getTensorType(parts.weights.getResult()))) {
  Interval difference = getDifferenceRange(range),
           result = body.getRange(parts.difference.getResult(), difference);
  isFinite = range.isBounded() && difference.isBounded() && result.isBounded();
  QuantParams params = paramsOf(parts.weights.getResult());
  isSmall = isFinite && result.getMagnitude() / params.scales[0] < KernelBuilder::kMostInWord;
  isInside = isSmall &&
             std::rint(result.low / params.scales[0]) + params.zeroPoints[0] >= params.low &&
             std::rint(result.high / params.scales[0]) + params.zeroPoints[0] <= params.high;
  hasZeroPoint = params.zeroPoints[0] != 0;
}

Value AttentionRows::loadZeroPoint(KernelBuilder &b, ValueRange args) const {
  return b.loadSplat(signature.getTensor(params, args).zeroPoints, b.index(kZeroPoints));
}

SmallVector<Value> AttentionRows::emit(KernelBuilder &b, ValueRange args, MutableArrayRef<Row> rows,
                                       Value scores, Value weights) const {
  auto loadScore = [&](int64_t row, Value k) {
    return b.load(scores, b.addIndex(rows[row].scoresAt, k));
  };
  auto shape = parts.scores.getType().getShape();
  SmallVector<Value> largest =
      foldRows(b, shape.back(), rows.size(), -std::numeric_limits<float>::infinity(), loadScore,
               [](KernelBuilder &b, Value acc, Value x) { return b.maxF(x, acc); });
  for (Value &number : largest)
    number = b.splat(number);
  QuantizeOperands by =
      loadQuantizeOperands(b, signature.getTensor(params, args), rows[0].indices, /*laneAxis=*/-1);
  by.isSmall = isSmall;
  by.packSaturates = isInside; // nothing is left to be clamped
  by.addsZeroPoint = hasZeroPoint;
  return foldRows(
      b, shape.back(), rows.size(), 0,
      [&](int64_t row, Value k) {
        rows[row].indices.back() = k;
        Value difference = b.sub(loadScore(row, k), largest[row]);
        b.valuesAreFinite = isFinite;
        Value weight = body.emit(b, args, shape, rows[row].indices,
                                 {{parts.difference.getResult(), difference}});
        Value stored = quantizeBy(b, weight, by);
        b.valuesAreFinite = false;
        b.store(truncate(b, stored), weights, b.addIndex(rows[row].weightsAt, k));
        Value centred = hasZeroPoint ? b.sub(stored, by.zeroPoint) : stored;
        return b.mul(b.smallToFloat(centred), by.scale);
      },
      [](KernelBuilder &b, Value acc, Value x) { return b.add(acc, x); });
}
