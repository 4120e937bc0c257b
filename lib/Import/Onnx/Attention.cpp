//===- Attention.cpp - Attention and FlexAttention ---------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {

constexpr float kMasked = -std::numeric_limits<float>::infinity();

/// What is added to scores: constants, and what a value of the network says.
struct Mask {
  HostTensor constant; ///< of a shape that broadcasts to that of the scores
  Value value;         ///< may be null
};

class AttentionImporter {
public:
  explicit AttentionImporter(Node &node) : node(node) {}
  LogicalResult run();

private:
  /// Sinks, a number for each head, are onnxruntime's.
  enum { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kLengths, kSinks };

  LogicalResult checkInputs();
  /// Input `i` as [batch, heads, length, size].
  MaybeValue getHeads(unsigned i, int64_t heads);
  /// Keys or values behind those of the past, which are input `past`.
  MaybeValue append(unsigned past, MaybeValue value, unsigned output);
  FailureOr<Mask> readMask();
  FailureOr<HostTensor> readMaskConstant();
  /// What a mask adds to scores: itself, or nothing where it is true.
  MaybeValue getAddend(MaybeValue mask);
  LogicalResult readLengths();
  /// What is added to scores where lengths are computed at run time.
  MaybeValue maskByLengths();
  /// Whether query `i` of a batch may see key `j` by causality, window and length.
  bool isSeen(int64_t batch, int64_t i, int64_t j) const;
  bool addsMask() const;
  /// Products of the query heads with the one head of keys or values that they share.
  MaybeValue multiply(MaybeValue left, int64_t columns, MaybeValue right, int64_t resultColumns);
  MaybeValue scoreAndMask(MaybeValue query, MaybeValue key);
  MaybeValue softmax(MaybeValue scores);
  /// `x` as the node's graph `name` changes it, if there is one.
  MaybeValue modify(StringRef name, MaybeValue x);
  LogicalResult offer(int64_t mode, MaybeValue scores) {
    bool isMode = node.wants(3) && node.getInt("qk_matmul_output_mode", 0) == mode;
    return isMode ? node.setResult(scores, 3) : success(succeeded(scores));
  }

  Node &node;
  int64_t batch = 0, heads = 0, groups = 0, queries = 0, keys = 0, size = 0, valueSize = 0;
  int64_t past = 0;
  std::optional<Shape> lengths; ///< keys that count, by batch
  bool hasLateLengths = false;  ///< the same at run time
};

} // namespace

MaybeValue octet::onnx_import::splitHeads(Node &node, MaybeValue rows, int64_t heads) {
  if (failed(rows))
    return rows;
  ShapeRef shape = shapeOf(*rows);
  Value split = node.reshape(*rows, {shape[0], shape[1], heads, shape[2] / heads});
  return node.create<nn::TransposeOp>(split, Shape{0, 2, 1, 3});
}

MaybeValue octet::onnx_import::joinHeads(Node &node, MaybeValue heads) {
  auto rows = failed(heads) ? heads : node.create<nn::TransposeOp>(*heads, Shape{0, 2, 1, 3});
  if (failed(rows))
    return rows;
  ShapeRef shape = shapeOf(*rows);
  return node.reshape(*rows, {shape[0], shape[1], shape[2] * shape[3]});
}

