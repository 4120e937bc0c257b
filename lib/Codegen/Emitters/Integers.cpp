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

/// [N.top_k] Integers that order floats by their bits, NaN before all others.
static Value getRankOfFloats(KernelBuilder &b, Value number, bool isSmallest) {
  Value bits = b.bitcast(b.add(number, b.constF(0)), b.getI32Type()); // 0 of -0
  Value sign = arith::ShRSIOp::create(b, bits, b.constI(31));
  Value ordered =
      arith::XOrIOp::create(b, bits, arith::AndIOp::create(b, sign, b.constI(INT32_MAX)));
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, number, number);
  Value first = b.constI(isSmallest ? INT32_MIN : INT32_MAX);
  return arith::SelectOp::create(b, isNumber, ordered, first);
}

/// [N.top_k] An integer that orders numbers.
static Value getRank(KernelBuilder &b, Value number, bool isSmallest) {
  Value rank = number.getType().isF32() ? getRankOfFloats(b, number, isSmallest) : number;
  if (rank.getType().isInteger(1))
    rank = arith::ExtUIOp::create(b, b.getI64Type(), rank);
  else if (!rank.getType().isInteger(64))
    rank = arith::ExtSIOp::create(b, b.getI64Type(), rank);
  Value ones = arith::ConstantOp::create(b, b.getI64IntegerAttr(-1));
  return isSmallest ? arith::XOrIOp::create(b, rank, ones).getResult() : rank;
}

namespace {
/// Places of a row's first elements, in their order, which lie in the result while they are found.
class FirstElements {
public:
  FirstElements(KernelBuilder &b, const TensorView &x, const TensorView &y, ValueRange row,
                bool isSmallest)
      : b(b), x(x), y(y), at(row), isSmallest(isSmallest) {}

  Value getRank(Value position) {
    at.back() = position;
    return ::getRank(b, loadReal(b, x, at, -1), isSmallest);
  }
  Value getRankAt(Value place) {
    Value position = load(place);
    return getRank(arith::IndexCastOp::create(b, b.getIndexType(), position));
  }

  /// Puts an element behind all that stand before it, which are `end` at most; the others move by
  /// one. It is behind those of equal rank, whose indices are smaller.
  void insert(Value position, Value rank, Value end) {
    auto loop = scf::WhileOp::create(b, TypeRange{b.getIndexType()}, ValueRange{end});
    OpBuilder::InsertionGuard guard(b);
    Value place =
        b.createBlock(&loop.getBefore(), {}, b.getIndexType(), b.getLoc())->getArgument(0);
    Value before = getPlaceBefore(place);
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, place, b.index(0));
    Value isBehind = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, getRankAt(before), rank);
    Value isThere = arith::OrIOp::create(b, isFirst, isBehind);
    Value moves =
        arith::XOrIOp::create(b, isThere, arith::ConstantOp::create(b, b.getBoolAttr(true)));
    scf::ConditionOp::create(b, moves, place);
    place = b.createBlock(&loop.getAfter(), {}, b.getIndexType(), b.getLoc())->getArgument(0);
    before = getPlaceBefore(place);
    store(load(before), place);
    scf::YieldOp::create(b, before);
    b.setInsertionPointAfter(loop);
    store(arith::IndexCastOp::create(b, b.getI64Type(), position), loop.getResult(0));
  }

private:
  /// The position of the element at a place.
  Value load(Value place) {
    at.back() = place;
    return loadReal(b, y, at, -1);
  }
  void store(Value position, Value place) {
    at.back() = place;
    storeReal(b, position, y, at, -1);
  }
  /// The first one's is itself.
  Value getPlaceBefore(Value place) {
    return b.createIndex<arith::SubIOp>(place, arith::MinUIOp::create(b, place, b.index(1)));
  }

  KernelBuilder &b;
  const TensorView &x, &y;
  SmallVector<Value> at;
  bool isSmallest;
};
} // namespace

