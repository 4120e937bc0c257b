//===- Pointwise.cpp - operators that work element by element -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "EpilogueBounds.h"
#include "octet/Numerics/Quantize.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

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
  int64_t laneAxis = -1;      ///< dimension of the lanes, or -1
  int64_t lanes = 1;          ///< as many as side by side, sixteen at most
};
} // namespace

/// Lanes that are worth a vector: registers of four are full of shorter rows, too.
static int64_t getFewestLanes(const CpuLevel &level) {
  return level.isScalar() ? std::numeric_limits<int64_t>::max() : 4;
}

static Walk chooseWalk(ArrayRef<int64_t> shape, const Strides &out, ArrayRef<TensorView> inputs,
                       int64_t fewestLanes) {
  Walk walk;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1)
      walk.order.push_back(i);
  llvm::stable_sort(walk.order, [&](int64_t a, int64_t b) { return out.steps[a] > out.steps[b]; });
  if (walk.order.empty())
    return walk;
  int64_t inner = walk.order.back();
  auto isUsable = [&](const TensorView &view) { return view.strides.steps[inner] <= 1; };
  if (shape[inner] >= fewestLanes && out.steps[inner] == 1 && llvm::all_of(inputs, isUsable)) {
    walk.laneAxis = inner;
    walk.lanes = KernelBuilder::getLanes(shape[inner]);
  }
  return walk;
}

/// Elements of a flattened walk that one unit of the step's range stands for.
static constexpr int64_t kFlatBlock = 1024;

/// Elements for which a walk loads once what repeats: few enough that what it works on stays in the
/// first cache.
static constexpr int64_t kRepeats = 4; // as many as emitVectors takes

/// An element per element of the result, in the same order without gaps.
static bool isSideBySide(const TensorView &view, const TensorView &result) {
  if (view.strides.extent != result.strides.extent ||
      view.type.getNumElements() != result.type.getNumElements())
    return false;
  for (auto [size, step, resultStep] :
       llvm::zip(result.shape(), view.strides.steps, result.strides.steps))
    if (size != 1 && step != resultStep)
      return false;
  return true;
}

/// One element per channel, side by side, the same for all pixels.
static bool isChannelVector(const TensorView &view, const TensorView &result) {
  return view.type.getNumElements() == result.shape()[1] && view.strides.steps[1] == 1;
}

/// Channels of an NHWC result that several times fill sixteen lanes, or 0.
static int64_t getPeriod(const TensorView &result, bool isScalar) {
  bool isSmall = result.type.getRank() == 4 && result.strides.steps[1] == 1 &&
                 llvm::is_contained({2, 4, 8}, result.shape()[1]);
  return isSmall && !isScalar && result.type.getNumElements() >= 16 ? result.shape()[1] : 0;
}

/// All tensors can be walked as one long dimension: elements lie side by side, or there is one for
/// all, or (with a period) one per channel; the same goes for parameters.
static bool canFlatten(const TensorView &result, ArrayRef<TensorView> inputs, int64_t period) {
  auto hasFlatParameters = [&](const TensorView &view) {
    return view.axis < 0 || (period && view.axis == 1);
  };
  bool isDense = result.strides.extent == result.type.getNumElements() && hasFlatParameters(result);
  return isDense && llvm::all_of(inputs, [&](const TensorView &view) {
           bool isFlat = isSideBySide(view, result) || view.type.getNumElements() == 1 ||
                         (period && isChannelVector(view, result));
           return isFlat && hasFlatParameters(view);
         });
}

static void flatten(TensorView &view, const TensorView &result, int64_t period) {
  bool repeats = !isSideBySide(view, result);
  int64_t count = result.strides.extent;
  if (view.axis >= 0 || (repeats && view.type.getNumElements() > 1))
    view.period = period;
  view.axis = std::min<int64_t>(view.axis, 0);
  view.type = RankedTensorType::get({count}, view.type.getElementType());
  view.strides = {{repeats ? 0 : 1}, view.strides.offset, count};
}

