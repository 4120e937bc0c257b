//===- LinearAttention.cpp - LinearAttention ---------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A state for each head, a matrix [size of keys, size of values], is read by queries and written by
// keys and values, step by step:
//   state *= exp(decay); state += key * update^T; result = query^T * state
// where the update is the value or, by the delta rule, beta * (value - state^T * key).
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {

class LinearAttentionImporter {
public:
  explicit LinearAttentionImporter(Node &node)
      : node(node), rule(node.getString("update_rule", "gated_delta")) {}
  LogicalResult run();

private:
  enum { kQuery, kKey, kValue, kState, kDecay, kBeta };

  bool isGated() const { return rule.starts_with("gated"); }
  bool isDelta() const { return rule.ends_with("delta"); }
  LogicalResult checkSizes();
  LogicalResult checkGates();
  LogicalResult readInputs();
  /// Step `t` of [batch, steps, ...], as `shape`.
  MaybeValue take(Value x, int64_t t, ShapeRef shape);
  /// What step `t` writes, as a row for each head.
  MaybeValue getUpdate(int64_t t);
  /// `state` behind step `t`.
  LogicalResult write(int64_t t);
  MaybeValue read(int64_t t);

  Node &node;
  StringRef rule;
  int64_t batch = 0, steps = 0, heads = 0, queries = 0, size = 0, valueSize = 0;
  Value query, key, value, factor, beta;
  Value state; ///< null: zero
};

} // namespace

LogicalResult LinearAttentionImporter::checkSizes() {
  Shape query = node.shape(kQuery), key = node.shape(kKey), value = node.shape(kValue);
  int64_t queryHeads = node.getInt("q_num_heads", 0);
  heads = node.getInt("kv_num_heads", 0);
  bool fits = query.size() == 3 && key.size() == 3 && value.size() == 3 && heads > 0 &&
              queryHeads > 0 && queryHeads % heads == 0 && query[2] % queryHeads == 0 &&
              value[2] % heads == 0;
  if (fits) {
    batch = query[0], steps = query[1], queries = queryHeads / heads;
    size = query[2] / queryHeads, valueSize = value[2] / heads;
    fits = key == Shape{batch, steps, heads * size} && value == Shape{batch, steps, value[2]};
  }
  if (!fits)
    return node.invalid("has queries, keys and values of shape " + printShape(query) + ", " +
                        printShape(key) + " and " + printShape(value) + " with " +
                        Twine(queryHeads) + " and " + Twine(heads) + " heads");
  if (node.has(kState) && node.shape(kState) != Shape{batch, heads, size, valueSize})
    return node.invalid("has a state of shape " + printShape(node.shape(kState)) + "; expected " +
                        printShape({batch, heads, size, valueSize}));
  return steps > kMaxSteps ? node.unsupported("more than " + Twine(kMaxSteps) + " steps")
                           : success();
}

/// Decays are numbers of a head or of each of its keys' elements; betas are those of a head or of
/// all.
LogicalResult LinearAttentionImporter::checkGates() {
  if (node.has(kDecay) != isGated() || node.has(kBeta) != isDelta())
    return node.invalid("has a decay or a beta that its update_rule \"" + rule +
                        "\" lacks, or lacks one");
  auto fits = [&](unsigned i, int64_t width, int64_t otherWidth) {
    return !node.has(i) || node.shape(i) == Shape{batch, steps, width} ||
           node.shape(i) == Shape{batch, steps, otherWidth};
  };
  for (auto [i, fitting] : {std::pair(kDecay, fits(kDecay, heads, heads * size)),
                            std::pair(kBeta, fits(kBeta, heads, 1))})
    if (!fitting)
      return node.invalid("has gates of shape " + printShape(node.shape(i)) + " for " +
                          Twine(steps) + " steps of " + Twine(heads) + " heads");
  return success();
}

LogicalResult LinearAttentionImporter::readInputs() {
  float scale = node.getFloat("scale", 0);
  auto scaled = node.compute<nn::MulOp>(
      node.value(kQuery), node.number("scale", scale ? scale : 1 / std::sqrt(float(size))));
  auto keys = node.value(kKey), values = node.value(kValue);
  if (failed(scaled) || failed(keys) || failed(values))
    return failure();
  query = *scaled, key = *keys, value = *values;
  MaybeValue none = Value();
  auto decay = isGated() ? node.compute<nn::ExpOp>(node.value(kDecay)) : none,
       rate = isDelta() ? node.value(kBeta) : none,
       before = node.has(kState) ? node.value(kState) : none;
  if (failed(decay) || failed(rate) || failed(before))
    return failure();
  factor = *decay, beta = *rate, state = *before;
  return success();
}

MaybeValue LinearAttentionImporter::take(Value x, int64_t t, ShapeRef shape) {
  MaybeValue step = x;
  if (steps > 1)
    step =
        node.create<nn::SliceOp>(x, Shape{0, t, 0}, Shape{batch, 1, shapeOf(x)[2]}, Shape{1, 1, 1});
  return failed(step) ? step : node.reshape(*step, shape);
}

MaybeValue LinearAttentionImporter::getUpdate(int64_t t) {
  auto update = take(value, t, {batch, heads, 1, valueSize});
  if (!isDelta())
    return update;
  if (state)
    update = node.compute<nn::SubOp>(
        update,
        node.compute<nn::MatmulOp>(take(key, t, {batch, heads, 1, size}), MaybeValue(state)));
  return node.compute<nn::MulOp>(update, take(beta, t, {batch, shapeOf(beta)[2], 1, 1}));
}

LogicalResult LinearAttentionImporter::write(int64_t t) {
  if (factor && state) {
    auto decayed = node.compute<nn::MulOp>(
        MaybeValue(state), take(factor, t, {batch, heads, shapeOf(factor)[2] / heads, 1}));
    if (failed(decayed))
      return failure();
    state = *decayed;
  }
  auto written = node.compute<nn::MulOp>(take(key, t, {batch, heads, size, 1}), getUpdate(t));
  if (state)
    written = node.compute<nn::AddOp>(MaybeValue(state), written);
  if (succeeded(written))
    state = *written;
  return success(succeeded(written));
}

MaybeValue LinearAttentionImporter::read(int64_t t) {
  auto result =
      node.compute<nn::MatmulOp>(take(query, t, {batch, heads, queries, size}), MaybeValue(state));
  return failed(result) ? result : node.reshape(*result, {batch, 1, heads * queries * valueSize});
}

LogicalResult LinearAttentionImporter::run() {
  if (failed(checkSizes()) || failed(checkGates()) || failed(readInputs()))
    return failure();
  SmallVector<Value> results;
  for (int64_t t = 0; t < steps; ++t) {
    auto result = failed(write(t)) ? MaybeValue() : read(t);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  auto whole = steps == 1 ? MaybeValue(results[0]) : node.create<nn::ConcatOp>(results, /*axis=*/1);
  if (failed(node.setResult(whole)))
    return failure();
  return node.wants(1) ? node.setResult(state, 1) : success();
}

LogicalResult octet::onnx_import::importLinearAttention(Node &node) {
  return LinearAttentionImporter(node).run();
}