LogicalResult AttentionImporter::checkInputs() {
  Shape query = node.shape(kQuery), key = node.shape(kKey), value = node.shape(kValue);
  bool isFlat = query.size() == 3;
  heads = isFlat ? node.getInt("q_num_heads", 0) : query.size() == 4 ? query[1] : 0;
  groups = isFlat ? node.getInt("kv_num_heads", 0) : key.size() == 4 ? key[1] : 0;
  auto refuse = [&] {
    return node.invalid("has queries, keys and values of shape " + printShape(query) + ", " +
                        printShape(key) + " and " + printShape(value) + " with " + Twine(heads) +
                        " and " + Twine(groups) + " heads");
  };
  if (query.size() != key.size() || key.size() != value.size() || heads < 1 || groups < 1 ||
      heads % groups || query[0] != key[0] || key[0] != value[0])
    return refuse();
  unsigned length = isFlat ? 1 : 2;
  if (isFlat && (query[2] % heads || key[2] % groups || value[2] % groups))
    return refuse();
  batch = query[0], queries = query[length], keys = key[length];
  size = isFlat ? query[2] / heads : query[3];
  valueSize = isFlat ? value[2] / groups : value[3];
  if (value[length] != keys || size != (isFlat ? key[2] / groups : key[3]) ||
      (!isFlat && value[1] != groups))
    return refuse();
  if (node.has(kPastKey) != node.has(kPastValue))
    return node.invalid("has keys or values of the past without the other");
  if (!node.has(kPastKey))
    return success();
  Shape before = node.shape(kPastKey);
  if (before.size() != 4 || before != Shape{batch, groups, before[2], size} ||
      node.shape(kPastValue) != Shape{batch, groups, before[2], valueSize})
    return node.invalid("has keys and values of the past of shape " + printShape(before) + " and " +
                        printShape(node.shape(kPastValue)));
  past = before[2];
  keys += past;
  return success();
}

MaybeValue AttentionImporter::getHeads(unsigned i, int64_t count) {
  auto value = node.value(i);
  return node.rank(i) == 4 ? value : splitHeads(node, value, count);
}

MaybeValue AttentionImporter::append(unsigned input, MaybeValue value, unsigned output) {
  if (succeeded(value) && node.has(input)) {
    auto before = node.value(input);
    value = failed(before) ? before
                           : node.create<nn::ConcatOp>(ValueRange{*before, *value}, /*axis=*/2);
  }
  if (succeeded(value) && node.wants(output) && failed(node.setResult(*value, output)))
    return failure();
  return value;
}

bool AttentionImporter::isSeen(int64_t b, int64_t i, int64_t j) const {
  if (hasLateLengths)
    return true;
  int64_t count = lengths ? (*lengths)[b] : keys;
  int64_t position = i + (lengths && !past ? count - queries : past);
  int64_t left = node.getInt("left_window_size", -1), right = node.getInt("right_window_size", -1);
  return j < count && !(node.getInt("is_causal", 0) && j > position) &&
         !(left >= 0 && position - j > left) && !(right >= 0 && j - position > right);
}

bool AttentionImporter::addsMask() const {
  if (hasLateLengths)
    return node.constant(kMask);
  return lengths || node.getInt("is_causal", 0) || node.getInt("left_window_size", -1) >= 0 ||
         node.getInt("right_window_size", -1) >= 0 || node.constant(kMask);
}

/// The constant mask as numbers that are added, with the keys that it is too short for.
FailureOr<HostTensor> AttentionImporter::readMaskConstant() {
  const HostTensor *given = node.constant(kMask);
  if (!given)
    return HostTensor{"", {1, 1}, std::vector<float>{0}};
  std::vector<float> values;
  if (const std::vector<int64_t> *flags = given->integers())
    for (int64_t flag : *flags)
      values.push_back(flag ? 0 : kMasked);
  else
    values = *given->floats();
  Shape shape = given->shape;
  if (shape.size() == 1)
    shape.insert(shape.begin(), 1);
  if (shape.back() == keys || shape.back() == 1)
    return HostTensor{"", shape, std::move(values)};
  int64_t width = shape.back(), rows = values.size() / width;
  std::vector<float> padded(rows * keys, kMasked);
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(values.begin() + row * width, width, padded.begin() + row * keys);
  shape.back() = keys;
  return HostTensor{"", shape, std::move(padded)};
}

MaybeValue AttentionImporter::getAddend(MaybeValue mask) {
  if (failed(mask) || nn::holdsReals(mask->getType()))
    return mask;
  auto seen = node.number("seen", 0), unseen = node.number("unseen", kMasked);
  if (failed(seen) || failed(unseen))
    return failure();
  return node.createAs<nn::SelectOp>(node.f32(), *mask, *seen, *unseen);
}

