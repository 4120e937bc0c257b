//===- Pooling.cpp - pools ---------------------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "Window.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Elements to append behind the pads in each dimension so that the window slides ceil(...) + 1
/// times; a window that would start behind the input and its leading pad is dropped.
static Shape getCeilPads(const Window &window, ShapeRef input) {
  Shape extra;
  for (unsigned i = 0, rank = input.size(); i < rank; ++i) {
    int64_t stride = window.strides[i], span = input[i] + window.pads[i];
    int64_t room = span + window.pads[rank + i] - window.extent(i);
    int64_t last = (room + stride - 1) / stride;
    if (last * stride >= span)
      --last;
    extra.push_back(std::max<int64_t>(0, last * stride - room));
  }
  return extra;
}

/// The window with the elements of ceil_mode in its end pads.
static Window appendPads(Window window, ShapeRef extra) {
  for (auto [i, size] : llvm::enumerate(extra))
    window.pads[extra.size() + i] += size;
  return window;
}

/// The window of a pool over the input's spatial dimensions, `extra` filled from ceil_mode.
static FailureOr<Window> readPool(Node &node, Shape &extra) {
  Shape shape = node.shape(0);
  if (shape.size() < 3)
    return node.invalid("has an input of shape " + printShape(shape) +
                        "; expected three or more dimensions");
  if (shape.size() > 5)
    return node.unsupported("a pool over " + Twine(shape.size() - 2) + " dimensions");
  auto kernel = node.getInts("kernel_shape");
  if (!kernel || kernel->size() != shape.size() - 2)
    return node.invalid("lacks a kernel_shape of " + Twine(shape.size() - 2) + " values");
  ShapeRef input = ShapeRef(shape).drop_front(2);
  auto window = readWindow(node, input, *kernel);
  if (failed(window))
    return failure();
  for (unsigned i = 0, rank = input.size(); i < rank; ++i)
    if (window->pads[i] >= window->extent(i) || window->pads[rank + i] >= window->extent(i))
      return node.unsupported("pads as large as the window");
  extra = node.getInt("ceil_mode", 0) ? getCeilPads(*window, input) : Shape(input.size(), 0);
  if (failed(checkFits(node, appendPads(*window, extra), input)))
    return failure();
  return window;
}

/// Pools `input`: `pool` makes a pool over two dimensions. One over three is one over rows and
/// columns of each slice, and one over depth.
template <typename Pool>
static MaybeValue poolWindows(Node &node, MaybeValue input, const Window &window, Pool pool) {
  if (failed(input))
    return input;
  Shape shape(shapeOf(*input)), out(shape);
  if (shape.size() < 5) {
    MaybeValue result =
        pool(node.reshape(*input, toTwoDimensional(shape)), toTwoDimensional(window));
    if (failed(result) || shape.size() == 4)
      return result;
    out[2] = shapeOf(*result)[3];
    return node.reshape(*result, out);
  }
  MaybeValue slices =
      pool(node.reshape(*input, {shape[0], shape[1] * shape[2], shape[3], shape[4]}),
           takeDimensions(window, 1, 2));
  if (failed(slices))
    return failure();
  int64_t rows = shapeOf(*slices)[2], columns = shapeOf(*slices)[3];
  Window depth = takeDimensions(window, 0, 1);
  MaybeValue result = pool(node.reshape(*slices, {shape[0], shape[1], shape[2], rows * columns}),
                           Window{{depth.kernel[0], 1},
                                  {depth.strides[0], 1},
                                  {depth.pads[0], 0, depth.pads[1], 0},
                                  {depth.dilations[0], 1}});
  if (failed(result))
    return failure();
  return node.reshape(*result, {shape[0], shape[1], shapeOf(*result)[2], rows, columns});
}

static MaybeValue averageWindows(Node &node, MaybeValue input, const Window &window,
                                 bool countsPads) {
  return poolWindows(node, input, window, [&](Value planes, const Window &flat) {
    bool hasPads = llvm::any_of(flat.pads, [](int64_t pad) { return pad > 0; });
    return node.create<nn::AvgPoolOp>(planes, flat.kernel, flat.strides, flat.pads, flat.dilations,
                                      countsPads && hasPads);
  });
}

/// Integers, which have 8 bits, are pooled as f32.
LogicalResult octet::onnx_import::importMaxPool(Node &node) {
  Shape extra;
  auto window = readPool(node, extra);
  auto given = failed(window) ? MaybeValue() : node.any(0);
  if (failed(given))
    return failure();
  Type element = getElementTypeOrSelf(*given);
  auto input = isa<IntegerType>(element) ? node.cast(given, node.f32()) : given;
  Window whole = appendPads(*window, extra);
  auto result = poolWindows(node, input, whole, [&](Value planes, const Window &flat) {
    return node.create<nn::MaxPoolOp>(planes, flat.kernel, flat.strides, flat.pads, flat.dilations);
  });
  if (failed(node.setResult(isa<IntegerType>(element) ? node.cast(result, element) : result)))
    return failure();
  return node.wants(1) ? node.setResult(findMaxima(node, *input, whole, shapeOf(*result)), 1)
                       : success();
}

