//===- Pools.cpp - pools and means ----------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "Windows.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

template <typename PoolOp>
static std::pair<Window, Window> getWindows(PoolOp op) {
  auto in = op.getInput().getType().getShape();
  auto make = [&](int i) {
    return Window{in[2 + i], op.getKernel()[i], op.getStrides()[i], op.getPads()[i], op.getDilations()[i]};
  };
  return {make(0), make(1)};
}

/// Loops over all results of a pool, sixteen channels at a time where they lie side by side.
static void emitPoolLoops(KernelBuilder &b, const TensorView &y, Value begin, Value end,
                          function_ref<void(ValueRange, int64_t laneAxis)> element) {
  ArrayRef<int64_t> shape = y.shape();
  bool hasLanes = !b.level.isScalar && y.strides.steps[1] == 1 && shape[1] >= 16;
  emitLoopNest(b, {shape[2], shape[0], shape[3]}, begin, end, [&](ValueRange i) {
    auto at = [&](Value c, int64_t lanes) {
      b.lanes = lanes;
      element({i[1], c, i[0], i[2]}, lanes > 1 ? 1 : -1);
      b.lanes = 1;
    };
    if (!hasLanes)
      return b.loop(0, shape[1], [&](Value c) { at(c, 1); });
    b.loop(b.index(0), b.index(shape[1] / 16 * 16), 16, [&](Value c) { at(c, 16); });
    if (shape[1] % 16)
      at(b.index(shape[1] - 16), 16);
  });
}

/// Folds `step` over the taps of one window.
static Value foldWindow(KernelBuilder &b, const Taps &kh, const Taps &kw, const Window &rows, const Window &columns,
                        Value init, function_ref<Value(Value ih, Value iw, Value acc)> step) {
  return b.loop(kh.low, kh.high, 1, ValueRange{init}, [&](Value y, ValueRange outer) {
    return b.loop(kw.low, kw.high, 1, outer, [&](Value x, ValueRange inner) {
      Value ih = b.addIndex(kh.origin, b.mulIndex(y, rows.dilation));
      Value iw = b.addIndex(kw.origin, b.mulIndex(x, columns.dilation));
      return SmallVector<Value>{step(ih, iw, inner[0])};
    });
  })[0];
}

template <typename PoolOp>
static void addWindowKey(Signature &signature, PoolOp op) {
  signature.addKey(op->getName().getStringRef());
  for (ArrayRef<int64_t> values : {op.getKernel(), op.getStrides(), op.getPads(), op.getDilations()})
    signature.addKey(values);
}

LogicalResult codegen::emitMaxPool(ProgramEmitter &emitter, nn::MaxPoolOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput(), Signature::Parameters::none);
  int target = signature.addTensor(op.getResult(), Signature::Parameters::none);
  addWindowKey(signature, op);
  auto [rows, columns] = getWindows(op);
  emitter.addStep(op, "max_pool", signature.key, signature.arguments, op.getResult().getType().getDimSize(2),
                  [&, rows = rows, columns = columns](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
    emitPoolLoops(b, y, begin, end, [&](ValueRange i, int64_t laneAxis) {
      Taps kh = getTaps(b, rows, i[2]), kw = getTaps(b, columns, i[3]);
      Value lowest = x.isQuantized() ? b.constI(-1000) : b.constF(-std::numeric_limits<float>::infinity());
      Value best = foldWindow(b, kh, kw, rows, columns, lowest, [&](Value ih, Value iw, Value acc) -> Value {
        Value value = loadRaw(b, x, {i[0], i[1], ih, iw}, laneAxis);
        if (x.isQuantized())
          return arith::MaxSIOp::create(b, acc, value);
        return b.maxF(value, acc);
      });
      storeRaw(b, best, y, i);
    });
  });
  return success();
}

/// Mean of quantized values: [N.avg_pool]; `count` elements as i32.
static Value quantizedMean(KernelBuilder &b, const TensorView &x, const TensorView &y, Value sum, Value count,
                           ValueRange i, int64_t laneAxis) {
  Value scale = b.mul(loadParameter(b, y.scales, 0, y.axis, i, laneAxis), b.toFloat(count));
  Value multiplier = b.div(loadParameter(b, x.scales, 0, x.axis, i, laneAxis), scale);
  Value zeroPoint = loadParameter(b, y.zeroPoints, kZeroPoints, y.axis, i, laneAxis);
  Value low = b.loadSplat(y.zeroPoints, b.index(kLow)), high = b.loadSplat(y.zeroPoints, b.index(kHigh));
  return roundAndClamp(b, b.mul(b.toFloat(sum), multiplier), low, high, zeroPoint);
}

