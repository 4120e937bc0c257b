//===- GridSample.cpp - GridSample and AffineGrid ----------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Taps.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

namespace {

/// GridSample of an input [N, C, ...] at the places [N, ..., axes].
class GridSampler {
public:
  explicit GridSampler(Node &node)
      : node(node), mode(node.getString("mode", "linear")),
        padding(node.getString("padding_mode", "zeros")),
        alignsCorners(node.getInt("align_corners", 0)) {}
  LogicalResult run();

private:
  MaybeValue number(float value) { return node.number("number", value); }
  template <typename OpTy> MaybeValue with(MaybeValue x, float value) {
    return node.compute<OpTy>(x, number(value));
  }
  MaybeValue clip(MaybeValue x, float low, float high);
  /// x between -1 and 1 as a place between the first and the last of `size` elements, or between
  /// their outer edges.
  MaybeValue denormalize(MaybeValue x, int64_t size);
  /// x outside of the input as padding has it.
  MaybeValue keepInside(MaybeValue x, int64_t size);
  MaybeValue reflect(MaybeValue x, int64_t size);
  /// The share of the element `distance` behind the one before a place, of `fraction` behind that.
  MaybeValue getWeight(MaybeValue fraction, int64_t distance);
  FailureOr<Tap> makeTap(MaybeValue place, MaybeValue weight, int64_t size, int64_t stride);
  FailureOr<Taps> makeTaps(MaybeValue x, int64_t size, int64_t stride);
  /// Component `i` of the places, as [N, places].
  MaybeValue getComponent(Value grid, int64_t i);

  bool isNearest() const { return mode == "nearest"; }
  bool isCubic() const { return mode == "cubic" || mode == "bicubic"; }
  float edge() const { return alignsCorners ? 0 : 0.5f; }

  Node &node;
  StringRef mode, padding;
  bool alignsCorners;
};

} // namespace

MaybeValue GridSampler::clip(MaybeValue x, float low, float high) {
  if (failed(x))
    return failure();
  return node.create<nn::ClipOp>(*x, llvm::APFloat(low), llvm::APFloat(high));
}

MaybeValue GridSampler::denormalize(MaybeValue x, int64_t size) {
  auto positive = with<nn::AddOp>(x, 1);
  if (alignsCorners)
    return with<nn::MulOp>(positive, float(size - 1) / 2);
  return with<nn::MulOp>(with<nn::SubOp>(with<nn::MulOp>(positive, size), 1), 0.5f);
}

/// There and back again: high - ||x - low| mod 2 (high - low) - (high - low)|.
MaybeValue GridSampler::reflect(MaybeValue x, int64_t size) {
  float low = -edge(), high = size - 1 + edge(), span = high - low;
  if (span == 0)
    return clip(x, 0, 0);
  auto distance = node.compute<nn::AbsOp>(with<nn::SubOp>(x, low));
  auto periods = node.compute<nn::FloorOp>(with<nn::DivOp>(distance, 2 * span));
  auto rest = node.compute<nn::SubOp>(distance, with<nn::MulOp>(periods, 2 * span));
  auto fromHigh = node.compute<nn::AbsOp>(with<nn::SubOp>(rest, span));
  return clip(node.compute<nn::SubOp>(number(high), fromHigh), low, high);
}

/// So far outside that no tap is inside, every place is the same; infinity is one of them.
MaybeValue GridSampler::keepInside(MaybeValue x, int64_t size) {
  constexpr int64_t kFar = 3;
  if (padding == "reflection")
    return reflect(x, size);
  int64_t margin = padding == "border" && !isCubic() ? 0 : kFar;
  return clip(x, -margin, size - 1 + margin);
}

/// Linear: 1 - f and f. Keys' cubic convolution with -0.75 is, with g = 1 - f: a f g^2,
/// ((a + 2) f - (a + 3)) f^2 + 1, and both with f and g exchanged.
MaybeValue GridSampler::getWeight(MaybeValue fraction, int64_t distance) {
  constexpr float a = -0.75f;
  auto rest = node.compute<nn::SubOp>(number(1), fraction);
  if (!isCubic())
    return distance ? fraction : rest;
  auto f = distance > 0 ? rest : fraction, g = distance > 0 ? fraction : rest;
  if (distance < 0 || distance > 1)
    return node.compute<nn::MulOp>(with<nn::MulOp>(f, a), node.compute<nn::MulOp>(g, g));
  auto slope = with<nn::SubOp>(with<nn::MulOp>(f, a + 2), a + 3);
  return with<nn::AddOp>(node.compute<nn::MulOp>(slope, node.compute<nn::MulOp>(f, f)), 1);
}

/// An element outside of the input is zero, or another one.
FailureOr<Tap> GridSampler::makeTap(MaybeValue place, MaybeValue weight, int64_t size,
                                    int64_t stride) {
  if (padding == "zeros") {
    auto margin = node.compute<nn::MinOp>(with<nn::AddOp>(place, 1),
                                          node.compute<nn::SubOp>(number(size), place));
    auto isInside = clip(margin, 0, 1);
    weight = isNearest() ? isInside : node.compute<nn::MulOp>(weight, isInside);
  } else if (padding == "reflection") {
    place = reflect(place, size);
  }
  auto position = toPosition(node, place, size, stride);
  bool isWeighted = padding == "zeros" || !isNearest();
  if (failed(position) || (isWeighted && failed(weight)))
    return failure();
  return Tap{*position, isWeighted ? *weight : Value()};
}

