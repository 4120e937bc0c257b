//===- ComputedPlaces.cpp - samples at places computed in the run --------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tf_crop_and_resize of boxes that a network finds: the weights of linear interpolation are those
// of a hat at each place, and the sum of them times the elements is a product of matrices.
//
//===----------------------------------------------------------------------===//

#include "Resample.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// 0, 1, ..., count - 1 as real numbers.
static MaybeValue enumerate(Node &node, StringRef role, int64_t count) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back((float)i);
  return node.materialize({node.nameConstant(role), {count}, std::move(numbers)});
}

/// The last element's place.
static MaybeValue getLast(Node &node, const ResampledAxis &along) {
  return node.number("last", (float)(along.in - 1));
}

/// Where the results are in the input, rounded as onnxruntime does.
static MaybeValue locate(Node &node, const ResampledAxis &along) {
  MaybeValue from = along.from, to = along.to, last = getLast(node, along);
  if (along.out == 1)
    return node.compute<nn::MulOp>(
        node.compute<nn::MulOp>(node.number("half", 0.5f), node.compute<nn::AddOp>(from, to)),
        last);
  auto steps = node.compute<nn::MulOp>(enumerate(node, "places", along.out),
                                       node.compute<nn::SubOp>(to, from));
  auto behind = node.compute<nn::DivOp>(node.compute<nn::MulOp>(steps, last),
                                        node.number("steps", (float)(along.out - 1)));
  return node.compute<nn::AddOp>(node.compute<nn::MulOp>(from, last), behind);
}

MaybeValue onnx_import::resampleComputed(Node &node, MaybeValue x, const ResampledAxis &along) {
  if (!countElements({along.out, along.in}, kMaxConstantElements))
    return node.unsupported("an axis of " + Twine(along.in) + " elements that becomes one of " +
                            Twine(along.out));
  auto place = node.compute<nn::MaxOp>(locate(node, along), node.number("first", 0));
  place = node.compute<nn::MinOp>(place, getLast(node, along));
  if (failed(place))
    return failure();
  auto distance = node.compute<nn::AbsOp>(node.compute<nn::SubOp>(
      MaybeValue(node.reshape(*place, {along.out, 1})), enumerate(node, "elements", along.in)));
  auto weights = node.compute<nn::ReluOp>(node.compute<nn::SubOp>(node.number("one", 1), distance));
  return multiplyAlong(node, x, along.axis, weights);
}

MaybeValue onnx_import::findComputedOutside(Node &node, const ResampledAxis &along) {
  auto place = locate(node, along);
  return node.compute<nn::OrOp>(compare(node, nn::Predicate::less, place, node.number("first", 0)),
                                compare(node, nn::Predicate::less, getLast(node, along), place));
}
