//===- Pools.cpp - pools --------------------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "Windows.h"
#include "octet/Numerics/Requantize.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {

/// The window of one result of a pool: its taps inside the input.
class PlacedWindow {
public:
  PlacedWindow(KernelBuilder &b, const Window &rows, const Window &columns, ValueRange i)
      : rows(rows), columns(columns), kh(getTaps(b, rows, i[2])), kw(getTaps(b, columns, i[3])) {}
  /// The same where all columns of the window are inside.
  static PlacedWindow inside(KernelBuilder &b, const Window &rows, const Window &columns,
                             ValueRange i) {
    PlacedWindow window(b, rows, columns, i);
    window.kw.low = b.index(0), window.kw.high = b.index(columns.kernel);
    return window;
  }

  /// The number of taps.
  Value count(KernelBuilder &b) const {
    Value height = b.createIndex<arith::SubIOp>(kh.high, kh.low),
          width = b.createIndex<arith::SubIOp>(kw.high, kw.low);
    return b.createIndex<arith::MulIOp>(height, width);
  }

  /// Folds `step` over the taps.
  Value fold(KernelBuilder &b, Value init,
             function_ref<Value(Value ih, Value iw, Value acc)> step) const {
    if (isSmall())
      return foldUnrolled(b, init, step);
    return b.loop(kh.low, kh.high, 1, ValueRange{init}, [&](Value y, ValueRange outer) {
      return b.loop(kw.low, kw.high, 1, outer, [&](Value x, ValueRange inner) {
        Value ih = b.addIndex(kh.origin, b.mulIndex(y, rows.dilation));
        Value iw = b.addIndex(kw.origin, b.mulIndex(x, columns.dilation));
        return SmallVector<Value>{step(ih, iw, inner[0])};
      });
    })[0];
  }

private:
  bool isSmall() const {
    return rows.isAlwaysInside() && columns.isAlwaysInside() && rows.kernel * columns.kernel <= 9;
  }

  Value foldUnrolled(KernelBuilder &b, Value acc,
                     function_ref<Value(Value ih, Value iw, Value acc)> step) const {
    for (int64_t y = 0; y < rows.kernel; ++y)
      for (int64_t x = 0; x < columns.kernel; ++x)
        acc = step(b.addIndex(kh.origin, y * rows.dilation),
                   b.addIndex(kw.origin, x * columns.dilation), acc);
    return acc;
  }

  const Window &rows, &columns;
  Taps kh, kw;
};

} // namespace

/// Loops over all results of a pool, four to sixteen channels at a time where they lie side by
/// side.
static void emitPoolLoops(KernelBuilder &b, const TensorView &y, Value begin, Value end,
                          function_ref<void(ValueRange, int64_t laneAxis)> element) {
  ArrayRef<int64_t> shape = y.shape();
  int64_t lanes = KernelBuilder::getLanes(shape[1]);
  bool hasLanes = !b.level.isScalar() && y.strides.steps[1] == 1 && lanes >= 4;
  emitLoopNest(b, {shape[2], shape[0], shape[3]}, begin, end, [&](ValueRange i) {
    auto at = [&](Value c, int64_t lanes) {
      b.lanes = lanes;
      element({i[1], c, i[0], i[2]}, lanes > 1 ? 1 : -1);
      b.lanes = 1;
    };
    if (!hasLanes)
      return b.loop(0, shape[1], [&](Value c) { at(c, 1); });
    b.loopOverBlocks(shape[1], lanes, [&](Value c) { at(c, lanes); });
  });
}

/// Makes and stores one result of a pool.
using PoolElementFn = function_ref<void(KernelBuilder &, ValueRange args, const PlacedWindow &,
                                        ValueRange i, int64_t laneAxis)>;

/// Adds the step of a pool whose tensors `signature` has.
template <typename PoolOp>
static void emitPool(PoolOp op, const kernel::KernelRow &row, Signature &signature, int target,
                     PoolElementFn element) {
  Window rows = getWindow(op, 0), columns = getWindow(op, 1);
  signature.emitter.addStep(op, row, signature.arguments, op.getResult().getType().getDimSize(2),
                            [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                              emitPoolLoops(b, signature.getTensor(target, args), begin, end,
                                            [&](ValueRange i, int64_t laneAxis) {
                                              element(b, args, PlacedWindow(b, rows, columns, i), i,
                                                      laneAxis);
                                            });
                            });
}

