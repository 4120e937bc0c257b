//===- GroupQueryAttention.cpp - attention of onnxruntime's decoders ---------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GroupQueryAttention of the domain com.microsoft: RotaryEmbedding, TensorScatter into the past and
// Attention in one. What is behind the last key that counts is 0 or as it was in the past.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include "WindowedCache.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {

class GroupQueryAttention {
public:
  explicit GroupQueryAttention(Node &node)
      : node(node), window(node.getInt("local_window_size", -1)),
        isWindowed(node.getInt("sliding_window_cache", 0)) {}
  LogicalResult run();

private:
  enum { kQuery, kKey, kValue, kPastKey, kPastValue, kLast, kTotal, kCos, kSin, kPositions };
  enum { kBias = kPositions + 1, kSinks, kKeyScale, kValueScale };

  LogicalResult checkInputs();
  /// The number of keys that count by batch, perhaps `offset` fewer.
  FailureOr<Entry> countKeys(int64_t offset);
  FailureOr<Entry> getPositions();
  /// Heads of input `i`, or of the one input that has all from `start` on, as [batch, heads,
  /// length, size].
  MaybeValue getHeads(unsigned i, int64_t start, int64_t count);
  MaybeValue rotate(MaybeValue x);
  /// Keys or values of the past, and those of now behind them.
  MaybeValue append(unsigned past, MaybeValue now);
  /// The result for these keys and values, of which `mask` and `lengths` say what counts.
  LogicalResult attend(MaybeValue query, MaybeValue key, MaybeValue value, const Entry &mask,
                       const Entry &lengths);
  LogicalResult runWindowed();
  /// Whether keys and values are kept as bytes, with scales.
  bool isStored() const {
    return node.getString("k_quant_type", "NONE") != "NONE" ||
           node.getString("v_quant_type", "NONE") != "NONE";
  }
  LogicalResult checkScale(unsigned input);
  /// Of what the past `input` holds.
  MaybeValue getScale(unsigned input);
  /// The numbers that are kept for keys or values, the real numbers of these, and a result of them.
  MaybeValue store(unsigned input, MaybeValue now);
  MaybeValue restore(unsigned input, MaybeValue stored);
  LogicalResult setPresent(unsigned output, MaybeValue stored);
  FailureOr<Entry> getSinks();
  Entry makeConstant(StringRef role, ShapeRef shape, std::vector<int64_t> values);

  Node &node;
  int64_t batch = 0, queries = 0, heads = 0, groups = 0, size = 0;
  int64_t past = 0, total = 0, present = 0; ///< rows of the past, that may count, and of the result
  bool isPrompt = false;                    ///< the first tokens, without a past
  int64_t window = 0;
  bool isWindowed = false; ///< the past is as long as its buffer, whatever the total
};

} // namespace

