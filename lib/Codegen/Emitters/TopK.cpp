//===- TopK.cpp - the first elements of rows ------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.top_k] The first elements of a row so far are a heap in the result, the last of them on top;
// what comes before that one takes its place. In the end the heap is sorted. The only one of floats
// is found sixteen at once.
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// An integer that orders numbers: floats by their bits, NaN before all others.
static Value getRank(KernelBuilder &b, Value number, bool isSmallest) {
  Value rank = number;
  if (isa<FloatType>(getElementTypeOrSelf(number.getType()))) {
    Value bits = b.bitcast(b.add(number, b.constF(0)), b.getI32Type()); // 0 of -0
    Value sign = arith::ShRSIOp::create(b, bits, b.constI(31));
    Value ordered =
        arith::XOrIOp::create(b, bits, arith::AndIOp::create(b, sign, b.constI(INT32_MAX)));
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, number, number);
    Value first = b.constI(isSmallest ? INT32_MIN : INT32_MAX);
    rank = arith::SelectOp::create(b, isNumber, ordered, first);
  } else if (number.getType().isInteger(1)) {
    rank = arith::ExtUIOp::create(b, b.getI32Type(), number);
  }
  if (!isSmallest)
    return rank;
  auto ones = b.getIntegerAttr(getElementTypeOrSelf(rank.getType()), -1);
  return arith::XOrIOp::create(b, rank, b.splat(arith::ConstantOp::create(b, ones)));
}

namespace {

/// The heap of one row. What lies in the result are keys: a rank of 32 bits and the position, so
/// that the larger one comes first; of integers the position alone, with which the rank is loaded.
class Heap {
public:
  Heap(KernelBuilder &b, const TensorView &x, const TensorView &y, ValueRange row, int64_t size,
       bool isSmallest)
      : b(b), x(x), y(y), at(row), size(size), isSmallest(isSmallest),
        hasRanks(!isa<IntegerType>(x.type.getElementType()) ||
                 x.type.getElementType().isInteger(1)) {}

  /// The first `size` elements.
  void fill();
  /// Puts those of the elements from `first` on that are among the first ones there, which are
  /// looked for in blocks of `lanes` side by side (1: none).
  void pushFrom(int64_t first, int64_t lanes);
  /// Positions in their order.
  void sort();

private:
  /// The rank of the last one.
  Value getLastRank() { return getRankOfKey(load(b.index(0))); }
  /// The ranks of b.lanes elements.
  Value getRankAt(Value position) {
    at.back() = position;
    return getRank(b, loadReal(b, x, at, b.lanes > 1 ? (int64_t)at.size() - 1 : -1), isSmallest);
  }
  /// Puts an element behind all others that were seen among the first ones, if it is one.
  void push(Value position);
  Value integer(int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }
  Value load(Value place) {
    at.back() = place;
    return loadReal(b, y, at, -1);
  }
  void store(Value key, Value place) {
    at.back() = place;
    storeReal(b, key, y, at, -1);
  }
  Value makeKey(Value position, Value rank);
  Value getPosition(Value key);
  Value getRankOfKey(Value key);
  Value isBehind(Value key, Value other);
  /// Puts `key` at `place`, or deeper, behind what it comes before; `count` is the heap's size.
  void sink(Value key, Value place, Value count);

  KernelBuilder &b;
  const TensorView &x, &y;
  SmallVector<Value> at;
  int64_t size;
  bool isSmallest, hasRanks;
};

} // namespace

Value Heap::makeKey(Value position, Value rank) {
  Value key = arith::IndexCastOp::create(b, b.getI64Type(), position);
  if (!hasRanks)
    return key;
  Value high =
      arith::ShLIOp::create(b, arith::ExtSIOp::create(b, b.getI64Type(), rank), integer(32));
  return arith::OrIOp::create(b, high, arith::XOrIOp::create(b, key, integer(UINT32_MAX)));
}

Value Heap::getPosition(Value key) {
  if (!hasRanks)
    return key;
  Value low = arith::AndIOp::create(b, key, integer(UINT32_MAX));
  return arith::XOrIOp::create(b, low, integer(UINT32_MAX));
}

Value Heap::getRankOfKey(Value key) {
  if (!hasRanks)
    return getRankAt(arith::IndexCastOp::create(b, b.getIndexType(), key));
  return arith::TruncIOp::create(b, b.getI32Type(), arith::ShRSIOp::create(b, key, integer(32)));
}

Value Heap::isBehind(Value key, Value other) {
  auto compare = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(b, predicate, lhs, rhs);
  };
  if (hasRanks)
    return compare(arith::CmpIPredicate::slt, key, other);
  Value rank = getRankOfKey(key), otherRank = getRankOfKey(other);
  Value isLater = arith::AndIOp::create(b, compare(arith::CmpIPredicate::eq, rank, otherRank),
                                        compare(arith::CmpIPredicate::sgt, key, other));
  return arith::OrIOp::create(b, compare(arith::CmpIPredicate::slt, rank, otherRank), isLater);
}