/// Sum over the elements that `fold` visits, then the mean.
static void emitMean(KernelBuilder &b, const TensorView &x, const TensorView &y, ValueRange i, int64_t laneAxis, Value count,
                     function_ref<Value(Value init, function_ref<Value(ValueRange, Value)>)> fold) {
  bool isInteger = x.isQuantized() && y.isQuantized();
  Value zeroPoint = isInteger ? loadParameter(b, x.zeroPoints, kZeroPoints, x.axis, i, laneAxis) : Value();
  Value sum = fold(isInteger ? b.constI(0) : b.constF(0), [&](ValueRange at, Value acc) {
    if (isInteger)
      return b.add(acc, b.sub(loadRaw(b, x, at, laneAxis), zeroPoint));
    return b.add(acc, loadReal(b, x, at, laneAxis));
  });
  if (isInteger)
    storeRaw(b, quantizedMean(b, x, y, sum, count, i, laneAxis), y, i);
  else
    storeReal(b, b.div(sum, b.toFloat(count)), y, i, laneAxis);
}

LogicalResult codegen::emitAvgPool(ProgramEmitter &emitter, nn::AvgPoolOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  addWindowKey(signature, op);
  signature.addKey(op.getCountIncludePad());
  auto [rows, columns] = getWindows(op);
  emitter.addStep(op, "avg_pool", signature.key, signature.arguments, op.getResult().getType().getDimSize(2),
                  [&, rows = rows, columns = columns](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
    emitPoolLoops(b, y, begin, end, [&](ValueRange i, int64_t laneAxis) {
      Taps kh = getTaps(b, rows, i[2]), kw = getTaps(b, columns, i[3]);
      Value count = b.constI(rows.kernel * columns.kernel);
      if (!op.getCountIncludePad()) {
        Value height = b.createOrFold<arith::SubIOp>(kh.high, kh.low), width = b.createOrFold<arith::SubIOp>(kw.high, kw.low);
        Value valid = b.createOrFold<arith::MulIOp>(height, width);
        count = b.splat(arith::IndexCastOp::create(b, b.getI32Type(), valid));
      }
      emitMean(b, x, y, i, laneAxis, count, [&](Value init, function_ref<Value(ValueRange, Value)> add) {
        return foldWindow(b, kh, kw, rows, columns, init,
                          [&](Value ih, Value iw, Value acc) { return add({i[0], i[1], ih, iw}, acc); });
      });
    });
  });
  return success();
}

LogicalResult codegen::emitReduceMean(ProgramEmitter &emitter, nn::ReduceMeanOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput()), target = signature.addTensor(op.getResult());
  signature.addKey("axes", op.getKeepDims());
  signature.addKey(op.getAxes());
  ArrayRef<int64_t> in = op.getInput().getType().getShape();
  SmallVector<int64_t> kept, reduced(op.getAxes());
  int64_t count = 1;
  for (int64_t d = 0; d < (int64_t)in.size(); ++d)
    llvm::is_contained(reduced, d) ? (void)(count *= in[d]) : kept.push_back(d);
  SmallVector<int64_t> keptShape = llvm::map_to_vector(kept, [&](int64_t d) { return in[d]; });
  if (keptShape.empty())
    keptShape.push_back(1);
  emitter.addStep(op, "reduce_mean", signature.key, signature.arguments, keptShape[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
    emitLoopNest(b, keptShape, begin, end, [&](ValueRange k) {
      SmallVector<Value> at(in.size(), b.index(0)), result;
      for (auto [d, i] : llvm::zip(kept, k))
        at[d] = i;
      for (int64_t d = 0; d < (int64_t)in.size(); ++d)
        if (op.getKeepDims() || !llvm::is_contained(reduced, d))
          result.push_back(llvm::is_contained(reduced, d) ? b.index(0) : at[d]);
      emitMean(b, x, y, result, -1, b.constI(count), [&](Value init, function_ref<Value(ValueRange, Value)> add) {
        std::function<Value(size_t, Value)> nest = [&](size_t depth, Value acc) -> Value {
          if (depth == reduced.size())
            return add(at, acc);
          return b.loop(b.index(0), b.index(in[reduced[depth]]), 1, ValueRange{acc}, [&](Value i, ValueRange carried) {
            at[reduced[depth]] = i;
            return SmallVector<Value>{nest(depth + 1, carried[0])};
          })[0];
        };
        return nest(0, init);
      });
    });
  });
  return success();
}
