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
