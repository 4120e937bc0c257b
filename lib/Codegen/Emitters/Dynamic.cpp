//===- Dynamic.cpp - scales chosen in each run ----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "EpilogueBounds.h"
#include "octet/Numerics/ChooseQParams.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kLanes = 16;

//===----------------------------------------------------------------------===//
// Scale and zero point
//===----------------------------------------------------------------------===//

static Value toInteger(KernelBuilder &b, Value small) {
  // Adding and subtracting it rounds what is small beside it.
  Value shift = arith::ConstantOp::create(b, b.getF64FloatAttr(0x1.8p52));
  return arith::FPToSIOp::create(b, b.getI32Type(), b.sub(b.add(small, shift), shift));
}

/// [N.dynamic] Scale (f32) and zero point (i32) of values from `min` to `max` (f32), zero among
/// them.
static std::pair<Value, Value> chooseAsOnnx(KernelBuilder &b, Value min, Value max) {
  Value zero = b.constF(0), most = b.constF(255);
  Value scale = b.maxF(b.div(b.sub(max, min), most), b.constF(std::numeric_limits<float>::min()));
  Value point = b.minF(b.maxF(b.sub(zero, b.div(min, scale)), zero), most);
  return {scale, toInteger(b, arith::ExtFOp::create(b, b.getF64Type(), point))};
}

namespace {
/// [N.choose_qparams] of one range, in code; f64 where nothing else is said.
class ChooseParams {
public:
  ChooseParams(KernelBuilder &b, ArrayRef<int64_t> range) : b(b), low(range[0]), high(range[1]) {}

  /// Scale (f32) and zero point (i32) of values from `min` to `max` (f32), zero among them.
  std::pair<Value, Value> emit(Value min, Value max) {
    Value scale = chooseScale(min, max);
    Value isSmall = less(scale, real(numerics::kLeastDynamicScale));
    auto [smallMin, smallMax] = widen(min, max, scale);
    min = wide(select(isSmall, smallMin, min));
    max = wide(select(isSmall, smallMax, max));
    scale = select(isSmall, real(numerics::kLeastDynamicScale), scale);
    return {narrow(scale), chooseZeroPoint(b.div(min, scale), b.div(max, scale))};
  }

private:
  Value chooseScale(Value min, Value max) {
    Value scale = b.div(b.sub(wide(max), wide(min)), real(high - low));
    Value infinity = b.constF(std::numeric_limits<float>::infinity());
    Value isUnfit = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                          b.div(b.constF(1), narrow(scale)), infinity);
    return select(isUnfit, real(numerics::kScaleOfZeros), scale);
  }

  /// The values that the least scale reaches, in f32.
  std::pair<Value, Value> widen(Value min, Value max, Value scale) {
    Value zero = b.constF(0), least = b.constF(numerics::kLeastDynamicScale);
    Value reach = b.mul(least, b.constF(high - low)), factor = b.div(least, narrow(scale));
    Value isMinZero = equal(min, zero), isMaxZero = equal(max, zero);
    Value newMin = select(isMaxZero, arith::NegFOp::create(b, reach), b.mul(min, factor));
    Value newMax = select(isMaxZero, max, b.mul(max, factor));
    return {select(isMinZero, min, newMin), select(isMinZero, reach, newMax)};
  }

  Value chooseZeroPoint(Value fromMin, Value fromMax) {
    auto distance = [&](int64_t end, Value steps) {
      return b.sub(real(std::abs(end)), math::AbsFOp::create(b, steps));
    };
    Value isMinNearer = less(distance(low, fromMin), distance(high, fromMax));
    Value point = select(isMinNearer, b.sub(real(low), fromMin), b.sub(real(high), fromMax));
    point = select(less(real(low), point), point, real(low));
    point = select(less(point, real(high)), point, real(high));
    return toInteger(b, point);
  }

  Value real(double value) { return arith::ConstantOp::create(b, b.getF64FloatAttr(value)); }
  Value wide(Value x) { return arith::ExtFOp::create(b, b.getF64Type(), x); }
  Value narrow(Value x) { return arith::TruncFOp::create(b, b.getF32Type(), x); }
  Value less(Value x, Value y) { return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y); }
  Value equal(Value x, Value y) {
    return arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, y);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }

  KernelBuilder &b;
  const int64_t low, high;
};
} // namespace