/// With ceil_mode, elements behind the pads never count, those of the pads do if count_include_pad
/// says so: then the pads become elements of an nn.pad, and what ceil_mode appends stays padding.
LogicalResult octet::onnx_import::importAveragePool(Node &node) {
  Shape extra;
  auto window = readPool(node, extra);
  auto input = succeeded(window) ? node.value(0) : MaybeValue();
  if (failed(input))
    return failure();
  bool countsPads = node.getInt("count_include_pad", 0);
  bool grows = llvm::any_of(extra, [](int64_t size) { return size > 0; });
  if (countsPads && grows) {
    Shape before{0, 0}, behind{0, 0};
    llvm::append_range(before, ShapeRef(window->pads).take_front(extra.size()));
    llvm::append_range(behind, ShapeRef(window->pads).take_back(extra.size()));
    input = node.create<nn::PadOp>(*input, before, behind, llvm::APFloat(0.0f));
    window->pads.assign(window->pads.size(), 0);
    countsPads = false;
  }
  return node.setResult(averageWindows(node, input, appendPads(*window, extra), countsPads));
}

/// The exponent of a norm.
static FailureOr<float> readNorm(Node &node) {
  int64_t p = node.getInt("p", 2);
  if (p < 1)
    return node.invalid("has p=" + Twine(p) + "; expected 1 or more");
  return (float)p;
}

/// |x|^p, of which means and sums are taken.
static MaybeValue raiseMagnitude(Node &node, MaybeValue x, float p) {
  return raiseTo(node, p == 2 ? x : node.compute<nn::AbsOp>(x), p);
}

/// The p-th root of the window's sum of |x|^p, which is the mean times the number of elements.
LogicalResult octet::onnx_import::importLpPool(Node &node) {
  Shape extra;
  auto p = readNorm(node);
  auto window = succeeded(p) ? readPool(node, extra) : FailureOr<Window>();
  if (failed(window))
    return failure();
  auto mean = averageWindows(node, raiseMagnitude(node, node.value(0), *p),
                             appendPads(*window, extra), /*countsPads=*/true);
  auto sum = node.compute<nn::MulOp>(mean, node.number("count", *countElements(window->kernel)));
  return node.setResult(raiseTo(node, sum, 1 / *p));
}

LogicalResult octet::onnx_import::importGlobalLpPool(Node &node) {
  auto p = readNorm(node);
  if (failed(p))
    return failure();
  Shape axes = allAxes(node.rank(0));
  if (axes.size() < 3)
    return node.invalid("has an input of shape " + printShape(node.shape(0)) +
                        "; expected three or more dimensions");
  auto powers = raiseMagnitude(node, node.value(0), *p);
  auto sum = reduce(node, powers, Reduction::sum, ShapeRef(axes).drop_front(2));
  return node.setResult(raiseTo(node, sum, 1 / *p));
}

/// A pool over everything behind the channels; any number of dimensions is one.
template <typename CreatePool>
static LogicalResult importGlobalPool(Node &node, CreatePool create) {
  Shape shape = node.shape(0);
  if (shape.size() < 3)
    return node.invalid("has an input of shape " + printShape(shape) +
                        "; expected three or more dimensions");
  auto input = node.value(0);
  if (failed(input))
    return failure();
  Shape planes(shape);
  if (shape.size() != 4)
    planes = {shape[0], shape[1], 1, *countElements(ShapeRef(shape).drop_front(2))};
  FailureOr<Value> result = create(node.reshape(*input, planes), ShapeRef(planes).drop_front(2));
  if (failed(result))
    return failure();
  Shape out(shape.size(), 1);
  out[0] = shape[0];
  out[1] = shape[1];
  return node.setResult(node.reshape(*result, out));
}

static const int64_t kOnes[] = {1, 1}, kZeros[] = {0, 0, 0, 0};

LogicalResult octet::onnx_import::importGlobalAveragePool(Node &node) {
  return importGlobalPool(node, [&](Value input, ShapeRef kernel) {
    return node.create<nn::AvgPoolOp>(input, kernel, ShapeRef(kOnes), ShapeRef(kZeros),
                                      ShapeRef(kOnes), false);
  });
}

LogicalResult octet::onnx_import::importGlobalMaxPool(Node &node) {
  return importGlobalPool(node, [&](Value input, ShapeRef kernel) {
    return node.create<nn::MaxPoolOp>(input, kernel, ShapeRef(kOnes), ShapeRef(kZeros),
                                      ShapeRef(kOnes));
  });
}
