//===- TransposedConvolution.cpp - ConvTranspose as a convolution ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of the results of a transposed convolution with stride s, those at positions q s + r, for one r,
// are a convolution with every s-th tap, in reverse order. One convolution computes all s phases as
// channels of their own, side by side, and a transpose moves them between the pixels. So whatever
// holds for convolutions, quantization among it, holds here.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Window.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {

/// One spatial dimension: result position o sums x[i] * w[k] over o + pad = i * stride + k *
/// dilation.
struct TransposedAxis {
  int64_t in, kernel, stride, dilation, pad, out;

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  /// Taps of each phase, with zeros where it has fewer.
  int64_t taps() const { return llvm::divideCeil(extent(), stride); }
  /// Positions of the phases that are computed: [first, first + count).
  int64_t first() const { return std::min(pad / stride, taps() - 1); }
  int64_t count() const { return llvm::divideCeil(pad + out, stride) - first(); }
  /// Pads of the convolution. A negative one at the end is cropped from the result.
  int64_t padBefore() const { return taps() - 1 - first(); }
  int64_t padBehind() const { return std::max<int64_t>(0, first() + count() - in); }
  int64_t computed() const { return padBefore() + in + padBehind() - taps() + 1; }
  /// The tap of the original kernel at place `tap` of phase `phase`, or -1.
  int64_t getTap(int64_t phase, int64_t tap) const {
    int64_t position = phase + stride * (taps() - 1 - tap);
    return position % dilation == 0 && position < extent() ? position / dilation : -1;
  }
};

} // namespace

/// The size of the result, by output_shape, or by pads and output_padding.
static FailureOr<int64_t> getOutput(Node &node, TransposedAxis &axis, unsigned i, unsigned rank,
                                    int64_t padBehind) {
  Shape extra = node.getInts("output_padding").value_or(Shape(rank, 0));
  if (extra.size() != rank || extra[i] < 0)
    return node.invalid("has output_padding " + printShape(extra) + "; expected " + Twine(rank) +
                        " sizes that are not negative");
  int64_t whole = (axis.in - 1) * axis.stride + axis.extent() + extra[i];
  std::optional<Shape> wanted = node.getInts("output_shape");
  StringRef automatic = node.getString("auto_pad", "NOTSET");
  if (!wanted && (automatic == "NOTSET" || automatic == "VALID"))
    return whole - axis.pad - padBehind;
  if (wanted && wanted->size() != rank)
    return node.invalid("has output_shape " + printShape(*wanted) + "; expected " + Twine(rank) +
                        " sizes");
  int64_t out = wanted ? (*wanted)[i] : axis.in * axis.stride;
  int64_t total = std::max<int64_t>(0, whole - out);
  axis.pad = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
  return out;
}

static FailureOr<SmallVector<TransposedAxis>> readAxes(Node &node, ShapeRef kernel) {
  Shape shape = node.shape(0);
  ShapeRef size = ShapeRef(shape).drop_front(2);
  if (node.getString("auto_pad", "NOTSET").starts_with("SAME") && node.attribute("output_padding"))
    return node.unsupported("output_padding beside auto_pad");
  auto window = readWindow(node, size, kernel);
  if (failed(window))
    return failure();
  SmallVector<TransposedAxis> axes;
  for (unsigned i = 0, rank = size.size(); i < rank; ++i) {
    TransposedAxis axis{size[i],         kernel[i], window->strides[i], window->dilations[i],
                        window->pads[i], 0};
    auto out = getOutput(node, axis, i, rank, window->pads[rank + i]);
    if (failed(out))
      return failure();
    if (*out < 1)
      return node.invalid("has a result of " + Twine(*out) + " elements along dimension " +
                          Twine(i + 2));
    axis.out = *out;
    axes.push_back(axis);
  }
  if (axes.size() == 1)
    axes.insert(axes.begin(), {1, 1, 1, 1, 0, 1});
  return axes;
}

