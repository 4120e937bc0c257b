//===- Pointwise.cpp - operators that work element by element -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

void codegen::emitLoopNest(KernelBuilder &b, ArrayRef<int64_t> shape, Value begin, Value end,
                           function_ref<void(ValueRange)> body) {
  SmallVector<Value> indices;
  std::function<void(size_t)> nest = [&](size_t depth) {
    if (depth == shape.size())
      return body(indices);
    auto inner = [&](Value i) {
      indices.push_back(i);
      nest(depth + 1);
      indices.pop_back();
    };
    if (depth == 0)
      b.loop(begin, end, 1, inner);
    else
      b.loop(0, shape[depth], inner);
  };
  nest(0);
}

void codegen::alignView(TensorView &view, ArrayRef<int64_t> outShape) {
  int64_t missing = outShape.size() - view.shape().size();
  SmallVector<int64_t> steps(missing, 0);
  for (auto [i, step] : llvm::enumerate(view.strides.steps))
    steps.push_back(view.shape()[i] == 1 ? 0 : step);
  view.strides.steps = steps;
  if (view.axis >= 0)
    view.axis += missing;
}

namespace {
/// How a pointwise kernel walks over the result.
struct Walk {
  SmallVector<int64_t> order; ///< dimensions, outermost first
  int64_t laneAxis = -1;      ///< dimension of the sixteen lanes, or -1
};
} // namespace

static Walk chooseWalk(ArrayRef<int64_t> shape, const Strides &out, ArrayRef<TensorView> inputs, bool isScalar) {
  Walk walk;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1)
      walk.order.push_back(i);
  llvm::stable_sort(walk.order, [&](int64_t a, int64_t b) { return out.steps[a] > out.steps[b]; });
  if (walk.order.empty())
    return walk;
  int64_t inner = walk.order.back();
  auto isUsable = [&](const TensorView &view) { return view.strides.steps[inner] <= 1; };
  if (!isScalar && shape[inner] >= 16 && out.steps[inner] == 1 && llvm::all_of(inputs, isUsable))
    walk.laneAxis = inner;
  return walk;
}

/// All tensors order their elements alike without gaps, and parameters are per tensor: one long dimension.
static bool canFlatten(const TensorView &result, ArrayRef<TensorView> inputs) {
  auto matches = [&](const TensorView &view) {
    return view.axis < 0 && view.strides.steps == result.strides.steps && view.strides.extent == result.strides.extent;
  };
  return result.strides.extent == result.type.getNumElements() && matches(result) && llvm::all_of(inputs, matches);
}

static void flatten(TensorView &view) {
  int64_t count = view.strides.extent;
  view.type = RankedTensorType::get({count}, view.type.getElementType());
  view.strides = {{1}, 0, count};
}

/// Elements of a flattened walk that one unit of the step's range stands for.
static constexpr int64_t kFlatBlock = 1024;

