//===- Fourier.cpp - Fourier transforms, windows, mel scales ------------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A transform of a size that is known at import is a product with a constant matrix, computed in
// double.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "ElementTypes.h"
#include "Operators.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

static constexpr double kPi = 3.14159265358979323846;

//===----------------------------------------------------------------------===//
// DFT and STFT
//===----------------------------------------------------------------------===//

namespace {

/// A transform of `length` elements, `taken` of which may be others than zero.
struct Transform {
  int64_t length, taken;
  bool isInverse = false, isOneSided = false;
  bool isInputComplex = false;
  std::vector<float> window = {}; ///< factors of the elements; empty: all 1

  /// The inverse of a spectrum's first half is real.
  bool isResultReal() const { return isInverse && isOneSided; }
  int64_t outputs() const { return isOneSided && !isInverse ? length / 2 + 1 : length; }
  Shape shape() const {
    return {outputs() * (isResultReal() ? 1 : 2), taken * (isInputComplex ? 2 : 1)};
  }
};

} // namespace

/// How often element `i` of a spectrum is in it, of which only the first half is given.
static double countMirrored(const Transform &transform, int64_t i) {
  return transform.isResultReal() && i > 0 && 2 * i < transform.length ? 2 : 1;
}

/// Rows: real and imaginary parts of the results; columns: those of the input.
static std::vector<float> makeMatrix(const Transform &transform) {
  Shape shape = transform.shape();
  int64_t length = transform.length, parts = transform.isInputComplex ? 2 : 1;
  int64_t resultParts = transform.isResultReal() ? 1 : 2;
  std::vector<float> matrix;
  for (int64_t row = 0; row < shape[0]; ++row)
    for (int64_t column = 0; column < shape[1]; ++column) {
      int64_t i = column / parts, turns = row / resultParts * i % length;
      double angle = (transform.isInverse ? 2 : -2) * kPi * (double)turns / (double)length;
      double factor = countMirrored(transform, i) / (transform.isInverse ? (double)length : 1);
      if (!transform.window.empty())
        factor *= transform.window[i];
      // (re + j im) (cos + j sin)
      bool isImaginary = row % resultParts, ofImaginary = column % parts;
      double value = isImaginary == ofImaginary ? std::cos(angle) : std::sin(angle);
      matrix.push_back(float(!isImaginary && ofImaginary ? -value * factor : value * factor));
    }
  return matrix;
}

/// The transform of `rows` [..., taken, parts]: [..., outputs, parts of the result].
static MaybeValue apply(Node &node, MaybeValue rows, const Transform &transform) {
  if (failed(rows))
    return failure();
  Shape shape = transform.shape(), outer(shapeOf(*rows).drop_back(2)), flat(outer), result(outer);
  if (!countElements(shape, kMaxConstantElements))
    return node.unsupported("a transform of " + Twine(transform.length) + " elements");
  flat.push_back(shape[1]);
  result.append({transform.outputs(), transform.isResultReal() ? 1 : 2});
  auto matrix = node.materialize({node.nameConstant("transform"), shape, makeMatrix(transform)});
  if (failed(matrix))
    return failure();
  auto product = node.create<nn::LinearOp>(node.reshape(*rows, flat), *matrix, Value());
  return failed(product) ? product : node.reshape(*product, result);
}

/// `x` with dimension `axis` as the last but one.
static MaybeValue exchangeWithLast(Node &node, MaybeValue x, int64_t axis) {
  if (failed(x))
    return failure();
  Shape order = allAxes(shapeOf(*x).size());
  if (axis == (int64_t)order.size() - 2)
    return x;
  std::swap(order[axis], order[order.size() - 2]);
  return node.create<nn::TransposeOp>(*x, order);
}

/// The first `count` elements along `axis`.
static MaybeValue takeFirst(Node &node, Value x, int64_t axis, int64_t count) {
  Shape sizes(shapeOf(x)), starts(sizes.size(), 0), steps(sizes.size(), 1);
  if (sizes[axis] == count)
    return x;
  sizes[axis] = count;
  return node.create<nn::SliceOp>(x, starts, sizes, steps);
}

/// The axis of DFT: an attribute (1) up to opset 19, then an input (-2).
static FailureOr<int64_t> getAxis(Node &node) {
  int64_t axis = node.getInt("axis", node.opset() < 20 ? 1 : -2);
  if (node.has(2)) {
    auto given = node.integers(2, "an axis");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.invalid("has " + Twine(given->size()) + " axes; expected one");
    axis = given->front();
  }
  return node.normalizeAxis(axis, node.rank(0));
}