LogicalResult GroupQueryAttention::checkInputs() {
  Shape query = node.shape(kQuery);
  heads = node.getInt("num_heads", 0), groups = node.getInt("kv_num_heads", 0);
  auto refuse = [&] {
    return node.invalid("has inputs of shape " + node.printInputShapes() + " for " + Twine(heads) +
                        " and " + Twine(groups) + " heads");
  };
  bool isPacked = !node.has(kKey);
  int64_t columns = isPacked ? heads + 2 * groups : heads;
  if (query.size() != 3 || heads < 1 || groups < 1 || heads % groups || query[2] % columns ||
      node.has(kValue) == isPacked || node.has(kPastKey) != node.has(kPastValue) ||
      !node.has(kLast) || !node.has(kTotal))
    return refuse();
  batch = query[0], queries = query[1], size = query[2] / columns;
  Shape row{batch, queries, groups * size};
  if (!isPacked && (node.shape(kKey) != row || node.shape(kValue) != row))
    return refuse();
  if (node.has(kPastKey)) {
    Shape before = node.shape(kPastKey);
    past = before.size() == 4 ? before[2] : 0;
    if (before != Shape{batch, groups, past, size} || node.shape(kPastValue) != before)
      return refuse();
  }
  if (!node.constant(kTotal))
    return node.unsupported("a total_sequence_length computed at run time");
  auto given = node.integers(kTotal, "total_sequence_length");
  if (failed(given))
    return failure();
  total = given->size() == 1 ? given->front() : 0;
  present = isWindowed ? past : std::max(past, total), isPrompt = total == queries;
  if (total < queries || node.shape(kLast).empty() || *countElements(node.shape(kLast)) != batch ||
      (past == 0 && present != queries))
    return refuse();
  bool isRotated = node.getInt("do_rotary", 0);
  if (isRotated && (!node.has(kCos) || !node.has(kSin) || node.rank(kCos) != 2))
    return refuse();
  if (node.has(kSinks) && node.shape(kSinks) != Shape{heads})
    return refuse();
  if (isWindowed && (window < 1 || past < window))
    return node.invalid("has a buffer of " + Twine(past) + " keys for the window of its last " +
                            Twine(window),
                        "give the past at least as many as local_window_size");
  if (isWindowed && node.has(kBias))
    return node.unsupported("attention_bias beside sliding_window_cache");
  if (node.wants(3))
    return node.unsupported("scores as a result");
  return success(succeeded(checkScale(kKeyScale)) && succeeded(checkScale(kValueScale)));
}

LogicalResult GroupQueryAttention::checkScale(unsigned input) {
  StringRef name = input == kKeyScale ? "k_quant_type" : "v_quant_type",
            type = node.getString(name, "NONE");
  if (!isStored())
    return success();
  unsigned before = input == kKeyScale ? kPastKey : kPastValue;
  int64_t bits = node.getInt("kv_cache_bit_width", 0),
          count = type == "PER_TENSOR" ? 1 : groups * size;
  if (bits != 8 || isWindowed || type == "NONE")
    return node.unsupported("a past of " + Twine(bits) + " bits" +
                            (isWindowed ? " in a buffer of its window" : "") + " with " + name +
                            "=" + type);
  bool isByte = !node.has(before) || node.elementType(before) == onnx::TensorProto::INT8;
  if (!node.has(input) || *countElements(node.shape(input)) != count || !isByte)
    return node.invalid("has no scales of " + Twine(count) +
                        " elements, or a past of other "
                        "integers than int8");
  return success();
}

MaybeValue GroupQueryAttention::getScale(unsigned input) {
  auto scale = node.value(input == kPastKey ? kKeyScale : kValueScale);
  if (failed(scale))
    return scale;
  bool isOne = countElements(shapeOf(*scale)) == 1;
  return node.reshape(*scale, isOne ? Shape{1, 1, 1, 1} : Shape{1, groups, 1, size});
}

/// onnxruntime multiplies by the inverse of the scale.
MaybeValue GroupQueryAttention::store(unsigned input, MaybeValue now) {
  if (!isStored())
    return now;
  auto inverse = node.compute<nn::DivOp>(node.number("one", 1), getScale(input));
  auto rounded = node.compute<nn::RoundOp>(node.compute<nn::MulOp>(now, inverse));
  return failed(rounded)
             ? rounded
             : node.create<nn::ClipOp>(*rounded, llvm::APFloat(-128.0f), llvm::APFloat(127.0f));
}

MaybeValue GroupQueryAttention::restore(unsigned input, MaybeValue stored) {
  return isStored() ? node.compute<nn::MulOp>(stored, getScale(input)) : stored;
}

LogicalResult GroupQueryAttention::setPresent(unsigned output, MaybeValue stored) {
  if (!node.wants(output))
    return success();
  return node.setResult(isStored() ? node.cast(stored, node.builder().getI8Type()) : stored,
                        output);
}

Entry GroupQueryAttention::makeConstant(StringRef role, ShapeRef shape,
                                        std::vector<int64_t> values) {
  HostTensor tensor{node.nameConstant(role), Shape(shape), std::move(values)};
  return Entry{std::make_shared<HostTensor>(std::move(tensor)), {}};
}