namespace {

/// A kernel that computes every element of a result from those of its inputs.
class PointwiseKernel {
public:
  PointwiseKernel(ProgramEmitter &emitter, Operation *op, ArrayRef<Value> inputs, Value result,
                  PointwiseFn compute)
      : signature(emitter), numInputs(inputs.size()), compute(compute) {
    for (Value input : inputs)
      signature.addTensor(input);
    signature.addTensor(result);
    // The walk is chosen from types alone, so that the step's range is known before there is code.
    bind(SmallVector<Value>(signature.arguments.size()));
    walk = chooseWalk(getResult().shape(), getResult().strides, getInputs(),
                      getFewestLanes(emitter.getLevel()));
    count = walk.order.empty() ? 1 : getResult().shape()[walk.order.front()];
  }

  int64_t getRange() const { return isFlat ? llvm::divideCeil(count, kFlatBlock) : count; }
  void emit(KernelBuilder &b, ValueRange args, Value begin, Value end);

  Signature signature;

private:
  ArrayRef<TensorView> getInputs() const { return ArrayRef(views).drop_back(); }
  const TensorView &getResult() const { return views.back(); }
  void bind(ValueRange args);
  SmallVector<Value> loadInputs(KernelBuilder &b, int64_t laneAxis);
  void emitElement(KernelBuilder &b, int64_t lanes);
  void emitVectors(KernelBuilder &b, int64_t axis, Value first, bool areSideBySide);
  void emitLine(KernelBuilder &b, int64_t axis, Value lower, Value upper);
  void emitNest(KernelBuilder &b, size_t depth, Value begin, Value end);
  void emitFlat(KernelBuilder &b, Value begin, Value end);

  size_t numInputs;
  PointwiseFn compute;
  SmallVector<TensorView> views; ///< of the inputs and the result
  bool isFlat = false;
  Walk walk;
  int64_t count;
  SmallVector<Value> indices;
};

} // namespace

/// Makes the views, flattened where that is possible.
void PointwiseKernel::bind(ValueRange args) {
  views.clear();
  for (size_t i = 0; i <= numInputs; ++i)
    views.push_back(signature.getTensor(i, args));
  for (TensorView &view : MutableArrayRef(views).drop_back())
    alignView(view, getResult().shape());
  TensorView result = getResult();
  int64_t period = getPeriod(result, signature.emitter.getLevel().isScalar());
  isFlat = canFlatten(result, getInputs(), period);
  if (isFlat)
    for (TensorView &view : views)
      flatten(view, result, period);
}

SmallVector<Value> PointwiseKernel::loadInputs(KernelBuilder &b, int64_t laneAxis) {
  return llvm::map_to_vector(
      getInputs(), [&](const TensorView &view) { return loadReal(b, view, indices, laneAxis); });
}

/// Behind one vector: what `compute` knows of its values is not known of others.
static void forgetBounds(KernelBuilder &b) {
  b.valuesAreFinite = false;
  b.quotientBound = std::numeric_limits<float>::infinity();
}

/// The element at `indices`, and those that follow in the other lanes.
void PointwiseKernel::emitElement(KernelBuilder &b, int64_t lanes) {
  b.lanes = lanes;
  int64_t laneAxis = lanes > 1 ? walk.laneAxis : -1;
  storeReal(b, compute(b, loadInputs(b, laneAxis)), getResult(), indices, laneAxis);
  forgetBounds(b);
  b.lanes = 1;
}

/// Four vectors from `first` on along an axis, which are side by side if it is that of the lanes;
/// bytes are packed together.
void PointwiseKernel::emitVectors(KernelBuilder &b, int64_t axis, Value first, bool areSideBySide) {
  SmallVector<Value> values, places;
  for (int64_t i = 0; i < 4; ++i) {
    indices[axis] = b.addIndex(first, areSideBySide ? 16 * i : i);
    b.lanes = 16;
    const TensorView &result = getResult();
    if (!storesPacked(b, result)) {
      emitElement(b, 16);
      continue;
    }
    Value real = compute(b, loadInputs(b, walk.laneAxis));
    values.push_back(quantize(b, real, result, indices, walk.laneAxis, /*packSaturates=*/true));
    places.push_back(b.linearIndex(indices, result.strides.steps, result.strides.offset));
    forgetBounds(b);
  }
  b.lanes = 1;
  if (values.empty())
    return;
  Value packed = kernel::PackOp::create(b, values, isSigned(getResult().type));
  if (areSideBySide)
    return b.store(packed, getResult().memory, places[0]);
  for (auto [i, place] : llvm::enumerate(places))
    b.store(b.slice(packed, 16 * i, 16), getResult().memory, place);
}