FailureOr<Taps> GridSampler::makeTaps(MaybeValue x, int64_t size, int64_t stride) {
  x = denormalize(x, size);
  if (isNearest())
    x = node.compute<nn::RoundOp>(x);
  x = keepInside(x, size);
  Taps taps;
  auto add = [&](MaybeValue place, MaybeValue weight) {
    auto tap = makeTap(place, weight, size, stride);
    if (succeeded(tap))
      taps.push_back(*tap);
    return success(succeeded(tap));
  };
  if (isNearest())
    return failed(add(x, failure())) ? FailureOr<Taps>() : taps;
  auto before = node.compute<nn::FloorOp>(x);
  auto fraction = node.compute<nn::SubOp>(x, before);
  for (int64_t distance = isCubic() ? -1 : 0; distance <= (isCubic() ? 2 : 1); ++distance)
    if (failed(add(distance ? with<nn::AddOp>(before, distance) : before,
                   getWeight(fraction, distance))))
      return failure();
  return taps;
}

MaybeValue GridSampler::getComponent(Value grid, int64_t i) {
  Shape sizes(shapeOf(grid)), starts(sizes.size(), 0), steps(sizes.size(), 1);
  starts.back() = i, sizes.back() = 1;
  auto component = node.create<nn::SliceOp>(grid, starts, sizes, steps);
  return failed(component) ? component
                           : node.reshape(*component, {sizes[0], *countElements(sizes) / sizes[0]});
}

LogicalResult GridSampler::run() {
  Shape image = node.shape(0), places = node.shape(1);
  int64_t axes = (int64_t)image.size() - 2;
  if (axes < 1 || places.size() != image.size() || places[0] != image[0] || places.back() != axes)
    return node.invalid("has an input of shape " + printShape(image) + " and a grid of shape " +
                        printShape(places));
  auto rows = makeRows(node, node.value(0)), grid = node.value(1);
  if (failed(rows) || failed(grid))
    return failure();
  Shape size(ShapeRef(image).drop_front(2)), strides = getStrides(size);
  SmallVector<Taps> taps;
  for (int64_t axis = 0; axis < axes; ++axis) {
    auto along = makeTaps(getComponent(*grid, axes - 1 - axis), size[axis], strides[axis]);
    if (failed(along))
      return failure();
    taps.push_back(std::move(*along));
  }
  auto base = integerConstant(node, "images", {image[0], 1},
                              enumerateOffsets({image[0]}, {*countElements(size)}));
  auto samples = failed(base) ? base : combineTaps(node, *rows, *base, taps, Samples::sum);
  if (failed(samples))
    return failure();
  int64_t count = shapeOf(*samples)[0] / image[0];
  auto result = node.create<nn::TransposeOp>(node.reshape(*samples, {image[0], count, image[1]}),
                                             ArrayRef<int64_t>{0, 2, 1});
  Shape shape{image[0], image[1]};
  shape.append(places.begin() + 1, places.end() - 1);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}

LogicalResult onnx_import::importGridSample(Node &node) { return GridSampler(node).run(); }

//===----------------------------------------------------------------------===//
// AffineGrid
//===----------------------------------------------------------------------===//

/// Places [..., axes + 1] of the elements of `size` between -1 and 1, the last axis first, and 1.
static std::vector<float> makePlaces(ShapeRef size, bool alignsCorners) {
  std::vector<float> places;
  Shape strides = getStrides(size);
  for (int64_t i = 0, count = *countElements(size); i < count; ++i) {
    for (int64_t axis = (int64_t)size.size() - 1; axis >= 0; --axis) {
      double index = i / strides[axis] % size[axis], last = size[axis] - 1;
      places.push_back(!alignsCorners ? (2 * index + 1) / size[axis] - 1
                       : last == 0    ? 0
                                      : 2 * index / last - 1);
    }
    places.push_back(1);
  }
  return places;
}

LogicalResult onnx_import::importAffineGrid(Node &node) {
  auto size = node.integers(1, "a size");
  if (failed(size))
    return failure();
  int64_t axes = (int64_t)size->size() - 2;
  if (axes < 2 || axes > 3 || node.shape(0) != Shape{(*size)[0], axes, axes + 1} ||
      llvm::any_of(*size, [](int64_t count) { return count < 1; }))
    return node.invalid("has a theta of shape " + printShape(node.shape(0)) + " for the size " +
                        printShape(*size));
  Shape points(ShapeRef(*size).drop_front(2)), result{(*size)[0]};
  auto count = countElements(points, kMaxConstantElements / 4);
  if (!count)
    return node.unsupported("a grid of " + printShape(points) + " places");
  auto places = node.materialize({node.nameConstant("places"),
                                  {*count, axes + 1},
                                  makePlaces(points, node.getInt("align_corners", 0))});
  auto theta = node.value(0);
  if (failed(places) || failed(theta))
    return failure();
  auto transposed = node.create<nn::TransposeOp>(*theta, ArrayRef<int64_t>{0, 2, 1});
  auto grid = node.compute<nn::MatmulOp>(places, transposed);
  result.append(points);
  result.push_back(axes);
  return failed(grid) ? failure() : node.setResult(node.reshape(*grid, result));
}
