//===- RoiAlign.cpp - pools of boxes of an image ------------------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Taps.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// No result takes more elements than this.
static constexpr int64_t kMaxTaps = 1024;

/// Sets the result to `pooled` [boxes * rows * columns, channels].
static LogicalResult setPooled(Node &node, MaybeValue pooled, int64_t boxes, int64_t channels,
                               ShapeRef bins) {
  if (failed(pooled))
    return failure();
  Value images = node.reshape(*pooled, {boxes, bins[0] * bins[1], channels});
  auto result = node.create<nn::TransposeOp>(images, ArrayRef<int64_t>{0, 2, 1});
  return failed(result)
             ? failure()
             : node.setResult(node.reshape(*result, {boxes, channels, bins[0], bins[1]}));
}

//===----------------------------------------------------------------------===//
// RoiAlign
//===----------------------------------------------------------------------===//

namespace {

/// RoiAlign of an image [N, C, H, W], boxes [R, 4] and their images [R].
class RoiAligner {
public:
  explicit RoiAligner(Node &node)
      : node(node), isMax(node.getString("mode", "avg") == "max"),
        isHalfPixel(node.getString("coordinate_transformation_mode",
                                   node.opset() < 16 ? "output_half_pixel" : "half_pixel") ==
                    "half_pixel"),
        scale(node.getFloat("spatial_scale", 1)) {}
  LogicalResult run();

private:
  /// One axis: 0 for H, 1 for W.
  struct Axis {
    int64_t size, bins, stride;
    bool isRow;
  };
  /// Places of samples in every bin of every box: their numbers per box, all the same if there is
  /// one number only.
  FailureOr<Shape> countSamples(const Axis &axis);
  FailureOr<Taps> makeTaps(const Axis &axis, ShapeRef samples);
  LogicalResult addTaps(Taps &taps, const Axis &axis, MaybeValue place, MaybeValue share);
  /// The first or the last coordinate of the boxes along an axis, as [R, 1].
  MaybeValue getEdge(const Axis &axis, bool isLast);
  MaybeValue constant(StringRef role, ShapeRef shape, std::vector<float> values);
  float offset() const { return isHalfPixel ? 0.5f : 0; }

  Node &node;
  bool isMax, isHalfPixel;
  float scale;
};

} // namespace

MaybeValue RoiAligner::constant(StringRef role, ShapeRef shape, std::vector<float> values) {
  return node.materialize({node.nameConstant(role), Shape(shape), std::move(values)});
}

FailureOr<Shape> RoiAligner::countSamples(const Axis &axis) {
  int64_t ratio = node.getInt("sampling_ratio", 0);
  if (ratio > 0)
    return Shape{ratio};
  if (!node.constant(1))
    return node.unsupported("a sampling_ratio of 0 with boxes computed at run time");
  auto boxes = node.floats(1, "boxes");
  if (failed(boxes))
    return failure();
  Shape counts;
  for (size_t i = axis.isRow ? 1 : 0; i < boxes->size(); i += 4) {
    float extent = ((*boxes)[i + 2] * scale - offset()) - ((*boxes)[i] * scale - offset());
    float count = std::ceil((isHalfPixel ? extent : std::max(extent, 1.0f)) / float(axis.bins));
    counts.push_back((int64_t)std::clamp(count, 0.0f, float(kMaxTaps + 1)));
  }
  return counts;
}

MaybeValue RoiAligner::getEdge(const Axis &axis, bool isLast) {
  auto boxes = node.value(1);
  if (failed(boxes))
    return failure();
  Shape starts{0, (axis.isRow ? 1 : 0) + (isLast ? 2 : 0)}, sizes{node.shape(1)[0], 1};
  auto edge = node.create<nn::SliceOp>(*boxes, starts, sizes, Shape{1, 1});
  return node.compute<nn::SubOp>(node.compute<nn::MulOp>(edge, node.number("spatial_scale", scale)),
                                 node.number("offset", offset()));
}