/// The position of the first element of a row that lies side by side: `lanes` at once, the last
/// ones of which may be some of those before.
static Value findFirst(KernelBuilder &b, const TensorView &x, SmallVector<Value> at, int64_t size,
                       int64_t lanes, bool isSmallest) {
  b.lanes = lanes;
  SmallVector<int32_t> places = llvm::to_vector(llvm::seq<int32_t>(0, (int32_t)lanes));
  Value lane = arith::ConstantOp::create(b, b.getI32VectorAttr(places));
  auto load = [&](Value position) -> std::pair<Value, Value> {
    at.back() = position;
    Value rank = getRankOfFloats(b, loadReal(b, x, at, (int64_t)at.size() - 1), isSmallest);
    if (isSmallest)
      rank = arith::XOrIOp::create(b, rank, b.constI(-1));
    Value first = arith::IndexCastOp::create(b, b.getI32Type(), position);
    return {rank, b.add(b.splat(first), lane)};
  };
  auto join = [&](Value position, ValueRange best) {
    auto [rank, places] = load(position);
    Value isBetter = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rank, best[0]);
    return SmallVector<Value>{arith::SelectOp::create(b, isBetter, rank, best[0]),
                              arith::SelectOp::create(b, isBetter, places, best[1])};
  };
  auto [rank, position] = load(b.index(0));
  SmallVector<Value> best{rank, position};
  best = b.loop(b.index(lanes), b.index(size / lanes * lanes), lanes, best, join);
  if (size % lanes)
    best = join(b.index(size - lanes), best);
  auto reduce = [&](vector::CombiningKind kind, Value vector) {
    return vector::ReductionOp::create(b, kind, vector).getResult();
  };
  Value most = b.splat(reduce(vector::CombiningKind::MAXSI, best[0]));
  Value isMost = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, best[0], most);
  Value found = arith::SelectOp::create(b, isMost, best[1], b.constI(INT32_MAX));
  b.lanes = 1;
  return arith::ExtSIOp::create(b, b.getI64Type(), reduce(vector::CombiningKind::MINSI, found));
}

/// [N.top_k] One element after the other is put among the first ones so far, if it is one. The only
/// one of floats is found sixteen at once.
LogicalResult codegen::emitTopK(ProgramEmitter &emitter, nn::TopKOp op) {
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  int64_t axis = shape.size() - 1;
  SmallVector<int64_t> others = getOthers(shape, axis), sizes = getSizes(shape, others);
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  RankedTensorType type = op.getInput().getType();
  constexpr int64_t kFewest = 4;
  int64_t lanes = KernelBuilder::getLanes(shape[axis]);
  bool inVectors = op.getK() == 1 && type.getElementType().isF32() && lanes >= kFewest &&
                   getStrides(type).steps[axis] == 1 && !emitter.getLevel().isScalar();
  emitter.addStep(
      op, kernel::Kernels::top_k, signature.arguments, ShapedType::getNumElements(sizes),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        Value count = b.index(op.getK()), last = b.index(op.getK() - 1);
        Value any = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
        b.loop(begin, end, 1, [&](Value k) {
          SmallVector<Value> row(shape.size(), b.index(0));
          for (auto [d, i] : llvm::zip(others, b.splitIndex(k, sizes)))
            row[d] = i;
          if (inVectors)
            return storeReal(b, findFirst(b, x, row, shape[axis], lanes, op.getSmallest()), y, row,
                             -1);
          FirstElements first(b, x, y, row, op.getSmallest());
          // Carried: the rank of the last one.
          b.loop(b.index(0), b.index(shape[axis]), 1, any, [&](Value position, ValueRange worst) {
            Value rank = first.getRank(position);
            Value enters = arith::OrIOp::create(
                b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, position, count),
                arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rank, worst[0]));
            auto branch = scf::IfOp::create(b, rank.getType(), enters, /*withElseRegion=*/true);
            OpBuilder::InsertionGuard guard(b);
            b.setInsertionPointToStart(branch.thenBlock());
            Value end = arith::MinUIOp::create(b, position, last);
            first.insert(position, rank, end);
            scf::YieldOp::create(b, first.getRankAt(end));
            b.setInsertionPointToStart(branch.elseBlock());
            scf::YieldOp::create(b, worst);
            return SmallVector<Value>{branch.getResult(0)};
          });
        });
      });
  return success();
}
