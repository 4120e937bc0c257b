//===- DeformConv.cpp - convolutions of samples ------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every tap of every window reads the input at a place of its own, between its elements. What the
// taps read are channels of one image, of which a convolution with a kernel of one element is
// taken.
//
//===----------------------------------------------------------------------===//

#include "Operators.h"
#include "Taps.h"
#include "Window.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {

class DeformableConvolution {
public:
  explicit DeformableConvolution(Node &node)
      : node(node), groups(node.getInt("group", 1)), parts(node.getInt("offset_group", 1)) {}
  LogicalResult run();

private:
  enum { kInput, kFilter, kOffset, kBias, kMask };

  LogicalResult readSizes();
  LogicalResult checkInputs();
  /// Where the taps are without offsets, in elements of `axis`: [taps * places].
  MaybeValue makePlaces(int64_t axis);
  /// Elements of the input next to each place, with their shares: [batch * parts, taps * places].
  FailureOr<Taps> makeTaps(Value offsets, int64_t axis);
  /// What the taps read: [batch * parts * taps * places, channels / parts].
  MaybeValue sample();
  /// Samples as channels of an image.
  MaybeValue arrange(Value samples);

  Node &node;
  int64_t groups, parts; ///< of the convolution; of channels that share offsets
  Window window;
  Shape input, size, out; ///< size, out: spatial
  int64_t taps = 0, places = 0;
};

} // namespace

LogicalResult DeformableConvolution::readSizes() {
  if (failed(checkFilter(node)))
    return failure();
  input = node.shape(kInput);
  size = Shape(ShapeRef(input).drop_front(2));
  auto read = readWindow(node, size, ShapeRef(node.constant(kFilter)->shape).drop_front(2));
  if (failed(read) || failed(checkFits(node, *read, size)))
    return failure();
  window = *read;
  for (unsigned i = 0, rank = size.size(); i < rank; ++i)
    out.push_back((size[i] + window.pads[i] + window.pads[rank + i] - window.extent(i)) /
                      window.strides[i] +
                  1);
  auto results = countElements(out, kMaxConstantElements);
  taps = *countElements(window.kernel), places = results.value_or(0);
  if (!results || !countElements({taps, places}, kMaxConstantElements))
    return node.unsupported("a kernel of shape " + printShape(window.kernel) +
                            " over a result of shape " + printShape(out));
  return success();
}

LogicalResult DeformableConvolution::checkInputs() {
  const HostTensor &filter = *node.constant(kFilter);
  int64_t channels = input[1], axes = size.size();
  if (groups < 1 || parts < 1 || channels % groups || channels % parts ||
      filter.shape[1] * groups != channels || filter.shape[0] % groups)
    return node.invalid("has " + Twine(channels) + " input channels in " + Twine(groups) +
                        " groups, " + Twine(parts) + " of offsets, and a filter of shape " +
                        printShape(filter.shape));
  Shape offset{input[0], parts * taps * axes}, mask{input[0], parts * taps};
  offset.append(out);
  mask.append(out);
  for (auto [i, shape] : {std::pair(kOffset, offset), std::pair(kMask, mask)})
    if (node.has(i) && node.shape(i) != shape)
      return node.invalid("has an input " + Twine(int(i)) + " of shape " +
                          printShape(node.shape(i)) + "; expected " + printShape(shape));
  if (node.has(kBias) && node.shape(kBias) != Shape{filter.shape[0]})
    return node.invalid("has a bias of shape " + printShape(node.shape(kBias)) + "; expected " +
                        Twine(filter.shape[0]) + " values");
  return success();
}

MaybeValue DeformableConvolution::makePlaces(int64_t axis) {
  int64_t rank = size.size();
  Shape all(window.kernel), steps(2 * rank, 0);
  all.append(out);
  steps[axis] = window.dilations[axis], steps[rank + axis] = window.strides[axis];
  std::vector<int64_t> whole = enumerateOffsets(all, steps, -window.pads[axis]);
  return node.materialize({node.nameConstant("places"),
                           {taps * places},
                           std::vector<float>(whole.begin(), whole.end())});
}

FailureOr<Taps> DeformableConvolution::makeTaps(Value offsets, int64_t axis) {
  Shape sizes(shapeOf(offsets)), starts{0, 0, axis, 0};
  sizes[2] = 1;
  auto along = node.create<nn::SliceOp>(offsets, starts, sizes, Shape(4, 1));
  if (failed(along))
    return failure();
  MaybeValue offset = node.reshape(*along, {input[0] * parts, taps * places});
  return interpolate(node, node.compute<nn::AddOp>(offset, makePlaces(axis)), size[axis],
                     getStrides(size)[axis]);
}

MaybeValue DeformableConvolution::sample() {
  int64_t images = input[0] * parts, axes = size.size();
  auto x = node.value(kInput), offset = node.value(kOffset);
  if (failed(x) || failed(offset))
    return failure();
  Shape split{images, input[1] / parts};
  split.append(size);
  auto rows = makeRows(node, node.reshape(*x, split));
  Value offsets = node.reshape(*offset, {images, taps, axes, places});
  SmallVector<Taps> all;
  for (int64_t axis = 0; axis < axes; ++axis) {
    auto along = makeTaps(offsets, axis);
    if (failed(along))
      return failure();
    all.push_back(std::move(*along));
  }
  auto base = integerConstant(node, "images", {images, 1},
                              enumerateOffsets({images}, {*countElements(size)}));
  if (failed(rows) || failed(base))
    return failure();
  auto samples = combineTaps(node, *rows, *base, all, Samples::sum);
  if (!node.has(kMask))
    return samples;
  auto mask = node.value(kMask);
  if (failed(mask))
    return failure();
  return node.compute<nn::MulOp>(samples,
                                 MaybeValue(node.reshape(*mask, {images * taps * places, 1})));
}

MaybeValue DeformableConvolution::arrange(Value samples) {
  auto moved = node.create<nn::TransposeOp>(
      node.reshape(samples, {input[0] * parts, taps * places, input[1] / parts}),
      ArrayRef<int64_t>{0, 2, 1});
  if (failed(moved))
    return failure();
  Shape image{input[0], input[1] * taps, places, 1};
  if (out.size() == 2)
    image[2] = out[0], image[3] = out[1];
  return node.reshape(*moved, image);
}

LogicalResult DeformableConvolution::run() {
  if (failed(readSizes()) || failed(checkInputs()))
    return failure();
  auto samples = sample();
  auto image = failed(samples) ? samples : arrange(*samples);
  const HostTensor &filter = *node.constant(kFilter);
  auto weights = node.materialize(reshape(filter, {filter.shape[0], filter.shape[1] * taps, 1, 1}));
  auto bias = node.has(kBias) ? node.value(kBias) : MaybeValue(Value());
  if (failed(image) || failed(weights) || failed(bias))
    return failure();
  Shape ones{1, 1}, none(4, 0), shape{input[0], filter.shape[0]};
  auto result = node.create<nn::ConvOp>(*image, *weights, *bias, ones, none, ones, groups);
  shape.append(out);
  return failed(result) ? failure() : node.setResult(node.reshape(*result, shape));
}

LogicalResult octet::onnx_import::importDeformConv(Node &node) {
  return DeformableConvolution(node).run();
}
