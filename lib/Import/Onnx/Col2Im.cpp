//===- Col2Im.cpp - images of windows ----------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// Windows of `kernel` elements over an image; `pads` are begins, then ends.
struct Windows {
  Shape image, kernel, strides, pads, dilations;

  /// How many windows there are along each axis.
  Shape counts() const {
    Shape result;
    for (size_t i = 0; i < image.size(); ++i) {
      int64_t free =
          image[i] + pads[i] + pads[image.size() + i] - dilations[i] * (kernel[i] - 1) - 1;
      result.push_back(free < 0 ? 0 : free / strides[i] + 1);
    }
    return result;
  }
};
} // namespace

static FailureOr<Windows> readWindows(Node &node) {
  auto image = node.integers(1, "a shape"), kernel = node.integers(2, "a shape");
  if (failed(image) || failed(kernel))
    return failure();
  size_t axes = image->size();
  Windows windows{*image, *kernel, node.getInts("strides").value_or(Shape(axes, 1)),
                  node.getInts("pads").value_or(Shape(2 * axes, 0)),
                  node.getInts("dilations").value_or(Shape(axes, 1))};
  auto isPositive = [&](ShapeRef values) {
    return values.size() == axes &&
           llvm::all_of(values, [](int64_t value) { return value > 0 && value <= kMaxElements; });
  };
  if (!axes || !isPositive(*image) || !isPositive(*kernel) || !isPositive(windows.strides) ||
      !isPositive(windows.dilations) || windows.pads.size() != 2 * axes ||
      llvm::any_of(windows.pads, [](int64_t pad) { return pad < 0; }) || !countElements(*image) ||
      !countElements(*kernel) || !countElements(windows.counts()))
    return node.invalid("has blocks of shape " + printShape(*kernel) + " of an image of shape " +
                        printShape(*image));
  return windows;
}

/// For every element of the kernel and window: its place in the image, or behind the last one.
static std::vector<int64_t> findPlaces(const Windows &windows) {
  Shape counts = windows.counts(), strides = getStrides(windows.image),
        kernelStrides = getStrides(windows.kernel), windowStrides = getStrides(counts);
  int64_t outside = *countElements(windows.image), count = *countElements(counts);
  std::vector<int64_t> places;
  for (int64_t k = 0, elements = *countElements(windows.kernel); k < elements; ++k)
    for (int64_t w = 0; w < count; ++w) {
      int64_t place = 0;
      bool isInside = true;
      for (size_t i = 0; i < counts.size(); ++i) {
        int64_t at = w / windowStrides[i] % counts[i] * windows.strides[i] - windows.pads[i] +
                     k / kernelStrides[i] % windows.kernel[i] * windows.dilations[i];
        isInside &= at >= 0 && at < windows.image[i];
        place += at * strides[i];
      }
      places.push_back(isInside ? place : outside);
    }
  return places;
}

/// Elements are added up where windows overlap; those in the pads are added up in a row of their
/// own.
LogicalResult onnx_import::importCol2Im(Node &node) {
  Shape shape = node.shape(0);
  auto windows = readWindows(node);
  if (failed(windows))
    return failure();
  int64_t elements = *countElements(windows->kernel), count = *countElements(windows->counts()),
          size = *countElements(windows->image);
  if (shape.size() != 3 || shape[1] % elements || shape[2] != count)
    return node.invalid("has an input of shape " + printShape(shape) + "; expected " +
                        Twine(count) + " blocks of " + Twine(elements) + " elements");
  int64_t planes = shape[0] * shape[1] / elements;
  if (!countElements({size + 1, planes}, kMaxConstantElements) ||
      !countElements({elements, count}, kMaxConstantElements))
    return node.unsupported("an image of shape " + printShape(windows->image));
  auto input = node.value(0);
  auto places = integerConstant(node, "places", {elements * count}, findPlaces(*windows));
  auto zeros = node.materialize(
      {node.nameConstant("zeros"), {size + 1, planes}, std::vector<float>((size + 1) * planes)});
  if (failed(input) || failed(places) || failed(zeros))
    return failure();
  auto rows = node.create<nn::TransposeOp>(node.reshape(*input, {planes, elements * count}),
                                           ArrayRef<int64_t>{1, 0});
  if (failed(rows))
    return failure();
  auto sums = node.create<nn::ScatterOp>(*zeros, *places, *rows, nn::Combination::sum);
  auto image = failed(sums)
                   ? sums
                   : node.create<nn::SliceOp>(*sums, Shape{0, 0}, Shape{size, planes}, Shape{1, 1});
  auto result =
      failed(image) ? image : node.create<nn::TransposeOp>(*image, ArrayRef<int64_t>{1, 0});
  Shape whole{shape[0], shape[1] / elements};
  whole.append(windows->image);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, whole));
}
