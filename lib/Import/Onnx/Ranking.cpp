//===- Ranking.cpp - ranks, cumulative sums, diagonals ------------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "ElementTypes.h"
#include "Operators.h"
#include "TensorReader.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Dimensions with `axis` behind the others.
static Shape moveLast(int64_t axis, int64_t rank) {
  Shape order = allAxes(rank);
  order.erase(order.begin() + axis);
  order.push_back(axis);
  return order;
}

/// The permutation that undoes another.
static Shape invert(ShapeRef order) {
  Shape back(order.size(), 0);
  for (auto [to, from] : llvm::enumerate(order))
    back[from] = to;
  return back;
}

static MaybeValue permute(Node &node, MaybeValue x, ShapeRef order) {
  if (failed(x) || llvm::is_sorted(order))
    return x;
  return node.create<nn::TransposeOp>(*x, order);
}

/// `x` with the elements along `axis` in the opposite order.
static MaybeValue reverse(Node &node, MaybeValue x, int64_t axis) {
  if (failed(x))
    return x;
  Shape sizes(shapeOf(*x)), starts(sizes.size(), 0), steps(sizes.size(), 1);
  starts[axis] = sizes[axis] - 1;
  steps[axis] = -1;
  return node.create<nn::SliceOp>(*x, starts, sizes, steps);
}