FailureOr<Entry> GroupQueryAttention::countKeys(int64_t offset) {
  if (node.constant(kLast)) {
    auto last = node.integers(kLast, "seqlens_k");
    if (failed(last))
      return failure();
    std::vector<int64_t> counts;
    for (int64_t position : *last)
      counts.push_back(position + 1 - offset);
    return makeConstant("count_" + std::to_string(offset), {batch}, std::move(counts));
  }
  auto last = toIndices(node, node.any(kLast));
  if (failed(last))
    return failure();
  auto count = node.compute<nn::AddOp>(MaybeValue(node.reshape(*last, {batch})),
                                       integerConstant(node, "behind", {1}, {1 - offset}));
  return failed(count) ? FailureOr<Entry>() : Entry{nullptr, *count};
}

FailureOr<Entry> GroupQueryAttention::getPositions() {
  if (node.has(kPositions))
    return node.entry(kPositions);
  auto first =
      isPrompt ? makeConstant("first", {batch}, std::vector<int64_t>(batch)) : countKeys(queries);
  if (failed(first))
    return failure();
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < batch * queries; ++i)
    positions.push_back(i % queries +
                        (first->tensor ? (*first->tensor->integers())[i / queries] : 0));
  if (first->tensor)
    return makeConstant("positions", {batch, queries}, std::move(positions));
  auto steps = integerConstant(node, "steps", {batch, queries}, std::move(positions));
  auto sum = node.compute<nn::AddOp>(MaybeValue(node.reshape(first->value, {batch, 1})), steps);
  return failed(sum) ? FailureOr<Entry>() : Entry{nullptr, *sum};
}

MaybeValue GroupQueryAttention::getHeads(unsigned i, int64_t start, int64_t count) {
  bool isPacked = !node.has(kKey);
  auto rows = node.value(isPacked ? kQuery : i);
  if (succeeded(rows) && isPacked)
    rows = node.create<nn::SliceOp>(*rows, Shape{0, 0, start * size},
                                    Shape{batch, queries, count * size}, Shape(3, 1));
  return splitHeads(node, rows, count);
}

MaybeValue GroupQueryAttention::rotate(MaybeValue x) {
  if (failed(x) || !node.getInt("do_rotary", 0))
    return x;
  auto positions = getPositions();
  if (failed(positions))
    return failure();
  auto rotated =
      node.composeAs(importRotaryEmbedding,
                     {{"interleaved", node.getInt("rotary_interleaved", 0)},
                      {"rotary_embedding_dim", 2 * node.shape(kCos)[1]}},
                     {Entry{nullptr, *x}, node.entry(kCos), node.entry(kSin), *positions});
  return failed(rotated) ? MaybeValue() : node.toValue(*rotated);
}

MaybeValue GroupQueryAttention::append(unsigned input, MaybeValue now) {
  if (failed(now) || past == 0)
    return now;
  auto before = isStored() ? node.cast(node.any(input), node.f32()) : node.value(input);
  if (failed(before))
    return failure();
  if (isPrompt) { // in front of what the buffer has behind it
    if (present == queries)
      return now;
    auto rest =
        node.create<nn::SliceOp>(*before, Shape{0, 0, queries, 0},
                                 Shape{batch, groups, present - queries, size}, Shape(4, 1));
    return failed(rest) ? rest : node.create<nn::ConcatOp>(ValueRange{*now, *rest}, /*axis=*/2);
  }
  auto first = countKeys(queries);
  if (failed(first))
    return failure();
  bool isBehind = first->tensor && past + queries == present &&
                  llvm::all_of(*first->tensor->integers(), [&](int64_t i) { return i == past; });
  if (isBehind)
    return node.create<nn::ConcatOp>(ValueRange{*before, *now}, /*axis=*/2);
  if (present > past)
    before = node.create<nn::PadOp>(*before, Shape(4, 0), Shape{0, 0, present - past, 0},
                                    llvm::APFloat(0.0f));
  if (failed(before))
    return failure();
  auto all = node.composeAs(importTensorScatter, {},
                            {Entry{nullptr, *before}, Entry{nullptr, *now}, *first});
  return failed(all) ? MaybeValue() : node.toValue(*all);
}

