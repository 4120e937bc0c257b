//===- MixtureOfExperts.cpp - MoE ---------------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each row of the input goes through the k experts with the highest scores; the results are summed,
// weighted by the softmax of the scores. An expert is
//   W2 * activation(W1 * x + b1) + b2, or, gated, W2 * (activation(W1 * x + b1) * (W3 * x + b3)) +
//   b2
// All experts are computed for all rows, as two products of all their matrices one below the other;
// the weight of an expert that is not chosen is 0.
//
//===----------------------------------------------------------------------===//

#include "Compose.h"
#include "Operators.h"
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

namespace {

class MixtureImporter {
public:
  explicit MixtureImporter(Node &node)
      : node(node), activation(node.getString("activation_type", "relu")) {}
  LogicalResult run();

private:
  enum { kInput, kScores, kFirst, kFirstBias, kSecond, kSecondBias, kThird, kThirdBias };

  bool isGated() const { return activation == "swiglu"; }
  LogicalResult checkInputs();
  /// The experts' weights, [rows, experts], 0 for those that are not chosen.
  MaybeValue route();
  /// The first products and biases of all experts, [rows, experts * hidden]: those from `start` on,
  /// `step` apart.
  MaybeValue project(Value x, int64_t start, int64_t step);
  MaybeValue activate(Value rows);
  /// G * sigmoid(alpha * G) * (L + beta) of g and l clamped to `swiglu_limit`.
  MaybeValue gate(MaybeValue g, MaybeValue l);
  MaybeValue combine(Value hiddens, Value weights);

  Node &node;
  StringRef activation;
  int64_t rows = 0, columns = 0, experts = 0, hidden = 0;
};

} // namespace

LogicalResult MixtureImporter::checkInputs() {
  int64_t fusion = node.getInt("swiglu_fusion", 0);
  if (node.has(kThird) || node.has(kThirdBias) || (isGated() && fusion != 1))
    return node.unsupported("activation_type=" + activation + " with swiglu_fusion=" +
                            Twine(fusion) + (node.has(kThird) ? " and a third matrix" : ""));
  for (unsigned i : {kFirst, kFirstBias, kSecond})
    if (node.has(i) && !node.constant(i))
      return node.unsupported("experts that are computed at run time");
  if (!node.has(kSecond))
    return node.invalid("lacks its input " + Twine(kSecond));
  Shape input = node.shape(kInput), first = node.shape(kFirst);
  int64_t parts = isGated() ? 2 : 1, count = node.getInt("k", 1);
  bool fits = first.size() == 3 && !input.empty() && first[1] % parts == 0;
  if (fits) {
    experts = first[0], hidden = first[1] / parts, columns = first[2];
    rows = *countElements(ShapeRef(input).drop_back());
    auto has = [&](unsigned i, ShapeRef shape) { return !node.has(i) || node.shape(i) == shape; };
    fits = input.back() == columns && has(kScores, {rows, experts}) &&
           has(kFirstBias, {experts, first[1]}) && has(kSecond, {experts, columns, hidden}) &&
           has(kSecondBias, {experts, columns}) && count >= 1 && count <= experts;
  }
  return fits ? success()
              : node.invalid("has inputs of shape " + node.printInputShapes() + " for " +
                             Twine(count) + " experts of each row");
}

/// With `normalize_routing_weights`, the softmax is that of the chosen scores only. Of equal scores
/// the last ones are chosen, as onnxruntime does it.
MaybeValue MixtureImporter::route() {
  auto scores = node.value(kScores);
  if (failed(scores))
    return scores;
  int64_t count = node.getInt("k", 1);
  Shape places = allAxes(experts);
  std::reverse(places.begin(), places.end());
  auto reversed =
      node.create<nn::SliceOp>(*scores, Shape{0, experts - 1}, Shape{rows, experts}, Shape{1, -1});
  auto ranked = failed(reversed) ? reversed
                                 : node.createAs<nn::TopKOp>(node.builder().getI64Type(), *reversed,
                                                             count, /*isSmallest=*/false);
  auto positions =
      integerConstant(node, "from_the_last", {experts}, {places.begin(), places.end()});
  if (failed(ranked) || failed(positions))
    return failure();
  auto isOne = compare(node, nn::Predicate::equal,
                       MaybeValue(node.reshape(*ranked, {rows, count, 1})), positions);
  auto isChosen = reduce(node, failed(isOne) ? isOne : node.cast(*isOne, node.f32()),
                         Reduction::sum, {1}, false);
  auto softmax = [&](MaybeValue x) {
    return failed(x) ? x : node.create<nn::SoftmaxOp>(*x, /*axis=*/1);
  };
  if (!node.getInt("normalize_routing_weights", 0))
    return node.compute<nn::MulOp>(softmax(scores), isChosen);
  auto lowest = node.number("not_chosen", std::numeric_limits<float>::lowest());
  return softmax(select(node, compare(node, nn::Predicate::less, node.number("zero", 0), isChosen),
                        scores, lowest));
}