/// The only element of input `i`, which must be a positive constant; `otherwise` without one.
static FailureOr<int64_t> getCount(Node &node, unsigned i, StringRef role, int64_t otherwise) {
  if (!node.has(i))
    return otherwise;
  auto given = node.integers(i, role);
  if (failed(given))
    return failure();
  if (given->size() != 1 || given->front() < 1 || given->front() > kMaxElements)
    return node.invalid("has [" + printShape(*given) + "] as " + role +
                        "; expected a positive number");
  return given->front();
}

LogicalResult onnx_import::importDFT(Node &node) {
  Shape shape = node.shape(0);
  auto axis = getAxis(node);
  if (failed(axis))
    return failure();
  if (*axis == (int64_t)shape.size() - 1 || shape.back() > 2)
    return node.invalid("transforms dimension " + Twine(*axis) + " of an input of shape " +
                        printShape(shape) +
                        "; expected another one than the last, of 1 or 2 elements");
  Transform transform;
  transform.isInverse = node.getInt("inverse", 0);
  transform.isOneSided = node.getInt("onesided", 0);
  transform.isInputComplex = shape.back() == 2;
  int64_t size = shape[*axis];
  auto length = getCount(node, 1, "a dft_length", transform.isResultReal() ? 2 * size - 2 : size);
  auto input = succeeded(length) ? node.value(0) : MaybeValue();
  if (failed(length) || failed(input))
    return failure();
  if (*length < 1)
    return node.invalid("makes one element of a spectrum; give a dft_length");
  transform.length = *length;
  transform.taken = std::min(size, transform.isResultReal() ? *length / 2 + 1 : *length);
  auto rows = exchangeWithLast(node, takeFirst(node, *input, *axis, transform.taken), *axis);
  return node.setResult(exchangeWithLast(node, apply(node, rows, transform), *axis));
}

/// Frames [batch, frames, length, parts] of a signal of `shape` [batch, elements, parts].
static MaybeValue cutFrames(Node &node, ShapeRef shape, int64_t length, int64_t step) {
  int64_t frames = (shape[1] - length) / step + 1;
  if (!countElements({frames, length}, kMaxConstantElements))
    return node.unsupported(Twine(frames) + " frames of " + Twine(length) + " elements");
  auto indices = integerConstant(node, "frames", {frames, length},
                                 enumerateOffsets({frames, length}, {step, 1}));
  auto signal = node.value(0);
  if (failed(indices) || failed(signal))
    return failure();
  return node.create<nn::GatherOp>(node.reshape(*signal, shape), *indices, /*axis=*/1);
}

/// A signal of two dimensions is real, as onnxruntime takes it. A window that is a constant is part
/// of the matrix.
LogicalResult onnx_import::importSTFT(Node &node) {
  constexpr unsigned kStep = 1, kWindow = 2, kLength = 3;
  Shape shape = node.shape(0);
  if (shape.size() == 2)
    shape.push_back(1);
  int64_t otherwise = node.has(kWindow) ? *countElements(node.shape(kWindow)) : shape[1];
  auto step = getCount(node, kStep, "a frame_step", 0);
  auto length = getCount(node, kLength, "a frame_length", otherwise);
  if (failed(step) || failed(length))
    return failure();
  if (shape.size() != 3 || shape[2] > 2 || *length > shape[1] || *step < 1 ||
      (node.has(kWindow) && node.shape(kWindow) != Shape{*length}))
    return node.invalid("has frames of " + Twine(*length) + " elements of a signal of shape " +
                        printShape(node.shape(0)));
  Transform transform{*length, *length};
  transform.isOneSided = node.getInt("onesided", 1);
  transform.isInputComplex = shape[2] == 2;
  auto frames = cutFrames(node, shape, *length, *step);
  if (node.constant(kWindow)) {
    auto window = node.floats(kWindow, "a window");
    if (failed(window))
      return failure();
    transform.window = std::move(*window);
  } else if (node.has(kWindow)) {
    auto window = node.value(kWindow);
    auto factors = failed(window) ? window : MaybeValue(node.reshape(*window, {*length, 1}));
    frames = node.compute<nn::MulOp>(frames, factors);
  }
  return node.setResult(apply(node, frames, transform));
}