FailureOr<Mask> AttentionImporter::readMask() {
  Shape given = node.has(kMask) ? node.shape(kMask) : Shape{1};
  Shape whole = given;
  if (!whole.empty() && whole.back() != 1)
    whole.back() = keys;
  Shape scores{batch, heads, queries, keys};
  bool fits = !given.empty() && given.back() <= keys && broadcast(whole, scores) == scores;
  if (!fits)
    return node.invalid("has a mask of shape " + printShape(given) + " for scores of shape " +
                        printShape(scores));
  Mask mask;
  if (node.has(kMask) && !node.constant(kMask)) {
    auto value = getAddend(node.any(kMask));
    if (failed(value))
      return failure();
    Shape before(given.size(), 0), behind(given.size(), 0);
    behind.back() = given.back() == 1 ? 0 : keys - given.back();
    if (behind.back())
      value = node.create<nn::PadOp>(*value, before, behind, llvm::APFloat(kMasked));
    if (failed(value))
      return failure();
    mask.value = *value;
  }
  auto constant = readMaskConstant();
  if (failed(constant))
    return failure();
  Shape shape = *broadcast(constant->shape, {lengths ? batch : 1, 1, queries, keys});
  if (!countElements(shape, kMaxConstantElements))
    return node.unsupported("a mask of shape " + printShape(shape));
  mask.constant = broadcastTo(*constant, shape);
  auto &values = std::get<std::vector<float>>(mask.constant.data);
  int64_t perBatch = values.size() / shape[0];
  for (auto [i, value] : llvm::enumerate(values))
    if (!isSeen(i / perBatch, i / keys % queries, i % keys))
      value = kMasked;
  return mask;
}

/// Heads that share keys are rows of one product.
MaybeValue AttentionImporter::multiply(MaybeValue left, int64_t columns, MaybeValue right,
                                       int64_t resultColumns) {
  if (failed(left) || failed(right))
    return failure();
  if (heads == groups)
    return node.create<nn::MatmulOp>(*left, *right);
  Value rows = node.reshape(*left, {batch, groups, heads / groups * queries, columns});
  auto product = node.create<nn::MatmulOp>(rows, *right);
  return failed(product) ? product : node.reshape(*product, {batch, heads, queries, resultColumns});
}

MaybeValue AttentionImporter::scoreAndMask(MaybeValue query, MaybeValue key) {
  float scale = node.getFloat("scale", 1 / std::sqrt(float(size)));
  auto scaled = node.compute<nn::MulOp>(query, node.number("scale", scale));
  auto columns =
      failed(key) ? key : node.create<nn::TransposeOp>(*key, ArrayRef<int64_t>{0, 1, 3, 2});
  auto scores = multiply(scaled, size, columns, keys);
  if (failed(offer(0, scores)))
    return failure();
  if (float cap = node.getFloat("softcap", 0); cap > 0) {
    auto limit = node.number("softcap", cap);
    scores = node.compute<nn::MulOp>(
        node.compute<nn::TanhOp>(node.compute<nn::DivOp>(scores, limit)), limit);
  }
  if (failed(offer(1, scores)))
    return failure();
  auto mask = readMask();
  if (failed(mask))
    return failure();
  if (addsMask()) {
    mask->constant.name = node.nameConstant("mask");
    scores = node.compute<nn::AddOp>(scores, node.materialize(std::move(mask->constant)));
  }
  if (hasLateLengths)
    scores = node.compute<nn::AddOp>(scores, maskByLengths());
  if (mask->value)
    scores = node.compute<nn::AddOp>(scores, MaybeValue(mask->value));
  return failed(offer(2, scores)) ? MaybeValue() : scores;
}

LogicalResult AttentionImporter::readLengths() {
  if (!node.has(kLengths))
    return success();
  Shape shape = node.shape(kLengths);
  if (shape != Shape{batch} || node.has(kPastKey))
    return node.invalid("has lengths of keys of shape " + printShape(shape) + " for " +
                        Twine(batch) + " batches, or a past beside them");
  hasLateLengths = !node.constant(kLengths);
  if (hasLateLengths)
    return success();
  auto given = node.integers(kLengths, "lengths of keys");
  if (failed(given))
    return failure();
  for (int64_t &length : *given)
    length = std::clamp<int64_t>(length, 0, keys);
  lengths = *given;
  return success();
}

