//===- Integers.cpp - reductions, cumulative sums, ranks ------------------===//
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

/// [N.cumulative_sum]
LogicalResult codegen::emitCumulativeSum(ProgramEmitter &emitter, nn::CumulativeSumOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  int64_t axis = op.getAxis();
  SmallVector<int64_t> others = getOthers(shape, axis), sizes = getSizes(shape, others);
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  emitter.addStep(
      op, kernel::Kernels::cumulative_sum, signature.arguments, sizes[0],
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        emitLoopNest(b, sizes, begin, end, [&](ValueRange k) {
          SmallVector<Value> at(shape.size(), b.index(0));
          for (auto [d, i] : llvm::zip(others, k))
            at[d] = i;
          Value zero = makeNumber(b, op.getType().getElementType(), 0);
          b.loop(b.index(0), b.index(shape[axis]), 1, zero, [&](Value i, ValueRange carried) {
            at[axis] = i;
            Value sum = b.add(carried[0], loadReal(b, x, at, -1));
            storeReal(b, op.getExclusive() ? carried[0] : sum, y, at, -1);
            return SmallVector<Value>{sum};
          });
        });
      });
  return success();
}

/// [N.top_k] An integer that orders numbers: floats by their bits, NaN before all others.
static Value getRank(KernelBuilder &b, Value number, bool isSmallest) {
  Value rank = number;
  if (number.getType().isF32()) {
    Value bits = b.bitcast(b.add(number, b.constF(0)), b.getI32Type()); // 0 of -0
    Value sign = arith::ShRSIOp::create(b, bits, b.constI(31));
    Value ordered =
        arith::XOrIOp::create(b, bits, arith::AndIOp::create(b, sign, b.constI(INT32_MAX)));
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, number, number);
    Value worst = b.constI(isSmallest ? INT32_MIN : INT32_MAX);
    rank = arith::SelectOp::create(b, isNumber, ordered, worst);
  }
  if (rank.getType().isInteger(1))
    rank = arith::ExtUIOp::create(b, b.getI64Type(), rank);
  else if (!rank.getType().isInteger(64))
    rank = arith::ExtSIOp::create(b, b.getI64Type(), rank);
  Value ones = arith::ConstantOp::create(b, b.getI64IntegerAttr(-1));
  return isSmallest ? arith::XOrIOp::create(b, rank, ones).getResult() : rank;
}

/// Whether element `i` of rank `rank` stands before another one.
static Value isBefore(KernelBuilder &b, Value rank, Value i, Value otherRank, Value other) {
  auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, predicate, x, y);
  };
  Value isEqual = compare(arith::CmpIPredicate::eq, rank, otherRank);
  Value isFirst = arith::AndIOp::create(b, isEqual, compare(arith::CmpIPredicate::slt, i, other));
  return arith::OrIOp::create(b, compare(arith::CmpIPredicate::sgt, rank, otherRank), isFirst);
}

/// [N.top_k] For each place, the first of the elements behind that of the place before.
LogicalResult codegen::emitTopK(ProgramEmitter &emitter, nn::TopKOp op) {
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  int64_t axis = shape.size() - 1;
  SmallVector<int64_t> others = getOthers(shape, axis), sizes = getSizes(shape, others);
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  emitter.addStep(
      op, kernel::Kernels::top_k, signature.arguments, sizes[0],
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        Value best = arith::ConstantOp::create(b, b.getI64IntegerAttr(INT64_MAX)),
              worst = arith::ConstantOp::create(b, b.getI64IntegerAttr(INT64_MIN)),
              none = arith::ConstantOp::create(b, b.getI64IntegerAttr(-1));
        Value count = arith::ConstantOp::create(b, b.getI64IntegerAttr(shape[axis]));
        emitLoopNest(b, sizes, begin, end, [&](ValueRange k) {
          SmallVector<Value> at(shape.size(), b.index(0));
          for (auto [d, i] : llvm::zip(others, k))
            at[d] = i;
          auto findNext = [&](Value place, ValueRange last) {
            auto found = b.loop(
                b.index(0), b.index(shape[axis]), 1, ValueRange{worst, count},
                [&](Value position, ValueRange first) {
                  at[axis] = position;
                  Value i = arith::IndexCastOp::create(b, b.getI64Type(), position);
                  Value rank = getRank(b, loadReal(b, x, at, -1), op.getSmallest());
                  Value isBetter =
                      arith::AndIOp::create(b, isBefore(b, rank, i, first[0], first[1]),
                                            isBefore(b, last[0], last[1], rank, i));
                  return SmallVector<Value>{arith::SelectOp::create(b, isBetter, rank, first[0]),
                                            arith::SelectOp::create(b, isBetter, i, first[1])};
                });
            at[axis] = place;
            storeReal(b, found[1], y, at, -1);
            return found;
          };
          b.loop(b.index(0), b.index(op.getK()), 1, ValueRange{best, none}, findNext);
        });
      });
  return success();
}
