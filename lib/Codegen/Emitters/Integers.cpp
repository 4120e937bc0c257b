//===- Integers.cpp - reductions of integers, cumulative sums -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// A number of the laws' type for `element`: f32, i64 or i1.
static Value makeNumber(KernelBuilder &b, Type element, int64_t value) {
  if (!isa<IntegerType>(element))
    return b.constF(static_cast<float>(value));
  Type type = element.isInteger(1) ? element : b.getI64Type();
  return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
}

/// Walks over the dimensions of `shape` but `without`; the first of them is the step's range.
static SmallVector<int64_t> getOthers(ArrayRef<int64_t> shape, ArrayRef<int64_t> without) {
  SmallVector<int64_t> others;
  for (int64_t d = 0; d < (int64_t)shape.size(); ++d)
    if (!llvm::is_contained(without, d))
      others.push_back(d);
  return others;
}

static SmallVector<int64_t> getSizes(ArrayRef<int64_t> shape, ArrayRef<int64_t> dimensions) {
  SmallVector<int64_t> sizes = llvm::map_to_vector(dimensions, [&](int64_t d) { return shape[d]; });
  if (sizes.empty())
    sizes.push_back(1);
  return sizes;
}

/// The first element, combined with all others in row-major order.
LogicalResult codegen::emitReduce(ProgramEmitter &emitter, nn::ReduceOp op) {
  ArrayRef<int64_t> shape = op.getInput().getType().getShape(), axes = op.getAxes();
  SmallVector<int64_t> kept = getOthers(shape, axes), keptSizes = getSizes(shape, kept);
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  Type element = op.getType().getElementType();
  auto getFirst = [&](KernelBuilder &b) {
    switch (op.getCombination()) {
    case nn::Combination::max:
      return makeNumber(b, element, element.isInteger(1) ? 0 : INT64_MIN);
    case nn::Combination::min:
      return makeNumber(b, element, element.isInteger(1) ? -1 : INT64_MAX);
    default:
      return makeNumber(b, element, op.getCombination() == nn::Combination::product);
    }
  };
  emitter.addStep(
      op, kernel::Kernels::reduce_integers, signature.arguments, keptSizes[0],
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        emitLoopNest(b, keptSizes, begin, end, [&](ValueRange k) {
          SmallVector<Value> at(shape.size(), b.index(0)), place;
          for (auto [d, i] : llvm::zip(kept, k))
            at[d] = i;
          for (int64_t d = 0; d < (int64_t)shape.size(); ++d)
            if (op.getKeepDims() || !llvm::is_contained(axes, d))
              place.push_back(at[d]);
          std::function<Value(size_t, Value)> nest = [&](size_t depth, Value sum) -> Value {
            if (depth == axes.size())
              return emitCombination(b, op.getCombination(), sum, loadReal(b, x, at, -1));
            return b.loop(b.index(0), b.index(shape[axes[depth]]), 1, sum,
                          [&](Value i, ValueRange carried) {
                            at[axes[depth]] = i;
                            return SmallVector<Value>{nest(depth + 1, carried[0])};
                          })[0];
          };
          storeReal(b, nest(0, getFirst(b)), y, place, -1);
        });
      });
  return success();
}

/// [N.cumulative_sum] Sums that lie side by side are added up sixteen at once.
LogicalResult codegen::emitCumulativeSum(ProgramEmitter &emitter, nn::CumulativeSumOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t axis = op.getAxis();
  SmallVector<int64_t> others = getOthers(shape, axis), sizes = getSizes(shape, others);
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  Strides from = getStrides(op.getInput().getType()), to = getStrides(op.getType());
  int64_t laneAxis = -1, lanes = 1;
  for (auto [d, size] : llvm::zip(others, sizes))
    if (from.steps[d] == 1 && to.steps[d] == 1 && size >= 4 &&
        op.getType().getElementType().isF32() && !emitter.getLevel().isScalar()) {
      laneAxis = d;
      lanes = KernelBuilder::getLanes(size);
      size = llvm::divideCeil(size, lanes);
      break;
    }
  emitter.addStep(
      op, kernel::Kernels::cumulative_sum, signature.arguments, ShapedType::getNumElements(sizes),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        b.loop(begin, end, 1, [&](Value row) {
          SmallVector<Value> at(shape.size(), b.index(0));
          for (auto [d, i] : llvm::zip(others, b.splitIndex(row, sizes)))
            at[d] = d == laneAxis ? b.getBlock(i, shape[d], lanes) : i;
          b.lanes = lanes;
          Value zero = makeNumber(b, op.getType().getElementType(), 0);
          b.loop(b.index(0), b.index(shape[axis]), 1, zero, [&](Value i, ValueRange carried) {
            at[axis] = i;
            Value sum = b.add(carried[0], loadReal(b, x, at, laneAxis));
            storeReal(b, op.getExclusive() ? carried[0] : sum, y, at, laneAxis);
            return SmallVector<Value>{sum};
          });
          b.lanes = 1;
        });
      });
  return success();
}
