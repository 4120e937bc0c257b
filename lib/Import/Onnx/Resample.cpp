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

namespace {
/// The weights of neighbouring elements, from `first` on.
struct Row {
  int64_t first;
  std::vector<double> weights;
  int64_t end() const { return first + (int64_t)weights.size(); }
};
} // namespace

/// What result `o` is made of. An antialiasing filter is as much wider as the result is smaller.
/// Elements beyond the first and the last are these, or nothing.
static Row makeRow(const Resampling &how, const ResampledAxis &along, int64_t o) {
  double coordinate = locate<double>(how, along, o), sum = 0;
  double base = std::ceil(coordinate) - 1;
  double narrowing = how.antialias ? std::min(along.scale, 1.0) : 1;
  int64_t radius = how.mode == "linear" ? 1 : 2;
  int64_t first = (int64_t)std::floor(-radius / narrowing) + 1;
  auto clamp = [&](int64_t i) {
    return (int64_t)std::clamp(base + double(i), 0.0, double(along.in - 1));
  };
  Row row{clamp(first), std::vector<double>(clamp(1 - first) - clamp(first) + 1)};
  for (int64_t i = first; i < 2 - first; ++i) {
    double weight = getWeight(how, narrowing * (base + double(i) - coordinate));
    if (how.excludesOutside && double(clamp(i)) != base + double(i))
      continue;
    row.weights[clamp(i) - row.first] += weight;
    sum += weight;
  }
  if ((how.antialias || how.excludesOutside) && sum != 0)
    for (double &weight : row.weights)
      weight /= sum;
  return row;
}

/// Results [begin, end), which are made of elements [first, last) only.
static MaybeValue resamplePart(Node &node, Value x, const ResampledAxis &along, ArrayRef<Row> rows,
                               int64_t first, int64_t last) {
  Shape starts(shapeOf(x).size(), 0), sizes(shapeOf(x)), steps(sizes.size(), 1);
  starts[along.axis] = first, sizes[along.axis] = last - first;
  MaybeValue part =
      last - first == along.in ? MaybeValue(x) : node.create<nn::SliceOp>(x, starts, sizes, steps);
  std::vector<float> matrix(rows.size() * (last - first));
  for (auto [i, row] : llvm::enumerate(rows))
    for (auto [k, weight] : llvm::enumerate(row.weights))
      matrix[i * (last - first) + row.first - first + k] = (float)weight;
  return multiplyAlong(node, part, along.axis,
                       {node.nameConstant("resample" + Twine(along.axis)),
                        {(int64_t)rows.size(), last - first},
                        std::move(matrix)});
}

/// Few elements matter for a result: products of parts, so that their cost does not grow with the
/// square of the size.
static MaybeValue interpolate(Node &node, Value x, const Resampling &how,
                              const ResampledAxis &along) {
  constexpr int64_t kPart = 128, kMostParts = 256;
  int64_t most = std::max(kPart, along.in / kMostParts);
  if (!countElements({along.out, std::min(most, along.in)}, kMaxConstantElements))
    return node.unsupported("an axis of " + Twine(along.in) + " elements that becomes one of " +
                            Twine(along.out));
  std::vector<int64_t> outside = findOutside(how, along);
  SmallVector<Value> parts;
  std::vector<Row> rows;
  int64_t first = 0, last = 0;
  auto finish = [&] {
    auto part = resamplePart(node, x, along, rows, first, last);
    if (succeeded(part))
      parts.push_back(*part);
    rows.clear();
    return success(succeeded(part));
  };
  for (int64_t o = 0; o < along.out; ++o) {
    Row row = !outside.empty() && outside[o] ? Row{first, {0}} : makeRow(how, along, o);
    int64_t begin = std::min(first, row.first), end = std::max(last, row.end());
    if (!rows.empty() && end - begin > most && along.in > 2 * most && failed(finish()))
      return failure();
    first = rows.empty() ? row.first : begin;
    last = rows.empty() ? row.end() : end;
    rows.push_back(std::move(row));
  }
  if (failed(finish()))
    return failure();
  return parts.size() == 1 ? MaybeValue(parts.front())
                           : node.create<nn::ConcatOp>(parts, along.axis);
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

/// `shape` as the dimensions before an axis, its own, and those behind.
static Shape joinAround(ShapeRef shape, int64_t axis) {
  return {*countElements(shape.take_front(axis)), shape[axis],
          *countElements(shape.drop_front(axis + 1))};
}

MaybeValue onnx_import::multiplyAlong(Node &node, MaybeValue x, int64_t axis, MaybeValue matrix) {
  if (failed(x) || failed(matrix))
    return failure();
  Shape result(shapeOf(*x));
  auto product =
      node.create<nn::MatmulOp>(*matrix, node.reshape(*x, joinAround(shapeOf(*x), axis)));
  result[axis] = shapeOf(*matrix)[0];
  return failed(product) ? product : node.reshape(*product, result);
}

MaybeValue onnx_import::multiplyAlong(Node &node, MaybeValue x, int64_t axis, HostTensor matrix) {
  auto factor = node.materialize(std::move(matrix));
  if (failed(x) || failed(factor))
    return failure();
  Shape result(shapeOf(*x)), joined = joinAround(result, axis);
  if (joined[2] != 1)
    return multiplyAlong(node, x, axis, factor);
  result[axis] = shapeOf(*factor)[0];
  auto product =
      node.create<nn::LinearOp>(node.reshape(*x, {joined[0], joined[1]}), *factor, Value());
  return failed(product) ? product : node.reshape(*product, result);
}

MaybeValue onnx_import::resample(Node &node, MaybeValue x, const Resampling &how,
                                 const ResampledAxis &along) {
  if (how.mode == "nearest")
    return takeNearest(node, x, how, along);
  return failed(x) ? x : interpolate(node, *x, how, along);
}
