//===- Resize.cpp - Resize and Upsample --------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "Operators.h"
#include "Resample.h"
#include "Window.h"
#include "mlir/IR/TypeUtilities.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// Result sizes and factors of every dimension; its part, of tf_crop_and_resize.
struct Target {
  Shape sizes;
  std::vector<double> scales;
  std::vector<float> starts, ends;
  std::vector<Value> from, to; ///< the part, where it is computed in the run

  bool changes(unsigned axis, int64_t size) const {
    return sizes[axis] != size || scales[axis] != 1 || starts[axis] != 0 || ends[axis] != 1 ||
           from[axis];
  }
};
} // namespace

/// The whole of every dimension, as it is.
static Target getSameTarget(ShapeRef shape) {
  size_t rank = shape.size();
  return {Shape(shape),
          std::vector<double>(rank, 1),
          std::vector<float>(rank, 0),
          std::vector<float>(rank, 1),
          std::vector<Value>(rank),
          std::vector<Value>(rank)};
}

/// A part of the input (tf_crop_and_resize) does not change the size, although ONNX's text has it
/// as a factor: its reference and onnxruntime do not.
static LogicalResult setScales(Node &node, Target &target, ArrayRef<float> scales, ShapeRef axes) {
  if (scales.size() != axes.size())
    return node.invalid("has " + Twine(scales.size()) + " scales; expected " + Twine(axes.size()));
  for (auto [axis, scale] : llvm::zip(axes, scales)) {
    if (!(scale > 0 && scale < 65536))
      return node.invalid("has a scale that is not between 0 and 65536");
    target.scales[axis] = scale;
    target.sizes[axis] = (int64_t)std::floor((float)target.sizes[axis] * scale);
  }
  return success();
}

/// keep_aspect_ratio_policy: one factor for all axes, that of the least or of the largest result.
static void keepAspectRatio(Target &target, ShapeRef shape, ShapeRef axes, bool isLarger) {
  double factor = target.scales[axes.front()];
  for (int64_t axis : axes)
    factor =
        isLarger ? std::max(factor, target.scales[axis]) : std::min(factor, target.scales[axis]);
  for (int64_t axis : axes) {
    target.scales[axis] = factor;
    target.sizes[axis] = (int64_t)std::floor(factor * (double)shape[axis] + 0.5);
  }
}

