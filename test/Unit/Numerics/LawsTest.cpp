//===- LawsTest.cpp - the float laws against high precision ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/NN/Laws.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "octet/Numerics/FloatOps.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <list>

using namespace mlir;
using namespace octet;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

namespace {
/// Ops of one operand, as text behind "nn.", and their laws.
struct Laws : testing::Test {
  Laws() { context.loadDialect<nn::NNDialect>(); }

  Operation *parse(StringRef op) {
    std::string text =
        ("%x = nn.constant dense<0.0> : tensor<1xf32>\n%y = nn." + op.split(' ').first + " %x " +
         op.split(' ').second + " : (tensor<1xf32>) -> tensor<1xf32>\n")
            .str();
    blocks.emplace_back();
    EXPECT_TRUE(succeeded(parseSourceString(text, &blocks.back(), ParserConfig(&context))));
    return &blocks.back().back();
  }
  template <typename A> typename A::Real apply(Operation *op, typename A::Real x) {
    A arithmetic;
    return *nn::applyLaw<A>(arithmetic, op, x);
  }
  std::function<float(float)> get(StringRef op) {
    return
        [this, parsed = parse(op)](float x) { return apply<numerics::HostArithmetic>(parsed, x); };
  }
  float compute(StringRef op, float x) { return get(op)(x); }

  MLIRContext context;
  std::list<Block> blocks;
};
} // namespace

/// The largest error over [low, high] in units of the last place of the true result (normal results
/// only).
static double worstUlps(llvm::function_ref<float(float)> law,
                        llvm::function_ref<long double(long double)> truth, float low, float high) {
  double worst = 0;
  for (int64_t i = 0; i <= 400000; ++i) {
    float x = low + (high - low) * static_cast<float>(i / 400000.0);
    long double expected = truth(x);
    float nearest = static_cast<float>(expected);
    if (std::abs(nearest) < std::numeric_limits<float>::min())
      continue;
    double ulp = std::nextafter(std::abs(nearest), infinity) - std::abs(nearest);
    worst = std::max(worst, static_cast<double>(std::abs(law(x) - expected) / ulp));
  }
  return worst;
}

TEST_F(Laws, ExpIsWithinOneUlp) {
  EXPECT_LT(worstUlps(get("exp"), [](long double x) { return std::exp(x); }, -86.0f, 88.7f), 0.89);
  EXPECT_EQ(compute("exp", 0.0f), 1.0f);
}

TEST_F(Laws, ExpAtTheEnds) {
  auto exp = get("exp");
  EXPECT_EQ(exp(1000.0f), infinity);
  EXPECT_EQ(exp(infinity), infinity);
  EXPECT_EQ(exp(-1000.0f), 0.0f);
  EXPECT_EQ(exp(-infinity), 0.0f);
  EXPECT_TRUE(std::isnan(exp(notANumber)));
  // Nothing is subnormal.
  EXPECT_GT(exp(-86.0f), 4e-38f);
  EXPECT_EQ(exp(std::nextafter(-86.0f, -87.0f)), 0.0f);
  EXPECT_GT(exp(88.7228f), 3.4e38f);
  EXPECT_LT(exp(88.7228f), infinity);
}

TEST_F(Laws, SigmoidAndSiluAreWithinThreeUlps) {
  auto truth = [](long double x) { return 1 / (1 + std::exp(-x)); };
  auto sigmoid = get("sigmoid"), silu = get("silu");
  EXPECT_LT(worstUlps(sigmoid, truth, -80.0f, 20.0f), 3.0);
  EXPECT_LT(worstUlps(silu, [&](long double x) { return x * truth(x); }, -80.0f, 20.0f), 3.0);
  // At the end nothing is subnormal or no number.
  EXPECT_GE(sigmoid(-infinity), std::numeric_limits<float>::min());
  EXPECT_LT(sigmoid(-infinity), 2e-38f);
  EXPECT_EQ(silu(-infinity), silu(-87.0f));
  EXPECT_TRUE(std::isnan(silu(notANumber)));
}

TEST_F(Laws, TanhIsCloseAbsolutely) {
  auto tanh = get("tanh");
  for (float x = -12.0f; x < 12.0f; x += 0.001f)
    EXPECT_NEAR(tanh(x), std::tanh(static_cast<double>(x)), 2e-7) << x;
  EXPECT_EQ(tanh(1000.0f), 1.0f);
  EXPECT_EQ(tanh(-1000.0f), -1.0f);
}

