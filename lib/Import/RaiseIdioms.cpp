//===- RaiseIdioms.cpp - activations in small operators become one ------------ ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApplyPatterns.h"
#include "mlir/IR/PatternMatch.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Import/Passes.h"
#include <array>
#include <cmath>

namespace octet {
#define GEN_PASS_DEF_RAISEIDIOMSPASS
#include "octet/Import/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

/// The one value of an f32 constant whose elements are all the same.
static std::optional<float> getScalar(Value value) {
  auto values = nn::getConstantValues<float>(value);
  if (failed(values) || values->empty() || !llvm::all_equal(*values))
    return std::nullopt;
  return values->front();
}

/// Whether the two are the same number but for a few roundings of the exporter.
static bool isClose(float actual, float expected) {
  return std::fabs(actual - expected) <= 1e-5f * std::fabs(expected);
}

namespace {

/// y = scale * x + offset, or clamped to [low, high].
struct Affine {
  Value input;
  float scale, offset;
};
struct Clamped {
  Affine affine;
  float low, high;
};

/// `op` as an operation with a constant that does not widen the shape: its other operand and the
/// constant.
template <typename OpTy>
std::optional<std::pair<Value, float>> matchConstantOperand(Value value, bool commutes = true) {
  auto op = value.getDefiningOp<OpTy>();
  if (!op)
    return std::nullopt;
  if (auto constant = getScalar(op.getRhs()); constant && op.getLhs().getType() == op.getType())
    return std::pair(op.getLhs(), *constant);
  if (auto constant = getScalar(op.getLhs());
      commutes && constant && op.getRhs().getType() == op.getType())
    return std::pair(op.getRhs(), *constant);
  return std::nullopt;
}

/// `value` as factor * x: a product or quotient with a constant.
std::optional<std::pair<Value, float>> matchScaled(Value value) {
  if (auto product = matchConstantOperand<nn::MulOp>(value))
    return product;
  auto quotient = matchConstantOperand<nn::DivOp>(value, /*commutes=*/false);
  if (quotient && quotient->second != 0)
    return std::pair(quotient->first, 1 / quotient->second);
  return std::nullopt;
}

/// `value` as scale * x + offset, with at most one of each; inner values without other users.
Affine matchAffine(Value value) {
  Affine result{value, 1, 0};
  if (auto sum = matchConstantOperand<nn::AddOp>(value); sum && value.hasOneUse())
    result = {sum->first, 1, sum->second};
  if (auto product = matchScaled(result.input); product && result.input.hasOneUse())
    result = {product->first, product->second, result.offset};
  return result;
}

/// `value` as clip(affine, low, high).
std::optional<Clamped> matchClamped(Value value) {
  auto clip = value.getDefiningOp<nn::ClipOp>();
  if (!clip || !value.hasOneUse())
    return std::nullopt;
  return Clamped{matchAffine(clip.getInput()), clip.getMin().convertToFloat(),
                 clip.getMax().convertToFloat()};
}

/// alpha * x + beta clamped to [0, 1].
struct HardSigmoid {
  Value input;
  float alpha, beta;
  bool isOfHardSwish(Value x) const {
    return input == x && isClose(alpha, 1.0f / 6) && isClose(beta, 0.5f);
  }
};

/// factor * clip(affine, 0, 1 / factor) as a hard sigmoid.
std::optional<HardSigmoid> matchHardSigmoid(Value value, float factor) {
  if (auto op = value.getDefiningOp<nn::HardSigmoidOp>(); op && factor == 1 && value.hasOneUse())
    return HardSigmoid{op.getInput(), op.getAlpha().convertToFloat(),
                       op.getBeta().convertToFloat()};
  auto clamped = matchClamped(value);
  if (!clamped || clamped->low != 0 || !isClose(clamped->high * factor, 1) ||
      clamped->affine.input == value)
    return std::nullopt;
  const Affine &affine = clamped->affine;
  if (affine.scale == 1 && affine.offset == 0)
    return std::nullopt;
  return HardSigmoid{affine.input, affine.scale * factor, affine.offset * factor};
}

/// Coefficients of 1, x, x^2 and x^3.
using Cubic = std::array<float, 4>;

bool areClose(const Cubic &actual, const Cubic &expected) {
  return llvm::all_of_zip(actual, expected, [](float a, float e) { return isClose(a, e); });
}

std::optional<Cubic> multiply(const Cubic &lhs, const Cubic &rhs) {
  Cubic product{};
  for (size_t i = 0; i < lhs.size(); ++i)
    for (size_t k = 0; k < rhs.size(); ++k) {
      float term = lhs[i] * rhs[k];
      if (i + k < product.size())
        product[i + k] += term;
      else if (term != 0)
        return std::nullopt;
    }
  return product;
}

/// `value` as a polynomial in x that sums and products of x and constants compute, some of them.
std::optional<Cubic> matchCubic(Value value, Value x, int depth = 8) {
  if (value == x)
    return Cubic{0, 1, 0, 0};
  if (auto constant = getScalar(value))
    return Cubic{*constant, 0, 0, 0};
  Operation *op = value.getDefiningOp();
  if (!isa_and_present<nn::AddOp, nn::MulOp, nn::DivOp>(op) || depth == 0)
    return std::nullopt;
  auto lhs = matchCubic(op->getOperand(0), x, depth - 1);
  auto rhs = lhs ? matchCubic(op->getOperand(1), x, depth - 1) : std::nullopt;
  if (!rhs)
    return std::nullopt;
  if (isa<nn::MulOp>(op))
    return multiply(*lhs, *rhs);
  if (isa<nn::DivOp>(op)) {
    Cubic inverse{1 / (*rhs)[0], 0, 0, 0};
    bool isByConstant =
        (*rhs)[0] != 0 && llvm::all_of(llvm::drop_begin(*rhs), [](float c) { return c == 0; });
    return isByConstant ? multiply(*lhs, inverse) : std::nullopt;
  }
  Cubic sum = *lhs;
  for (auto [term, other] : llvm::zip_equal(sum, *rhs))
    term += other;
  return sum;
}

/// A product and the constant factor around it, which is 1 if there is none; the product is null
/// for any other value.
std::pair<nn::MulOp, float> matchProduct(Value value) {
  float factor = 1;
  if (auto scaled = matchScaled(value); scaled && scaled->first.hasOneUse())
    std::tie(value, factor) = *scaled;
  return {value.getDefiningOp<nn::MulOp>(), factor};
}

/// The operands of a product or sum in both orders.
template <typename OpTy> std::array<std::pair<Value, Value>, 2> getOrders(OpTy op) {
  return {{{op.getLhs(), op.getRhs()}, {op.getRhs(), op.getLhs()}}};
}

/// Base of the patterns: counts the raised idioms.
template <typename OpTy> struct Raise : OpRewritePattern<OpTy> {
  Raise(MLIRContext *context, Pass::Statistic &counter, PatternBenefit benefit = 1)
      : OpRewritePattern<OpTy>(context, benefit), counter(counter) {}

  template <typename NewOp, typename... Args>
  LogicalResult raise(OpTy op, PatternRewriter &rewriter, Args &&...args) const {
    rewriter.replaceOpWithNewOp<NewOp>(op, op.getType(), std::forward<Args>(args)...);
    ++counter;
    return success();
  }
  Pass::Statistic &counter;
};

/// x * sigmoid(x)
struct RaiseSilu : Raise<nn::MulOp> {
  using Raise::Raise;
  LogicalResult matchAndRewrite(nn::MulOp mul, PatternRewriter &rewriter) const override {
    for (auto [x, gate] : getOrders(mul))
      if (auto sigmoid = gate.getDefiningOp<nn::SigmoidOp>();
          sigmoid && gate.hasOneUse() && sigmoid.getInput() == x)
        return raise<nn::SiluOp>(mul, rewriter, x);
    return rewriter.notifyMatchFailure(mul, "requires a value times its own sigmoid");
  }
};

/// x * hard_sigmoid(x), the constant factor inside or (matched from a product or quotient) outside.
template <typename OuterOp> struct RaiseHardSwish : Raise<OuterOp> {
  using Raise<OuterOp>::Raise;
  LogicalResult matchAndRewrite(OuterOp op, PatternRewriter &rewriter) const override {
    auto [mul, factor] = matchProduct(op);
    if (!mul)
      return rewriter.notifyMatchFailure(op, "requires a product");
    for (auto [x, gate] : getOrders(mul)) {
      if (x.getType() != mul.getType())
        continue;
      if (auto match = matchGate(gate, factor); match && match->isOfHardSwish(x))
        return this->template raise<nn::HardSwishOp>(op, rewriter, x);
      // (x * factor) * clip(...)
      auto scaled = matchScaled(x);
      auto match =
          scaled && x.hasOneUse() ? matchGate(gate, factor * scaled->second) : std::nullopt;
      if (match && match->isOfHardSwish(scaled->first))
        return this->template raise<nn::HardSwishOp>(op, rewriter, scaled->first);
    }
    return rewriter.notifyMatchFailure(op, "requires a value times its own hard sigmoid");
  }

  /// The gate, with its constant factor here or around the product.
  static std::optional<HardSigmoid> matchGate(Value gate, float factor) {
    if (auto scaled = matchScaled(gate); scaled && gate.hasOneUse())
      return matchHardSigmoid(scaled->first, factor * scaled->second);
    return matchHardSigmoid(gate, factor);
  }
};

/// x * (1 + erf(x / sqrt(2))), halved anywhere; the same with the tanh of a polynomial, whose terms
/// exporters arrange in many ways.
struct RaiseGelu : Raise<nn::MulOp> {
  using Raise::Raise;
  LogicalResult matchAndRewrite(nn::MulOp op, PatternRewriter &rewriter) const override {
    auto [mul, factor] = matchProduct(op);
    if (!mul)
      return rewriter.notifyMatchFailure(op, "requires a product");
    for (auto [value, gate] : getOrders(mul)) {
      auto [x, inFront] = splitFactor(value);
      auto [sum, onGate] = splitFactor(gate);
      if (x.getType() != op.getType())
        continue;
      // With a factor in front, x is either the product or its operand.
      for (auto [source, part] : {std::pair(value, 1.0f), std::pair(x, inFront)})
        if (isClose(factor * part * onGate, 0.5f))
          if (auto form = matchGate(sum, source))
            return raise<nn::GeluOp>(op, rewriter, source, *form);
    }
    return rewriter.notifyMatchFailure(op, "requires half a value times its error function");
  }

private:
  /// `value` as factor * x; the factor is 1 if there is none, or the product has other users.
  static std::pair<Value, float> splitFactor(Value value) {
    auto scaled = value.hasOneUse() ? matchScaled(value) : std::nullopt;
    return scaled.value_or(std::pair(value, 1.0f));
  }