namespace {
/// Pixels of few channels, next to which windows lie that are next to each other: the elements of a
/// row, of all pixels and channels, are side by side on both sides.
struct FlatRows {
  FlatRows(const Window &columns, RankedTensorType input, RankedTensorType result)
      : channels(result.getDimSize(1)), first(std::min(columns.pad, columns.outputs)),
        end(std::clamp(columns.size + columns.pad - (columns.kernel - 1) * columns.dilation, first,
                       columns.outputs)) {
    auto isFlat = [&](RankedTensorType type) {
      Strides strides = getStrides(type);
      return strides.steps[3] == channels && (channels == 1 || strides.steps[1] == 1);
    };
    isOne = columns.stride == 1 && isFlat(input) && isFlat(result);
  }

  bool areWorthVectors() const { return isOne && channels < 16 && size() >= 8; }
  /// The elements whose windows' columns are inside.
  int64_t size() const { return (end - first) * channels; }

  int64_t channels, first, end; ///< pixels whose windows' columns are inside
  bool isOne;
};
} // namespace

/// Adds the step of a pool of such rows.
static void emitFlatPool(nn::MaxPoolOp op, const FlatRows &flat, Signature &signature,
                         PoolElementFn element) {
  Window rows = getWindow(op, 0), columns = getWindow(op, 1);
  RankedTensorType type = op.getResult().getType();
  int64_t lanes = KernelBuilder::getLanes(flat.size());
  auto body = [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    emitLoopNest(b, {type.getDimSize(2), type.getDimSize(0)}, begin, end, [&](ValueRange i) {
      auto emitPixel = [&](Value column) {
        b.loop(0, flat.channels, [&](Value channel) {
          SmallVector<Value> at{i[1], channel, i[0], column};
          element(b, args, PlacedWindow(b, rows, columns, at), at, -1);
        });
      };
      b.loop(0, flat.first, emitPixel);
      b.loop(flat.end, columns.outputs, emitPixel);
      b.loopOverBlocks(flat.size(), lanes, [&](Value place) {
        place = b.addIndex(place, flat.first * flat.channels);
        // Behind the last channel, the next pixel's first one is.
        SmallVector<Value> at{i[1], flat.channels == 1 ? b.index(0) : place, i[0],
                              flat.channels == 1 ? place : b.index(0)};
        PlacedWindow window = PlacedWindow::inside(b, rows, columns, at);
        b.lanes = lanes;
        element(b, args, window, at, flat.channels == 1 ? 3 : 1);
        b.lanes = 1;
      });
    });
  };
  signature.emitter.addStep(op, kernel::Kernels::max_pool, signature.arguments, type.getDimSize(2),
                            body);
}

/// The maximum of no element, which any element exceeds or equals; where windows may have none, it
/// is stored: the least storage value, to which minus infinity is quantized.
static Value getLowest(KernelBuilder &b, nn::MaxPoolOp op) {
  auto type = dyn_cast<quant::QuantizedType>(op.getResult().getType().getElementType());
  if (!type)
    return b.constF(-std::numeric_limits<float>::infinity());
  bool mayMiss = getWindow(op, 0).mayMiss() || getWindow(op, 1).mayMiss();
  return b.constI(mayMiss || numerics::isWide(type) ? type.getStorageTypeMin() : -1000);
}

/// [N.max_pool]
LogicalResult codegen::emitMaxPool(ProgramEmitter &emitter, nn::MaxPoolOp op) {
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput(), Signature::Parameters::none);
  int target = signature.addTensor(op.getResult(), Signature::Parameters::none);
  auto element = [&](KernelBuilder &b, ValueRange args, const PlacedWindow &window, ValueRange i,
                     int64_t laneAxis) {
    TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
    Value best = window.fold(b, getLowest(b, op), [&](Value ih, Value iw, Value acc) -> Value {
      Value value = loadRaw(b, x, {i[0], i[1], ih, iw}, laneAxis);
      if (x.isQuantized())
        return arith::MaxSIOp::create(b, acc, value);
      return b.maxF(value, acc);
    });
    storeRaw(b, best, y, i);
  };
  FlatRows flat(getWindow(op, 1), op.getInput().getType(), op.getResult().getType());
  if (!emitter.getLevel().isScalar() && flat.areWorthVectors())
    emitFlatPool(op, flat, signature, element);
  else
    emitPool(op, kernel::Kernels::max_pool, signature, target, element);
  return success();
}

namespace {

/// Means: [N.avg_pool] between tensors that have one scale each, else [N.mean] of real values.
class Mean {
public:
  using Fold = function_ref<Value(Value init, function_ref<Value(ValueRange at, Value acc)> add)>;

  /// Adds the arguments of means over `fewest` to `most` elements.
  Mean(Signature &signature, Value input, Value result, int64_t fewest, int64_t most);
  /// Stores the mean of the `count` (an index) elements that `fold` visits.
  void emit(KernelBuilder &b, ValueRange args, ValueRange i, int64_t laneAxis, Value count,
            Fold fold) const;