static Value larger(KernelBuilder &b, Value acc, Value x) { return b.maxF(x, acc); }
static Value smaller(KernelBuilder &b, Value acc, Value x) { return b.minF(x, acc); }

/// The extreme of `acc` and of the row that begins at `at`.
static Value foldRowOf(KernelBuilder &b, const TensorView &x, SmallVector<Value> at, Value acc,
                       JoinFn join) {
  int64_t last = x.shape().size() - 1;
  bool inVectors = x.strides.steps[last] == 1 && !b.level.isScalar();
  Value extreme = foldRow(
      b, x.shape()[last], inVectors, 0,
      [&](Value k) {
        at[last] = k;
        return loadReal(b, x, at, b.lanes > 1 ? last : -1);
      },
      join);
  return join(b, acc, extreme);
}

/// The dimension whose elements lie side by side, of which a tensor has one scale: the channels of
/// images. The last one of a scalar or of a tensor with a scale for each row.
static int64_t getLaneAxis(RankedTensorType type, bool isPerRow) {
  Strides strides = getStrides(type);
  auto *found = llvm::find(strides.steps, 1);
  bool isLast = isPerRow || found == strides.steps.end();
  return isLast ? type.getRank() - 1 : found - strides.steps.begin();
}

/// A tensor as rows along `axis`, which becomes the last dimension: of rank 1 at least, one row if
/// all elements lie side by side and `asOneRow`.
static TensorView viewRows(TensorView view, bool asOneRow, int64_t axis) {
  if (view.shape().empty() || (asOneRow && isRowMajor(view.type)))
    return TensorView(view.memory, RankedTensorType::get({view.type.getNumElements()},
                                                         view.type.getElementType()));
  if (axis == view.type.getRank() - 1)
    return view;
  SmallVector<int64_t> shape(view.shape());
  std::rotate(shape.begin() + axis, shape.begin() + axis + 1, shape.end());
  SmallVectorImpl<int64_t> &steps = view.strides.steps;
  std::rotate(steps.begin() + axis, steps.begin() + axis + 1, steps.end());
  view.type = RankedTensorType::get(shape, view.type.getElementType());
  return view;
}

static SmallVector<int64_t> getRows(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> rows(shape);
  rows.back() = 1;
  return rows;
}

LogicalResult codegen::emitChooseQParams(ProgramEmitter &emitter, ChooseQParamsOp op) {
  Signature signature(emitter);
  int input = signature.addTensor(op.getInput()), scale = signature.addTensor(op.getScale()),
      zeroPoint = signature.addTensor(op.getZeroPoint());
  bool isPerRow = op.getPerRow();
  emitter.addStep(
      op, kernel::Kernels::reduce, signature.arguments, op.getScale().getType().getNumElements(),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        TensorView given = signature.getTensor(input, args);
        TensorView x = viewRows(given, /*asOneRow=*/!isPerRow, getLaneAxis(given.type, isPerRow));
        SmallVector<int64_t> rows = getRows(x.shape());
        auto emitRange = [&](Value first, Value last, Value place) {
          auto extremes =
              b.loop(first, last, 1, ValueRange{b.constF(0), b.constF(0)},
                     [&](Value row, ValueRange carried) {
                       SmallVector<Value> at = b.splitIndex(row, rows);
                       return SmallVector<Value>{foldRowOf(b, x, at, carried[0], smaller),
                                                 foldRowOf(b, x, at, carried[1], larger)};
                     });
          auto [s, z] = op.getOnnx()
                            ? chooseAsOnnx(b, extremes[0], extremes[1])
                            : ChooseParams(b, op.getRange()).emit(extremes[0], extremes[1]);
          b.store(s, signature.getTensor(scale, args).memory, place);
          b.store(z, signature.getTensor(zeroPoint, args).memory, place);
        };
        b.loop(begin, end, 1, [&](Value i) {
          if (isPerRow)
            return emitRange(i, b.addIndex(i, 1), i);
          emitRange(b.index(0), b.index(ShapedType::getNumElements(rows)), i);
        });
      });
  return success();
}