  /// The formula whose gate is 1 + erf(...) or 1 + tanh(...) of a polynomial in x.
  static std::optional<nn::GeluForm> matchGate(Value gate, Value x) {
    auto sum = matchConstantOperand<nn::AddOp>(gate);
    if (!sum || sum->second != 1 || !gate.hasOneUse() || !sum->first.hasOneUse())
      return std::nullopt;
    if (auto erf = sum->first.getDefiningOp<nn::ErfOp>())
      if (auto p = matchCubic(erf.getInput(), x); p && areClose(*p, {0, 0.70710678f, 0, 0}))
        return nn::GeluForm::none;
    if (auto tanh = sum->first.getDefiningOp<nn::TanhOp>())
      if (auto p = matchCubic(tanh.getInput(), x);
          p && areClose(*p, {0, 0.79788456f, 0, 0.79788456f * 0.044715f}))
        return nn::GeluForm::tanh;
    return std::nullopt;
  }
};

/// relu(x) + c * relu(-x): the slopes are -c.
struct RaisePrelu : Raise<nn::AddOp> {
  using Raise::Raise;
  LogicalResult matchAndRewrite(nn::AddOp add, PatternRewriter &rewriter) const override {
    for (auto [above, below] : getOrders(add)) {
      auto relu = above.getDefiningOp<nn::ReluOp>();
      auto product = below.getDefiningOp<nn::MulOp>();
      if (!relu || !product || !above.hasOneUse() || !below.hasOneUse() ||
          above.getType() != add.getType())
        continue;
      for (auto [mirrored, factors] : getOrders(product)) {
        auto values = nn::getConstantValues<float>(factors);
        if (failed(values) || !isMirrored(mirrored, relu.getInput()))
          continue;
        if (std::optional<float> factor = getScalar(factors))
          return raise<nn::LeakyReluOp>(add, rewriter, relu.getInput(),
                                        rewriter.getF32FloatAttr(-*factor));
        SmallVector<float, 0> slopes(llvm::map_range(*values, std::negate<>()));
        auto constant = factors.getDefiningOp<nn::ConstantOp>();
        Value negated = nn::createConstant<float>(rewriter, constant.getLoc(),
                                                  (nn::getConstantName(constant) + ".slopes").str(),
                                                  constant.getType(), slopes);
        return raise<nn::PreluOp>(add, rewriter, relu.getInput(), negated);
      }
    }
    return rewriter.notifyMatchFailure(add, "requires relu(x) and a constant times relu(-x)");
  }

private:
  /// Whether `value` is relu(-x), and nothing else reads it.
  static bool isMirrored(Value value, Value x) {
    auto relu = value.getDefiningOp<nn::ReluOp>();
    auto neg = relu ? relu.getInput().getDefiningOp<nn::NegOp>() : nn::NegOp();
    return neg && value.hasOneUse() && neg->hasOneUse() && neg.getInput() == x;
  }
};

/// clip(alpha * x + beta, 0, 1)
struct RaiseClip : Raise<nn::ClipOp> {
  using Raise::Raise;
  LogicalResult matchAndRewrite(nn::ClipOp clip, PatternRewriter &rewriter) const override {
    Affine affine = matchAffine(clip.getInput());
    if (!clip.getMin().isZero() || !clip.getMax().isExactlyValue(1.0f) ||
        affine.input == clip.getInput())
      return rewriter.notifyMatchFailure(clip, "requires a sum or product clamped to [0, 1]");
    return raise<nn::HardSigmoidOp>(clip, rewriter, affine.input,
                                    rewriter.getF32FloatAttr(affine.scale),
                                    rewriter.getF32FloatAttr(affine.offset));
  }
};

/// factor * clip(alpha * x + beta, 0, 1 / factor)
template <typename OuterOp> struct RaiseHardSigmoid : Raise<OuterOp> {
  using Raise<OuterOp>::Raise;
  LogicalResult matchAndRewrite(OuterOp op, PatternRewriter &rewriter) const override {
    auto scaled = matchScaled(op);
    if (!scaled || !scaled->first.template getDefiningOp<nn::ClipOp>())
      return rewriter.notifyMatchFailure(op, "requires a clip times a constant");
    auto match = matchHardSigmoid(scaled->first, scaled->second);
    if (!match)
      return rewriter.notifyMatchFailure(
          op, "requires a sum or product clamped to an interval that is scaled to [0, 1]");
    return this->template raise<nn::HardSigmoidOp>(op, rewriter, match->input,
                                                   rewriter.getF32FloatAttr(match->alpha),
                                                   rewriter.getF32FloatAttr(match->beta));
  }
};

struct RaiseIdiomsPass : octet::impl::RaiseIdiomsPassBase<RaiseIdiomsPass> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    RewritePatternSet patterns(context);
    // The larger idiom first: a hard swish contains a hard sigmoid.
    patterns.add<RaiseHardSwish<nn::MulOp>, RaiseHardSwish<nn::DivOp>>(context, numRaised, 2);
    patterns.add<RaiseSilu, RaiseGelu, RaisePrelu, RaiseClip, RaiseHardSigmoid<nn::MulOp>,
                 RaiseHardSigmoid<nn::DivOp>>(context, numRaised, 1);
    if (failed(applyToNetwork(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
