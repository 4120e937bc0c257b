//===- Resample.cpp - samples between samples --------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Resample.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Where result `o` is in the input. Nearest elements are found in f32, as [N.resize] has it.
template <typename Real>
static Real locate(const Resampling &how, const ResampledAxis &along, int64_t o) {
  Real place = o, scale = along.scale, last = along.in - 1, half = 0.5;
  StringRef mode = how.coordinates;
  if (mode == "asymmetric")
    return place / scale;
  if (mode == "align_corners")
    return along.out == 1 ? 0 : place * last / Real(along.out - 1);
  if (mode == "tf_crop_and_resize") {
    Real start = along.start, end = along.end;
    return along.out == 1 ? half * (start + end) * last
                          : start * last + place * (end - start) * last / Real(along.out - 1);
  }
  if (mode == "tf_half_pixel_for_nn")
    return (place + half) / scale;
  if (mode == "pytorch_half_pixel" && along.out == 1)
    return 0;
  Real coordinate = (place + half) / scale - half;
  if (mode != "half_pixel_symmetric")
    return coordinate;
  // The centers of input and result are the same, even if the size of the result was rounded.
  Real center = Real(along.in) * half;
  return center * (1 - Real(along.out) / (scale * Real(along.in))) + coordinate;
}

/// Keys' cubic convolution with the coefficient `a`, or the hat of linear interpolation.
static double getWeight(const Resampling &how, double distance) {
  double x = std::fabs(distance), a = how.cubic;
  if (how.mode == "linear")
    return std::max(0.0, 1 - x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Row `o` of the matrix. An antialiasing filter is as much wider as the result is smaller.
/// Elements beyond the first and the last are these, or nothing.
static void addRow(const Resampling &how, const ResampledAxis &along, int64_t o, float *row) {
  double coordinate = locate<double>(how, along, o), sum = 0;
  double base = std::ceil(coordinate) - 1;
  double narrowing = how.antialias ? std::min(along.scale, 1.0) : 1;
  int64_t radius = how.mode == "linear" ? 1 : 2;
  int64_t first = (int64_t)std::floor(-radius / narrowing) + 1;
  std::vector<double> weights(along.in);
  for (int64_t i = first; i < 2 - first; ++i) {
    double weight = getWeight(how, narrowing * (base + i - coordinate));
    double position = std::clamp(base + i, 0.0, along.in - 1.0);
    if (position != base + i && how.excludesOutside)
      continue;
    weights[(int64_t)position] += weight;
    sum += weight;
  }
  bool isNormal = !how.antialias && !how.excludesOutside;
  for (int64_t i = 0; i < along.in; ++i)
    row[i] = isNormal || sum == 0 ? weights[i] : weights[i] / sum;
}

static HostTensor makeMatrix(Node &node, const Resampling &how, const ResampledAxis &along) {
  std::vector<float> matrix(along.out * along.in);
  std::vector<int64_t> outside = findOutside(how, along);
  for (int64_t o = 0; o < along.out; ++o)
    if (outside.empty() || !outside[o])
      addRow(how, along, o, matrix.data() + o * along.in);
  return {
      node.nameConstant("resample" + Twine(along.axis)), {along.out, along.in}, std::move(matrix)};
}

static MaybeValue takeNearest(Node &node, MaybeValue x, const Resampling &how,
                              const ResampledAxis &along) {
  std::vector<int64_t> indices;
  for (int64_t o = 0; o < along.out; ++o) {
    float u = locate<float>(how, along, o);
    float rounded = how.nearest == nn::NearestMode::floor               ? std::floor(u)
                    : how.nearest == nn::NearestMode::ceil              ? std::ceil(u)
                    : how.nearest == nn::NearestMode::round_prefer_ceil ? std::floor(u + 0.5f)
                                                                        : std::ceil(u - 0.5f);
    indices.push_back((int64_t)std::clamp(rounded, 0.0f, float(along.in - 1)));
  }
  auto constant =
      integerConstant(node, ("nearest" + Twine(along.axis)).str(), {along.out}, std::move(indices));
  if (failed(x) || failed(constant))
    return failure();
  return node.create<nn::GatherOp>(*x, *constant, along.axis);
}

std::vector<int64_t> onnx_import::findOutside(const Resampling &how, const ResampledAxis &along) {
  std::vector<int64_t> flags;
  if (how.coordinates != "tf_crop_and_resize")
    return flags;
  for (int64_t o = 0; o < along.out; ++o) {
    double coordinate = locate<double>(how, along, o);
    flags.push_back(coordinate < 0 || coordinate > along.in - 1);
  }
  return flags;
}

MaybeValue onnx_import::multiplyAlong(Node &node, MaybeValue x, int64_t axis, HostTensor matrix) {
  if (failed(x))
    return failure();
  Shape shape(shapeOf(*x)), result = shape;
  result[axis] = matrix.shape[0];
  int64_t outer = *countElements(ShapeRef(shape).take_front(axis)),
          inner = *countElements(ShapeRef(shape).drop_front(axis + 1));
  auto factor = node.materialize(std::move(matrix));
  if (failed(factor))
    return failure();
  auto product =
      inner == 1
          ? node.create<nn::LinearOp>(node.reshape(*x, {outer, shape[axis]}), *factor, Value())
          : node.create<nn::MatmulOp>(*factor, node.reshape(*x, {outer, shape[axis], inner}));
  return failed(product) ? product : node.reshape(*product, result);
}

MaybeValue onnx_import::resample(Node &node, MaybeValue x, const Resampling &how,
                                 const ResampledAxis &along) {
  if (how.mode == "nearest")
    return takeNearest(node, x, how, along);
  if (!countElements({along.out, along.in}, kMaxConstantElements))
    return node.unsupported("an axis of " + Twine(along.in) + " elements that becomes one of " +
                            Twine(along.out));
  return multiplyAlong(node, x, along.axis, makeMatrix(node, how, along));
}