  int target;
  bool countsVisited = true; ///< not what lies outside of the input, too

private:
  /// [N.avg_pool] behind the sum.
  Value requantize(KernelBuilder &b, ValueRange args, Value sum, Value count) const;

  Signature &signature;
  int source, multipliers = -1; ///< M of every count from `fewest` on
  int64_t fewest;
};

} // namespace

Mean::Mean(Signature &signature, Value input, Value result, int64_t fewest, int64_t most)
    : signature(signature), fewest(fewest) {
  auto getParams = [](Value value) {
    auto type = dyn_cast<quant::QuantizedType>(getElementTypeOrSelf(value.getType()));
    return type ? numerics::getParams(type) : QuantParams();
  };
  QuantParams from = getParams(input), to = getParams(result);
  bool isInteger = from.scales.size() == 1 && to.scales.size() == 1;
  auto parameters = isInteger ? Signature::Parameters::integers : Signature::Parameters::all;
  source = signature.addTensor(input, parameters);
  target = signature.addTensor(result, parameters);
  if (!isInteger)
    return;
  auto bits = [](float value) { return llvm::utohexstr(llvm::bit_cast<uint32_t>(value)); };
  std::string key = "means/" + bits(from.scales[0]) + "/" + bits(to.scales[0]) + "/" +
                    std::to_string(fewest) + "-" + std::to_string(most);
  multipliers = signature.addWeights<float>(key, [&] {
    std::vector<float> values;
    for (int64_t count = fewest; count <= most; ++count)
      values.push_back(numerics::averageMultiplier(from.scales[0], to.scales[0], count));
    return values;
  });
}

Value Mean::requantize(KernelBuilder &b, ValueRange args, Value sum, Value count) const {
  Value multiplier = b.loadSplat(args[multipliers], b.addIndex(count, -fewest));
  Value parameters = signature.getTensor(target, args).zeroPoints;
  auto load = [&](int64_t parameter) { return b.loadSplat(parameters, b.index(parameter)); };
  return roundAndClamp(b, b.mul(b.toFloat(sum), multiplier), load(kLow), load(kHigh),
                       load(kZeroPoints));
}

void Mean::emit(KernelBuilder &b, ValueRange args, ValueRange i, int64_t laneAxis, Value count,
                Fold fold) const {
  TensorView x = signature.getTensor(source, args), y = signature.getTensor(target, args);
  if (multipliers < 0) {
    Value sum = fold(b.constF(0), [&](ValueRange at, Value acc) {
      return b.add(acc, loadReal(b, x, at, laneAxis));
    });
    Value divisor = b.toFloat(b.splat(b.createOrFold<arith::IndexCastOp>(b.getI32Type(), count)));
    return storeReal(b, b.div(sum, divisor), y, i, laneAxis);
  }
  Value zeroPoint = b.loadSplat(x.zeroPoints, b.index(kZeroPoints));
  // Where bytes are added to i32 in one instruction, zero points are taken off all at once.
  bool isAtOnce = b.level.convertsByAdding && laneAxis >= 0 && countsVisited;
  Value sum = fold(b.constI(0), [&](ValueRange at, Value acc) {
    Value raw = loadRaw(b, x, at, laneAxis);
    return b.add(acc, isAtOnce ? raw : b.sub(raw, zeroPoint));
  });
  if (isAtOnce) {
    Value number = b.splat(b.createOrFold<arith::IndexCastOp>(b.getI32Type(), count));
    sum = b.sub(sum, b.mul(number, zeroPoint));
  }
  storeRaw(b, requantize(b, args, sum, count), y, i);
}

LogicalResult codegen::emitAvgPool(ProgramEmitter &emitter, nn::AvgPoolOp op) {
  Signature signature(emitter);
  int64_t size = op.getKernel()[0] * op.getKernel()[1];
  bool isInside = getWindow(op, 0).isAlwaysInside() && getWindow(op, 1).isAlwaysInside();
  bool isFixed = op.getCountIncludePad() || isInside;
  // Dilated taps may all miss the input.
  Mean mean(signature, op.getInput(), op.getResult(), isFixed ? size : 0, size);
  mean.countsVisited = isInside || !op.getCountIncludePad();
  emitPool(op, kernel::Kernels::avg_pool, signature, mean.target,
           [&](KernelBuilder &b, ValueRange args, const PlacedWindow &window, ValueRange i,
               int64_t laneAxis) {
             Value count = isFixed ? b.index(size) : window.count(b);
             mean.emit(b, args, i, laneAxis, count,
                       [&](Value init, function_ref<Value(ValueRange, Value)> add) {
                         return window.fold(b, init, [&](Value ih, Value iw, Value acc) {
                           return add({i[0], i[1], ih, iw}, acc);
                         });
                       });
           });
  return success();
}