/// One dimension from `lower` to `upper` in single lanes.
void PointwiseKernel::emitLine(KernelBuilder &b, int64_t axis, Value lower, Value upper) {
  b.loop(lower, upper, 1, [&](Value i) {
    indices[axis] = i;
    emitElement(b, 1);
  });
}

/// The loops from `depth` on; the outermost goes from `begin` to `end`.
void PointwiseKernel::emitNest(KernelBuilder &b, size_t depth, Value begin, Value end) {
  int64_t axis = walk.order[depth];
  Value lower = depth == 0 ? begin : b.index(0),
        upper = depth == 0 ? end : b.index(getResult().shape()[axis]);
  auto inLanes = [&](Value i) {
    indices[walk.laneAxis] = i;
    emitElement(b, walk.lanes);
  };
  if (depth + 1 == walk.order.size()) {
    if (walk.laneAxis < 0)
      return emitLine(b, axis, lower, upper);
    if (int64_t size = getResult().shape()[axis]; depth > 0 && size % 64 == 0 && !b.keepsStructure)
      return b.loopOverBlocks(
          size, 64, [&](Value first) { emitVectors(b, axis, first, /*areSideBySide=*/true); });
    return b.loopOverBlocks(getResult().shape()[axis], walk.lanes, inLanes);
  }
  auto overAxis = [&](function_ref<void()> body) {
    b.loop(lower, upper, 1, [&](Value i) {
      indices[axis] = i;
      body();
    });
  };
  // Inputs that repeat along the last dimension but one are loaded once for several elements of it.
  bool repeats = llvm::any_of(
      getInputs(), [&](const TensorView &view) { return view.strides.steps[axis] == 0; });
  int64_t size = getResult().shape()[axis];
  if (depth + 2 == walk.order.size() && depth > 0 && walk.lanes == 16 && repeats &&
      size >= kRepeats)
    return b.loopOverBlocks(size, kRepeats, [&](Value first) {
      b.loopOverBlocks(getResult().shape()[walk.laneAxis], 16, [&](Value lane) {
        indices[walk.laneAxis] = lane;
        emitVectors(b, axis, first, /*areSideBySide=*/false);
      });
    });
  overAxis([&] { emitNest(b, depth + 1, begin, end); });
}

/// One long dimension; the last vector may overlap the one before.
void PointwiseKernel::emitFlat(KernelBuilder &b, Value begin, Value end) {
  Value lower = b.mulIndex(begin, kFlatBlock),
        upper = b.createIndex<arith::MinUIOp>(b.mulIndex(end, kFlatBlock), b.index(count));
  if (walk.laneAxis < 0)
    return emitLine(b, 0, lower, upper);
  if (count >= 64)
    return b.loop(lower, upper, 64, [&](Value i) {
      emitVectors(b, 0, b.clampBlock(i, count, 64), /*areSideBySide=*/true);
    });
  b.loop(lower, upper, walk.lanes, [&](Value i) {
    indices[0] = b.clampBlock(i, count, walk.lanes);
    emitElement(b, walk.lanes);
  });
}

