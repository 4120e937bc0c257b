//===- NonMaxSuppression.cpp - boxes that no better one overlaps -------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One box of each class is chosen at a time: the best that is left. It and those that overlap it
// are no longer left. ONNX gives as many rows as boxes were chosen, which depends on data; here
// their number is the greatest one, and rows behind the last box are -1.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static constexpr int64_t kMostChoices = 1024;
static constexpr float kNone = -std::numeric_limits<float>::infinity(); ///< score of a box not left

namespace {
/// Values have the shape [images, classes, boxes]; those of boxes have one class, those of choices
/// one box.
class Suppressor {
public:
  explicit Suppressor(Node &node) : node(node) {}
  LogicalResult run();

private:
  struct Box {
    MaybeValue top, left, bottom, right, area;
  };
  LogicalResult readSizes();
  MaybeValue count(StringRef role, ShapeRef shape, int64_t step);
  MaybeValue takeCoordinate(int64_t i);
  void readBoxes();
  MaybeValue readScores();
  MaybeValue take(MaybeValue rows, MaybeValue places);
  MaybeValue overlaps(MaybeValue best);
  LogicalResult choose();
  MaybeValue joinRows();

  Node &node;
  int64_t images = 0, classes = 0, boxes = 0, choices = 0;
  Box box;
  MaybeValue threshold, scores, none, zero, positions;
  MaybeValue imageStarts, classStarts; ///< where rows of boxes start, one of each image or class
  SmallVector<Value> chosen, chosenScores;
};
} // namespace

LogicalResult Suppressor::readSizes() {
  Shape places = node.shape(0), given = node.shape(1);
  if (places.size() != 3 || given.size() != 3 || places[2] != 4 || places[0] != given[0] ||
      places[1] != given[2])
    return node.invalid("has boxes of shape " + printShape(places) + " and scores of shape " +
                        printShape(given));
  images = given[0], classes = given[1], boxes = given[2];
  auto most = node.has(2) ? node.integers(2, "a number of boxes") : FailureOr<Shape>(Shape{0});
  if (failed(most))
    return failure();
  if (most->size() != 1)
    return node.invalid("has " + Twine(most->size()) + " numbers of boxes; expected one");
  if (most->front() < 1)
    return node.unsupported(
        "a result without elements (max_output_boxes_per_class is not positive)");
  choices = std::min(most->front(), boxes);
  return choices > kMostChoices ? node.unsupported(Twine(choices) + " boxes of a class (at most " +
                                                   Twine(kMostChoices) + ")")
                                : success();
}

/// 0, `step`, twice `step`, …
MaybeValue Suppressor::count(StringRef role, ShapeRef shape, int64_t step) {
  std::vector<int64_t> values;
  for (int64_t i = 0, size = *countElements(shape); i < size; ++i)
    values.push_back(i * step);
  return integerConstant(node, role, shape, std::move(values));
}

MaybeValue Suppressor::takeCoordinate(int64_t i) {
  auto given = node.value(0);
  if (failed(given))
    return failure();
  auto slice =
      node.create<nn::SliceOp>(*given, ArrayRef<int64_t>{0, 0, i},
                               ArrayRef<int64_t>{images, boxes, 1}, ArrayRef<int64_t>{1, 1, 1});
  return failed(slice) ? slice : node.reshape(*slice, {images, 1, boxes});
}

/// Corners in any order, or centre and size with the horizontal one first.
void Suppressor::readBoxes() {
  auto a = takeCoordinate(0), b = takeCoordinate(1), c = takeCoordinate(2), d = takeCoordinate(3);
  if (node.getInt("center_point_box", 0)) {
    auto half = node.number("half", 0.5f);
    auto width = node.compute<nn::MulOp>(c, half), height = node.compute<nn::MulOp>(d, half);
    box.top = node.compute<nn::SubOp>(b, height);
    box.bottom = node.compute<nn::AddOp>(b, height);
    box.left = node.compute<nn::SubOp>(a, width);
    box.right = node.compute<nn::AddOp>(a, width);
  } else {
    box.top = node.compute<nn::MinOp>(a, c);
    box.bottom = node.compute<nn::MaxOp>(a, c);
    box.left = node.compute<nn::MinOp>(b, d);
    box.right = node.compute<nn::MaxOp>(b, d);
  }
  box.area = node.compute<nn::MulOp>(node.compute<nn::SubOp>(box.bottom, box.top),
                                     node.compute<nn::SubOp>(box.right, box.left));
}

MaybeValue Suppressor::readScores() {
  auto given = node.value(1);
  if (!node.has(4))
    return given;
  auto least = node.value(4);
  if (failed(least))
    return failure();
  return select(node, compare(node, nn::Predicate::less, node.reshape(*least, {1, 1, 1}), given),
                given, none);
}