/// As isSeen, in which everything but the length is a constant: query i is at position i + length -
/// queries.
MaybeValue AttentionImporter::maskByLengths() {
  auto given = toIndices(node, node.any(kLengths));
  if (failed(given))
    return failure();
  MaybeValue length = node.reshape(*given, {batch, 1, 1, 1}), seen = failure();
  auto require = [&](bool isAtLeast, int64_t offset, int64_t rows) {
    std::vector<int64_t> bounds;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < keys; ++j)
        bounds.push_back(j - i + offset);
    auto bound = integerConstant(node, "keys", {rows, keys}, std::move(bounds));
    if (failed(bound))
      return;
    auto holds =
        node.createAs<nn::CompareOp>(node.builder().getI1Type(), nn::Predicate::less_or_equal,
                                     isAtLeast ? *bound : *length, isAtLeast ? *length : *bound);
    seen = succeeded(seen) ? node.compute<nn::AndOp>(seen, holds) : holds;
  };
  int64_t left = node.getInt("left_window_size", -1), right = node.getInt("right_window_size", -1);
  require(/*isAtLeast=*/true, 1, 1);
  if (node.getInt("is_causal", 0))
    require(/*isAtLeast=*/true, queries, queries);
  if (left >= 0)
    require(/*isAtLeast=*/false, queries + left, queries);
  if (right >= 0)
    require(/*isAtLeast=*/true, queries - right, queries);
  return getAddend(seen);
}

MaybeValue AttentionImporter::modify(StringRef name, MaybeValue x) {
  const onnx::AttributeProto *graph = node.attribute(name);
  if (!graph || failed(x))
    return x;
  if (graph->g().input_size() != 1 || graph->g().output_size() != 1)
    return node.invalid("has a graph " + name + " of " + Twine(graph->g().input_size()) +
                        " inputs and " + Twine(graph->g().output_size()) + " outputs");
  auto results = node.call(graph->g(), {Entry{nullptr, *x}});
  auto result = failed(results) ? MaybeValue() : node.toValue(results->front());
  if (succeeded(result) && result->getType() != x->getType())
    return node.invalid("has a graph " + name + " that gives " + printShape(shapeOf(*result)) +
                        " for " + printShape(shapeOf(*x)));
  return result;
}

/// Over the keys of a query, and the sink of its head, which takes weight from them.
MaybeValue AttentionImporter::softmax(MaybeValue scores) {
  if (failed(scores) || !node.has(kSinks))
    return failed(scores) ? scores : node.create<nn::SoftmaxOp>(*scores, /*axis=*/3);
  auto sinks = node.value(kSinks);
  if (failed(sinks))
    return failure();
  auto column = repeatAlong(node, node.reshape(*sinks, {1, heads, 1, 1}), 0, batch);
  column = repeatAlong(node, column, 2, queries);
  if (failed(column))
    return failure();
  auto all = node.create<nn::ConcatOp>(ValueRange{*scores, *column}, /*axis=*/3);
  auto weights = failed(all) ? all : node.create<nn::SoftmaxOp>(*all, /*axis=*/3);
  return failed(weights)
             ? weights
             : node.create<nn::SliceOp>(*weights, Shape(4, 0), Shape{batch, heads, queries, keys},
                                        Shape(4, 1));
}

LogicalResult AttentionImporter::run() {
  if (failed(checkInputs()) || failed(readLengths()))
    return failure();
  auto query = getHeads(kQuery, heads);
  auto key = append(kPastKey, getHeads(kKey, groups), 1);
  auto value = append(kPastValue, getHeads(kValue, groups), 2);
  auto weights = modify("score_mod", scoreAndMask(query, key));
  weights = softmax(weights);
  // Softmax is NaN where a query sees no key; its result is zero.
  if (succeeded(weights) && (addsMask() || hasLateLengths || node.has(kMask)))
    weights = node.create<nn::ReluOp>(*weights);
  weights = modify("prob_mod", weights);
  if (failed(offer(3, weights)))
    return failure();
  auto result = multiply(weights, keys, value, valueSize);
  return node.setResult(node.rank(kQuery) == 4 ? result : joinHeads(node, result));
}

LogicalResult octet::onnx_import::importAttention(Node &node) {
  return AttentionImporter(node).run();
}