void PointwiseKernel::emit(KernelBuilder &b, ValueRange args, Value begin, Value end) {
  bind(args);
  indices.assign(getResult().shape().size(), b.index(0));
  if (walk.order.empty())
    return emitElement(b, 1);
  if (isFlat)
    return emitFlat(b, begin, end);
  if (walk.order.size() > 1 || walk.laneAxis < 0)
    return emitNest(b, 0, begin, end);
  // The range splits the lanes' own dimension: whole vectors, then what is left.
  Value length = b.createIndex<arith::SubIOp>(end, begin);
  Value middle = b.addIndex(
      begin, b.mulIndex(b.createIndex<arith::DivUIOp>(length, b.index(walk.lanes)), walk.lanes));
  b.loop(begin, middle, walk.lanes, [&](Value i) {
    indices[walk.laneAxis] = i;
    emitElement(b, walk.lanes);
  });
  emitLine(b, walk.laneAxis, middle, end);
}

void codegen::emitPointwise(ProgramEmitter &emitter, Operation *op, const kernel::KernelRow &row,
                            ArrayRef<Value> inputs, Value result, PointwiseFn compute) {
  PointwiseKernel kernel(emitter, op, inputs, result, compute);
  emitter.addStep(op, row, kernel.signature.arguments, kernel.getRange(),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    kernel.emit(b, args, begin, end);
                  });
}

static float getLeastScale(Value value) { return *llvm::min_element(paramsOf(value).scales); }

static float getLargestScale(Value value) {
  auto type = cast<quant::QuantizedType>(getElementTypeOrSelf(value));
  return *llvm::max_element(numerics::getParams(type).scales);
}

LogicalResult codegen::emitFusedElementwise(ProgramEmitter &emitter, const FusedOp &fused) {
  SmallVector<Value> inner = fused.getBodyInputs();
  SmallVector<Value> inputs =
      llvm::map_to_vector(inner, [&](Value v) { return fused.getOuter(v); });
  // One operation on finite numbers; a second one could make a NaN of an infinity.
  auto operations =
      llvm::make_filter_range(fused.body, [](Operation *op) { return !isa<DequantizeOp>(op); });
  bool isFinite =
      llvm::hasSingleElement(operations) &&
      isa<nn::AddOp, nn::SubOp, nn::MulOp>(*operations.begin()) &&
      llvm::all_of(inputs, [](Value input) {
        return isQuantized(input.getType()) && std::isfinite(0x1p16f * getLargestScale(input));
      });
  Interval range = getElementwiseRange(fused);
  float bound = isQuantized(fused.getResult().getType())
                    ? range.getMagnitude() / getLeastScale(fused.getResult())
                    : range.getMagnitude();
  emitPointwise(emitter, fused.op, kernel::Kernels::elementwise, inputs, fused.getResult(),
                [&](KernelBuilder &b, ValueRange values) {
                  b.valuesAreFinite = isFinite || range.isBounded();
                  b.quotientBound = bound;
                  llvm::DenseMap<Value, Value> known;
                  for (auto [value, real] : llvm::zip(inner, values))
                    known[value] = real;
                  return emitBody(b, fused, std::move(known));
                });
  return success();
}

static Value identity(KernelBuilder &, ValueRange values) { return values[0]; }

LogicalResult codegen::expectSmall(Operation *op, Type quantizedTensor) {
  auto type = cast<quant::QuantizedType>(getElementTypeOrSelf(quantizedTensor));
  if (kernel::matchForm(kernel::Operators::conversion.input, type, op) == kernel::Fit::yes)
    return success();
  return op->emitOpError("has code generation for storage of at most 16 bits, but got ")
         << type << "; is the network lowered?";
}

LogicalResult codegen::emitQuantize(ProgramEmitter &emitter, QuantizeOp op) {
  if (failed(expectSmall(op, op.getResult().getType())))
    return failure();
  if (emitQuantizePlanes(emitter, op))
    return success();
  emitPointwise(emitter, op, kernel::Kernels::quantize, {op.getInput()}, op.getResult(), identity);
  return success();
}

LogicalResult codegen::emitDequantize(ProgramEmitter &emitter, DequantizeOp op) {
  if (failed(expectSmall(op, op.getInput().getType())))
    return failure();
  emitPointwise(emitter, op, kernel::Kernels::dequantize, {op.getInput()}, op.getResult(),
                identity);
  return success();
}
