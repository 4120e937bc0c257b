//===- ComputedFilter.cpp - convolutions with filters that are computed ------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hypernetworks, modulated convolutions and correlations compute their filters: each group is a
// product of these and the elements that each result sees.
//
//===----------------------------------------------------------------------===//

#include "Window.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {
/// A convolution of [N, C, H, W] by a filter [O, C / groups, KH, KW].
struct Convolution {
  Node &node;
  Shape input, filter;
  Window window;
  int64_t groups;

  int64_t taps() const { return filter[2] * filter[3]; }
  /// The results along dimension `i` of the window.
  int64_t outputs(unsigned i) const {
    int64_t padded = input[2 + i] + window.pads[i] + window.pads[2 + i];
    return (padded - window.extent(i)) / window.strides[i] + 1;
  }
  LogicalResult check() const;
  /// [N, groups, C / groups * taps, results]: what each result sees, tap by tap of each channel.
  MaybeValue gatherTaps(Value image) const;
};
} // namespace

LogicalResult Convolution::check() const {
  constexpr int64_t kMostTaps = 1024;
  if (groups < 1 || input[1] != filter[1] * groups || filter[0] % groups != 0)
    return node.invalid("has " + Twine(input[1]) + " input channels in " + Twine(groups) +
                        " groups and a filter of shape " + printShape(filter));
  if (taps() > kMostTaps)
    return node.unsupported("a filter of more than " + Twine(kMostTaps) +
                            " taps that is no constant");
  return success();
}

MaybeValue Convolution::gatherTaps(Value image) const {
  ShapeRef pads = window.pads, strides = window.strides;
  Shape low{0, 0, pads[0], pads[1]}, high{0, 0, pads[2], pads[3]};
  auto padded = node.create<nn::PadOp>(image, low, high, llvm::APFloat(0.0f));
  if (failed(padded))
    return failure();
  SmallVector<Value> parts;
  for (int64_t tap = 0; tap < taps(); ++tap) {
    int64_t row = tap / filter[3], column = tap % filter[3];
    auto part = node.create<nn::SliceOp>(
        *padded, Shape{0, 0, row * window.dilations[0], column * window.dilations[1]},
        Shape{input[0], input[1], outputs(0), outputs(1)}, Shape{1, 1, strides[0], strides[1]});
    if (failed(part))
      return failure();
    parts.push_back(node.reshape(*part, {input[0], input[1], 1, outputs(0) * outputs(1)}));
  }
  auto whole = node.create<nn::ConcatOp>(ValueRange(parts), /*axis=*/2);
  return failed(whole) ? whole
                       : node.reshape(*whole, {input[0], groups, filter[1] * taps(),
                                               outputs(0) * outputs(1)});
}

MaybeValue octet::onnx_import::convolveByComputed(Node &node, const Window &window) {
  Convolution convolution{node, toTwoDimensional(node.shape(0)), toTwoDimensional(node.shape(1)),
                          toTwoDimensional(window), node.getInt("group", 1)};
  auto input = node.value(0), filter = node.value(1);
  if (failed(input) || failed(filter) || failed(convolution.check()))
    return failure();
  const Shape &shape = convolution.input, &ofFilter = convolution.filter;
  int64_t groups = convolution.groups, channels = ofFilter[0];
  auto taps = convolution.gatherTaps(node.reshape(*input, shape));
  Value rows = node.reshape(*filter, {groups, channels / groups, ofFilter[1] * convolution.taps()});
  auto result = failed(taps) ? taps : node.create<nn::MatmulOp>(rows, *taps);
  return failed(result) ? result
                        : node.reshape(*result, {shape[0], channels, convolution.outputs(0),
                                                 convolution.outputs(1)});
}