void codegen::emitPointwise(ProgramEmitter &emitter, Operation *op, StringRef kind, StringRef key,
                            ArrayRef<Value> inputs, Value result, PointwiseFn compute) {
  Signature signature(emitter);
  signature.addKey(key);
  for (Value input : inputs)
    signature.addTensor(input);
  signature.addTensor(result);

  // The walk is chosen from types alone, so that the step's range is known here.
  auto bind = [&](ValueRange args) {
    SmallVector<TensorView> views;
    for (size_t i = 0; i <= inputs.size(); ++i)
      views.push_back(signature.getTensor(i, args));
    for (TensorView &view : MutableArrayRef(views).drop_back())
      alignView(view, views.back().shape());
    bool isFlat = canFlatten(views.back(), ArrayRef(views).drop_back());
    if (isFlat)
      for (TensorView &view : views)
        flatten(view);
    return std::make_pair(views, isFlat);
  };
  SmallVector<Value> none(signature.arguments.size());
  auto [types, isFlat] = bind(none);
  Walk walk = chooseWalk(types.back().shape(), types.back().strides, ArrayRef(types).drop_back(), emitter.getLevel().isScalar);
  int64_t count = walk.order.empty() ? 1 : types.back().shape()[walk.order.front()];
  int64_t range = isFlat ? llvm::divideCeil(count, kFlatBlock) : count;
  bool flat = isFlat;

  emitter.addStep(op, kind, signature.key, signature.arguments, range,
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
    auto views = bind(args).first;
    ArrayRef<int64_t> shape = views.back().shape();
    SmallVector<Value> indices(shape.size(), b.index(0));
    auto element = [&](int64_t lanes) {
      b.lanes = lanes;
      int64_t laneAxis = lanes > 1 ? walk.laneAxis : -1;
      SmallVector<Value> values;
      for (const TensorView &view : ArrayRef(views).drop_back())
        values.push_back(loadReal(b, view, indices, laneAxis));
      storeReal(b, compute(b, values), views.back(), indices, laneAxis);
      b.lanes = 1;
    };
    auto at = [&](int64_t axis, int64_t lanes) {
      return [&, axis, lanes](Value i) {
        indices[axis] = i;
        element(lanes);
      };
    };
    // The innermost dimension: sixteen lanes, then what is left (overlapping where that is possible).
    auto innermost = [&](Value lower, Value upper, int64_t size) {
      int64_t axis = walk.order.back();
      if (walk.laneAxis < 0)
        return b.loop(lower, upper, 1, at(axis, 1));
      if (size < 0) {
        Value length = b.createIndex<arith::SubIOp>(upper, lower);
        Value whole = b.mulIndex(b.createIndex<arith::DivUIOp>(length, b.index(16)), 16);
        Value middle = b.addIndex(lower, whole);
        b.loop(lower, middle, 16, at(axis, 16));
        return b.loop(middle, upper, 1, at(axis, 1));
      }
      b.loopOverBlocks(size, 16, at(axis, 16));
    };
    if (walk.order.empty())
      return element(1);
    if (walk.order.size() == 1) {
      Value lower = begin, upper = end;
      if (flat) {
        lower = b.mulIndex(begin, kFlatBlock);
        upper = b.createIndex<arith::MinUIOp>(b.mulIndex(end, kFlatBlock), b.index(count));
      }
      return innermost(lower, upper, -1);
    }
    std::function<void(size_t)> nest = [&](size_t depth) {
      int64_t axis = walk.order[depth];
      if (depth + 1 == walk.order.size())
        return innermost(b.index(0), b.index(shape[axis]), shape[axis]);
      auto inner = [&, axis](Value i) {
        indices[axis] = i;
        nest(depth + 1);
      };
      depth == 0 ? b.loop(begin, end, 1, inner) : b.loop(0, shape[axis], inner);
    };
    nest(0);
  });
}

LogicalResult codegen::emitFusedElementwise(ProgramEmitter &emitter, const FusedOp &fused) {
  SmallVector<Value> inner = fused.getBodyInputs();
  SmallVector<Value> inputs = llvm::map_to_vector(inner, [&](Value v) { return fused.getOuter(v); });
  emitPointwise(emitter, fused.op, "elementwise", fused.describeBody(), inputs, fused.getResult(),
                [&](KernelBuilder &b, ValueRange values) {
    llvm::DenseMap<Value, Value> known;
    for (auto [value, real] : llvm::zip(inner, values))
      known[value] = real;
    return emitBody(b, fused, std::move(known));
  });
  return success();
}

static Value identity(KernelBuilder &, ValueRange values) { return values[0]; }

LogicalResult codegen::emitQuantize(ProgramEmitter &emitter, QuantizeOp op) {
  if (emitQuantizePlanes(emitter, op))
    return success();
  emitPointwise(emitter, op, "quantize", "", {op.getInput()}, op.getResult(), identity);
  return success();
}

LogicalResult codegen::emitDequantize(ProgramEmitter &emitter, DequantizeOp op) {
  // Weights and biases of the reference model are dequantized when the network is lowered.
  auto type = cast<quant::QuantizedType>(getElementTypeOrSelf(op.getInput().getType()));
  if (type.getStorageTypeIntegralWidth() != 8)
    return op.emitOpError("has code generation for 8-bit storage only, but got ") << type << "; is the network lowered?";
  emitPointwise(emitter, op, "dequantize", "", {op.getInput()}, op.getResult(), identity);
  return success();
}

LogicalResult codegen::emitBatchNorm(ProgramEmitter &emitter, nn::BatchNormOp op) {
  return op.emitOpError("expected batch norm to be lowered to a scale and a shift before code generation");
}
