//===- Resize.cpp - Resize and Upsample --------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Window.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// Result sizes and factors of every dimension.
struct Target {
  Shape sizes;
  std::vector<float> scales;
};
} // namespace

/// Spreads values given for `axes` over all dimensions.
template <typename T, typename Values>
static std::vector<T> spread(const Values &values, ShapeRef axes, ArrayRef<T> otherwise) {
  std::vector<T> result(otherwise.begin(), otherwise.end());
  for (auto [i, axis] : llvm::enumerate(axes))
    result[axis] = values[i];
  return result;
}

static FailureOr<Target> getTargetFromScales(Node &node, ArrayRef<float> scales, ShapeRef axes) {
  Shape shape = node.shape(0);
  if (scales.size() != axes.size())
    return node.invalid("has " + Twine(scales.size()) + " scales; expected " + Twine(axes.size()));
  Target target{shape, spread<float>(scales, axes, std::vector<float>(shape.size(), 1))};
  for (auto [size, scale] : llvm::zip(target.sizes, target.scales)) {
    if (!(scale > 0 && scale < 65536))
      return node.invalid("has a scale that is not between 0 and 65536");
    size = (int64_t)std::floor((float)size * scale);
  }
  return target;
}

static FailureOr<Target> getTargetFromSizes(Node &node, ShapeRef sizes, ShapeRef axes) {
  Shape shape = node.shape(0);
  if (sizes.size() != axes.size() || llvm::any_of(sizes, [](int64_t size) { return size < 1; }))
    return node.invalid("has the sizes " + printShape(sizes) + "; expected " + Twine(axes.size()) +
                        " positive ones");
  auto all = spread<int64_t>(sizes, axes, shape);
  Target target{Shape(ShapeRef(all)), {}};
  for (auto [size, from] : llvm::zip(target.sizes, shape))
    target.scales.push_back((float)size / (float)from);
  return target;
}

/// nn.resize of the last two dimensions (one: with a first of size 1).
static LogicalResult setResize(Node &node, const Target &target, nn::ResizeMode mode,
                               nn::CoordinateMode coordinates, nn::NearestMode nearest) {
  Shape shape = node.shape(0);
  auto input = node.value(0);
  if (failed(input))
    return failure();
  // A factor that is not 1 samples at other places, even if rounding gives the same size.
  if (target.sizes == shape &&
      llvm::all_of(target.scales, [](float scale) { return scale == 1.0f; }))
    return node.setResult(node.entry(0));
  bool spatial = shape.size() == 3 || shape.size() == 4;
  for (unsigned i = 0; i < shape.size() && i < 2; ++i)
    spatial &= target.sizes[i] == shape[i];
  if (!spatial)
    return node.unsupported("a change from " + printShape(shape) + " to " +
                            printShape(target.sizes));
  Shape planes = toTwoDimensional(target.sizes);
  float rowScale = shape.size() == 4 ? target.scales[2] : 1.0f;
  auto result = node.create<nn::ResizeOp>(
      node.reshape(*input, toTwoDimensional(shape)), ShapeRef(planes).drop_front(2),
      ArrayRef<float>{rowScale, target.scales.back()}, mode, coordinates, nearest);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, target.sizes));
}

/// Axes that scales and sizes are about (all, or those of the attribute of opset 18).
static FailureOr<Shape> getAxes(Node &node) {
  int64_t rank = node.rank(0);
  Shape axes = node.getInts("axes").value_or(allAxes(rank));
  if (failed(node.normalizeAxes(axes, rank)))
    return failure();
  return axes;
}

/// Opset 10: inputs X, scales; asymmetric, floor. From 11 on: X, roi, scales, sizes; half_pixel,
/// round_prefer_floor.
LogicalResult octet::onnx_import::importResize(Node &node) {
  bool old = node.opset() < 11;
  auto given = [&](unsigned i) {
    return node.has(i) && !(node.constant(i) && node.constant(i)->size() == 0);
  };
  unsigned scalesInput = old ? 1 : 2, sizesInput = 3;
  auto axes = getAxes(node);
  if (failed(axes))
    return failure();
  if (given(sizesInput) && given(scalesInput))
    return node.invalid("has both scales and sizes");
  FailureOr<Target> target = failure();
  if (given(sizesInput)) {
    auto sizes = node.integers(sizesInput, "sizes");
    target = succeeded(sizes) ? getTargetFromSizes(node, *sizes, *axes) : FailureOr<Target>();
  } else if (given(scalesInput)) {
    auto scales = node.floats(scalesInput, "scales");
    target = succeeded(scales) ? getTargetFromScales(node, *scales, *axes) : FailureOr<Target>();
  } else {
    return node.invalid("has neither scales nor sizes");
  }
  if (failed(target))
    return failure();
  auto coordinates = nn::symbolizeCoordinateMode(
      node.getString("coordinate_transformation_mode", old ? "asymmetric" : "half_pixel"));
  auto nearest = nn::symbolizeNearestMode(
      node.getString("nearest_mode", old ? "floor" : "round_prefer_floor"));
  auto mode = nn::symbolizeResizeMode(node.getString("mode", "nearest"));
  return setResize(node, *target, *mode, *coordinates, *nearest);
}

/// Scales are an attribute up to opset 8, an input in 9.
LogicalResult octet::onnx_import::importUpsample(Node &node) {
  std::vector<float> scales;
  if (auto *attribute = node.attribute("scales")) {
    scales.assign(attribute->floats().begin(), attribute->floats().end());
  } else if (node.has(1)) {
    auto values = node.floats(1, "scales");
    if (failed(values))
      return failure();
    scales = std::move(*values);
  }
  auto target = getTargetFromScales(node, scales, allAxes(node.rank(0)));
  if (failed(target))
    return failure();
  auto mode = nn::symbolizeResizeMode(node.getString("mode", "nearest"));
  return setResize(node, *target, *mode, nn::CoordinateMode::asymmetric, nn::NearestMode::floor);
}