MaybeValue MixtureImporter::project(Value x, int64_t start, int64_t step) {
  int64_t all = experts * hidden;
  auto take = [&](unsigned i, ShapeRef shape, int64_t width) {
    std::vector<int64_t> source;
    for (int64_t row = 0; row < all; ++row)
      for (int64_t column = 0; column < width; ++column)
        source.push_back((start + row * step) * width + column);
    HostTensor taken = gatherElements(*node.constant(i), shape, source);
    taken.name = node.nameConstant("experts_" + Twine(i) + "_" + Twine(start));
    return node.materialize(std::move(taken));
  };
  auto filter = take(kFirst, {all, columns}, columns);
  auto bias = node.has(kFirstBias) ? take(kFirstBias, {all}, 1) : MaybeValue(Value());
  return failed(filter) || failed(bias) ? MaybeValue()
                                        : node.create<nn::LinearOp>(x, *filter, *bias);
}

MaybeValue MixtureImporter::gate(MaybeValue g, MaybeValue l) {
  if (const onnx::AttributeProto *limit = node.attribute("swiglu_limit")) {
    auto clamp = [&](MaybeValue x, float low) {
      return failed(x) ? x
                       : node.create<nn::ClipOp>(*x, llvm::APFloat(low), llvm::APFloat(limit->f()));
    };
    g = clamp(g, -std::numeric_limits<float>::infinity()), l = clamp(l, -limit->f());
  }
  auto slope = node.number("alpha", node.getFloat("activation_alpha", 1)),
       offset = node.number("beta", node.getFloat("activation_beta", 0));
  auto swish =
      node.compute<nn::MulOp>(g, node.compute<nn::SigmoidOp>(node.compute<nn::MulOp>(g, slope)));
  return node.compute<nn::MulOp>(swish, node.compute<nn::AddOp>(l, offset));
}

MaybeValue MixtureImporter::activate(Value rows) {
  if (isGated())
    return gate(project(rows, 0, 2), project(rows, 1, 2));
  auto x = project(rows, 0, 1);
  if (failed(x) || activation == "identity")
    return x;
  if (activation == "gelu")
    return node.create<nn::GeluOp>(*x, nn::GeluForm::tanh);
  return activation == "silu" ? node.create<nn::SiluOp>(*x) : node.create<nn::ReluOp>(*x);
}

/// The second products and biases of all experts, as often as `weights` says.
MaybeValue MixtureImporter::combine(Value hiddens, Value weights) {
  auto weighted =
      node.compute<nn::MulOp>(MaybeValue(node.reshape(hiddens, {rows, experts, hidden})),
                              MaybeValue(node.reshape(weights, {rows, experts, 1})));
  std::vector<int64_t> source;
  for (int64_t row = 0; row < columns; ++row)
    for (int64_t i = 0; i < experts * hidden; ++i)
      source.push_back((i / hidden * columns + row) * hidden + i % hidden);
  HostTensor second = gatherElements(*node.constant(kSecond), {columns, experts * hidden}, source);
  second.name = node.nameConstant("experts_2");
  auto filter = node.materialize(std::move(second));
  if (failed(weighted) || failed(filter))
    return failure();
  auto sum = node.create<nn::LinearOp>(node.reshape(*weighted, {rows, experts * hidden}), *filter,
                                       Value());
  if (!node.has(kSecondBias))
    return sum;
  auto biases = node.compose(importMatMul, {Entry{nullptr, weights}, node.entry(kSecondBias)});
  return failed(biases) ? MaybeValue() : node.compute<nn::AddOp>(sum, MaybeValue(biases->value));
}

LogicalResult MixtureImporter::run() {
  if (failed(checkInputs()))
    return failure();
  auto input = node.value(kInput);
  auto weights = route();
  auto hiddens = failed(input) ? input : activate(node.reshape(*input, {rows, columns}));
  auto sum = failed(hiddens) || failed(weights) ? MaybeValue() : combine(*hiddens, *weights);
  return failed(sum) ? failure() : node.setResult(node.reshape(*sum, node.shape(kInput)));
}

LogicalResult octet::onnx_import::importMoE(Node &node) { return MixtureImporter(node).run(); }