TEST_F(Laws, ErfIsWithinOneUlp) {
  auto erf = get("erf");
  EXPECT_LT(worstUlps(erf, [](long double x) { return std::erf(x); }, -4.0f, 4.0f), 0.95);
  EXPECT_LT(worstUlps(erf, [](long double x) { return std::erf(x); }, 1e-6f, 1e-3f), 0.95);
  EXPECT_EQ(erf(infinity), 1.0f);
  EXPECT_EQ(erf(-1e30f), -1.0f);
  EXPECT_TRUE(std::isnan(erf(notANumber)));
}

TEST_F(Laws, SoftplusIsWithinTwoUlps) {
  auto softplus = get("softplus");
  EXPECT_LT(worstUlps(
                softplus, [](long double x) { return std::log1p(std::exp(x)); }, -86.0f, 100.0f),
            2.0);
  EXPECT_EQ(softplus(infinity), infinity);
  EXPECT_EQ(softplus(-infinity), softplus(-86.0f));
  EXPECT_TRUE(std::isnan(softplus(notANumber)));
}

TEST_F(Laws, LogIsWithinOneUlp) {
  auto log = get("log");
  auto truth = [](long double x) { return std::log(x); };
  EXPECT_LT(worstUlps(log, truth, 0.01f, 4.0f), 1.0);
  EXPECT_LT(worstUlps(log, truth, 1e-37f, 3e38f), 1.0);
  for (int exponent = -149; exponent < 128; ++exponent)
    EXPECT_FLOAT_EQ(log(std::ldexp(1.0f, exponent)), std::log(std::ldexp(1.0, exponent)));
  EXPECT_EQ(log(1.0f), 0.0f);
  EXPECT_EQ(log(0.0f), -infinity);
  EXPECT_EQ(log(infinity), infinity);
  EXPECT_TRUE(std::isnan(log(-1.0f)));
  EXPECT_TRUE(std::isnan(log(notANumber)));
}

TEST_F(Laws, SineCosineAndInverseTangentAreCloseAbsolutely) {
  auto sin = get("sin"), cos = get("cos"), atan = get("atan");
  for (float range : {3.0f, 100.0f, 1e4f, 0x1p20f})
    for (int i = -20000; i <= 20000; ++i) {
      float x = range * (static_cast<float>(i) / 20000);
      EXPECT_NEAR(sin(x), std::sin(static_cast<double>(x)), 2.5e-7) << x;
      EXPECT_NEAR(cos(x), std::cos(static_cast<double>(x)), 2.5e-7) << x;
      EXPECT_NEAR(atan(x), std::atan(static_cast<double>(x)), 2e-7) << x;
    }
  EXPECT_EQ(sin(1e30f), sin(0x1p20f));
  EXPECT_EQ(atan(infinity), llvm::bit_cast<float>(0x3FC90FDBu));
  for (auto &law : {sin, cos}) {
    EXPECT_TRUE(std::isnan(law(infinity)));
    EXPECT_TRUE(std::isnan(law(notANumber)));
  }
  EXPECT_TRUE(std::isnan(atan(notANumber)));
}

TEST_F(Laws, IntegersBesideANumber) {
  auto round = get("round"), floor = get("floor"), ceil = get("ceil"), sign = get("sign");
  for (float x : {0.0f, 0.3f, 0.5f, 1.5f, 2.5f, 1e6f, 0x1p22f + 0.5f, 0x1p23f + 1, 1e30f, infinity})
    for (float y : {x, -x}) {
      EXPECT_EQ(round(y), std::nearbyint(y)) << y;
      EXPECT_EQ(floor(y), std::floor(y)) << y;
      EXPECT_EQ(ceil(y), std::ceil(y)) << y;
      EXPECT_EQ(sign(y), static_cast<float>((y > 0) - (y < 0))) << y;
      EXPECT_EQ(compute("abs", y), x);
      EXPECT_FALSE(std::signbit(compute("abs", y)));
    }
  for (auto &law : {round, floor, ceil, sign, get("abs")})
    EXPECT_TRUE(std::isnan(law(notANumber)));
}

