//===- MixtureOfExperts.cpp - MoE ---------------------------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MixtureOfExperts.h"
#include "Operators.h"
#include <limits>

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

LogicalResult MixtureImporter::checkInputs() {
  int64_t fusion = node.getInt("swiglu_fusion", 0);
  auto [first, firstBias, second, secondBias, third, thirdBias] = places;
  if (node.has(third) || node.has(thirdBias) || (isGated() && fusion != 1))
    return node.unsupported("activation_type=" + activation + " with swiglu_fusion=" +
                            Twine(fusion) + (node.has(third) ? " and a third matrix" : ""));
  for (unsigned i : {first, firstBias, second})
    if (node.has(i) && !node.constant(i))
      return node.unsupported("experts that are computed at run time");
  if (!node.has(second))
    return node.invalid("lacks its input " + Twine(second));
  Shape input = node.shape(kInput), matrix = matrixShape(first);
  int64_t parts = isGated() ? 2 : 1, count = node.getInt("k", 1);
  bool fits = matrix.size() == 3 && !input.empty() && matrix[1] % parts == 0;
  if (fits) {
    experts = matrix[0], hidden = matrix[1] / parts, columns = matrix[2];
    rows = *countElements(ShapeRef(input).drop_back());
    auto has = [&](unsigned i, ShapeRef shape) { return !node.has(i) || node.shape(i) == shape; };
    fits = input.back() == columns && has(kScores, {rows, experts}) &&
           has(firstBias, {experts, matrix[1]}) &&
           matrixShape(second) == Shape{experts, columns, hidden} &&
           has(secondBias, {experts, columns}) && count >= 1 && count <= experts;
  }
  return fits ? checkMore()
              : node.invalid("has inputs of shape " + node.printInputShapes() + " for " +
                             Twine(count) + " experts of each row");
}

/// Of equal scores the last ones are chosen, as onnxruntime does it.
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
  return weigh(*scores, isChosen);
}

MaybeValue MixtureImporter::softmaxOfChosen(Value scores, MaybeValue isChosen) {
  auto lowest = node.number("not_chosen", std::numeric_limits<float>::lowest());
  auto chosen = select(node, compare(node, nn::Predicate::less, node.number("zero", 0), isChosen),
                       MaybeValue(scores), lowest);
  return failed(chosen) ? chosen : node.create<nn::SoftmaxOp>(*chosen, /*axis=*/1);
}

MaybeValue MixtureImporter::project(Value x, int64_t start, int64_t step) {
  std::vector<int64_t> taken;
  for (int64_t row = 0; row < experts * hidden; ++row)
    taken.push_back(start + row * step);
  auto filter = join(places.first, taken, /*perRow=*/1);
  auto bias = MaybeValue(Value());
  if (node.has(places.firstBias)) {
    HostTensor biases = gatherElements(*node.constant(places.firstBias), {experts * hidden}, taken);
    biases.name = node.nameConstant("biases_" + Twine(start));
    bias = node.materialize(std::move(biases));
  }
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
  std::vector<int64_t> taken;
  for (int64_t row = 0; row < columns; ++row)
    for (int64_t expert = 0; expert < experts; ++expert)
      taken.push_back(expert * columns + row);
  auto filter = join(places.second, taken, /*perRow=*/experts);
  if (failed(weighted) || failed(filter))
    return failure();
  auto sum = node.create<nn::LinearOp>(node.reshape(*weighted, {rows, experts * hidden}), *filter,
                                       Value());
  if (!node.has(places.secondBias))
    return sum;
  auto biases =
      node.compose(importMatMul, {Entry{nullptr, weights}, node.entry(places.secondBias)});
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

namespace {
/// MoE of com.microsoft, whose experts are floats.
class FloatMixture : public MixtureImporter {
public:
  explicit FloatMixture(Node &node) : MixtureImporter(node, {2, 3, 4, 5, 6, 7}) {}

private:
  Shape matrixShape(unsigned i) override { return node.shape(i); }
  MaybeValue join(unsigned i, ArrayRef<int64_t> rows, int64_t perRow) override;
  MaybeValue weigh(Value scores, MaybeValue isChosen) override;
};
} // namespace

MaybeValue FloatMixture::join(unsigned i, ArrayRef<int64_t> rows, int64_t perRow) {
  int64_t width = node.shape(i)[2];
  std::vector<int64_t> source;
  for (int64_t row : rows)
    for (int64_t column = 0; column < width; ++column)
      source.push_back(row * width + column);
  HostTensor joined =
      gatherElements(*node.constant(i), {(int64_t)rows.size() / perRow, perRow * width}, source);
  joined.name = node.nameConstant("experts_" + Twine(i) + "_" + Twine(rows.front()));
  return node.materialize(std::move(joined));
}

/// With `normalize_routing_weights`, the softmax is that of the chosen scores only.
MaybeValue FloatMixture::weigh(Value scores, MaybeValue isChosen) {
  if (node.getInt("normalize_routing_weights", 0))
    return softmaxOfChosen(scores, isChosen);
  return node.compute<nn::MulOp>(node.create<nn::SoftmaxOp>(scores, /*axis=*/1), isChosen);
}

LogicalResult octet::onnx_import::importMoE(Node &node) { return FloatMixture(node).run(); }