/// From [inputs][outputs of a group][row][column] to [output of a group, row phase, column
/// phase][inputs of a group][row][column].
static HostTensor makePhases(const HostTensor &filter, int64_t groups, const TransposedAxis &rows,
                             const TransposedAxis &columns) {
  int64_t inputs = filter.shape[0] / groups, outputs = filter.shape[1];
  std::vector<float> from = *filter.floats(), to;
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t phase = 0; phase < rows.stride * columns.stride; ++phase)
        for (int64_t input = 0; input < inputs; ++input)
          for (int64_t tap = 0; tap < rows.taps() * columns.taps(); ++tap) {
            int64_t row = rows.getTap(phase / columns.stride, tap / columns.taps()),
                    column = columns.getTap(phase % columns.stride, tap % columns.taps()),
                    channel = (group * inputs + input) * outputs + output;
            to.push_back(row < 0 || column < 0
                             ? 0.0f
                             : from[(channel * rows.kernel + row) * columns.kernel + column]);
          }
  return {filter.name,
          {groups * outputs * rows.stride * columns.stride, inputs, rows.taps(), columns.taps()},
          std::move(to)};
}

/// The bias, once for every phase.
static FailureOr<Value> makeBias(Node &node, int64_t outputs, int64_t phases) {
  if (!node.has(2))
    return Value();
  auto bias = node.floats(2, "bias");
  if (failed(bias))
    return failure();
  if ((int64_t)bias->size() != outputs)
    return node.invalid("has a bias of " + Twine(bias->size()) + " values; expected " +
                        Twine(outputs));
  std::vector<float> repeated;
  for (float value : *bias)
    repeated.insert(repeated.end(), phases, value);
  return node.materialize({node.constant(2)->name, {outputs * phases}, std::move(repeated)});
}

/// The input channels, in groups, are those of the filter.
static LogicalResult checkChannels(Node &node, int64_t groups) {
  int64_t channels = node.shape(0)[1];
  ShapeRef filter = node.constant(1)->shape;
  if (groups < 1 || channels % groups || filter[0] != channels)
    return node.invalid("has " + Twine(channels) + " input channels in " + Twine(groups) +
                        " groups and a filter of shape " + printShape(filter));
  return success();
}

/// The phases [N, outputs * rows * columns, H, W], between one another, cropped to the result.
static FailureOr<Value> interleave(Node &node, Value phases, int64_t outputs,
                                   const TransposedAxis &rows, const TransposedAxis &columns) {
  Shape s(shapeOf(phases));
  if (rows.stride * columns.stride > 1) {
    Value split = node.reshape(phases, {s[0], outputs, rows.stride, columns.stride, s[2], s[3]});
    auto moved = node.create<nn::TransposeOp>(split, Shape{0, 1, 4, 2, 5, 3});
    if (failed(moved))
      return failure();
    s = {s[0], outputs, s[2] * rows.stride, s[3] * columns.stride};
    phases = node.reshape(*moved, s);
  }
  Shape starts{0, 0, rows.pad - rows.first() * rows.stride,
               columns.pad - columns.first() * columns.stride},
      sizes{s[0], outputs, rows.out, columns.out};
  if (s == sizes)
    return phases;
  return node.create<nn::SliceOp>(phases, starts, sizes, Shape(4, 1));
}

LogicalResult octet::onnx_import::importConvTranspose(Node &node) {
  int64_t groups = node.getInt("group", 1);
  if (failed(checkFilter(node)) || failed(checkChannels(node, groups)))
    return failure();
  const HostTensor &filter = *node.constant(1);
  auto axes = readAxes(node, ShapeRef(filter.shape).drop_front(2));
  if (failed(axes))
    return failure();
  const TransposedAxis &rows = (*axes)[0], &columns = (*axes)[1];
  int64_t outputs = filter.shape[1] * groups;
  Shape shape = node.shape(0);
  Shape packedShape{outputs,     rows.stride,   columns.stride, filter.shape[0] / groups,
                    rows.taps(), columns.taps()};
  if (!countElements(packedShape, kMaxConstantElements))
    return node.unsupported("strides of " + Twine(rows.stride) + " and " + Twine(columns.stride) +
                            ", which need a filter of " + printShape(packedShape) + " elements");
  auto input = node.value(0), packed = node.materialize(makePhases(filter, groups, rows, columns)),
       bias = makeBias(node, outputs, rows.stride * columns.stride);
  if (failed(input) || failed(packed) || failed(bias))
    return failure();
  auto convolved = node.create<nn::ConvOp>(
      node.reshape(*input, toTwoDimensional(shape)), *packed, *bias, Shape{1, 1},
      Shape{rows.padBefore(), columns.padBefore(), rows.padBehind(), columns.padBehind()},
      Shape{1, 1}, groups);
  if (failed(convolved))
    return failure();
  auto result = interleave(node, *convolved, outputs, rows, columns);
  if (failed(result) || shape.size() == 4)
    return node.setResult(result);
  return node.setResult(node.reshape(*result, {shape[0], outputs, columns.out}));
}
