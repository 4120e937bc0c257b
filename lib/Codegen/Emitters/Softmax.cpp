//===- Softmax.cpp - softmax by [N.softmax] -------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sum runs in sixteen virtual lanes (position modulo sixteen) that a fixed tree joins, at every level.
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kLanes = 16;

/// The lanes' sums: 8, 4, 2, 1.
static Value joinLanes(KernelBuilder &b, SmallVector<Value> lanes) {
  for (size_t half = kLanes / 2; half >= 1; half /= 2)
    for (size_t i = 0; i < half; ++i)
      lanes[i] = b.add(lanes[i], lanes[i + half]);
  return lanes[0];
}

LogicalResult codegen::emitSoftmax(ProgramEmitter &emitter, nn::SoftmaxOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  signature.addKey("axis", op.getAxis());
  SmallVector<int64_t> outer(op.getInput().getType().getShape());
  int64_t axis = op.getAxis(), length = outer[axis];
  outer[axis] = 1;
  emitter.addStep(op, "softmax", signature.key, signature.arguments, outer[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
    emitLoopNest(b, outer, begin, end, [&](ValueRange i) {
      auto at = [&](Value position) {
        SmallVector<Value> indices(i);
        indices[axis] = position;
        return indices;
      };
      Value zero = b.index(0), count = b.index(length);
      Value infinity = b.constF(-std::numeric_limits<float>::infinity());
      Value maximum = b.loop(zero, count, 1, ValueRange{infinity}, [&](Value k, ValueRange carried) {
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
      b.loop(zero, count, 1, [&](Value k) { storeRaw(b, b.div(loadRaw(b, y, at(k), -1), sum), y, at(k)); });
    });
  });
  return success();
}
