//===- Taps.cpp - elements next to places that are computed ------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Taps.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

MaybeValue onnx_import::makeRows(Node &node, MaybeValue image) {
  if (failed(image))
    return failure();
  Shape shape(shapeOf(*image)), order{0};
  for (int64_t axis = 2, rank = shape.size(); axis < rank; ++axis)
    order.push_back(axis);
  order.push_back(1);
  auto behind = node.create<nn::TransposeOp>(*image, order);
  if (failed(behind))
    return failure();
  return node.reshape(*behind, {*countElements(shape) / shape[1], shape[1]});
}

/// All combinations of one tap of each axis; positions and weights are small beside the rows.
static LogicalResult addCombinations(Node &node, Tap tap, ArrayRef<Taps> axes, Taps &result) {
  if (axes.empty()) {
    result.push_back(tap);
    return success();
  }
  for (const Tap &next : axes.front()) {
    auto position = node.create<nn::AddOp>(tap.position, next.position);
    MaybeValue weight = tap.weight ? tap.weight : next.weight;
    if (tap.weight && next.weight)
      weight = node.create<nn::MulOp>(tap.weight, next.weight);
    if (failed(position) || failed(weight) ||
        failed(addCombinations(node, {*position, *weight}, axes.drop_front(), result)))
      return failure();
  }
  return success();
}

MaybeValue onnx_import::combineTaps(Node &node, Value rows, Value base, ArrayRef<Taps> axes,
                                    Samples samples) {
  Taps taps;
  if (failed(addCombinations(node, {base, Value()}, axes, taps)))
    return failure();
  int64_t count = *countElements(shapeOf(taps.front().position));
  MaybeValue result = failure();
  for (const Tap &tap : taps) {
    auto part = node.create<nn::GatherOp>(rows, node.reshape(tap.position, {count}), /*axis=*/0);
    if (tap.weight)
      part = node.compute<nn::MulOp>(part, MaybeValue(node.reshape(tap.weight, {count, 1})));
    if (&tap == &taps.front())
      result = part;
    else
      result = samples == Samples::sum ? node.compute<nn::AddOp>(result, part)
                                       : node.compute<nn::MaxOp>(result, part);
  }
  return result;
}

MaybeValue onnx_import::toPosition(Node &node, MaybeValue place, int64_t size, int64_t stride) {
  if (failed(place))
    return failure();
  auto inside =
      node.create<nn::ClipOp>(*place, llvm::APFloat(0.0f), llvm::APFloat(float(size - 1)));
  auto index = node.cast(inside, node.builder().getI64Type());
  return stride == 1
             ? index
             : node.compute<nn::MulOp>(index, integerConstant(node, "stride", {}, {stride}));
}

/// The share `weight` of the element at `place`, nothing if it is outside.
static FailureOr<Tap> makeTap(Node &node, MaybeValue place, MaybeValue weight, int64_t size,
                              int64_t stride) {
  auto margin = node.compute<nn::MinOp>(node.compute<nn::AddOp>(place, node.number("one", 1)),
                                        node.compute<nn::SubOp>(node.number("size", size), place));
  if (failed(margin))
    return failure();
  auto isInside = node.create<nn::ClipOp>(*margin, llvm::APFloat(0.0f), llvm::APFloat(1.0f));
  auto share = node.compute<nn::MulOp>(weight, isInside);
  auto position = toPosition(node, place, size, stride);
  return failed(share) || failed(position) ? FailureOr<Tap>() : Tap{*position, *share};
}

/// So far outside that both elements are, every place is the same; infinity is one of them.
FailureOr<Taps> onnx_import::interpolate(Node &node, MaybeValue place, int64_t size,
                                         int64_t stride) {
  constexpr int64_t kFar = 2;
  if (failed(place))
    return failure();
  auto near = node.create<nn::ClipOp>(*place, llvm::APFloat(float(-kFar)),
                                      llvm::APFloat(float(size - 1 + kFar)));
  auto before = node.compute<nn::FloorOp>(near);
  auto fraction = node.compute<nn::SubOp>(near, before);
  auto one = node.number("one", 1);
  auto first = makeTap(node, before, node.compute<nn::SubOp>(one, fraction), size, stride);
  auto second = makeTap(node, node.compute<nn::AddOp>(before, one), fraction, size, stride);
  if (failed(first) || failed(second))
    return failure();
  return Taps{*first, *second};
}