//===----------------------------------------------------------------------===//
// Quantize, dequantize
//===----------------------------------------------------------------------===//

/// Calls `element` for all elements of the tensors, sixteen at a time where they lie side by side,
/// with the row's scale and zero point in all lanes.
static void
emitOverRows(ProgramEmitter &emitter, Operation *op, const kernel::KernelRow &kernel,
             llvm::function_ref<void(KernelBuilder &, const TensorView &x, const TensorView &y,
                                     ValueRange at, int64_t laneAxis, Value scale, Value zeroPoint)>
                 element) {
  Signature signature(emitter);
  int input = signature.addTensor(op->getOperand(0)),
      scale = signature.addTensor(op->getOperand(1)),
      zeroPoint = signature.addTensor(op->getOperand(2)),
      result = signature.addTensor(op->getResult(0));
  bool isPerRow = getTensorType(op->getOperand(1)).getRank() > 0;
  auto type = getTensorType(op->getResult(0));
  int64_t axis = getLaneAxis(type, isPerRow), size = axis < 0 ? 1 : type.getDimSize(axis);
  int64_t range = size == 0 ? 0 : type.getNumElements() / size;
  emitter.addStep(op, kernel, signature.arguments, range,
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    auto view = [&](int number) {
                      return viewRows(signature.getTensor(number, args), /*asOneRow=*/false, axis);
                    };
                    TensorView x = view(input), y = view(result);
                    Value scales = signature.getTensor(scale, args).memory,
                          zeroPoints = signature.getTensor(zeroPoint, args).memory;
                    int64_t last = x.shape().size() - 1, length = x.shape()[last];
                    bool inVectors = x.strides.steps[last] == 1 && y.strides.steps[last] == 1 &&
                                     length >= kLanes && !b.level.isScalar();
                    b.loop(begin, end, 1, [&](Value row) {
                      SmallVector<Value> at = b.splitIndex(row, getRows(x.shape()));
                      Value place = isPerRow ? row : b.index(0);
                      auto emitAt = [&](Value k) {
                        at[last] = k;
                        element(b, x, y, at, b.lanes > 1 ? last : -1, b.loadSplat(scales, place),
                                b.loadSplat(zeroPoints, place));
                      };
                      if (!inVectors)
                        return b.loop(b.index(0), b.index(length), 1, emitAt);
                      b.loopOverBlocks(length, kLanes, [&](Value k) {
                        b.lanes = kLanes;
                        emitAt(k);
                        b.lanes = 1;
                      });
                    });
                  });
}

LogicalResult codegen::emitQuantizeDynamic(ProgramEmitter &emitter, QuantizeDynamicOp op) {
  if (failed(expectSmall(op, op.getResult().getType())))
    return failure();
  auto params =
      numerics::getParams(cast<quant::QuantizedType>(op.getResult().getType().getElementType()));
  emitOverRows(emitter, op, kernel::Kernels::quantize,
               [&](KernelBuilder &b, const TensorView &x, const TensorView &y, ValueRange at,
                   int64_t laneAxis, Value scale, Value zeroPoint) {
                 Value scaled = b.div(loadReal(b, x, at, laneAxis), scale),
                       shift = b.constI(params.zeroPoints[0]);
                 storeRaw(b,
                          roundAndClamp(b, scaled, b.constI(params.low), b.constI(params.high),
                                        b.add(zeroPoint, shift)),
                          y, at);
               });
  return success();
}

LogicalResult codegen::emitDequantizeDynamic(ProgramEmitter &emitter, DequantizeDynamicOp op) {
  if (failed(expectSmall(op, op.getInput().getType())))
    return failure();
  int32_t shift = paramsOf(op.getInput()).zeroPoints[0];
  emitOverRows(emitter, op, kernel::Kernels::dequantize,
               [&](KernelBuilder &b, const TensorView &x, const TensorView &y, ValueRange at,
                   int64_t laneAxis, Value scale, Value zeroPoint) {
                 Value distance =
                     b.sub(loadRaw(b, x, at, laneAxis), b.add(zeroPoint, b.constI(shift)));
                 storeRaw(b, b.mul(b.toFloat(distance), scale), y, at);
               });
  return success();
}
