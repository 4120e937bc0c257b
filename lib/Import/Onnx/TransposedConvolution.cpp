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

using Axes = ArrayRef<TransposedAxis>;

/// A number of each axis.
template <typename Get> static Shape collect(Axes axes, Get get) {
  return llvm::map_to_vector<6>(axes, get);
}
static Shape getPhases(Axes axes) {
  return collect(axes, [](const TransposedAxis &axis) { return axis.stride; });
}
static Shape getTaps(Axes axes) {
  return collect(axes, [](const TransposedAxis &axis) { return axis.taps(); });
}
static int64_t countPhases(Axes axes) { return *countElements(getPhases(axes)); }

/// Where in the original kernel a place of a phase is, both counted through all axes; or -1.
static int64_t getTap(Axes axes, int64_t phase, int64_t tap) {
  int64_t place = 0, step = 1;
  for (const TransposedAxis &axis : llvm::reverse(axes)) {
    int64_t own = axis.getTap(phase % axis.stride, tap % axis.taps());
    if (own < 0)
      return -1;
    place += own * step;
    step *= axis.kernel, phase /= axis.stride, tap /= axis.taps();
  }
  return place;
}

/// The type of stored integers whose channels along `axis` are the first dimension of a tensor that
/// has all of them for every group, and each of them for every phase; none if the integers have
/// scales along another axis.
static quant::QuantizedType spreadChannels(quant::QuantizedType type, int64_t axis, int64_t groups,
                                           int64_t phases) {
  auto perAxis = dyn_cast_or_null<quant::UniformQuantizedPerAxisType>(type);
  if (!perAxis)
    return type;
  if (perAxis.getQuantizedDimension() != axis)
    return {};
  SmallVector<double> scales;
  SmallVector<int64_t> zeroPoints;
  for (int64_t group = 0; group < groups; ++group)
    for (auto [scale, zeroPoint] : llvm::zip(perAxis.getScales(), perAxis.getZeroPoints())) {
      scales.append(phases, scale);
      zeroPoints.append(phases, zeroPoint);
    }
  return quant::UniformQuantizedPerAxisType::get(
      perAxis.getFlags(), perAxis.getStorageType(), perAxis.getExpressedType(), scales, zeroPoints,
      /*quantizedDimension=*/0, perAxis.getStorageTypeMin(), perAxis.getStorageTypeMax());
}

/// From [inputs][outputs of a group][kernel] to [output of a group, phase][inputs of a
/// group][taps].
static HostTensor makePhases(const HostTensor &filter, int64_t groups, Axes axes) {
  int64_t inputs = filter.shape[0] / groups, outputs = filter.shape[1];
  int64_t size = filter.size() / (filter.shape[0] * outputs);
  Shape shape{groups * outputs * countPhases(axes), inputs};
  llvm::append_range(shape, getTaps(axes));
  std::vector<float> from = *filter.floats(), to;
  for (int64_t group = 0; group < groups; ++group)
    for (int64_t output = 0; output < outputs; ++output)
      for (int64_t phase = 0; phase < countPhases(axes); ++phase)
        for (int64_t input = 0; input < inputs; ++input)
          for (int64_t tap = 0; tap < *countElements(getTaps(axes)); ++tap) {
            int64_t place = getTap(axes, phase, tap),
                    channel = (group * inputs + input) * outputs + output;
            to.push_back(place < 0 ? 0.0f : from[channel * size + place]);
          }
  return {filter.name, shape, std::move(to), /*type=*/0,
          spreadChannels(filter.quantized, /*axis=*/1, groups, countPhases(axes))};
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
  return node.materialize({node.constant(2)->name,
                           {outputs * phases},
                           std::move(repeated),
                           /*type=*/0,
                           spreadChannels(node.constant(2)->quantized, 0, 1, phases)});
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

/// The phases [N, outputs * phases, ...], between one another, cropped to the result.
static FailureOr<Value> interleave(Node &node, Value phases, int64_t outputs, Axes axes) {
  Shape s(shapeOf(phases));
  if (int64_t rank = axes.size(); countPhases(axes) > 1) {
    Shape split{s[0], outputs}, order{0, 1}, whole{s[0], outputs};
    llvm::append_range(split, getPhases(axes));
    llvm::append_range(split, ShapeRef(s).drop_front(2));
    for (auto [i, axis] : llvm::enumerate(axes)) {
      order.append({2 + rank + (int64_t)i, 2 + (int64_t)i});
      whole.push_back(s[2 + i] * axis.stride);
    }
    auto moved = node.create<nn::TransposeOp>(node.reshape(phases, split), order);
    if (failed(moved))
      return failure();
    s = whole;
    phases = node.reshape(*moved, s);
  }
  Shape starts{0, 0}, sizes{s[0], outputs};
  for (const TransposedAxis &axis : axes) {
    starts.push_back(axis.pad - axis.first() * axis.stride);
    sizes.push_back(axis.out);
  }
  if (s == sizes)
    return phases;
  return node.create<nn::SliceOp>(phases, starts, sizes, Shape(s.size(), 1));
}

/// The convolution that computes all phases.
static FailureOr<Value> computePhases(Node &node, Axes axes, int64_t outputs, int64_t groups) {
  const HostTensor &filter = *node.constant(1);
  Shape ones(axes.size(), 1), pads;
  for (const TransposedAxis &axis : axes)
    pads.push_back(axis.padBefore());
  for (const TransposedAxis &axis : axes)
    pads.push_back(axis.padBehind());
  auto input = node.value(0), bias = makeBias(node, outputs, countPhases(axes));
  if (failed(input) || failed(bias))
    return failure();
  HostTensor packed = makePhases(filter, groups, axes);
  if (axes.size() == 3)
    return convolveVolumes(node, *input, packed, *bias, {getTaps(axes), ones, pads, ones}, groups);
  auto weights = node.materialize(std::move(packed));
  if (failed(weights))
    return failure();
  return node.create<nn::ConvOp>(node.reshape(*input, toTwoDimensional(node.shape(0))), *weights,
                                 *bias, ones, pads, ones, groups);
}

LogicalResult octet::onnx_import::importConvTranspose(Node &node) {
  int64_t groups = node.getInt("group", 1);
  if (failed(checkFilter(node)) || failed(checkChannels(node, groups)))
    return failure();
  const HostTensor &filter = *node.constant(1);
  auto axes = readAxes(node, ShapeRef(filter.shape).drop_front(2));
  if (failed(axes))
    return failure();
  int64_t outputs = filter.shape[1] * groups;
  Shape shape = node.shape(0), packedShape{outputs};
  llvm::append_range(packedShape, getPhases(*axes));
  packedShape.push_back(filter.shape[0] / groups);
  llvm::append_range(packedShape, getTaps(*axes));
  if (!countElements(packedShape, kMaxConstantElements))
    return node.unsupported("strides of " + printShape(getPhases(*axes)) +
                            ", which need a filter of " + printShape(packedShape) + " elements");
  auto phases = computePhases(node, *axes, outputs, groups);
  auto result = failed(phases) ? phases : interleave(node, *phases, outputs, *axes);
  if (failed(result) || shape.size() > 3)
    return node.setResult(result);
  return node.setResult(node.reshape(*result, {shape[0], outputs, axes->back().out}));
}
