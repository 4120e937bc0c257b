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

/// One row, of which `at(k)` are the indices of element k; or b.lanes rows side by side along
/// `laneAxis`. If that is the row's own axis, sixteen of its elements at once.
static void emitRow(KernelBuilder &b, const TensorView &x, const TensorView &y, int64_t axis,
                    int64_t laneAxis, function_ref<SmallVector<Value>(Value k)> at) {
  bool inVectors = laneAxis == axis;
  constexpr int64_t kLanes = 16;
  int64_t length = x.shape()[axis];
  auto getAxis = [&] { return b.lanes > 1 ? laneAxis : -1; };
  auto ofRow = [&](Value value) { return inVectors ? b.splat(value) : value; };
  Value maximum = foldRow(
      b, length, inVectors, -std::numeric_limits<float>::infinity(),
      [&](Value k) { return loadReal(b, x, at(k), getAxis()); },
      [](KernelBuilder &b, Value acc, Value value) { return b.maxF(value, acc); });
  Value sum = foldRow(
      b, length, inVectors, 0,
      [&](Value k) {
        Value e = emitExpOfSmall(b, b.sub(loadReal(b, x, at(k), getAxis()), ofRow(maximum)));
        storeRaw(b, e, y, at(k));
        return e;
      },
      [](KernelBuilder &b, Value acc, Value e) { return b.add(acc, e); });
  auto divide = [&](Value k) {
    storeRaw(b, b.div(loadRaw(b, y, at(k), getAxis()), ofRow(sum)), y, at(k));
  };
  if (!inVectors)
    return b.loop(0, length, divide);
  int64_t whole = length / kLanes * kLanes;
  b.loop(b.index(0), b.index(whole), kLanes, [&](Value k) {
    b.lanes = kLanes;
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

/// The axis along which elements lie side by side in both tensors, if it fills four lanes; or -1.
static int64_t findLaneAxis(const CpuLevel &level, nn::SoftmaxOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  Strides x = getStrides(op.getInput().getType()), y = getStrides(op.getType());
  if (!level.isScalar())
    for (int64_t d = 0; d < (int64_t)shape.size(); ++d)
      if (x.steps[d] == 1 && y.steps[d] == 1 && (d == (int64_t)op.getAxis() || shape[d] >= 4))
        return d;
  return -1;
}

LogicalResult codegen::emitSoftmax(ProgramEmitter &emitter, nn::SoftmaxOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  ArrayRef<int64_t> shape = op.getType().getShape();
  SmallVector<int64_t> rows(shape);
  int64_t axis = op.getAxis(), laneAxis = findLaneAxis(emitter.getLevel(), op), lanes = 1;
  rows[axis] = 1;
  if (laneAxis >= 0 && laneAxis != axis) {
    lanes = KernelBuilder::getLanes(shape[laneAxis]);
    // Vectors that overlap are not for two threads: exponentials lie in the result in between.
    rows[laneAxis] = shape[laneAxis] % lanes ? 1 : shape[laneAxis] / lanes;
  }
  emitter.addStep(
      op, kernel::Kernels::softmax, signature.arguments, ShapedType::getNumElements(rows),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        b.loop(begin, end, 1, [&](Value row) {
          SmallVector<Value> i = b.splitIndex(row, rows);
          auto emit = [&] {
            b.lanes = lanes;
            emitRow(b, x, y, axis, laneAxis, [&](Value k) {
              SmallVector<Value> indices(i);
              indices[axis] = k;
              return indices;
            });
            b.lanes = 1;
          };
          if (lanes == 1)
            return emit();
          Value block = i[laneAxis];
          b.loopOverBlocks(shape[laneAxis] / rows[laneAxis], lanes, [&](Value first) {
            i[laneAxis] = b.addIndex(b.mulIndex(block, lanes), first);
            emit();
          });
        });
      });
  return success();
}