static MaybeValue rank(Node &node, MaybeValue x, int64_t k, bool isSmallest) {
  if (failed(x))
    return x;
  return node.createAs<nn::TopKOp>(node.builder().getI64Type(), *x, k, isSmallest);
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// The last of equal elements is the first of those in the opposite order.
static LogicalResult importArgument(Node &node, bool isSmallest) {
  Shape shape = node.shape(0);
  auto axis = node.normalizeAxis(node.getInt("axis", 0), shape.size());
  if (failed(axis))
    return failure();
  int64_t size = shape[*axis];
  bool isLast = node.getInt("select_last_index", 0);
  auto x = isLast ? reverse(node, node.any(0), *axis) : node.any(0);
  auto found = rank(node, permute(node, x, moveLast(*axis, shape.size())), 1, isSmallest);
  if (isLast)
    found = node.compute<nn::SubOp>(integerConstant(node, "last", {}, {size - 1}), found);
  if (failed(found))
    return failure();
  if (node.getInt("keepdims", 1))
    shape[*axis] = 1;
  else
    shape.erase(shape.begin() + *axis);
  return node.setResult(node.reshape(*found, shape));
}

LogicalResult onnx_import::importArgMax(Node &node) { return importArgument(node, false); }
LogicalResult onnx_import::importArgMin(Node &node) { return importArgument(node, true); }

/// Row by row, positions among all elements.
static MaybeValue takeRanked(Node &node, Value x, Value ranked) {
  int64_t size = shapeOf(x).back();
  Shape rows(shapeOf(x));
  rows.back() = 1;
  std::vector<int64_t> starts;
  for (int64_t row = 0, count = *countElements(rows); row < count; ++row)
    starts.push_back(row * size);
  auto positions =
      node.compute<nn::AddOp>(MaybeValue(ranked), integerConstant(node, "rows", rows, starts));
  if (failed(positions))
    return failure();
  return node.create<nn::GatherOp>(node.reshape(x, {*countElements(shapeOf(x))}), *positions, 0);
}

LogicalResult onnx_import::importTopK(Node &node) {
  Shape shape = node.shape(0);
  auto axis = node.normalizeAxis(node.getInt("axis", -1), shape.size());
  auto k = node.integers(1, "a number of elements");
  if (failed(axis) || failed(k))
    return failure();
  if (k->size() != 1)
    return node.invalid("has " + Twine(k->size()) + " numbers of elements; expected one");
  Shape order = moveLast(*axis, shape.size()), back = invert(order);
  auto rows = permute(node, node.any(0), order);
  auto ranked = rank(node, rows, k->front(), !node.getInt("largest", 1));
  if (failed(ranked))
    return failure();
  if (node.wants(1) && failed(node.setResult(permute(node, ranked, back), 1)))
    return failure();
  return node.wants(0) ? node.setResult(permute(node, takeRanked(node, *rows, *ranked), back))
                       : success();
}

/// 1 at the first of the largest elements along an axis, 0 elsewhere. Up to opset 12, all
/// dimensions from `axis` on count as one.
LogicalResult onnx_import::importHardmax(Node &node) {
  Shape shape = node.shape(0), rows = shape;
  bool flattens = node.opset() < 13;
  auto axis = node.normalizeAxis(node.getInt("axis", flattens ? 1 : -1), shape.size());
  auto x = failed(axis) ? MaybeValue() : node.value(0);
  if (failed(x))
    return failure();
  if (flattens) {
    int64_t columns = *countElements(ShapeRef(shape).drop_front(*axis));
    rows = {*countElements(shape) / columns, columns};
    *axis = 1;
  }
  Shape order = moveLast(*axis, rows.size()), all = allAxes(rows[*axis]);
  auto best = rank(node, permute(node, node.reshape(*x, rows), order), 1, /*isSmallest=*/false);
  auto positions = integerConstant(node, "positions", {rows[*axis]}, {all.begin(), all.end()});
  if (failed(best) || failed(positions))
    return failure();
  auto isBest = node.createAs<nn::CompareOp>(node.builder().getI1Type(), nn::Predicate::equal,
                                             *best, *positions);
  auto result = permute(node, node.cast(isBest, node.f32()), invert(order));
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}

/// A depth may be given as a float.
static FailureOr<Shape> readDepth(Node &node) {
  auto given = node.constant(1) ? node.constant(1)->floats() : std::nullopt;
  if (!given)
    return node.integers(1, "a depth");
  Shape depth;
  for (float value : *given)
    depth.push_back(value >= 1 && value <= kMaxConstantElements ? int64_t(value) : 0);
  return depth;
}

/// A position counts from the end if it is negative; one outside is none.
LogicalResult onnx_import::importOneHot(Node &node) {
  auto depth = readDepth(node);
  auto axis = node.normalizeAxis(node.getInt("axis", -1), node.rank(0) + 1);
  auto values = node.any(2);
  if (failed(depth) || failed(axis) || failed(values))
    return failure();
  if (depth->size() != 1 || depth->front() < 1 || depth->front() > kMaxConstantElements ||
      shapeOf(*values) != ShapeRef{2})
    return node.invalid("needs one depth and two values");
  auto given = node.any(0);
  auto indices =
      countFromBeginning(node, node.cast(given, node.builder().getI64Type()), depth->front());
  if (failed(indices))
    return failure();
  Shape shape = node.shape(0), range(shape.size() + 1, 1);
  shape.insert(shape.begin() + *axis, 1);
  range[*axis] = depth->front();
  Shape all = allAxes(depth->front());
  auto positions = integerConstant(node, "positions", range, {all.begin(), all.end()});
  if (failed(positions))
    return failure();
  auto isHit = node.createAs<nn::CompareOp>(node.builder().getI1Type(), nn::Predicate::equal,
                                            node.reshape(*indices, shape), *positions);
  auto take = [&](int64_t i) -> MaybeValue {
    auto value = node.create<nn::SliceOp>(*values, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{1},
                                          ArrayRef<int64_t>{1});
    return failed(value) ? value : node.reshape(*value, {});
  };
  auto on = take(1), off = take(0);
  if (failed(isHit) || failed(on) || failed(off))
    return failure();
  return node.setResult(
      node.createAs<nn::SelectOp>(getElementTypeOrSelf(*values), *isHit, *on, *off));
}

//===----------------------------------------------------------------------===//
// Sums and diagonals
//===----------------------------------------------------------------------===//

/// The one axis of input 1.
static FailureOr<int64_t> readAxis(Node &node) {
  auto given = node.integers(1, "an axis");
  if (failed(given))
    return failure();
  if (given->size() != 1)
    return node.invalid("has " + Twine(given->size()) + " axes; expected one");
  return node.normalizeAxis(given->front(), node.rank(0));
}

LogicalResult onnx_import::importCumSum(Node &node) {
  auto axis = readAxis(node);
  if (failed(axis))
    return failure();
  bool isReverse = node.getInt("reverse", 0);
  auto x = isReverse ? reverse(node, node.any(0), *axis) : node.any(0);
  if (failed(x))
    return failure();
  MaybeValue sums = node.create<nn::CumulativeSumOp>(*x, *axis, node.getInt("exclusive", 0) != 0);
  return node.setResult(isReverse ? reverse(node, sums, *axis) : sums);
}

/// `x` moved by `distance` elements along `axis`, with ones in front.
static MaybeValue shiftIn(Node &node, Value x, int64_t axis, int64_t distance) {
  Shape sizes(shapeOf(x)), zeros(sizes.size(), 0), ones(sizes.size(), 1), low(zeros);
  low[axis] = distance;
  auto longer = node.create<nn::PadOp>(x, low, zeros, llvm::APFloat(1.0f));
  return failed(longer) ? longer : node.create<nn::SliceOp>(*longer, zeros, sizes, ones);
}

/// Products of one, two, four, ... elements, each of two of those before.
LogicalResult onnx_import::importCumProd(Node &node) {
  auto axis = readAxis(node);
  if (failed(axis))
    return failure();
  bool isReverse = node.getInt("reverse", 0);
  auto product = isReverse ? reverse(node, node.any(0), *axis) : node.any(0);
  if (succeeded(product) && node.getInt("exclusive", 0))
    product = shiftIn(node, *product, *axis, 1);
  for (int64_t count = 1, size = node.shape(0)[*axis]; succeeded(product) && count < size;
       count *= 2)
    product = node.compute<nn::MulOp>(product, shiftIn(node, *product, *axis, count));
  return node.setResult(isReverse ? reverse(node, product, *axis) : product);
}

/// Zero where the column is left of diagonal k (upper), or right of it.
LogicalResult onnx_import::importTrilu(Node &node) {
  auto diagonal = node.has(1) ? node.integers(1, "a diagonal") : FailureOr<Shape>(Shape{0});
  auto x = succeeded(diagonal) ? node.any(0) : MaybeValue();
  if (failed(x))
    return failure();
  ShapeRef shape = shapeOf(*x);
  if (diagonal->size() != 1 || shape.size() < 2)
    return node.invalid("needs one diagonal and matrices");
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  bool isUpper = node.getInt("upper", 1);
  std::vector<int64_t> stays;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      int64_t beside = column - row - std::clamp(diagonal->front(), -rows - 1, columns + 1);
      stays.push_back(isUpper ? beside >= 0 : beside <= 0);
    }
  Type element = getElementTypeOrSelf(*x);
  HostTensor zero{node.proto.output(0) + "/zero", {}, std::vector<float>{0}};
  if (isa<IntegerType>(element))
    zero = {zero.name, {}, std::vector<int64_t>{0}, getOnnxType(element)};
  auto mask = node.materialize(
      {node.proto.output(0) + "/mask", {rows, columns}, std::move(stays), onnx::TensorProto::BOOL});
  auto nothing = node.materialize(std::move(zero));
  if (failed(mask) || failed(nothing))
    return failure();
  return node.setResult(node.createAs<nn::SelectOp>(element, *mask, *x, *nothing));
}

/// Shapes are static, so this is a constant.
LogicalResult onnx_import::importEyeLike(Node &node) {
  Shape shape = node.shape(0);
  if (shape.size() != 2 || !countElements(shape, kMaxConstantElements))
    return node.invalid("has an input of shape " + printShape(shape) + "; expected a matrix");
  int32_t type = node.getInt("dtype", node.elementType(0));
  Type element = getProgramType(node.builder().getContext(), type);
  if (!element)
    return node.unsupported("a result of " + printElementType(type));
  std::vector<int64_t> ones(shape[0] * shape[1], 0);
  int64_t k = node.getInt("k", 0);
  for (int64_t row = 0; row < shape[0]; ++row)
    if (row + k >= 0 && row + k < shape[1])
      ones[row * shape[1] + row + k] = 1;
  if (isa<IntegerType>(element))
    return node.setResult(HostTensor{"", shape, std::move(ones), type});
  return node.setResult(HostTensor{"", shape, std::vector<float>(ones.begin(), ones.end())});
}
