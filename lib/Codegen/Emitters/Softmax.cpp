//===- Softmax.cpp - softmax by [N.softmax] -------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum runs in sixteen virtual lanes (position modulo sixteen) that a fixed tree joins, at every
// level.
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kLanes = 16;

/// Lanes joined by a tree: 8, 4, 2, 1.
static Value joinLanes(KernelBuilder &b, SmallVector<Value> lanes,
                       function_ref<Value(Value, Value)> join) {
  for (size_t half = kLanes / 2; half >= 1; half /= 2)
    for (size_t i = 0; i < half; ++i)
      lanes[i] = join(lanes[i], lanes[i + half]);
  return lanes[0];
}

static Value joinLanes(KernelBuilder &b, SmallVector<Value> lanes) {
  return joinLanes(b, std::move(lanes), [&](Value x, Value y) { return b.add(x, y); });
}

static SmallVector<Value> splitLanes(KernelBuilder &b, Value vector) {
  SmallVector<Value> lanes;
  for (int64_t i = 0; i < kLanes; ++i)
    lanes.push_back(vector::ExtractOp::create(b, vector, i));
  return lanes;
}

/// One row whose elements lie side by side, in vectors; the rest of the row element by element.
static void emitContiguousRow(KernelBuilder &b, const TensorView &x, const TensorView &y,
                              Value xBase, Value yBase, int64_t length) {
  int64_t whole = length / kLanes * kLanes;
  auto inLanes = [&](int64_t lanes, auto body) {
    b.lanes = lanes;
    auto result = body();
    b.lanes = 1;
    return result;
  };
  Value lowest = inLanes(kLanes, [&] { return b.constF(-std::numeric_limits<float>::infinity()); });
  Value maxima = b.loop(
      b.index(0), b.index(whole), kLanes, ValueRange{lowest}, [&](Value k, ValueRange carried) {
        return inLanes(kLanes, [&] {
          return SmallVector<Value>{b.maxF(b.load(x.memory, b.addIndex(xBase, k)), carried[0])};
        });
      })[0];
  Value maximum =
      joinLanes(b, splitLanes(b, maxima), [&](Value p, Value q) { return b.maxF(p, q); });
  for (int64_t k = whole; k < length; ++k)
    maximum = b.maxF(b.load(x.memory, b.addIndex(xBase, k)), maximum);
  auto exponential = [&](Value k) {
    Value e = emitExp(b, b.sub(b.load(x.memory, b.addIndex(xBase, k)), b.splat(maximum)));
    b.store(e, y.memory, b.addIndex(yBase, k));
    return e;
  };
  Value zero = inLanes(kLanes, [&] { return b.constF(0); });
  Value partial = b.loop(
      b.index(0), b.index(whole), kLanes, ValueRange{zero}, [&](Value k, ValueRange carried) {
        return inLanes(kLanes,
                       [&] { return SmallVector<Value>{b.add(carried[0], exponential(k))}; });
      })[0];
  SmallVector<Value> sums = splitLanes(b, partial);
  for (int64_t k = whole; k < length; ++k)
    sums[k - whole] = b.add(sums[k - whole], exponential(b.index(k)));
  Value sum = joinLanes(b, sums);
  auto divide = [&](Value k) {
    Value at = b.addIndex(yBase, k);
    b.store(b.div(b.load(y.memory, at), b.splat(sum)), y.memory, at);
    return k;
  };
  b.loop(b.index(0), b.index(whole), kLanes,
         [&](Value k) { inLanes(kLanes, [&] { return divide(k); }); });
  for (int64_t k = whole; k < length; ++k)
    divide(b.index(k));
}

LogicalResult codegen::emitSoftmax(ProgramEmitter &emitter, nn::SoftmaxOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  SmallVector<int64_t> outer(op.getInput().getType().getShape());
  int64_t axis = op.getAxis(), length = outer[axis];
  outer[axis] = 1;
  emitter.addStep(
      op, kernel::Kernels::softmax, signature.arguments, ShapedType::getNumElements(outer),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        b.loop(begin, end, 1, [&](Value row) {
          SmallVector<Value> i = b.splitIndex(row, outer);
          bool isContiguous = x.strides.steps[axis] == 1 && y.strides.steps[axis] == 1 &&
                              !x.isQuantized() && !y.isQuantized();
          if (isContiguous && !b.level.isScalar() && length >= kLanes) {
            Value xBase = b.linearIndex(i, x.strides.steps, x.strides.offset),
                  yBase = b.linearIndex(i, y.strides.steps, y.strides.offset);
            return emitContiguousRow(b, x, y, xBase, yBase, length);
          }
          auto at = [&](Value position) {
            SmallVector<Value> indices(i);
            indices[axis] = position;
            return indices;
          };
          Value zero = b.index(0), count = b.index(length);
          Value infinity = b.constF(-std::numeric_limits<float>::infinity());
          Value maximum =
              b.loop(zero, count, 1, ValueRange{infinity}, [&](Value k, ValueRange carried) {
                return SmallVector<Value>{b.maxF(loadReal(b, x, at(k), -1), carried[0])};
              })[0];
          auto exponential = [&](Value k) {
            Value e = emitExp(b, b.sub(loadReal(b, x, at(k), -1), maximum));
            storeRaw(b, e, y, at(k));
            return e;
          };
          SmallVector<Value> sums(kLanes, b.constF(0));
          int64_t whole = length / kLanes * kLanes;
          if (whole)
            sums = b.loop(zero, b.index(whole), kLanes, sums, [&](Value k, ValueRange carried) {
              SmallVector<Value> next;
              for (int64_t lane = 0; lane < kLanes; ++lane)
                next.push_back(b.add(carried[lane], exponential(b.addIndex(k, lane))));
              return next;
            });
          for (int64_t k = whole; k < length; ++k)
            sums[k - whole] = b.add(sums[k - whole], exponential(b.index(k)));
          Value sum = joinLanes(b, sums);
          b.loop(zero, count, 1,
                 [&](Value k) { storeRaw(b, b.div(loadRaw(b, y, at(k), -1), sum), y, at(k)); });
        });
      });
  return success();
}
