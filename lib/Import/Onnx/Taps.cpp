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

MaybeValue onnx_import::combineTaps(Node &node, Value rows, Value base, ArrayRef<Taps> axes,
                                    Samples samples) {
  if (axes.empty())
    return node.create<nn::GatherOp>(rows, base, /*axis=*/0);
  MaybeValue result = failure();
  for (const Tap &tap : axes.front()) {
    auto position = base ? node.create<nn::AddOp>(base, tap.position) : MaybeValue(tap.position);
    if (failed(position))
      return failure();
    auto part = combineTaps(node, rows, *position, axes.drop_front(), samples);
    if (tap.weight)
      part = node.compute<nn::MulOp>(part, MaybeValue(tap.weight));
    if (&tap == &axes.front().front())
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
