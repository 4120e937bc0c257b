//===- Dynamic.cpp - integers by a scale that was chosen in the run -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DynamicScale.h"
#include "EpilogueBounds.h"
#include "MergedViews.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kLanes = 16;
/// Elements of a row that are enough for its loop.
static constexpr int64_t kEnough = 512;

namespace {
/// A step over tensors that have a scale and a zero point as a whole, or for each row.
class DynamicStep {
public:
  using Views = std::array<TensorView, 2>;
  /// The elements at an index, `b.lanes` of them.
  using ElementFn = llvm::function_ref<void(const Views &views, ValueRange at, int64_t laneAxis)>;
  /// Emits what has the scale and the zero point at `place`, by `emitLoops`.
  using EmitFn =
      llvm::function_ref<void(KernelBuilder &b, Value scale, Value zeroPoint, bool inVectors,
                              llvm::function_ref<void(ElementFn)> emitLoops)>;

  DynamicStep(ProgramEmitter &emitter, Operation *op)
      : emitter(emitter), op(op), signature(emitter), input(signature.addTensor(op->getOperand(0))),
        scale(signature.addTensor(op->getOperand(1))),
        zeroPoint(signature.addTensor(op->getOperand(2))),
        result(signature.addTensor(op->getResult(0))),
        isPerRow(getTensorType(op->getOperand(1)).getRank() > 0) {}

  void emit(const kernel::KernelRow &kernel, EmitFn emitPart);

private:
  Views asRows(Views views) const {
    if (!isPerRow)
      mergeDimensions(views, kEnough);
    return views;
  }
  void emitRow(KernelBuilder &b, const Views &views, Value row, bool inVectors,
               ElementFn element) const;

  ProgramEmitter &emitter;
  Operation *op;
  Signature signature;
  int input, scale, zeroPoint, result;
  bool isPerRow;
};
} // namespace

void DynamicStep::emitRow(KernelBuilder &b, const Views &views, Value row, bool inVectors,
                          ElementFn element) const {
  SmallVector<Value> at = b.splitIndex(row, getRows(views[0].shape()));
  int64_t last = at.size() - 1, length = views[0].shape()[last];
  auto emitAt = [&](Value k) {
    at[last] = k;
    element(views, at, inVectors ? last : -1);
  };
  if (!inVectors)
    return b.loop(0, length, emitAt);
  b.lanes = kLanes;
  b.loopOverBlocks(length, kLanes, emitAt);
  b.lanes = 1;
}

void DynamicStep::emit(const kernel::KernelRow &kernel, EmitFn emitPart) {
  Views planned = asRows({TensorView({}, getTensorType(op->getOperand(0))),
                          TensorView({}, getTensorType(op->getResult(0)))});
  int64_t range = ShapedType::getNumElements(getRows(planned[0].shape()));
  auto body = [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    Views views = asRows({signature.getTensor(input, args), signature.getTensor(result, args)});
    bool inVectors =
        views[0].shape().back() >= kLanes && !b.level.isScalar() &&
        llvm::all_of(views, [](const TensorView &view) { return view.strides.steps.back() == 1; });
    auto emitRows = [&](Value first, Value last, Value place) {
      emitPart(b, b.load(signature.getTensor(scale, args).memory, place),
               b.load(signature.getTensor(zeroPoint, args).memory, place), inVectors,
               [&](ElementFn element) {
                 b.loop(first, last, 1,
                        [&](Value row) { emitRow(b, views, row, inVectors, element); });
               });
    };
    if (!isPerRow)
      return emitRows(begin, end, b.index(0));
    b.loop(begin, end, 1, [&](Value row) { emitRows(row, b.addIndex(row, 1), row); });
  };
  emitter.addStep(op, kernel, signature.arguments, range, body);
}

//===----------------------------------------------------------------------===//
// Quantize, dequantize
//===----------------------------------------------------------------------===//

LogicalResult codegen::emitQuantizeDynamic(ProgramEmitter &emitter, QuantizeDynamicOp op) {
  if (failed(expectSmall(op, op.getResult().getType())))
    return failure();
  if (emitQuantizePlanes(emitter, op))
    return success();
  auto params = paramsOf(op.getResult());
  auto emitPart = [&](KernelBuilder &b, Value scale, Value zeroPoint, bool inVectors,
                      llvm::function_ref<void(DynamicStep::ElementFn)> emitLoops) {
    emitByScale(b, params, scale, zeroPoint, inVectors, [&](QuantizeFn quantize) {
      emitLoops([&](const DynamicStep::Views &views, ValueRange at, int64_t laneAxis) {
        storeRaw(b, quantize(loadReal(b, views[0], at, laneAxis)), views[1], at);
      });
    });
  };
  DynamicStep(emitter, op).emit(kernel::Kernels::quantize, emitPart);
  return success();
}

LogicalResult codegen::emitDequantizeDynamic(ProgramEmitter &emitter, DequantizeDynamicOp op) {
  if (failed(expectSmall(op, op.getInput().getType())))
    return failure();
  int32_t shift = paramsOf(op.getInput()).zeroPoints[0];
  auto emitPart = [&](KernelBuilder &b, Value scale, Value zeroPoint, bool,
                      llvm::function_ref<void(DynamicStep::ElementFn)> emitLoops) {
    Value zero = b.add(zeroPoint, b.constI(shift));
    emitLoops([&](const DynamicStep::Views &views, ValueRange at, int64_t laneAxis) {
      Value distance = b.sub(loadRaw(b, views[0], at, laneAxis), b.splat(zero));
      storeRaw(b, b.mul(b.toFloat(distance), b.splat(scale)), views[1], at);
    });
  };
  DynamicStep(emitter, op).emit(kernel::Kernels::dequantize, emitPart);
  return success();
}
