//===- RecurrentActivations.cpp - functions of recurrent cells ---------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecurrentActivations.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

template <typename OpTy> static MaybeValue makePlain(Node &node, Value x, float, float) {
  return node.create<OpTy>(x);
}

template <typename OpTy> static MaybeValue makeWithAlpha(Node &node, Value x, float alpha, float) {
  return node.create<OpTy>(x, llvm::APFloat(alpha));
}

static MaybeValue makeHardSigmoid(Node &node, Value x, float alpha, float beta) {
  return node.create<nn::HardSigmoidOp>(x, llvm::APFloat(alpha), llvm::APFloat(beta));
}

/// x / (1 + |x|)
static MaybeValue makeSoftsign(Node &node, Value x, float, float) {
  auto divisor = node.compute<nn::AddOp>(node.create<nn::AbsOp>(x), node.number("one", 1));
  return node.compute<nn::DivOp>(MaybeValue(x), divisor);
}

/// alpha * x + beta
static MaybeValue makeAffine(Node &node, Value x, float alpha, float beta) {
  auto scaled = node.compute<nn::MulOp>(MaybeValue(x), node.number("alpha", alpha));
  return node.compute<nn::AddOp>(scaled, node.number("beta", beta));
}

/// alpha * tanh(beta * x)
static MaybeValue makeScaledTanh(Node &node, Value x, float alpha, float beta) {
  auto scaled = node.compute<nn::MulOp>(MaybeValue(x), node.number("beta", beta));
  return node.compute<nn::MulOp>(node.compute<nn::TanhOp>(scaled), node.number("alpha", alpha));
}

namespace {
/// A function, which of its parameters it has, and what they are by default.
struct FunctionRow {
  StringLiteral name;
  Activation::MakeFn make;
  bool hasAlpha = false, hasBeta = false;
  float alpha = 0, beta = 0;
};
} // namespace

static const FunctionRow functions[] = {
    {"Sigmoid", makePlain<nn::SigmoidOp>},
    {"Tanh", makePlain<nn::TanhOp>},
    {"Relu", makePlain<nn::ReluOp>},
    {"Softplus", makePlain<nn::SoftplusOp>},
    {"Softsign", makeSoftsign},
    {"Affine", makeAffine, true, true, 1, 0},
    {"LeakyRelu", makeWithAlpha<nn::LeakyReluOp>, true, false, 0.01f},
    {"ThresholdedRelu", makeWithAlpha<nn::ThresholdedReluOp>, true, false, 1},
    {"Elu", makeWithAlpha<nn::EluOp>, true, false, 1},
    {"ScaledTanh", makeScaledTanh, true, true, 1, 1},
    {"HardSigmoid", makeHardSigmoid, true, true, 0.2f, 0.5f}};

static FailureOr<const FunctionRow *> findFunction(Node &node, StringRef name) {
  const FunctionRow *row =
      llvm::find_if(functions, [&](auto &row) { return name.equals_insensitive(row.name); });
  if (row == std::end(functions))
    return node.unsupported("the activation " + name);
  return row;
}

FailureOr<Activation> octet::onnx_import::findActivation(Node &node, StringRef name,
                                                         std::optional<float> alpha,
                                                         std::optional<float> beta) {
  auto row = findFunction(node, name);
  if (failed(row))
    return failure();
  return Activation((*row)->make, alpha.value_or((*row)->alpha), beta.value_or((*row)->beta));
}

/// Parameters are listed for the functions that have some, one behind the other.
FailureOr<SmallVector<Activation>>
octet::onnx_import::readActivations(Node &node, ArrayRef<StringRef> usual, int64_t directions) {
  SmallVector<StringRef> names;
  if (const onnx::AttributeProto *given = node.attribute("activations"))
    names.append(given->strings().begin(), given->strings().end());
  else
    for (int64_t d = 0; d < directions; ++d)
      names.append(usual.begin(), usual.end());
  if (names.size() != directions * usual.size())
    return node.invalid("has " + Twine(names.size()) + " activations; expected " +
                        Twine(directions * usual.size()));
  int numAlphas = 0, numBetas = 0;
  auto next = [&](StringRef attribute, bool has, float otherwise, int &count) {
    const onnx::AttributeProto *list = has ? node.attribute(attribute) : nullptr;
    return list && count < list->floats_size() ? list->floats(count++) : otherwise;
  };
  SmallVector<Activation> result;
  for (StringRef name : names) {
    auto row = findFunction(node, name);
    if (failed(row))
      return failure();
    float alpha = next("activation_alpha", (*row)->hasAlpha, (*row)->alpha, numAlphas),
          beta = next("activation_beta", (*row)->hasBeta, (*row)->beta, numBetas);
    result.emplace_back((*row)->make, alpha, beta);
  }
  return result;
}
