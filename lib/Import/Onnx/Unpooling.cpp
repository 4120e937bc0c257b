//===- Unpooling.cpp - where maxima were -------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "Window.h"
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// The sizes of an input in front of its spatial dimensions.
static int64_t countPlanes(ShapeRef shape) { return shape[0] * shape[1]; }

/// `input` with what the windows reach behind it, which is never the largest.
static MaybeValue padForWindows(Node &node, Value input, const Window &window) {
  unsigned rank = window.kernel.size();
  if (llvm::none_of(window.pads, [](int64_t pad) { return pad > 0; }))
    return input;
  Shape before{0, 0}, behind{0, 0};
  llvm::append_range(before, ShapeRef(window.pads).take_front(rank));
  llvm::append_range(behind, ShapeRef(window.pads).take_back(rank));
  return node.create<nn::PadOp>(input, before, behind,
                                llvm::APFloat(-std::numeric_limits<float>::infinity()));
}

/// Calls `visit` with the offset of each tap from the start of its window.
static void forEachTap(const Window &window, llvm::function_ref<void(ShapeRef)> visit) {
  for (int64_t tap = 0, count = *countElements(window.kernel); tap < count; ++tap) {
    Shape offset(window.kernel.size(), 0);
    int64_t rest = tap;
    for (int64_t i = (int64_t)offset.size() - 1; i >= 0; --i) {
      offset[i] = rest % window.kernel[i] * window.dilations[i];
      rest /= window.kernel[i];
    }
    visit(offset);
  }
}

/// The elements that each tap sees, along a new last dimension.
static MaybeValue gatherTaps(Node &node, Value padded, const Window &window, ShapeRef out) {
  SmallVector<Value> taps;
  Shape steps{1, 1}, column(out);
  llvm::append_range(steps, window.strides);
  column.push_back(1);
  bool isMade = true;
  forEachTap(window, [&](ShapeRef offset) {
    Shape starts{0, 0};
    llvm::append_range(starts, offset);
    auto slice = node.create<nn::SliceOp>(padded, starts, out, steps);
    isMade &= succeeded(slice);
    if (isMade)
      taps.push_back(node.reshape(*slice, column));
  });
  if (!isMade)
    return failure();
  return taps.size() == 1 ? MaybeValue(taps[0]) : node.create<nn::ConcatOp>(taps, out.size());
}

/// For each window and tap, the position in its plane; 0 where there is none.
static std::vector<int64_t> listPositions(const Window &window, ShapeRef size, ShapeRef out,
                                          ShapeRef strides) {
  std::vector<int64_t> positions;
  Shape place(size.size(), 0);
  for (int64_t i = 0, count = *countElements(out); i < count; ++i) {
    int64_t rest = i;
    for (int64_t d = (int64_t)size.size() - 1; d >= 0; --d) {
      place[d] = rest % out[d];
      rest /= out[d];
    }
    forEachTap(window, [&](ShapeRef offset) {
      int64_t position = 0;
      for (unsigned d = 0; d < size.size(); ++d)
        position += (place[d] * window.strides[d] + offset[d] - window.pads[d]) * strides[d];
      positions.push_back(std::max<int64_t>(position, 0));
    });
  }
  return positions;
}

/// Strides of positions whose first (row major) or last dimension is the slowest.
static Shape getPositionStrides(ShapeRef size, bool isColumnMajor) {
  if (!isColumnMajor)
    return getStrides(size);
  Shape strides(size.size(), 1);
  for (unsigned i = 1; i < size.size(); ++i)
    strides[i] = strides[i - 1] * size[i - 1];
  return strides;
}

MaybeValue octet::onnx_import::findMaxima(Node &node, Value input, const Window &window,
                                          ShapeRef out) {
  Shape shape(shapeOf(input));
  ShapeRef size = ShapeRef(shape).drop_front(2), windows = out.drop_front(2);
  int64_t taps = *countElements(window.kernel), perPlane = *countElements(windows);
  if (!countElements({perPlane, taps}, kMaxConstantElements))
    return node.unsupported("positions of " + printShape(windows) + " windows");
  auto padded = padForWindows(node, input, window);
  auto seen = failed(padded) ? padded : gatherTaps(node, *padded, window, out);
  if (failed(seen))
    return failure();
  auto best = node.createAs<nn::TopKOp>(node.builder().getI64Type(), *seen, 1, false);
  if (failed(best))
    return failure();
  std::vector<int64_t> firsts, planes;
  for (int64_t i = 0; i < perPlane; ++i)
    firsts.push_back(i * taps);
  for (int64_t i = 0; i < countPlanes(shape); ++i)
    planes.push_back(i * *countElements(size));
  Shape strides = getPositionStrides(size, node.getInt("storage_order", 0));
  auto table = integerConstant(node, "positions", {perPlane * taps},
                               listPositions(window, size, windows, strides)),
       first = integerConstant(node, "windows", {1, perPlane}, std::move(firsts)),
       plane = integerConstant(node, "planes", {countPlanes(shape), 1}, std::move(planes));
  MaybeValue tap = node.reshape(*best, {countPlanes(shape), perPlane});
  auto entry = node.compute<nn::AddOp>(tap, first);
  if (failed(table) || failed(entry))
    return failure();
  auto position =
      node.compute<nn::AddOp>(node.create<nn::GatherOp>(*table, *entry, /*axis=*/0), plane);
  return failed(position) ? position : node.reshape(*position, out);
}

/// Zeros but where the maxima were. A larger shape has more zeros behind.
LogicalResult octet::onnx_import::importMaxUnpool(Node &node) {
  Shape shape = node.shape(0);
  auto kernel = node.getInts("kernel_shape");
  if (shape.size() < 3 || !kernel || kernel->size() != shape.size() - 2 || node.shape(1) != shape)
    return node.invalid("has an input of shape " + printShape(shape) + " and positions of shape " +
                        printShape(node.shape(1)));
  auto window = readWindow(node, ShapeRef(shape).drop_front(2), *kernel);
  if (failed(window))
    return failure();
  Shape pooled(shape), behind(shape.size(), 0);
  for (unsigned i = 0, rank = kernel->size(); i < rank; ++i)
    pooled[2 + i] = (shape[2 + i] - 1) * window->strides[i] + window->extent(i) - window->pads[i] -
                    window->pads[rank + i];
  Shape out = pooled;
  if (node.has(2)) {
    auto given = node.integers(2, "an output shape");
    if (failed(given))
      return failure();
    out = *given;
  }
  for (unsigned i = 0; i < shape.size() && out.size() == shape.size(); ++i)
    behind[i] = out[i] - pooled[i];
  auto total = countElements(pooled, kMaxConstantElements);
  if (!total || *total == 0 || out.size() != shape.size() ||
      llvm::any_of(behind, [](int64_t size) { return size < 0; }))
    return node.unsupported("a result of shape " + printShape(out));
  auto zeros = node.materialize({node.nameConstant("zeros"), {*total}, std::vector<float>(*total)});
  auto values = node.value(0), positions = toIndices(node, node.any(1));
  if (failed(zeros) || failed(values) || failed(positions))
    return failure();
  Shape flat{*countElements(shape)};
  auto result = node.create<nn::ScatterOp>(*zeros, node.reshape(*positions, flat),
                                           node.reshape(*values, flat), nn::Combination::replace);
  if (failed(result))
    return failure();
  Value image = node.reshape(*result, pooled);
  return node.setResult(out == pooled ? MaybeValue(image)
                                      : node.create<nn::PadOp>(image, Shape(shape.size(), 0),
                                                               behind, llvm::APFloat(0.0f)));
}
