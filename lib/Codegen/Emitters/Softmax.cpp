//===- Softmax.cpp - softmax by [N.softmax] -------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// One row, of which `at(k)` are the indices of element k.
static void emitRow(KernelBuilder &b, const TensorView &x, const TensorView &y, int64_t axis,
                    bool inVectors, function_ref<SmallVector<Value>(Value k)> at) {
  int64_t length = x.shape()[axis], lanes = inVectors ? 16 : 1;
  auto getAxis = [&] { return b.lanes > 1 ? axis : -1; };
  Value maximum = foldRow(
      b, length, inVectors, -std::numeric_limits<float>::infinity(),
      [&](Value k) { return loadReal(b, x, at(k), getAxis()); },
      [](KernelBuilder &b, Value acc, Value value) { return b.maxF(value, acc); });
  Value sum = foldRow(
      b, length, inVectors, 0,
      [&](Value k) {
        Value e = emitExpOfSmall(b, b.sub(loadReal(b, x, at(k), getAxis()), b.splat(maximum)));
        storeRaw(b, e, y, at(k));
        return e;
      },
      [](KernelBuilder &b, Value acc, Value e) { return b.add(acc, e); });
  auto divide = [&](Value k) {
    storeRaw(b, b.div(loadRaw(b, y, at(k), getAxis()), b.splat(sum)), y, at(k));
  };
  int64_t whole = length / lanes * lanes;
  b.loop(b.index(0), b.index(whole), lanes, [&](Value k) {
    b.lanes = lanes;
    divide(k);
    b.lanes = 1;
  });
  for (int64_t k = whole; k < length; ++k)
    divide(b.index(k));
}

void codegen::emitSoftmaxOfRows(KernelBuilder &b, int64_t length, int64_t rows, Value memory,
                                int64_t pitch, function_ref<Value(int64_t row, Value k)> number,
                                function_ref<Value(int64_t row, Value k)> again,
                                function_ref<void(int64_t row, Value k, Value part)> take) {
  auto getPlace = [&](int64_t row, Value k) { return b.addIndex(k, row * pitch); };
  SmallVector<Value> largest =
      foldRows(b, length, rows, -std::numeric_limits<float>::infinity(), number,
               [](KernelBuilder &b, Value acc, Value x) { return b.maxF(x, acc); });
  SmallVector<Value> sums = foldRows(
      b, length, rows, 0,
      [&](int64_t row, Value k) {
        Value e = emitExpOfSmall(b, b.sub(again(row, k), b.splat(largest[row])));
        b.store(e, memory, getPlace(row, k));
        return e;
      },
      [](KernelBuilder &b, Value acc, Value e) { return b.add(acc, e); });
  b.loopOverBlocks(length, b.lanes, [&](Value k) {
    for (int64_t row = 0; row < rows; ++row)
      take(row, k, b.div(b.load(memory, getPlace(row, k)), b.splat(sums[row])));
  });
}

LogicalResult codegen::emitSoftmax(ProgramEmitter &emitter, nn::SoftmaxOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  SmallVector<int64_t> rows(op.getInput().getType().getShape());
  int64_t axis = op.getAxis();
  rows[axis] = 1;
  emitter.addStep(
      op, kernel::Kernels::softmax, signature.arguments, ShapedType::getNumElements(rows),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        bool inVectors =
            x.strides.steps[axis] == 1 && y.strides.steps[axis] == 1 && !b.level.isScalar();
        b.loop(begin, end, 1, [&](Value row) {
          SmallVector<Value> i = b.splitIndex(row, rows);
          emitRow(b, x, y, axis, inVectors, [&](Value k) {
            SmallVector<Value> indices(i);
            indices[axis] = k;
            return indices;
          });
        });
      });
  return success();
}
