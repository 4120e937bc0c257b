//===- Reduce.cpp - sums, means and extremes over axes --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kLanes = 16;

static Value add(KernelBuilder &b, Value acc, Value x) { return b.add(acc, x); }
static Value multiply(KernelBuilder &b, Value acc, Value x) { return b.mul(acc, x); }
static Value max(KernelBuilder &b, Value acc, Value x) { return b.maxF(x, acc); }
static Value min(KernelBuilder &b, Value acc, Value x) { return b.minF(x, acc); }

Fold codegen::getFold(Operation *reduction) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return llvm::TypeSwitch<Operation *, Fold>(reduction)
      .Case([](nn::ReduceMaxOp) { return Fold{-kInfinity, max}; })
      .Case([](nn::ReduceMinOp) { return Fold{kInfinity, min}; })
      .Case([](nn::ReduceProdOp) { return Fold{1, multiply}; })
      .Default([](Operation *) { return Fold{0, add}; });
}

Value codegen::foldRow(KernelBuilder &b, int64_t length, bool inVectors, float neutral,
                       function_ref<Value(Value)> element, JoinFn join) {
  int64_t whole = length / kLanes * kLanes;
  SmallVector<Value> lanes(kLanes, b.constF(neutral));
  if (whole && inVectors) {
    b.lanes = kLanes;
    Value vector = b.loop(b.index(0), b.index(whole), kLanes, ValueRange{b.constF(neutral)},
                          [&](Value k, ValueRange carried) {
                            return SmallVector<Value>{join(b, carried[0], element(k))};
                          })[0];
    b.lanes = 1;
    for (auto [i, lane] : llvm::enumerate(lanes))
      lane = vector::ExtractOp::create(b, vector, int64_t(i));
  } else if (whole) {
    lanes = b.loop(b.index(0), b.index(whole), kLanes, lanes, [&](Value k, ValueRange carried) {
      SmallVector<Value> next;
      for (int64_t lane = 0; lane < kLanes; ++lane)
        next.push_back(join(b, carried[lane], element(b.addIndex(k, lane))));
      return next;
    });
  }
  for (int64_t k = whole; k < length; ++k)
    lanes[k - whole] = join(b, lanes[k - whole], element(b.index(k)));
  for (int64_t half = kLanes / 2; half >= 1; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      lanes[i] = join(b, lanes[i], lanes[i + half]);
  return lanes[0];
}

/// The last elements of a row, of which `vector` has sixteen: those that belong to lanes behind the
/// last whole vector, in these; `neutral` in others.
static Value moveRest(KernelBuilder &b, Value vector, int64_t rest, float neutral) {
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    order.push_back(lane < rest ? kLanes - rest + lane : kLanes + lane);
  return vector::ShuffleOp::create(b, vector, b.constF(neutral), order);
}

Value codegen::joinLanes(KernelBuilder &b, Value vector, JoinFn join) {
  for (int64_t half = kLanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> order;
    for (int64_t lane = 0; lane < kLanes; ++lane)
      order.push_back((lane + half) % kLanes);
    vector = join(b, vector, vector::ShuffleOp::create(b, vector, vector, order));
  }
  return vector::ExtractOp::create(b, vector, int64_t(0));
}

SmallVector<Value> codegen::foldVectors(KernelBuilder &b, int64_t length, int64_t rows,
                                        float neutral, RowElementsFn elements, JoinFn join) {
  int64_t rest = length % kLanes;
  auto joinAll = [&](ValueRange lanes, ArrayRef<Value> values) {
    return llvm::map_to_vector(llvm::zip_equal(lanes, values), [&](auto pair) {
      return join(b, std::get<0>(pair), std::get<1>(pair));
    });
  };
  SmallVector<Value> lanes(rows, b.constF(neutral));
  lanes = b.loop(b.index(0), b.index(length - rest), kLanes, lanes,
                 [&](Value k, ValueRange carried) { return joinAll(carried, elements(k)); });
  if (rest)
    lanes = joinAll(lanes, llvm::map_to_vector(elements(b.index(length - kLanes)), [&](Value last) {
                      return moveRest(b, last, rest, neutral);
                    }));
  return llvm::map_to_vector(lanes, [&](Value vector) { return joinLanes(b, vector, join); });
}

SmallVector<Value> codegen::foldRows(KernelBuilder &b, int64_t length, int64_t rows, float neutral,
                                     function_ref<Value(int64_t, Value)> element, JoinFn join) {
  if (b.lanes > 1) {
    auto elements = [&](Value k) {
      return llvm::map_to_vector(llvm::seq(rows), [&](int64_t row) { return element(row, k); });
    };
    return foldVectors(b, length, rows, neutral, elements, join);
  }
  return llvm::map_to_vector(llvm::seq(rows), [&](int64_t row) {
    auto ofRow = [&](Value k) { return element(row, k); };
    return foldRow(b, length, /*inVectors=*/false, neutral, ofRow, join);
  });
}

namespace {

/// The loops of one reduction.
class Reduction {
public:
  template <typename OpTy>
  Reduction(ProgramEmitter &emitter, OpTy op)
      : op(op), signature(emitter), source(signature.addTensor(op.getInput())),
        target(signature.addTensor(op.getResult())), shape(op.getInput().getType().getShape()),
        axes(op.getAxes()), keepsDims(op.getKeepDims()) {
    for (int64_t d = 0; d < (int64_t)shape.size(); ++d)
      if (!llvm::is_contained(axes, d))
        kept.push_back(d);
  }

  LogicalResult emit(Fold fold);

private:
  /// The last kept dimension whose elements lie side by side in both tensors and fill four lanes or
  /// more, or -1.
  int64_t findLaneAxis() const;
  SmallVector<Value> getResultIndices(KernelBuilder &b, ValueRange at) const;
  /// Loops over the axes `over` in row-major order, with their indices in `at`.
  SmallVector<Value> loopOver(KernelBuilder &b, ArrayRef<int64_t> over, SmallVector<Value> &at,
                              ValueRange init,
                              function_ref<SmallVector<Value>(ValueRange carried)> body) const;
  /// Joins the elements of the reduced axes at `at`, in row-major order [N.reduce]; with vectors
  /// along `laneAxis` of so many side by side.
  SmallVector<Value> foldAxes(KernelBuilder &b, const TensorView &x, ArrayRef<Value> at,
                              int64_t laneAxis, int64_t vectors, float neutral, JoinFn join) const;
  /// The last kept dimension, if it has so many rows of floats side by side that lanes are rows; or
  /// -1.
  int64_t findRowAxis() const;
  /// Joins the elements of b.lanes rows from `at` on, which are along `rowAxis`, in their order.
  Value foldRowsAsLanes(KernelBuilder &b, const TensorView &x, ArrayRef<Value> at, int64_t rowAxis,
                        float neutral, JoinFn join) const;
  /// Stores b.lanes results along `rowAxis`.
  void storeRows(KernelBuilder &b, const TensorView &y, ArrayRef<Value> at, int64_t rowAxis,
                 Value results) const;
  /// Stores the result, or `vectors` of b.lanes along `laneAxis`, at `at`.
  void emitOne(KernelBuilder &b, ValueRange args, ArrayRef<Value> at, int64_t laneAxis,
               int64_t vectors, float neutral, JoinFn join) const;
  int64_t countElements(ArrayRef<int64_t> over) const {
    int64_t count = 1;
    for (int64_t axis : over)
      count *= shape[axis];
    return count;
  }
  int64_t getResultAxis(int64_t axis) const {
    return keepsDims || axis < 0 ? axis : llvm::find(kept, axis) - kept.begin();
  }
  /// Those behind all that are kept.
  ArrayRef<int64_t> getAxesOfRows() const {
    return axes.drop_while([&](int64_t axis) { return axis < kept.back(); });
  }
  Value finish(KernelBuilder &b, Value result) const {
    return isa<nn::ReduceMeanOp>(op) ? b.div(result, b.constF(countElements(axes))) : result;
  }
  bool isOfRows() const { return axes == ArrayRef<int64_t>{(int64_t)shape.size() - 1}; }

  Operation *op;
  Signature signature;
  int source, target;
  ArrayRef<int64_t> shape, axes;
  bool keepsDims;
  SmallVector<int64_t> kept;
};

} // namespace

int64_t Reduction::findLaneAxis() const {
  Strides x = getStrides(getTensorType(op->getOperand(0))),
          y = getStrides(getTensorType(op->getResult(0)));
  if (signature.emitter.getLevel().isScalar() || isOfRows())
    return -1;
  for (auto [i, d] : llvm::enumerate(kept))
    if (shape[d] >= 4 && x.steps[d] == 1 && y.steps[keepsDims ? d : i] == 1)
      return d;
  return -1;
}

SmallVector<Value> Reduction::getResultIndices(KernelBuilder &b, ValueRange at) const {
  SmallVector<Value> result;
  for (int64_t d = 0; d < (int64_t)shape.size(); ++d)
    if (bool isReduced = llvm::is_contained(axes, d); !isReduced || keepsDims)
      result.push_back(isReduced ? b.index(0) : at[d]);
  return result;
}

/// `at` with index `laneAxis` moved to vector `i`.
static SmallVector<Value> moveTo(KernelBuilder &b, ArrayRef<Value> at, int64_t laneAxis,
                                 int64_t i) {
  SmallVector<Value> moved(at);
  if (i > 0)
    moved[laneAxis] = b.addIndex(moved[laneAxis], i * b.lanes);
  return moved;
}

SmallVector<Value>
Reduction::loopOver(KernelBuilder &b, ArrayRef<int64_t> over, SmallVector<Value> &at,
                    ValueRange init,
                    function_ref<SmallVector<Value>(ValueRange carried)> body) const {
  if (over.empty())
    return body(init);
  return b.loop(b.index(0), b.index(shape[over[0]]), 1, init, [&](Value i, ValueRange carried) {
    at[over[0]] = i;
    return loopOver(b, over.drop_front(), at, carried, body);
  });
}

SmallVector<Value> Reduction::foldAxes(KernelBuilder &b, const TensorView &x, ArrayRef<Value> first,
                                       int64_t laneAxis, int64_t vectors, float neutral,
                                       JoinFn join) const {
  SmallVector<Value> at(first);
  return loopOver(
      b, axes, at, SmallVector<Value>(vectors, b.constF(neutral)), [&](ValueRange accs) {
        return llvm::map_to_vector(llvm::enumerate(accs), [&](auto acc) {
          return join(b, acc.value(),
                      loadReal(b, x, moveTo(b, at, laneAxis, (int64_t)acc.index()), laneAxis));
        });
      });
}

void Reduction::emitOne(KernelBuilder &b, ValueRange args, ArrayRef<Value> at, int64_t laneAxis,
                        int64_t vectors, float neutral, JoinFn join) const {
  TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
  SmallVector<Value> results;
  if (isOfRows()) {
    int64_t last = shape.size() - 1;
    bool inVectors = x.strides.steps[last] == 1 && !b.level.isScalar();
    SmallVector<Value> element(at);
    results.push_back(foldRow(
        b, shape[last], inVectors, neutral,
        [&](Value k) {
          element[last] = k;
          return loadReal(b, x, element, b.lanes > 1 ? last : -1);
        },
        join));
  } else {
    results = foldAxes(b, x, at, laneAxis, vectors, neutral, join);
  }
  for (auto [i, result] : llvm::enumerate(results))
    storeReal(b, finish(b, result), y, getResultIndices(b, moveTo(b, at, laneAxis, (int64_t)i)),
              getResultAxis(laneAxis));
}

int64_t Reduction::findRowAxis() const {
  RankedTensorType type = getTensorType(op->getOperand(0));
  if (signature.emitter.getLevel().isScalar() || isOfRows() || !type.getElementType().isF32() ||
      kept.empty() || shape[kept.back()] < 4)
    return -1;
  Strides x = getStrides(type);
  int64_t step = 1;
  for (int64_t axis : llvm::reverse(getAxesOfRows())) {
    if (shape[axis] > 1 && x.steps[axis] != step)
      return -1;
    step *= shape[axis];
  }
  return step >= kElementsTogether ? kept.back() : -1;
}

Value Reduction::foldRowsAsLanes(KernelBuilder &b, const TensorView &x, ArrayRef<Value> first,
                                 int64_t rowAxis, float neutral, JoinFn join) const {
  SmallVector<Value> at(first);
  int64_t length = countElements(getAxesOfRows()), rest = length % kElementsTogether;
  ArrayRef<int64_t> outer = axes.drop_back(getAxesOfRows().size());
  return loopOver(b, outer, at, b.constF(neutral), [&](ValueRange carried) {
    Value base = b.linearIndex(at, x.strides.steps, x.strides.offset);
    auto joinFrom = [&](Value k, int64_t firstElement, Value acc) {
      SmallVector<Value> elements =
          loadRowsAsLanes(b, x.memory, b.addIndex(base, k), x.strides.steps[rowAxis]);
      for (Value element : ArrayRef(elements).drop_front(firstElement))
        acc = join(b, acc, element);
      return SmallVector<Value>{acc};
    };
    SmallVector<Value> acc =
        b.loop(b.index(0), b.index(length - rest), kElementsTogether, carried,
               [&](Value k, ValueRange inner) { return joinFrom(k, 0, inner[0]); });
    return rest ? joinFrom(b.index(length - kElementsTogether), kElementsTogether - rest, acc[0])
                : acc;
  })[0];
}

void Reduction::storeRows(KernelBuilder &b, const TensorView &y, ArrayRef<Value> at,
                          int64_t rowAxis, Value results) const {
  int64_t axis = getResultAxis(rowAxis), lanes = b.lanes;
  SmallVector<Value> place = getResultIndices(b, at);
  if (y.strides.steps[axis] == 1)
    return storeReal(b, results, y, place, axis);
  b.lanes = 1;
  Value first = place[axis];
  for (int64_t lane = 0; lane < lanes; ++lane) {
    place[axis] = b.addIndex(first, lane);
    storeReal(b, vector::ExtractOp::create(b, results, lane), y, place, -1);
  }
}

LogicalResult Reduction::emit(Fold fold) {
  auto [neutral, join] = fold;
  int64_t laneAxis = findLaneAxis(), rowAxis = laneAxis < 0 ? findRowAxis() : -1;
  SmallVector<int64_t> rows(shape);
  for (int64_t axis : axes)
    rows[axis] = 1;
  // Several vectors side by side read whole cache lines and do not wait for each other.
  constexpr int64_t kMostVectors = 4;
  int64_t lanes = 1, vectors = 1;
  if (laneAxis >= 0) {
    lanes = KernelBuilder::getLanes(shape[laneAxis]);
    vectors = std::min(kMostVectors, shape[laneAxis] / lanes);
    rows[laneAxis] = llvm::divideCeil(shape[laneAxis], lanes * vectors);
  } else if (rowAxis >= 0) {
    lanes = shape[rowAxis] < 16 ? 4 : 16;
    rows[rowAxis] = llvm::divideCeil(shape[rowAxis], lanes);
  }
  signature.emitter.addStep(
      op, kernel::Kernels::reduce, signature.arguments, ShapedType::getNumElements(rows),
      [&, neutral = neutral, join = join](KernelBuilder &b, ValueRange args, Value begin,
                                          Value end) {
        b.loop(begin, end, 1, [&](Value row) {
          SmallVector<Value> at = b.splitIndex(row, rows);
          if (int64_t axis = std::max(laneAxis, rowAxis); axis >= 0)
            at[axis] = b.getBlock(at[axis], shape[axis], lanes * vectors);
          b.lanes = lanes;
          if (rowAxis >= 0)
            storeRows(b, signature.getTensor(target, args), at, rowAxis,
                      finish(b, foldRowsAsLanes(b, signature.getTensor(source, args), at, rowAxis,
                                                neutral, join)));
          else
            emitOne(b, args, at, laneAxis, vectors, neutral, join);
          b.lanes = 1;
        });
      });
  return success();
}

LogicalResult codegen::emitReduceMean(ProgramEmitter &emitter, nn::ReduceMeanOp op) {
  return Reduction(emitter, op).emit(getFold(op));
}

LogicalResult codegen::emitReduceSum(ProgramEmitter &emitter, nn::ReduceSumOp op) {
  return Reduction(emitter, op).emit(getFold(op));
}

LogicalResult codegen::emitReduceMax(ProgramEmitter &emitter, nn::ReduceMaxOp op) {
  return Reduction(emitter, op).emit(getFold(op));
}

LogicalResult codegen::emitReduceMin(ProgramEmitter &emitter, nn::ReduceMinOp op) {
  return Reduction(emitter, op).emit(getFold(op));
}

LogicalResult codegen::emitReduceProd(ProgramEmitter &emitter, nn::ReduceProdOp op) {
  return Reduction(emitter, op).emit(getFold(op));
}
