//===- Window.cpp - windows of convolutions and pools ------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Window.h"

using namespace mlir;
using namespace octet::onnx_import;

/// A list attribute with one value for each of `count` dimensions, all at least `least`.
static FailureOr<Shape> readList(Node &node, StringRef name, unsigned count, int64_t least,
                                 int64_t otherwise) {
  Shape values = node.getInts(name).value_or(Shape(count, otherwise));
  if (values.size() != count)
    return node.invalid("has " + Twine(values.size()) + " values in " + name + "; expected " +
                        Twine(count));
  if (llvm::any_of(values, [&](int64_t value) { return value < least; }))
    return node.invalid("has a value below " + Twine(least) + " in " + name);
  return values;
}

/// auto_pad=SAME_*: as many outputs as strides fit into the input, the odd element at the end
/// (UPPER) or start (LOWER).
static void padToSame(Window &window, ShapeRef input, bool upper) {
  unsigned rank = input.size();
  for (unsigned i = 0; i < rank; ++i) {
    int64_t outputs = (input[i] + window.strides[i] - 1) / window.strides[i];
    int64_t total =
        std::max<int64_t>(0, (outputs - 1) * window.strides[i] + window.extent(i) - input[i]);
    window.pads[i] = upper ? total / 2 : total - total / 2;
    window.pads[rank + i] = total - window.pads[i];
  }
}

FailureOr<Window> octet::onnx_import::readWindow(Node &node, ShapeRef input, ShapeRef kernel) {
  unsigned rank = input.size();
  Window window{Shape(kernel), {}, {}, {}};
  auto strides = readList(node, "strides", rank, 1, 1);
  auto dilations = readList(node, "dilations", rank, 1, 1);
  if (failed(strides) || failed(dilations))
    return failure();
  window.strides = *strides;
  window.dilations = *dilations;
  if (llvm::any_of(kernel, [](int64_t size) { return size < 1; }))
    return node.invalid("has the kernel " + printShape(kernel) + "; expected positive sizes");
  StringRef automatic = node.getString("auto_pad", "NOTSET");
  window.pads.assign(2 * rank, 0);
  if (automatic == "NOTSET") {
    auto pads = readList(node, "pads", 2 * rank, INT32_MIN, 0);
    if (failed(pads))
      return failure();
    if (llvm::any_of(*pads, [](int64_t pad) { return pad < 0; }))
      return node.unsupported("negative pads");
    window.pads = *pads;
  } else if (automatic != "VALID") {
    padToSame(window, input, automatic == "SAME_UPPER");
  }
  return window;
}

LogicalResult octet::onnx_import::checkFilter(Node &node) {
  if (!node.constant(1))
    return node.unsupported("a filter that is no constant");
  if (node.constant(1)->isInteger())
    return node.invalid("has a filter of integers");
  return checkFilterShape(node);
}

LogicalResult octet::onnx_import::checkFilterShape(Node &node) {
  Shape input = node.shape(0), filter = node.shape(1);
  if (input.size() != filter.size() || input.size() < 3)
    return node.invalid("has an input of shape " + printShape(input) + " and a filter of shape " +
                        printShape(filter) + "; expected the same rank, at least 3");
  if (input.size() > 5)
    return node.unsupported("a convolution over " + Twine(input.size() - 2) + " dimensions");
  ShapeRef kernel = ShapeRef(filter).drop_front(2);
  auto declared = node.getInts("kernel_shape");
  if (declared && ShapeRef(*declared) != kernel)
    return node.invalid("has kernel_shape " + printShape(*declared) + ", but a filter of " +
                        printShape(kernel));
  return success();
}

LogicalResult octet::onnx_import::checkFits(Node &node, const Window &window, ShapeRef input) {
  for (unsigned i = 0, rank = input.size(); i < rank; ++i)
    if (window.extent(i) > input[i] + window.pads[i] + window.pads[rank + i])
      return node.invalid("has a window that spans " + Twine(window.extent(i)) + " of " +
                          Twine(input[i] + window.pads[i] + window.pads[rank + i]) +
                          " padded elements");
  return success();
}

Shape octet::onnx_import::toTwoDimensional(ShapeRef shape) {
  Shape result(shape);
  if (result.size() == 3)
    result.insert(result.begin() + 2, 1);
  return result;
}

Window octet::onnx_import::toTwoDimensional(const Window &window) {
  Window result = window;
  if (window.kernel.size() == 1)
    result = {{1, window.kernel[0]},
              {1, window.strides[0]},
              {0, window.pads[0], 0, window.pads[1]},
              {1, window.dilations[0]}};
  return result;
}

Window octet::onnx_import::takeDimensions(const Window &window, unsigned first, unsigned count) {
  unsigned rank = window.kernel.size();
  auto take = [&](ShapeRef values) { return Shape(values.slice(first, count)); };
  Window part{take(window.kernel), take(window.strides), take(window.pads), take(window.dilations)};
  llvm::append_range(part.pads, ShapeRef(window.pads).slice(rank + first, count));
  return part;
}