/// The elements on both sides of `place` [R, bins]. One outside of [-1, size] counts as zero, one
/// nearer to the image is at its edge.
LogicalResult RoiAligner::addTaps(Taps &taps, const Axis &axis, MaybeValue place,
                                  MaybeValue share) {
  if (failed(place))
    return failure();
  auto clip = [&](float low, float high) {
    return node.create<nn::ClipOp>(*place, llvm::APFloat(low), llvm::APFloat(high));
  };
  auto bounded = clip(-1, axis.size), inside = clip(0, axis.size - 1);
  if (failed(bounded) || failed(inside))
    return failure();
  auto isNear = node.createAs<nn::CompareOp>(node.builder().getI1Type(), nn::Predicate::equal,
                                             *place, *bounded);
  share = node.compute<nn::MulOp>(node.cast(isNear, node.f32()), share);
  auto first = node.compute<nn::FloorOp>(inside), one = node.number("one", 1);
  auto fraction = node.compute<nn::SubOp>(inside, first);
  int64_t boxes = shapeOf(*place)[0];
  Shape shape = axis.isRow ? Shape{boxes, axis.bins, 1} : Shape{boxes, 1, axis.bins};
  for (bool isSecond : {false, true}) {
    auto part = isSecond ? fraction : node.compute<nn::SubOp>(one, fraction);
    auto weight = node.compute<nn::MulOp>(part, share);
    auto position = toPosition(node, isSecond ? node.compute<nn::AddOp>(first, one) : first,
                               axis.size, axis.stride);
    if (failed(weight) || failed(position))
      return failure();
    taps.push_back({node.reshape(*position, shape), node.reshape(*weight, shape)});
  }
  return success();
}

/// A box with fewer samples than others has its last one again; for a mean, without a share.
FailureOr<Taps> RoiAligner::makeTaps(const Axis &axis, ShapeRef samples) {
  auto start = getEdge(axis, /*isLast=*/false), end = getEdge(axis, /*isLast=*/true);
  auto extent = node.compute<nn::SubOp>(end, start);
  if (!isHalfPixel)
    extent = node.compute<nn::MaxOp>(extent, node.number("one", 1));
  auto bin = node.compute<nn::DivOp>(extent, node.number("bins", axis.bins));
  int64_t boxes = samples.size();
  Taps taps;
  for (int64_t i = 0, count = std::max<int64_t>(1, *llvm::max_element(samples)); i < count; ++i) {
    std::vector<float> offsets, shares;
    for (int64_t own : samples) {
      double inBin = (std::clamp<int64_t>(i, 0, std::max<int64_t>(own, 1) - 1) + 0.5) /
                     double(std::max<int64_t>(own, 1));
      for (int64_t k = 0; k < axis.bins; ++k)
        offsets.push_back(float(double(k) + inBin));
      bool counts = isMax ? own > 0 : i < own;
      shares.push_back(!counts ? 0 : isMax ? 1 : 1 / float(own));
    }
    auto offset = constant("places", {boxes, axis.bins}, std::move(offsets));
    auto place = node.compute<nn::AddOp>(start, node.compute<nn::MulOp>(bin, offset));
    if (failed(addTaps(taps, axis, place, constant("shares", {boxes, 1}, std::move(shares)))))
      return failure();
  }
  return taps;
}

LogicalResult RoiAligner::run() {
  Shape image = node.shape(0), boxes = node.shape(1);
  int64_t height = node.getInt("output_height", 1), width = node.getInt("output_width", 1);
  if (image.size() != 4 || boxes.size() != 2 || boxes[1] != 4 || node.shape(2) != Shape{boxes[0]} ||
      height < 1 || width < 1)
    return node.invalid("has an image of shape " + printShape(image) + ", boxes of shape " +
                        printShape(boxes) + " and " + Twine(height) + " x " + Twine(width) +
                        " bins");
  Axis rows{image[2], height, image[3], true}, columns{image[3], width, 1, false};
  auto rowSamples = countSamples(rows), columnSamples = countSamples(columns);
  if (failed(rowSamples) || failed(columnSamples))
    return failure();
  int64_t most = *llvm::max_element(*rowSamples) * *llvm::max_element(*columnSamples);
  if (4 * most > kMaxTaps)
    return node.unsupported(Twine(most) + " samples in a bin (at most " + Twine(kMaxTaps / 4) +
                            ")");
  auto pixels = makeRows(node, node.value(0)), images = toIndices(node, node.any(2));
  auto rowTaps = makeTaps(rows, *rowSamples), columnTaps = makeTaps(columns, *columnSamples);
  if (failed(pixels) || failed(images) || failed(rowTaps) || failed(columnTaps))
    return failure();
  auto base = node.compute<nn::MulOp>(MaybeValue(node.reshape(*images, {boxes[0], 1, 1})),
                                      integerConstant(node, "image", {}, {image[2] * image[3]}));
  auto pooled = failed(base) ? base
                             : combineTaps(node, *pixels, *base, {*rowTaps, *columnTaps},
                                           isMax ? Samples::max : Samples::sum);
  return setPooled(node, pooled, boxes[0], image[1], {height, width});
}

LogicalResult onnx_import::importRoiAlign(Node &node) { return RoiAligner(node).run(); }

//===----------------------------------------------------------------------===//
// MaxRoiPool
//===----------------------------------------------------------------------===//