TEST_F(Laws, GeluIsCloseAbsolutely) {
  auto exact = get("gelu none"), tanh = get("gelu tanh");
  for (float x = -12.0f; x < 12.0f; x += 0.001f) {
    double half = x / 2.0, inner = std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3.0));
    EXPECT_NEAR(exact(x), half * (1 + std::erf(x / std::sqrt(2.0))), 1e-6) << x;
    EXPECT_NEAR(tanh(x), half * (1 + std::tanh(inner)), 1e-6) << x;
  }
  EXPECT_EQ(exact(infinity), infinity);
  EXPECT_EQ(tanh(infinity), infinity);
  EXPECT_NEAR(tanh(-infinity), 0.0f, 1e-30);
  EXPECT_TRUE(std::isnan(exact(notANumber)));
  EXPECT_TRUE(std::isnan(tanh(notANumber)));
}

TEST_F(Laws, CoarseActivationsAreNearTheirFunctions) {
  for (auto [op, near] : {std::pair("silu", 1.9e-3f), std::pair("gelu none", 3.9e-4f),
                          std::pair("gelu tanh", 3.9e-4f)}) {
    auto exact = get(op), coarse = get((op + StringRef(" {coarse}")).str());
    for (float x = -12.0f; x < 12.0f; x += 0.001f)
      EXPECT_NEAR(coarse(x), exact(x), near) << op << x;
    EXPECT_EQ(coarse(0.0f), 0.0f);
    EXPECT_EQ(coarse(infinity), infinity);
    EXPECT_NEAR(coarse(-infinity), 0.0f, near);
    EXPECT_NEAR(coarse(notANumber), 0.0f, near);
  }
}

TEST_F(Laws, CoarseExponentialsAreNearExponentials) {
  auto exact = get("exp"), coarse = get("exp {coarse}");
  for (float x = -17.0f; x < 88.0f; x += 0.001f)
    EXPECT_NEAR(coarse(x) / exact(x), 1.0f, 0x1p-13f) << x;
  EXPECT_EQ(coarse(0.0f), 1.0f);
  EXPECT_EQ(coarse(infinity), coarse(88.0f));
  EXPECT_EQ(coarse(-infinity), coarse(-17.0f));
  EXPECT_EQ(coarse(notANumber), coarse(-17.0f));
}

TEST_F(Laws, Clamps) {
  EXPECT_EQ(compute("relu", -1.0f), 0.0f);
  EXPECT_EQ(compute("relu", notANumber), 0.0f);
  EXPECT_EQ(compute("clip min 0.0 max 6.0", 7.0f), 6.0f);
  EXPECT_EQ(compute("clip min 0.0 max 6.0", -7.0f), 0.0f);
  EXPECT_EQ(compute("leaky_relu alpha 0.25", -2.0f), -0.5f);
  EXPECT_EQ(compute("thresholded_relu alpha 1.0", 1.0f), 0.0f);
  EXPECT_EQ(compute("thresholded_relu alpha -1.0", -0.5f), -0.5f);
  EXPECT_EQ(compute("hard_sigmoid alpha 0.2 beta 0.5", 0.0f), 0.5f);
  EXPECT_EQ(compute("hard_swish", 6.0f), 6.0f);
  EXPECT_EQ(compute("hard_swish", -3.0f), 0.0f);
  EXPECT_FLOAT_EQ(compute("elu alpha 2.0", -1.0f), 2.0f * std::expm1(-1.0f));
}

TEST(FloatOps, TiesGoToEven) {
  EXPECT_EQ(numerics::roundNearestEven(0.5f), 0.0f);
  EXPECT_EQ(numerics::roundNearestEven(1.5f), 2.0f);
  EXPECT_EQ(numerics::roundNearestEven(-2.5f), -2.0f);
}

// (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24, of which rounding the product first would lose the last term.
TEST_F(Laws, HardSigmoidFuses) {
  float x = llvm::bit_cast<float>(0x3F800800u);
  numerics::HostArithmetic host;
  EXPECT_EQ(nn::hardSigmoid(host, x, x, -1.0f), std::fma(x, x, -1.0f));
  volatile float product = x * x;
  EXPECT_NE(nn::hardSigmoid(host, x, x, -1.0f), product - 1.0f);
}

