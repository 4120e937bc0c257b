//===- FusedAttention.cpp - onnxruntime's attention operators ----------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention and QAttention, with their projections inside, and MultiHeadAttention of the domain
// com.microsoft.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {

class FusedAttention {
public:
  explicit FusedAttention(Node &node) : node(node), heads(node.getInt("num_heads", 0)) {}
  LogicalResult runProjected();
  LogicalResult runQuantized();
  LogicalResult runMultiHead();

private:
  /// Which inputs hold the mask, the past and what is added to scores; kNone: no input does.
  struct Inputs {
    unsigned mask, past, addend;
  };
  static constexpr unsigned kNone = 100;

  LogicalResult refuseShapes(const Twine &reason = "");
  /// `count` elements of the last dimension of an input of one or two dimensions.
  FailureOr<Entry> takeColumns(unsigned input, int64_t start, int64_t count);
  /// Input 0 times some columns of the weights.
  MaybeValue project(int64_t start, int64_t count);
  /// Input `i` of [batch, length, heads * size], plus `count` elements of the bias.
  MaybeValue addBias(unsigned i, int64_t start, int64_t count);
  MaybeValue split(MaybeValue rows) { return splitHeads(node, rows, heads); }
  /// One of two parts of the past.
  MaybeValue takePast(int64_t part);
  /// Keys and values behind each other as result 1.
  LogicalResult setPresent(Value key, Value value);
  MaybeValue append(MaybeValue before, MaybeValue now);

  /// An integer input or a list of numbers as a tensor of i64 of this shape.
  MaybeValue view(unsigned i, int64_t start, ShapeRef shape);
  MaybeValue findVisible();
  /// What masks add to scores; null if that is nothing.
  MaybeValue makeMask();
  MaybeValue makeCausal();
  /// From queries, keys and values, [batch, length, size of all heads].
  LogicalResult attend(MaybeValue query, MaybeValue key, MaybeValue value);
  LogicalResult finish(MaybeValue query, MaybeValue key, MaybeValue value);