/// Without sinks, `smooth_softmax` has 0 as that of each head.
FailureOr<Entry> GroupQueryAttention::getSinks() {
  if (node.has(kSinks))
    return node.entry(kSinks);
  if (node.getInt("smooth_softmax", 0) <= 0)
    return Entry();
  HostTensor zeros{node.nameConstant("sinks"), {heads}, std::vector<float>(heads, 0)};
  return Entry{std::make_shared<HostTensor>(std::move(zeros)), {}};
}

LogicalResult GroupQueryAttention::attend(MaybeValue query, MaybeValue key, MaybeValue value,
                                          const Entry &mask, const Entry &lengths) {
  auto sinks = getSinks();
  if (failed(query) || failed(key) || failed(value) || failed(sinks))
    return failure();
  SmallVector<std::pair<StringRef, double>> attributes{{"is_causal", !isWindowed}};
  for (StringRef name : {"scale", "softcap"})
    if (float number = node.getFloat(name, 0))
      attributes.push_back({name, number});
  if (window > 0 && !isWindowed)
    attributes.push_back({"left_window_size", window - 1});
  auto result = node.composeAs(importAttention, attributes,
                               {Entry{nullptr, *query},
                                Entry{nullptr, *key},
                                Entry{nullptr, *value},
                                mask,
                                {},
                                {},
                                lengths,
                                *sinks});
  return node.setResult(joinHeads(node, failed(result) ? MaybeValue() : node.toValue(*result)));
}

/// Attention sees the whole buffer, and what is new behind it.
LogicalResult GroupQueryAttention::runWindowed() {
  WindowedCache cache(node, batch, past, queries, window);
  auto now = countKeys(0),
       before = isPrompt ? makeConstant("first", {batch}, std::vector<int64_t>(batch))
                         : countKeys(queries);
  auto append = [&](unsigned input, MaybeValue rows) {
    auto stored = node.value(input);
    return failed(stored) || failed(rows)
               ? MaybeValue()
               : node.create<nn::ConcatOp>(ValueRange{*stored, *rows}, /*axis=*/2);
  };
  auto key = append(kPastKey, rotate(getHeads(kKey, heads, groups)));
  auto value = append(kPastValue, getHeads(kValue, heads + groups, groups));
  if (failed(now) || failed(before) || failed(key) || failed(value) ||
      failed(cache.setCounts(node.toValue(*before), node.toValue(*now))))
    return failure();
  auto mask = cache.makeMask();
  if (failed(mask) || (node.wants(1) && failed(node.setResult(cache.evict(*key), 1))) ||
      (node.wants(2) && failed(node.setResult(cache.evict(*value), 2))))
    return failure();
  return attend(rotate(getHeads(kQuery, 0, heads)), key, value, Entry{nullptr, *mask}, Entry());
}

LogicalResult GroupQueryAttention::run() {
  if (failed(checkInputs()))
    return failure();
  if (isWindowed)
    return runWindowed();
  auto query = rotate(getHeads(kQuery, 0, heads));
  auto key = append(kPastKey, store(kPastKey, rotate(getHeads(kKey, heads, groups))));
  auto value = append(kPastValue, store(kPastValue, getHeads(kValue, heads + groups, groups)));
  FailureOr<Entry> lengths = isPrompt ? Entry() : countKeys(0);
  if (failed(key) || failed(value) || failed(lengths) || failed(setPresent(1, key)) ||
      failed(setPresent(2, value)))
    return failure();
  return attend(query, restore(kPastKey, key), restore(kPastValue, value),
                node.has(kBias) ? node.entry(kBias) : Entry(), *lengths);
}

LogicalResult octet::onnx_import::importGroupQueryAttention(Node &node) {
  return GroupQueryAttention(node).run();
}