namespace {
/// Bins of constant boxes along one axis: the first element of each and how many there are, box by
/// box.
struct Bins {
  Shape starts, counts;
  int64_t most() const { return std::max<int64_t>(1, *llvm::max_element(counts)); }
};
} // namespace

/// `bins` parts of whole elements of each box from `first` to `last` (columns of `boxes` [R, 5]).
static Bins makeBins(ArrayRef<float> boxes, int64_t first, int64_t last, float scale, int64_t bins,
                     int64_t size) {
  Bins result;
  for (size_t box = 0; box < boxes.size(); box += 5) {
    float start = std::round(boxes[box + first] * scale),
          end = std::round(boxes[box + last] * scale);
    float part = std::max(end - start + 1, 1.0f) / float(bins);
    for (int64_t i = 0; i < bins; ++i) {
      auto inside = [&](float place) {
        return (int64_t)std::clamp(place + start, 0.0f, float(size));
      };
      int64_t from = inside(std::floor(float(i) * part)),
              to = inside(std::ceil(float(i + 1) * part));
      result.starts.push_back(from);
      result.counts.push_back(std::max<int64_t>(0, to - from));
    }
  }
  return result;
}

/// A bin with fewer elements than others has its last one again; one without elements has any.
static FailureOr<Taps> makeTaps(Node &node, const Bins &bins, ShapeRef shape, int64_t size,
                                int64_t stride) {
  Taps taps;
  for (int64_t i = 0; i < bins.most(); ++i) {
    std::vector<int64_t> positions;
    for (auto [start, count] : llvm::zip(bins.starts, bins.counts))
      positions.push_back(
          std::min(start + std::clamp<int64_t>(i, 0, std::max<int64_t>(count, 1) - 1), size - 1) *
          stride);
    auto constant = integerConstant(node, "positions", shape, std::move(positions));
    if (failed(constant))
      return failure();
    taps.push_back({*constant, Value()});
  }
  return taps;
}

/// 1 for bins with elements, 0 for those without, whose largest is 0: [R * rows * columns, 1].
static MaybeValue maskEmpty(Node &node, ShapeRef shape, const Bins &rows, const Bins &columns) {
  std::vector<float> mask;
  int64_t width = shape[2];
  for (int64_t i = 0, count = rows.counts.size(); i < count; ++i)
    for (int64_t k = 0; k < width; ++k)
      mask.push_back(rows.counts[i] && columns.counts[i / shape[1] * width + k]);
  Shape column{(int64_t)mask.size(), 1};
  return node.materialize({node.nameConstant("mask"), column, std::move(mask)});
}

LogicalResult onnx_import::importMaxRoiPool(Node &node) {
  Shape image = node.shape(0), given = node.shape(1);
  Shape size = node.getInts("pooled_shape").value_or(Shape());
  if (image.size() != 4 || given.size() != 2 || given[1] != 5 || size.size() != 2 || size[0] < 1 ||
      size[1] < 1)
    return node.invalid("has an image of shape " + printShape(image) + ", boxes of shape " +
                        printShape(given) + " and bins of shape " + printShape(size));
  auto boxes = node.floats(1, "boxes");
  if (failed(boxes))
    return failure();
  float scale = node.getFloat("spatial_scale", 1);
  Bins rows = makeBins(*boxes, 2, 4, scale, size[0], image[2]),
       columns = makeBins(*boxes, 1, 3, scale, size[1], image[3]);
  if (rows.most() * columns.most() > kMaxTaps)
    return node.unsupported(Twine(rows.most() * columns.most()) + " elements in a bin (at most " +
                            Twine(kMaxTaps) + ")");
  std::vector<int64_t> images;
  for (size_t box = 0; box < boxes->size(); box += 5) {
    float index = (*boxes)[box];
    if (!(index >= 0 && index < float(image[0])))
      return node.invalid("has a box of the image " + Twine(std::to_string(index)) + " of " +
                          Twine(image[0]));
    images.push_back((int64_t)index * image[2] * image[3]);
  }
  Shape shape{given[0], size[0], size[1]};
  auto pixels = makeRows(node, node.value(0));
  auto base = integerConstant(node, "images", {given[0], 1, 1}, std::move(images));
  auto rowTaps = makeTaps(node, rows, {given[0], size[0], 1}, image[2], image[3]),
       columnTaps = makeTaps(node, columns, {given[0], 1, size[1]}, image[3], 1);
  if (failed(pixels) || failed(base) || failed(rowTaps) || failed(columnTaps))
    return failure();
  auto pooled = node.compute<nn::MulOp>(
      combineTaps(node, *pixels, *base, {*rowTaps, *columnTaps}, Samples::max),
      maskEmpty(node, shape, rows, columns));
  return setPooled(node, pooled, given[0], image[1], size);
}