  Node &node;
  Inputs inputs{};
  int64_t heads, batch = 0, queries = 0, keys = 0, past = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

LogicalResult FusedAttention::refuseShapes(const Twine &reason) {
  return node.invalid("has inputs of shape " + node.printInputShapes() + " for " + Twine(heads) +
                      " heads" + reason);
}

FailureOr<Entry> FusedAttention::takeColumns(unsigned input, int64_t start, int64_t count) {
  Shape shape = node.shape(input), starts(shape.size(), 0), steps(shape.size(), 1);
  if (const HostTensor *tensor = node.constant(input)) {
    Shape part(shape);
    part.back() = count;
    HostTensor taken = takeStrided(*tensor, part, getStrides(shape), start);
    taken.name = node.nameConstant("columns_" + Twine(input) + "_" + Twine(start));
    return Entry{std::make_shared<HostTensor>(std::move(taken)), {}};
  }
  auto value = node.value(input);
  starts.back() = start, shape.back() = count;
  auto slice = failed(value) ? value : node.create<nn::SliceOp>(*value, starts, shape, steps);
  return failed(slice) ? FailureOr<Entry>() : Entry{nullptr, *slice};
}

MaybeValue FusedAttention::project(int64_t start, int64_t count) {
  auto weights = takeColumns(1, start, count);
  auto product = failed(weights) ? weights : node.compose(importMatMul, {node.entry(0), *weights});
  if (failed(product) || !node.has(2))
    return failed(product) ? MaybeValue() : MaybeValue(product->value);
  auto bias = takeColumns(2, start, count);
  return failed(bias) ? MaybeValue()
                      : node.compute<nn::AddOp>(MaybeValue(product->value), node.toValue(*bias));
}

MaybeValue FusedAttention::addBias(unsigned i, int64_t start, int64_t count) {
  constexpr unsigned kBias = 3;
  if (!node.has(kBias))
    return node.value(i);
  auto bias = takeColumns(kBias, start, count);
  return failed(bias) ? MaybeValue() : node.compute<nn::AddOp>(node.value(i), node.toValue(*bias));
}

MaybeValue FusedAttention::takePast(int64_t part) {
  auto value = node.value(inputs.past);
  if (failed(value))
    return value;
  Shape sizes = node.shape(inputs.past);
  sizes[0] = 1;
  auto slice = node.create<nn::SliceOp>(*value, Shape{part, 0, 0, 0, 0}, sizes, Shape(5, 1));
  return failed(slice) ? slice : node.reshape(*slice, ShapeRef(sizes).drop_front());
}

MaybeValue FusedAttention::append(MaybeValue before, MaybeValue now) {
  if (failed(before) || failed(now))
    return failure();
  return node.create<nn::ConcatOp>(ValueRange{*before, *now}, /*axis=*/2);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

MaybeValue FusedAttention::view(unsigned i, int64_t start, ShapeRef shape) {
  if (const HostTensor *tensor = node.constant(i)) {
    HostTensor part = takeStrided(*tensor, shape, getStrides(shape), start);
    part.name = node.nameConstant("mask_from_" + Twine(start));
    return toIndices(node, node.materialize(std::move(part)));
  }
  auto value = toIndices(node, node.any(i));
  if (succeeded(value) && node.rank(i) == 1)
    value = node.create<nn::SliceOp>(*value, Shape{start}, Shape{batch}, Shape{1});
  return failed(value) ? value : node.reshape(*value, shape);
}

/// Numbers that are not 0, or the end of the visible keys of each batch and perhaps their start.
MaybeValue FusedAttention::findVisible() {
  unsigned mask = inputs.mask;
  Shape given = node.shape(mask);
  Shape perBatch{batch, 1, 1, 1};
  if (given == Shape{batch, keys} || given == Shape{batch, queries, keys}) {
    Shape shape{batch, 1, given.size() == 2 ? 1 : queries, keys};
    return compare(node, nn::Predicate::less, integerConstant(node, "masked", {}, {0}),
                   view(mask, 0, shape));
  }
  if (given != Shape{batch} && given != Shape{2 * batch})
    return node.unsupported("a mask of shape " + printShape(given) + " for scores of shape " +
                            printShape({batch, heads, queries, keys}));
  Shape places = allAxes(keys);
  auto positions = integerConstant(node, "positions", {keys}, {places.begin(), places.end()});
  auto isBefore = compare(node, nn::Predicate::less, positions, view(mask, 0, perBatch));
  if (given.size() == 1 && given[0] == batch)
    return isBefore;
  auto isBehind = compare(node, nn::Predicate::less, positions, view(mask, batch, perBatch));
  return node.compute<nn::AndOp>(isBefore, node.compute<nn::NotOp>(isBehind));
}

/// Queries see keys up to their own.
MaybeValue FusedAttention::makeCausal() {
  if (!countElements({queries, keys}, kMaxConstantElements))
    return node.unsupported("a mask of shape " + printShape({queries, keys}));
  std::vector<float> values;
  for (int64_t query = 0; query < queries; ++query)
    for (int64_t key = 0; key < keys; ++key)
      values.push_back(key > past + query ? std::numeric_limits<float>::lowest() : 0);
  return node.materialize({node.nameConstant("causal"), {queries, keys}, std::move(values)});
}

MaybeValue FusedAttention::makeMask() {
  bool isCausal = node.getInt("unidirectional", 0);
  if (!node.has(inputs.mask))
    return isCausal ? makeCausal() : MaybeValue(Value());
  auto visible = findVisible();
  auto nothing = node.number("visible", 0),
       filter = node.number("hidden", node.getFloat("mask_filter_value", -10000));
  if (failed(visible) || failed(nothing) || failed(filter))
    return failure();
  auto added = node.createAs<nn::SelectOp>(node.f32(), *visible, *nothing, *filter);
  if (isCausal)
    added = node.compute<nn::MinOp>(added, makeCausal());
  if (failed(added) || !node.constant(inputs.mask) ||
      !countElements(shapeOf(*added), kMaxConstantElements))
    return added;
  HostTensor constant = node.evaluate(*added);
  if (llvm::all_of(*constant.floats(), [](float value) { return value == 0; }))
    return Value();
  constant.name = node.nameConstant("mask");
  return node.materialize(std::move(constant));
}

//===----------------------------------------------------------------------===//
// The operators
//===----------------------------------------------------------------------===//

LogicalResult FusedAttention::finish(MaybeValue query, MaybeValue key, MaybeValue value) {
  if (failed(query) || failed(key) || failed(value))
    return failure();
  int64_t size = shapeOf(*query)[3];
  queries = shapeOf(*query)[2], keys = shapeOf(*key)[2];
  Shape all{batch, heads, queries, keys};
  if (node.has(inputs.addend) && broadcast(node.shape(inputs.addend), all) != all)
    return refuseShapes();
  float scale = node.getFloat("scale", 0);
  scale = scale == 0 ? 1 / std::sqrt(float(size)) : scale;
  auto columns = node.create<nn::TransposeOp>(*key, Shape{0, 1, 3, 2});
  auto scores = node.compute<nn::MatmulOp>(
      node.compute<nn::MulOp>(query, node.number("scale", scale)), columns);
  auto added = makeMask();
  if (failed(added))
    return failure();
  if (*added)
    scores = node.compute<nn::AddOp>(scores, added);
  if (node.has(inputs.addend))
    scores = node.compute<nn::AddOp>(scores, node.value(inputs.addend));
  if (failed(scores))
    return failure();
  auto result = node.compute<nn::MatmulOp>(node.create<nn::SoftmaxOp>(*scores, 3), value);
  return node.setResult(joinHeads(node, result));
}

LogicalResult FusedAttention::setPresent(Value key, Value value) {
  Shape part(shapeOf(key));
  part.insert(part.begin(), 1);
  if (shapeOf(key) != shapeOf(value))
    return node.unsupported("keys and values of different sizes as one result");
  Value parts[] = {node.reshape(key, part), node.reshape(value, part)};
  return node.setResult(node.create<nn::ConcatOp>(ValueRange(parts), /*axis=*/0), 1);
}

LogicalResult FusedAttention::attend(MaybeValue query, MaybeValue key, MaybeValue value) {
  query = split(query), key = split(key), value = split(value);
  if (failed(query) || failed(key) || failed(value))
    return failure();
  if (node.has(inputs.past)) {
    Shape before = node.shape(inputs.past);
    past = before.size() == 5 ? before[3] : 0;
    if (before != Shape{2, batch, heads, past, shapeOf(*key)[3]} ||
        shapeOf(*key) != shapeOf(*value))
      return refuseShapes();
    key = append(takePast(0), key), value = append(takePast(1), value);
    if (failed(key) || failed(value))
      return failure();
  }
  return node.wants(1) && failed(setPresent(*key, *value)) ? failure() : finish(query, key, value);
}

LogicalResult FusedAttention::runProjected() {
  constexpr unsigned kPastLength = 6;
  inputs = {3, 4, 5};
  Shape input = node.shape(0), weights = node.shape(1);
  if (node.has(kPastLength))
    return node.unsupported("a past in a buffer of its own length");
  if (input.size() != 3 || weights.size() != 2 || heads < 1)
    return refuseShapes();
  batch = input[0];
  Shape sizes = node.getInts("qkv_hidden_sizes").value_or(Shape(3, weights[1] / 3));
  auto fits = [&](int64_t size) { return size > 0 && size % heads == 0; };
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != weights[1] ||
      !llvm::all_of(sizes, fits) || sizes[0] != sizes[1] ||
      (node.has(2) && node.shape(2) != Shape{weights[1]}))
    return refuseShapes();
  return attend(project(0, sizes[0]), project(sizes[0], sizes[1]),
                project(sizes[0] + sizes[1], sizes[2]));
}

/// The projections are a product of integers: input, weights, bias, scales, mask, zero points,
/// past.
LogicalResult FusedAttention::runQuantized() {
  inputs = {5, 8, kNone};
  Shape input = node.shape(0), weights = node.shape(1);
  int64_t hidden = weights.size() == 2 ? weights[1] / 3 : 0;
  if (input.size() != 3 || heads < 1 || hidden < 1 || hidden % heads || weights[1] != 3 * hidden ||
      node.shape(2) != Shape{weights[1]})
    return refuseShapes();
  batch = input[0];
  auto get = [&](unsigned i) { return node.has(i) ? node.entry(i) : Entry(); };
  auto projected = node.compose(importMatMulIntegerToFloat,
                                {get(0), get(1), get(3), get(4), get(6), get(7), get(2)});
  if (failed(projected))
    return failure();
  auto take = [&](int64_t part) {
    return node.create<nn::SliceOp>(projected->value, Shape{0, 0, part * hidden},
                                    Shape{batch, input[1], hidden}, Shape(3, 1));
  };
  return attend(take(0), take(1), take(2));
}

/// Keys and values may have the form [batch, heads, length, size], which has no bias.
LogicalResult FusedAttention::runMultiHead() {
  constexpr unsigned kPastKey = 6, kPastValue = 7;
  inputs = {4, kNone, 5};
  if (!node.has(1) || !node.has(2) || node.rank(0) != 3)
    return refuseShapes();
  if (node.has(8) || node.has(9))
    return node.unsupported("a past in a buffer of its own length");
  Shape query = node.shape(0), key = node.shape(1), value = node.shape(2);
  bool isSplit = key.size() == 4;
  batch = query[0];
  auto fits = [&](ShapeRef shape) {
    return isSplit ? shape.size() == 4 && shape[1] == heads
                   : shape.size() == 3 && shape[2] % heads == 0;
  };
  if (heads < 1 || query[2] % heads || !fits(key) || !fits(value) || key[0] != batch ||
      value[0] != batch || key[isSplit ? 2 : 1] != value[isSplit ? 2 : 1] ||
      key.back() * (isSplit ? heads : 1) != query[2])
    return refuseShapes();
  int64_t hidden = query[2], valueHidden = value.back() * (isSplit ? heads : 1);
  if (node.has(3) && node.shape(3) != Shape{2 * hidden + valueHidden})
    return refuseShapes();
  auto keyHeads = isSplit ? node.value(1) : split(addBias(1, hidden, hidden)),
       valueHeads = isSplit ? node.value(2) : split(addBias(2, 2 * hidden, valueHidden));
  if (node.has(kPastKey) != node.has(kPastValue))
    return refuseShapes();
  if (node.has(kPastKey)) {
    Shape before = node.shape(kPastKey);
    past = before.size() == 4 ? before[2] : 0;
    if (before != Shape{batch, heads, past, hidden / heads} ||
        node.shape(kPastValue) != Shape{batch, heads, past, valueHidden / heads})
      return refuseShapes();
    keyHeads = append(node.value(kPastKey), keyHeads);
    valueHeads = append(node.value(kPastValue), valueHeads);
  }
  if ((node.wants(1) && failed(node.setResult(keyHeads, 1))) ||
      (node.wants(2) && failed(node.setResult(valueHeads, 2))))
    return failure();
  return finish(split(addBias(0, 0, hidden)), keyHeads, valueHeads);
}

LogicalResult octet::onnx_import::importFusedAttention(Node &node) {
  return FusedAttention(node).runProjected();
}
LogicalResult octet::onnx_import::importQAttention(Node &node) {
  return FusedAttention(node).runQuantized();
}
/// One of several parts of input `i`, [batch, length, heads, parts, size], as [batch, length, heads
/// * size].
static FailureOr<Entry> unpackHeads(Node &node, unsigned i, int64_t part) {
  Shape shape = node.shape(i);
  auto value = node.value(i);
  if (failed(value))
    return failure();
  shape[3] = 1;
  auto slice = node.create<nn::SliceOp>(*value, Shape{0, 0, 0, part, 0}, shape, Shape(5, 1));
  if (failed(slice))
    return failure();
  return Entry{nullptr, node.reshape(*slice, {shape[0], shape[1], shape[2] * shape[4]})};
}

/// Queries, keys and values, or the last two, may be packed into one input.
LogicalResult octet::onnx_import::importMultiHeadAttention(Node &node) {
  unsigned first = node.has(1) ? 1 : 0, numParts = 3 - first;
  if (node.has(2) || node.rank(first) != 5 || node.shape(first)[3] != numParts)
    return FusedAttention(node).runMultiHead();
  SmallVector<Entry> inputs(std::max(3u, node.numInputs()));
  for (unsigned i = 0; i < inputs.size(); ++i) {
    bool isPacked = i >= first && i < 3;
    auto part = isPacked ? unpackHeads(node, first, i - first)
                         : FailureOr<Entry>(i < node.numInputs() ? node.entry(i) : Entry());
    if (failed(part))
      return failure();
    inputs[i] = *part;
  }
  auto results = node.composeAll(importMultiHeadAttention, inputs);
  return failed(results) ? failure() : node.setResults(*results);
}