static LogicalResult setSizes(Node &node, Target &target, ShapeRef sizes, ShapeRef axes) {
  Shape shape = node.shape(0);
  if (sizes.size() != axes.size() || llvm::any_of(sizes, [](int64_t size) { return size < 1; }))
    return node.invalid("has the sizes " + printShape(sizes) + "; expected " + Twine(axes.size()) +
                        " positive ones");
  for (auto [axis, size] : llvm::zip(axes, sizes)) {
    target.sizes[axis] = size;
    target.scales[axis] = (double)size / (double)shape[axis];
  }
  StringRef policy = node.getString("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && !axes.empty())
    keepAspectRatio(target, shape, axes, policy == "not_smaller");
  return success();
}

/// Number `i` of a roi that is computed in the run.
static Value takeNumber(Node &node, Value roi, int64_t i) {
  return nn::SliceOp::create(node.builder(), node.loc(),
                             RankedTensorType::get({1}, getElementTypeOrSelf(roi)), roi,
                             ArrayRef<int64_t>{i}, ArrayRef<int64_t>{1}, ArrayRef<int64_t>{1});
}

/// Begins, then ends of the axes. Those that are known are no matter of the run.
static LogicalResult setRoi(Node &node, Target &target, ShapeRef axes, bool mayBeComputed) {
  if (!node.has(1))
    return node.invalid("lacks a roi");
  if (!node.constant(1) && !mayBeComputed)
    return node.unsupported("a roi computed at run time, and not linear");
  int64_t count = axes.size(), given = *countElements(node.shape(1));
  if (given != 2 * count)
    return node.invalid("has a roi of " + Twine(given) + " numbers; expected " + Twine(2 * count));
  auto roi = node.value(1);
  if (failed(roi))
    return failure();
  roi = node.reshape(*roi, {given});
  BoundsMap known;
  ElementBounds bounds = findBounds(*roi, known);
  auto isKnown = [&](int64_t i) { return bounds[i] && bounds[i]->isOne(); };
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (isKnown(i) && isKnown(count + i)) {
      target.starts[axis] = std::get<float>(bounds[i]->low);
      target.ends[axis] = std::get<float>(bounds[count + i]->low);
      continue;
    }
    target.from[axis] = takeNumber(node, *roi, i);
    target.to[axis] = takeNumber(node, *roi, count + i);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Whether nn.resize does it: reals, and the last two dimensions of three or four.
static bool isResizeOfPlanes(Node &node, const Target &target, const Resampling &how) {
  Shape shape = node.shape(0);
  bool fits = shape.size() == 3 || shape.size() == 4;
  for (unsigned i = 0; i < shape.size() && i < 2; ++i)
    fits &= !target.changes(i, shape[i]);
  bool isReal = node.entry(0).tensor ? !node.constant(0)->isInteger()
                                     : nn::holdsReals(node.entry(0).value.getType());
  return fits && isReal && nn::symbolizeResizeMode(how.mode) && !how.antialias &&
         nn::symbolizeCoordinateMode(how.coordinates);
}

/// nn.resize of the last two dimensions (one: with a first of size 1).
static MaybeValue resizePlanes(Node &node, const Target &target, const Resampling &how) {
  Shape shape = node.shape(0), planes = toTwoDimensional(target.sizes);
  auto input = node.value(0);
  if (failed(input))
    return failure();
  float rowScale = shape.size() == 4 ? target.scales[2] : 1.0f;
  auto result = node.create<nn::ResizeOp>(
      node.reshape(*input, toTwoDimensional(shape)), ShapeRef(planes).drop_front(2),
      ArrayRef<float>{rowScale, (float)target.scales.back()}, *nn::symbolizeResizeMode(how.mode),
      *nn::symbolizeCoordinateMode(how.coordinates), how.nearest);
  return failed(result) ? result : MaybeValue(node.reshape(*result, target.sizes));
}

/// Truth values, whether results along the axis are outside of the input; nothing if none is.
static std::optional<MaybeValue> flagOutside(Node &node, const Resampling &how,
                                             const ResampledAxis &along) {
  if (along.from)
    return findComputedOutside(node, along);
  std::vector<int64_t> outside = findOutside(how, along);
  if (!llvm::is_contained(outside, 1))
    return std::nullopt;
  return node.materialize({node.nameConstant("outside" + Twine(along.axis)),
                           {along.out},
                           std::move(outside),
                           onnx::TensorProto::BOOL});
}

/// `x` with another value where the axis is outside of the input.
static MaybeValue extrapolate(Node &node, MaybeValue x, const Resampling &how,
                              const ResampledAxis &along) {
  auto flags = succeeded(x) ? flagOutside(node, how, along) : std::nullopt;
  if (!flags)
    return x;
  if (failed(*flags))
    return failure();
  Shape shape(shapeOf(*x).size(), 1);
  shape[along.axis] = along.out;
  auto value = node.number("extrapolation", node.getFloat("extrapolation_value", 0));
  return select(node, node.reshape(**flags, shape),
                succeeded(value) ? node.cast(value, getElementTypeOrSelf(*x)) : value, x);
}

/// Axis by axis, the last one first.
static MaybeValue resampleAxes(Node &node, const Target &target, const Resampling &how) {
  Shape shape = node.shape(0);
  MaybeValue result = how.mode == "nearest" ? node.any(0) : node.value(0);
  SmallVector<ResampledAxis> axes;
  for (int64_t axis = shape.size() - 1; axis >= 0; --axis)
    if (target.changes(axis, shape[axis]))
      axes.push_back({axis, shape[axis], target.sizes[axis], target.scales[axis],
                      target.starts[axis], target.ends[axis], target.from[axis], target.to[axis]});
  for (const ResampledAxis &along : axes)
    result =
        along.from ? resampleComputed(node, result, along) : resample(node, result, how, along);
  for (const ResampledAxis &along : axes)
    result = extrapolate(node, result, how, along);
  return result;
}

/// Linear resampling of integers, which cuts off fractions, as onnxruntime does; nothing of others.
static std::optional<LogicalResult> resampleIntegers(Node &node, const Resampling &how,
                                                     LogicalResult (*import)(Node &)) {
  Value input = node.entry(0).value;
  if (!input || nn::holdsReals(input.getType()) || how.mode != "linear" || how.antialias)
    return std::nullopt;
  SmallVector<Entry> inputs;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    inputs.push_back(node.entry(i));
  auto reals = node.cast(input, node.f32());
  if (failed(reals))
    return failure();
  inputs[0] = Entry{nullptr, *reals};
  auto result = node.compose(import, inputs);
  if (failed(result))
    return failure();
  return node.setResult(node.cast(result->value, getElementTypeOrSelf(input)));
}

static LogicalResult setResized(Node &node, const Target &target, const Resampling &how) {
  Shape shape = node.shape(0);
  if (llvm::any_of(target.sizes, [](int64_t size) { return size < 1; }) ||
      !countElements(target.sizes))
    return node.invalid("makes a result of shape " + printShape(target.sizes));
  // A factor that is not 1 samples at other places, even if rounding gives the same size.
  if (llvm::none_of(allAxes(shape.size()),
                    [&](int64_t axis) { return target.changes(axis, shape[axis]); }))
    return node.setResult(node.entry(0));
  return node.setResult(isResizeOfPlanes(node, target, how) ? resizePlanes(node, target, how)
                                                            : resampleAxes(node, target, how));
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

/// Axes that scales and sizes are about (all, or those of the attribute of opset 18).
static FailureOr<Shape> getAxes(Node &node) {
  int64_t rank = node.rank(0);
  Shape axes = node.getInts("axes").value_or(allAxes(rank));
  if (failed(node.normalizeAxes(axes, rank)))
    return failure();
  return axes;
}

static Resampling readAttributes(Node &node, bool isOld) {
  auto nearest = nn::symbolizeNearestMode(
      node.getString("nearest_mode", isOld ? "floor" : "round_prefer_floor"));
  Resampling how{
      node.getString("mode", "nearest"),
      node.getString("coordinate_transformation_mode", isOld ? "asymmetric" : "half_pixel"),
      *nearest};
  how.cubic = node.getFloat("cubic_coeff_a", -0.75f);
  how.antialias = node.getInt("antialias", 0) && how.mode != "nearest";
  how.excludesOutside = node.getInt("exclude_outside", 0);
  return how;
}

/// Opset 10: inputs X, scales; asymmetric, floor. From 11 on: X, roi, scales, sizes; half_pixel,
/// round_prefer_floor.
LogicalResult octet::onnx_import::importResize(Node &node) {
  bool isOld = node.opset() < 11;
  Resampling how = readAttributes(node, isOld);
  if (auto done = resampleIntegers(node, how, importResize))
    return *done;
  auto given = [&](unsigned i) {
    return node.has(i) && !(node.constant(i) && node.constant(i)->size() == 0);
  };
  unsigned scalesInput = isOld ? 1 : 2, sizesInput = 3;
  auto axes = getAxes(node);
  if (failed(axes))
    return failure();
  if (given(sizesInput) && given(scalesInput))
    return node.invalid("has both scales and sizes");
  if (!given(sizesInput) && !given(scalesInput))
    return node.invalid("has neither scales nor sizes");
  Target target = getSameTarget(node.shape(0));
  bool isPlain = how.mode == "linear" && !how.antialias && !how.excludesOutside;
  if (how.coordinates == "tf_crop_and_resize" && failed(setRoi(node, target, *axes, isPlain)))
    return failure();
  if (given(sizesInput)) {
    auto sizes = node.integers(sizesInput, "sizes");
    if (failed(sizes) || failed(setSizes(node, target, *sizes, *axes)))
      return failure();
  } else {
    auto scales = node.floats(scalesInput, "scales");
    if (failed(scales) || failed(setScales(node, target, *scales, *axes)))
      return failure();
  }
  return setResized(node, target, how);
}

/// Scales are an attribute up to opset 8, an input in 9.
LogicalResult octet::onnx_import::importUpsample(Node &node) {
  Resampling how = readAttributes(node, /*isOld=*/true);
  if (auto done = resampleIntegers(node, how, importUpsample))
    return *done;
  std::vector<float> scales;
  if (auto *attribute = node.attribute("scales")) {
    scales.assign(attribute->floats().begin(), attribute->floats().end());
  } else if (node.has(1)) {
    auto values = node.floats(1, "scales");
    if (failed(values))
      return failure();
    scales = std::move(*values);
  }
  Target target = getSameTarget(node.shape(0));
  if (failed(setScales(node, target, scales, allAxes(node.rank(0)))))
    return failure();
  return setResized(node, target, how);
}