void Heap::sink(Value key, Value place, Value count) {
  auto loop = scf::WhileOp::create(b, TypeRange{b.getIndexType()}, ValueRange{place});
  OpBuilder::InsertionGuard guard(b);
  place = b.createBlock(&loop.getBefore(), {}, b.getIndexType(), b.getLoc())->getArgument(0);
  // Of the two below, that which is behind the other; where there is none, the heap's last one.
  Value last = b.createIndex<arith::SubIOp>(count, b.index(1));
  Value first = b.addIndex(b.mulIndex(place, 2), 1);
  Value left = b.createIndex<arith::MinUIOp>(first, last),
        right = b.createIndex<arith::MinUIOp>(b.addIndex(first, 1), last);
  Value ofLeft = load(left), ofRight = load(right);
  Value isRight = isBehind(ofRight, ofLeft);
  Value below = arith::SelectOp::create(b, isRight, right, left),
        ofBelow = arith::SelectOp::create(b, isRight, ofRight, ofLeft);
  Value isThere = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, first, count);
  Value moves = arith::AndIOp::create(b, isThere, isBehind(ofBelow, key));
  // It is written in vain where nothing moves: `key` is stored there.
  store(arith::SelectOp::create(b, moves, ofBelow, key), place);
  Value next = arith::SelectOp::create(b, moves, below, place);
  scf::ConditionOp::create(b, moves, next);
  place = b.createBlock(&loop.getAfter(), {}, b.getIndexType(), b.getLoc())->getArgument(0);
  scf::YieldOp::create(b, place);
}

void Heap::fill() {
  b.loop(0, size, [&](Value position) {
    store(makeKey(position, hasRanks ? getRankAt(position) : Value()), position);
  });
  b.loop(0, size / 2, [&](Value i) {
    Value place = b.createIndex<arith::SubIOp>(b.index(size / 2 - 1), i);
    sink(load(place), place, b.index(size));
  });
}

/// Whether an element comes before the last one: it does not if they are equal.
static Value isFirst(KernelBuilder &b, Value rank, Value last) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rank, last);
}

void Heap::push(Value position) {
  Value rank = getRankAt(position);
  auto branch = scf::IfOp::create(b, isFirst(b, rank, getLastRank()), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  sink(makeKey(position, rank), b.index(0), b.index(size));
}

void Heap::pushFrom(int64_t first, int64_t lanes) {
  int64_t length = x.shape().back(), blocks = lanes > 1 ? (length - first) / lanes : 0;
  auto pushBlock = [&](Value block) {
    Value begin = b.addIndex(b.mulIndex(block, lanes), first), last = getLastRank();
    b.lanes = lanes;
    Value any = vector::ReductionOp::create(b, vector::CombiningKind::OR,
                                            isFirst(b, getRankAt(begin), b.splat(last)));
    b.lanes = 1;
    auto branch = scf::IfOp::create(b, any, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    b.loop(0, lanes, [&](Value lane) { push(arith::AddIOp::create(b, begin, lane)); });
  };
  if (blocks > 0)
    b.loop(0, blocks, pushBlock);
  b.loop(first + blocks * lanes, length, [&](Value position) { push(position); });
}

void Heap::sort() {
  b.loop(1, size, [&](Value i) {
    Value end = b.createIndex<arith::SubIOp>(b.index(size), i);
    Value last = load(b.index(0)), key = load(end);
    store(last, end);
    sink(key, b.index(0), end);
  });
  if (hasRanks)
    b.loop(0, size, [&](Value place) { store(getPosition(load(place)), place); });
}

/// The position of the first element of a row that lies side by side: `lanes` at once, the last
/// ones of which may be some of those before.
static Value findFirst(KernelBuilder &b, const TensorView &x, SmallVector<Value> at, int64_t size,
                       int64_t lanes, bool isSmallest) {
  b.lanes = lanes;
  SmallVector<int32_t> places = llvm::to_vector(llvm::seq<int32_t>(0, (int32_t)lanes));
  Value lane = arith::ConstantOp::create(b, b.getI32VectorAttr(places));
  auto load = [&](Value position) -> std::pair<Value, Value> {
    at.back() = position;
    Value rank = getRank(b, loadReal(b, x, at, (int64_t)at.size() - 1), isSmallest);
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

LogicalResult codegen::emitTopK(ProgramEmitter &emitter, nn::TopKOp op) {
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  SmallVector<int64_t> rows(shape.drop_back());
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  RankedTensorType type = op.getInput().getType();
  constexpr int64_t kFewest = 4;
  int64_t lanes = KernelBuilder::getLanes(shape.back());
  if (!type.getElementType().isF32() || lanes < kFewest || getStrides(type).steps.back() != 1 ||
      emitter.getLevel().isScalar())
    lanes = 1;
  bool isSmallest = op.getSmallest();
  int64_t k = op.getK();
  emitter.addStep(
      op, kernel::Kernels::top_k, signature.arguments, ShapedType::getNumElements(rows),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
        b.loop(begin, end, 1, [&](Value i) {
          SmallVector<Value> row = b.splitIndex(i, rows);
          row.push_back(b.index(0));
          if (k == 1 && lanes > 1)
            return storeReal(b, findFirst(b, x, row, shape.back(), lanes, isSmallest), y, row, -1);
          Heap heap(b, x, y, row, k, isSmallest);
          heap.fill();
          heap.pushFrom(k, lanes);
          heap.sort();
        });
      });
  return success();
}
