//===- Volumes.cpp - convolutions over three dimensions ----------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slices of a volume that a result's slice reads are channels of one image, so that a
// convolution over three dimensions is one over two, whatever its type. A kernel that is flat needs
// no copies: one slice is an image, and rows and columns with a kernel of 1 x 1 are one dimension.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Window.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Whether the window is one element of each place.
static bool isPointwise(const Window &window) {
  auto isOne = [](int64_t value) { return value == 1; };
  return llvm::all_of(window.kernel, isOne) && llvm::all_of(window.strides, isOne) &&
         llvm::none_of(window.pads, [](int64_t pad) { return pad > 0; });
}

/// The slices that the taps of `window`, over depth, read: from [N, D, groups, C, HW] to [N, D',
/// groups, taps * C, HW].
static MaybeValue gatherSlices(Node &node, Value slices, const Window &window) {
  Shape shape(shapeOf(slices)), starts(5, 0), steps(5, 1);
  int64_t span = shape[1] - window.extent(0);
  shape[1] = span / window.strides[0] + 1, steps[1] = window.strides[0];
  SmallVector<Value> taps;
  for (int64_t tap = 0; tap < window.kernel[0]; ++tap) {
    starts[1] = tap * window.dilations[0];
    auto slice = shapeOf(slices) == ShapeRef(shape)
                     ? MaybeValue(slices)
                     : node.create<nn::SliceOp>(slices, starts, shape, steps);
    if (failed(slice))
      return failure();
    taps.push_back(*slice);
  }
  return taps.size() == 1 ? MaybeValue(taps[0]) : node.create<nn::ConcatOp>(taps, /*axis=*/3);
}

static MaybeValue convolve(Node &node, MaybeValue input, MaybeValue filter, Value bias,
                           const Window &window, int64_t groups) {
  if (failed(input) || failed(filter))
    return failure();
  return node.create<nn::ConvOp>(*input, *filter, bias, window.strides, window.pads,
                                 window.dilations, groups);
}

/// Rows and columns as one dimension, behind depth.
static MaybeValue convolveColumns(Node &node, Value input, const HostTensor &filter, Value bias,
                                  const Window &depth, int64_t groups) {
  ShapeRef shape = shapeOf(input);
  Window window{{depth.kernel[0], 1},
                {depth.strides[0], 1},
                {depth.pads[0], 0, depth.pads[1], 0},
                {depth.dilations[0], 1}};
  Shape flat{filter.shape[0], filter.shape[1], filter.shape[2], 1};
  auto result =
      convolve(node, node.reshape(input, {shape[0], shape[1], shape[2], shape[3] * shape[4]}),
               node.materialize(reshape(filter, flat)), bias, window, groups);
  if (failed(result))
    return failure();
  ShapeRef out = shapeOf(*result);
  return node.reshape(*result, {out[0], out[1], out[2], shape[3], shape[4]});
}

FailureOr<Value> octet::onnx_import::convolveVolumes(Node &node, Value input,
                                                     const HostTensor &filter, Value bias,
                                                     const Window &window, int64_t groups) {
  Window depth = takeDimensions(window, 0, 1), plane = takeDimensions(window, 1, 2);
  Shape shape(shapeOf(input));
  if (groups < 1 || shape[1] % groups || filter.shape[1] * groups != shape[1])
    return node.invalid("has " + Twine(shape[1]) + " input channels in " + Twine(groups) +
                        " groups and a filter of shape " + printShape(filter.shape));
  if (isPointwise(plane))
    return convolveColumns(node, input, filter, bias, depth, groups);
  MaybeValue padded = input;
  if (depth.pads[0] + depth.pads[1] > 0)
    padded = node.create<nn::PadOp>(input, Shape{0, 0, depth.pads[0], 0, 0},
                                    Shape{0, 0, depth.pads[1], 0, 0}, llvm::APFloat(0.0f));
  if (failed(padded))
    return failure();
  Value parts = node.reshape(
      *padded, {shape[0], groups, shape[1] / groups, shapeOf(*padded)[2], shape[3] * shape[4]});
  auto slices = node.create<nn::TransposeOp>(parts, Shape{0, 3, 1, 2, 4});
  auto images = failed(slices) ? slices : gatherSlices(node, *slices, depth);
  if (failed(images))
    return failure();
  int64_t count = shapeOf(*images)[1], outputs = filter.shape[0], taps = filter.shape[2];
  Shape flat{outputs, taps * filter.shape[1], filter.shape[3], filter.shape[4]};
  auto weights = node.materialize(reshape(transpose(filter, {0, 2, 1, 3, 4}), flat));
  Value image = node.reshape(*images, {shape[0] * count, taps * shape[1], shape[3], shape[4]});
  auto result = convolve(node, image, weights, bias, plane, groups);
  if (failed(result))
    return failure();
  int64_t rows = shapeOf(*result)[2], columns = shapeOf(*result)[3];
  auto moved = node.create<nn::TransposeOp>(
      node.reshape(*result, {shape[0], count, outputs, rows * columns}), Shape{0, 2, 1, 3});
  return failed(moved) ? moved : node.reshape(*moved, {shape[0], outputs, count, rows, columns});
}