/// Every law of one operand, in the form that `parse` takes.
static constexpr StringRef unaryOps[] = {"relu",
                                         "clip min -1.5 max 6.0",
                                         "leaky_relu alpha 0.25",
                                         "leaky_relu alpha -3.0",
                                         "elu alpha 2.0",
                                         "sigmoid",
                                         "silu",
                                         "silu {coarse}",
                                         "tanh",
                                         "erf",
                                         "softplus",
                                         "gelu none",
                                         "gelu tanh",
                                         "gelu none {coarse}",
                                         "gelu tanh {coarse}",
                                         "hard_sigmoid alpha 0.2 beta 0.5",
                                         "hard_swish",
                                         "exp",
                                         "exp {coarse}",
                                         "abs",
                                         "sign",
                                         "round",
                                         "floor",
                                         "ceil",
                                         "sin",
                                         "cos",
                                         "atan",
                                         "thresholded_relu alpha 0.5",
                                         "neg"};

TEST_F(Laws, ResultsAreInsideTheirBounds) {
  for (StringRef name : unaryOps) {
    Operation *op = parse(name);
    for (float bound : {0.0f, 1e-6f, 0.3f, 1.0f, 5.0f, 30.0f, 86.0f, 500.0f, 1e30f}) {
      auto interval = apply<numerics::IntervalArithmetic>(op, {-bound, bound});
      // An infinite intermediate value, which these two can have, is not bounded.
      bool mayOverflow = (name == "exp" && bound > 86.0f) || (name == "gelu tanh" && bound > 1e18f);
      EXPECT_TRUE(interval.isBounded() || mayOverflow) << name.str() << bound;
      for (int i = -500; i <= 500; ++i) {
        float y = apply<numerics::HostArithmetic>(op, bound * (static_cast<float>(i) / 500));
        EXPECT_TRUE(interval.low <= y && y <= interval.high)
            << name.str() << ": " << y << " of " << interval.low << ", " << interval.high;
      }
    }
    EXPECT_EQ(apply<numerics::IntervalArithmetic>(op, {-infinity, 1.0f}).getMagnitude(), infinity);
  }
}

/// Of other numbers, what is no number is not bounded.
TEST_F(Laws, ResultsOfPositiveNumbersAreInsideTheirBounds) {
  for (StringRef name : {"log", "sqrt"}) {
    Operation *op = parse(name);
    EXPECT_FALSE(apply<numerics::IntervalArithmetic>(op, {-1.0f, 1.0f}).isBounded()) << name.str();
    for (auto [low, high] : {std::pair(1e-6f, 1e-3f), {0.3f, 5.0f}, {2.0f, 1e30f}}) {
      auto interval = apply<numerics::IntervalArithmetic>(op, {low, high});
      EXPECT_TRUE(interval.isBounded()) << name.str() << low;
      for (int i = 0; i <= 500; ++i) {
        float y = apply<numerics::HostArithmetic>(op, low + (high - low) * (i / 500.0f));
        EXPECT_TRUE(interval.low <= y && y <= interval.high)
            << name.str() << ": " << y << " of " << interval.low << ", " << interval.high;
      }
    }
  }
}

TEST_F(Laws, BoundsAreNotFarFromResults) {
  auto bound = [&](StringRef op, float x) {
    return apply<numerics::IntervalArithmetic>(parse(op), {-x, x}).getMagnitude();
  };
  EXPECT_EQ(bound("relu", 3.0f), 3.0f);
  EXPECT_EQ(bound("clip min -1.5 max 6.0", 100.0f), 6.0f);
  EXPECT_EQ(bound("leaky_relu alpha -3.0", 2.0f), 6.0f);
  EXPECT_LE(bound("silu", 3.0f), 3.0f);
  EXPECT_LE(bound("silu {coarse}", 30.0f), 30.6f);
  EXPECT_NEAR(bound("sigmoid", 1e30f), 1.0f, 1e-5);
  EXPECT_NEAR(bound("tanh", 1e30f), 1.0f, 1e-5);
  EXPECT_NEAR(bound("elu alpha 2.0", 1.5f), 2 * (1 - std::exp(-1.5)), 1e-5);
  EXPECT_NEAR(bound("exp", 2.0f), std::exp(2.0), 1e-4);
}

TEST_F(Laws, ChainsAreAsLongAsTheirOperations) {
  auto depth = [&](StringRef op) { return apply<numerics::DepthArithmetic>(parse(op), 0); };
  EXPECT_EQ(depth("relu"), 1);
  EXPECT_EQ(depth("hard_swish"), 4);
  EXPECT_GT(depth("exp"), 10);
  EXPECT_GT(depth("silu"), 15); // an exponential and a division
}