/// The elements of `rows` at `places`, one of each row.
MaybeValue Suppressor::take(MaybeValue rows, MaybeValue places) {
  if (failed(rows) || failed(places))
    return failure();
  int64_t count = *countElements(shapeOf(*rows));
  auto indices =
      node.compute<nn::AddOp>(places, count == images * boxes ? imageStarts : classStarts);
  if (failed(indices))
    return failure();
  return node.create<nn::GatherOp>(node.reshape(*rows, {count}), *indices, /*axis=*/0);
}

/// Whether a box has more than the threshold in common with the best one, of what either covers.
MaybeValue Suppressor::overlaps(MaybeValue best) {
  auto span = [&](MaybeValue first, MaybeValue last) {
    auto both = node.compute<nn::SubOp>(node.compute<nn::MinOp>(last, take(last, best)),
                                        node.compute<nn::MaxOp>(first, take(first, best)));
    return node.compute<nn::MaxOp>(both, zero);
  };
  auto common = node.compute<nn::MulOp>(span(box.top, box.bottom), span(box.left, box.right));
  auto sum = node.compute<nn::AddOp>(box.area, take(box.area, best));
  auto share = node.compute<nn::DivOp>(common, node.compute<nn::SubOp>(sum, common));
  return compare(node, nn::Predicate::less, threshold, share);
}

LogicalResult Suppressor::choose() {
  if (failed(scores))
    return failure();
  auto best = node.createAs<nn::TopKOp>(node.builder().getI64Type(), *scores, 1, false);
  auto score = take(scores, best);
  if (failed(best) || failed(score))
    return failure();
  chosen.push_back(*best);
  chosenScores.push_back(*score);
  if ((int64_t)chosen.size() == choices)
    return success();
  auto isBest = compare(node, nn::Predicate::equal, positions, best);
  scores = select(node, isBest, none, select(node, overlaps(best), none, scores));
  return success();
}

/// Rows of image, class and box, those of boxes that were not left behind the others.
MaybeValue Suppressor::joinRows() {
  int64_t size = images * classes * choices;
  auto join = [&](ArrayRef<Value> parts) -> MaybeValue {
    auto whole =
        parts.size() == 1 ? MaybeValue(parts[0]) : node.create<nn::ConcatOp>(parts, /*axis=*/2);
    return failed(whole) ? whole : node.reshape(*whole, {size, 1});
  };
  std::vector<int64_t> groups;
  for (int64_t i = 0; i < size; ++i)
    for (int64_t part : {i / (classes * choices), i / choices % classes})
      groups.push_back(part);
  auto places = join(chosen), best = join(chosenScores);
  auto group = integerConstant(node, "groups", {size, 2}, std::move(groups));
  auto isLeft = compare(node, nn::Predicate::less, none, best);
  if (failed(places) || failed(group) || failed(isLeft))
    return failure();
  auto rows = node.create<nn::ConcatOp>(ArrayRef<Value>{*group, *places}, /*axis=*/1);
  auto whole = select(node, isLeft, rows, integerConstant(node, "behind", {}, {-1}));
  auto counts = node.cast(isLeft, node.f32());
  if (failed(whole) || failed(counts))
    return failure();
  auto order = node.createAs<nn::TopKOp>(node.builder().getI64Type(), node.reshape(*counts, {size}),
                                         size, false);
  return failed(order) ? order : node.create<nn::GatherOp>(*whole, *order, /*axis=*/0);
}

LogicalResult Suppressor::run() {
  if (failed(readSizes()))
    return failure();
  readBoxes();
  auto limit = node.has(3) ? node.value(3) : node.number("iou_threshold", 0);
  if (failed(limit))
    return failure();
  for (unsigned i : {3, 4})
    if (node.has(i) && *countElements(node.shape(i)) != 1)
      return node.invalid("has thresholds of shape " + printShape(node.shape(i)));
  threshold = node.reshape(*limit, {1, 1, 1});
  none = node.number("none", kNone);
  zero = node.number("zero", 0);
  positions = count("positions", {1, 1, boxes}, 1);
  imageStarts = count("images", {images, 1, 1}, boxes);
  classStarts = count("classes", {images, classes, 1}, boxes);
  scores = readScores();
  if (failed(none) || failed(positions) || failed(classStarts))
    return failure();
  for (int64_t i = 0; i < choices; ++i)
    if (failed(choose()))
      return failure();
  emitWarning(node.loc()) << "NonMaxSuppression gives " << images * classes * choices
                          << " rows whatever the data; those behind the last box are -1";
  return node.setResult(joinRows());
}

LogicalResult onnx_import::importNonMaxSuppression(Node &node) { return Suppressor(node).run(); }