//===----------------------------------------------------------------------===//
// Windows and mel scales
//===----------------------------------------------------------------------===//

/// Sets a computed constant of the type that the attribute output_datatype names.
static LogicalResult setNumbers(Node &node, ShapeRef shape, ArrayRef<double> numbers) {
  int32_t type = node.getInt("output_datatype", onnx::TensorProto::FLOAT);
  HostTensor result{"", Shape(shape), {}, type};
  Type element = getProgramType(node.builder().getContext(), type);
  if (!element)
    return node.unsupported("an output_datatype of " + Twine(type));
  if (type == onnx::TensorProto::DOUBLE)
    result.data = std::vector<double>(numbers.begin(), numbers.end());
  else if (isa<FloatType>(element))
    result.data = std::vector<float>(numbers.begin(), numbers.end());
  else
    result.data = std::vector<int64_t>(numbers.begin(), numbers.end());
  return node.setResult(std::move(result));
}

/// first - second cos(2 pi i / n) + third cos(4 pi i / n), where n is the size, or, of windows that
/// are not periodic, one less.
static LogicalResult importWindow(Node &node, double first, double second, double third) {
  auto size = getCount(node, 0, "a size", 0);
  if (failed(size))
    return failure();
  if (*size > kMaxConstantElements)
    return node.unsupported("a window of " + Twine(*size) + " elements");
  std::vector<double> values;
  double period = node.getInt("periodic", 1) ? *size : *size - 1;
  for (int64_t i = 0; i < *size; ++i) {
    double angle = period ? 2 * kPi * (double)i / period : kPi;
    values.push_back(first - second * std::cos(angle) + third * std::cos(2 * angle));
  }
  return setNumbers(node, {*size}, values);
}

LogicalResult onnx_import::importHannWindow(Node &node) { return importWindow(node, 0.5, 0.5, 0); }

LogicalResult onnx_import::importHammingWindow(Node &node) {
  return importWindow(node, 25.0 / 46, 21.0 / 46, 0);
}

LogicalResult onnx_import::importBlackmanWindow(Node &node) {
  return importWindow(node, 0.42, 0.5, 0.08);
}

/// Bins [i, i + 2] of a spectrum are the ends of the triangle i.
static void addTriangle(std::vector<double> &matrix, ArrayRef<int64_t> bins, int64_t i,
                        int64_t count) {
  int64_t low = bins[i], center = bins[i + 1], high = bins[i + 2];
  if (low == center)
    matrix[center * count + i] = 1;
  for (int64_t bin = low; low < center && bin <= center; ++bin)
    matrix[bin * count + i] = double(bin - low) / double(center - low);
  for (int64_t bin = center; bin < high; ++bin)
    matrix[bin * count + i] = double(high - bin) / double(high - center);
}

LogicalResult onnx_import::importMelWeightMatrix(Node &node) {
  auto count = getCount(node, 0, "num_mel_bins", 0), length = getCount(node, 1, "a dft_length", 0),
       rate = getCount(node, 2, "a sample_rate", 0);
  auto low = node.scalar(3, "lower_edge_hertz"), high = node.scalar(4, "upper_edge_hertz");
  if (failed(count) || failed(length) || failed(rate) || failed(low) || failed(high))
    return failure();
  int64_t rows = *length / 2 + 1;
  if (!countElements({rows, *count}, kMaxConstantElements))
    return node.unsupported("a matrix of shape " + printShape({rows, *count}));
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double first = toMel(*low), step = (toMel(*high) - first) / double(*count + 2);
  Shape bins;
  for (int64_t i = 0; i < *count + 2; ++i) {
    double hertz = 700 * (std::pow(10, (first + double(i) * step) / 2595) - 1);
    double bin = std::floor(double(*length + 1) * hertz / double(*rate));
    if (!(bin >= 0 && bin < double(rows)) || (i && bin < bins.back()))
      return node.invalid("has mel bins from " + Twine(std::to_string(*low)) + " to " +
                          Twine(std::to_string(*high)) + " Hz at a rate of " + Twine(*rate));
    bins.push_back((int64_t)bin);
  }
  std::vector<double> matrix(rows * *count);
  for (int64_t i = 0; i < *count; ++i)
    addTriangle(matrix, bins, i, *count);
  return setNumbers(node, {rows, *count}, matrix);
}
