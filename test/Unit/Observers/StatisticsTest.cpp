//===- StatisticsTest.cpp - statistics merge, in any order ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "octet/Dialect/Octet/Octet.h"
#include "gtest/gtest.h"
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

using namespace mlir;
using namespace octet;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(),
                kNaN = std::numeric_limits<float>::quiet_NaN();

class Statistics : public testing::Test {
protected:
  Statistics() { context.loadDialect<OctetDialect>(); }

  ObserverAttrInterface parse(const char *text) {
    return dyn_cast_or_null<ObserverAttrInterface>(parseAttribute(text, &context));
  }

  using State = std::vector<char>;
  RankedTensorType getType(int64_t channels = 2) {
    return RankedTensorType::get({1, channels, 3}, Float32Type::get(&context));
  }
  State update(ObserverAttrInterface observer, std::vector<std::vector<float>> batches) {
    State state(observer.getStateBytes(getType()));
    observer.initState(getType(), state);
    for (const std::vector<float> &batch : batches)
      observer.updateState(getType(), batch, state);
    return state;
  }

  /// The message with which the statistics are refused, or "".
  std::string getError(ObserverAttrInterface observer, const State &state) {
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message = diagnostic.str();
      return success();
    });
    auto type = observer.getQuantizedType([&] { return emitError(UnknownLoc::get(&context)); },
                                          getType(), state);
    EXPECT_EQ(failed(type), !message.empty());
    return message;
  }

  /// Six values per batch, of very different magnitudes.
  std::vector<std::vector<float>> makeBatches(int count) {
    std::mt19937 random(1);
    std::vector<std::vector<float>> batches(count);
    for (std::vector<float> &batch : batches)
      for (int i = 0; i < 6; ++i)
        batch.push_back(std::ldexp((float)(random() % 2001) - 1000.0f, (int)(random() % 24) - 30));
    batches[count / 2][3] = -0.0f;
    return batches;
  }

  MLIRContext context;
};

TEST_F(Statistics, OrderAndShardsLeaveNoTrace) {
  for (const char *text :
       {"#octet.min_max<dtype = ui8>", "#octet.per_channel_min_max<dtype = ui8, axis = 1>",
        "#octet.column_min_max<dtype = ui8>", "#octet.channel_min_max<dtype = ui8, axis = 1>",
        "#octet.histogram<dtype = ui8>", "#octet.percentile<dtype = ui8>",
        "#octet.entropy<dtype = ui8>", "#octet.mean_squared_error<dtype = ui8>",
        "#octet.mean_squared_error<dtype = ui8, axis = 1>"}) {
    ObserverAttrInterface observer = parse(text);
    ASSERT_TRUE(observer) << text;
    auto batches = makeBatches(40);
    State whole = update(observer, batches);
    auto reversed = batches;
    std::reverse(reversed.begin(), reversed.end());
    EXPECT_EQ(update(observer, reversed), whole) << text;
    State first = update(observer, {batches.begin() + 13, batches.end()}),
          second = update(observer, {batches.begin(), batches.begin() + 13});
    ASSERT_TRUE(succeeded(observer.mergeState(getType(), first, second)));
    EXPECT_EQ(first, whole) << text;
    ASSERT_TRUE(succeeded(observer.mergeState(getType(), first, update(observer, {}))));
    EXPECT_EQ(first, whole) << text;
  }
}

TEST_F(Statistics, MovingAveragesDoNotMerge) {
  for (const char *text : {"#octet.moving_average_min_max<dtype = ui8>",
                           "#octet.moving_average_per_channel_min_max<dtype = ui8, axis = 1>"}) {
    ObserverAttrInterface observer = parse(text);
    State seen = update(observer, makeBatches(2)), copy = seen, empty = update(observer, {});
    EXPECT_TRUE(failed(observer.mergeState(getType(), copy, seen)));
    EXPECT_TRUE(succeeded(observer.mergeState(getType(), copy, empty)));
    EXPECT_EQ(copy, seen);
    EXPECT_TRUE(succeeded(observer.mergeState(getType(), empty, seen)));
    EXPECT_EQ(empty, seen);
  }
}

TEST_F(Statistics, RecordingsKeepTheFirstRuns) {
  ObserverAttrInterface observer = parse("#octet.recording<runs = 3>");
  auto batches = makeBatches(4);
  State whole = update(observer, batches), first = update(observer, {batches[0]}),
        second = update(observer, {batches.begin() + 1, batches.end()});
  int64_t seen;
  memcpy(&seen, whole.data(), sizeof(seen));
  EXPECT_EQ(seen, 4);
  EXPECT_EQ(whole.size(), 8 + 3 * 6 * sizeof(float));
  for (int run = 0; run < 3; ++run)
    EXPECT_EQ(memcmp(whole.data() + 8 + run * 24, batches[run].data(), 24), 0);
  ASSERT_TRUE(succeeded(observer.mergeState(getType(), first, second)));
  EXPECT_EQ(first, whole);
  EXPECT_EQ(getError(observer, whole), "a recording means no quantized type");
  int64_t negative = -1;
  memcpy(second.data(), &negative, sizeof(negative));
  EXPECT_TRUE(failed(observer.mergeState(getType(), first, second)));
  EXPECT_EQ(parse("#octet.recording").getStateBytes(getType()), 8 + 24);
}

TEST_F(Statistics, PlaceholdersAndReusedObserversHaveNoType) {
  ObserverAttrInterface placeholder = parse("#octet.placeholder<dtype = f16>"),
                        reuse = parse("#octet.reuse_input");
  EXPECT_EQ(getError(placeholder, update(placeholder, {{1, 2, 3, 4, 5, 6}})),
            "a placeholder has no quantized type: the values stay 'f16'");
  EXPECT_EQ(getError(reuse, update(reuse, {{1, 2, 3, 4, 5, 6}})),
            "the observer of the input gives the quantized type");
  EXPECT_TRUE(placeholder.getSpec().floatType.isF16());
  ObserverAttrInterface dynamic =
      parse("#octet.placeholder<dtype = ui8, dynamic = true, reduce_range = true, per_row = true>");
  EXPECT_EQ(getError(dynamic, update(dynamic, {{1, 2, 3, 4, 5, 6}})),
            "a placeholder has no quantized type: each run has its own");
  EXPECT_TRUE(dynamic.getSpec().isDynamic && dynamic.getSpec().isPerRow);
  EXPECT_EQ(std::make_pair(*dynamic.getSpec().quantMin, *dynamic.getSpec().quantMax),
            std::make_pair(int64_t(0), int64_t(127)));
  EXPECT_TRUE(reuse.getSpec().reusesInput);
}

/// The range that a type of ui8 stands for.
std::pair<double, double> getRange(quant::QuantizedType type, int64_t channel = 0) {
  double scale;
  int64_t zeroPoint;
  if (auto perAxis = dyn_cast<quant::UniformQuantizedPerAxisType>(type)) {
    scale = perAxis.getScales()[channel];
    zeroPoint = perAxis.getZeroPoints()[channel];
  } else {
    scale = cast<quant::UniformQuantizedType>(type).getScale();
    zeroPoint = cast<quant::UniformQuantizedType>(type).getZeroPoint();
  }
  return {-zeroPoint * scale, (255 - zeroPoint) * scale};
}

class Outliers : public Statistics {
protected:
  /// 100 000 values evenly from -1 to 1 in the first channel and ten times as large in the second,
  /// with one outlier in each.
  quant::QuantizedType observe(const char *text) {
    auto type = RankedTensorType::get({2, 100000}, Float32Type::get(&context));
    std::vector<float> data;
    for (int channel = 0; channel < 2; ++channel)
      for (int i = 0; i < 100000; ++i)
        data.push_back((i == 77 ? 4.0f : -1.0f + 2e-5f * i) * (channel == 0 ? 1 : 10));
    ObserverAttrInterface observer = parse(text);
    State state(observer.getStateBytes(type));
    observer.initState(type, state);
    observer.updateState(type, data, state);
    return *observer.getQuantizedType([&] { return emitError(UnknownLoc::get(&context)); }, type,
                                      state);
  }
};

TEST_F(Outliers, PercentilesLeaveThemOut) {
  auto [low, high] = getRange(observe("#octet.percentile<dtype = ui8, percentile = 99.0>"));
  // One per cent of 200 000 values, half on each side, of the 100 000 between -10 and 10.
  EXPECT_NEAR(low, -9.8, 0.1);
  EXPECT_NEAR(high, 9.8, 0.1);
  EXPECT_NEAR(getRange(observe("#octet.percentile<dtype = ui8, percentile = 100.0>")).second, 40,
              0.1);
}

TEST_F(Outliers, EntropyLeavesThemOut) {
  auto [low, high] = getRange(observe("#octet.entropy<dtype = ui8>"));
  EXPECT_NEAR(low, -10, 0.5);
  EXPECT_NEAR(high, 10, 0.5);
}

TEST_F(Statistics, EntropyDoesNotCountZeros) {
  auto type = RankedTensorType::get({20000}, Float32Type::get(&context));
  std::vector<float> data(20000, 0.0f); // as behind a rectifier
  for (int i = 0; i < 10000; ++i)
    data[i] = 1e-3f * i;
  ObserverAttrInterface observer = parse("#octet.entropy<dtype = ui8>");
  State state(observer.getStateBytes(type));
  observer.initState(type, state);
  observer.updateState(type, data, state);
  auto quantized =
      observer.getQuantizedType([&] { return emitError(UnknownLoc::get(&context)); }, type, state);
  EXPECT_NEAR(getRange(*quantized).second, 10, 0.5);
}

TEST_F(Outliers, LeastSquaresFollowTheStep) {
  // The least 4 * (40 - b)^2 + 200 000 / 12 * ((b + 10) / 255)^2 is at b = 37.0; with 65 535 steps
  // it is at 40.
  auto bytes = getRange(observe("#octet.mean_squared_error<dtype = ui8>"));
  EXPECT_NEAR(bytes.first, -10, 0.3);
  EXPECT_NEAR(bytes.second, 37.0, 0.5);
  auto wide = cast<quant::UniformQuantizedType>(observe("#octet.mean_squared_error<dtype = ui16>"));
  EXPECT_NEAR(wide.getScale() * (65535 - wide.getZeroPoint()), 40, 0.5);
}

TEST_F(Outliers, LeastSquaresPerChannelScaleWithTheChannel) {
  auto type = observe("#octet.mean_squared_error<dtype = ui8, axis = 0>");
  auto first = getRange(type, 0), second = getRange(type, 1);
  EXPECT_NEAR(first.second, 3.84, 0.1);
  EXPECT_NEAR(second.second / first.second, 10, 0.5);
}

TEST_F(Statistics, ValuesAreThoseOfTheLastRun) {
  auto observer =
      cast<ChannelValuesObserverAttr>(parse("#octet.channel_values<axis = 0, count = 3>"));
  auto type = RankedTensorType::get({2, 3, 5}, Float32Type::get(&context));
  std::vector<float> data(30);
  std::iota(data.begin(), data.end(), 0.0f);
  State state(observer.getStateBytes(type), 1);
  observer.updateState(type, std::vector<float>(30, -1.0f), state);
  observer.updateState(type, data, state);
  // Every third column, and of the rows, then more than columns, every third, too.
  std::vector<float> kept(4);
  ASSERT_EQ(state.size(), 16u);
  memcpy(kept.data(), state.data(), 16);
  EXPECT_EQ(observer.getNumPerChannel(type), 2);
  EXPECT_EQ(kept, (std::vector<float>{0, 3, 15, 18}));
  EXPECT_TRUE(failed(observer.mergeState(type, state, State(state))));
}

TEST_F(Statistics, UnusableStatisticsAreRefused) {
  for (const char *text :
       {"#octet.min_max<dtype = ui8>", "#octet.moving_average_min_max<dtype = ui8>",
        "#octet.per_channel_min_max<dtype = ui8, axis = 1>", "#octet.column_min_max<dtype = ui8>",
        "#octet.channel_min_max<dtype = ui8, axis = 1>", "#octet.histogram<dtype = ui8>",
        "#octet.moving_average_per_channel_min_max<dtype = ui8, axis = 1>",
        "#octet.percentile<dtype = ui8>", "#octet.entropy<dtype = ui8>",
        "#octet.mean_squared_error<dtype = ui8>",
        "#octet.mean_squared_error<dtype = ui8, axis = 1>"}) {
    ObserverAttrInterface observer = parse(text);
    EXPECT_EQ(getError(observer, update(observer, {})),
              "expected statistics, but the observer has seen no values")
        << text;
    EXPECT_EQ(getError(observer, update(observer, {{1, 2, kNaN, 4, 5, 6}, {1, 2, 3, 4, 5, 6}})),
              "expected numbers, but the observer has seen NaN")
        << text;
    EXPECT_EQ(getError(observer, update(observer, {{1, 2, 3, 4, 5, 6}})), "") << text;
  }
  ObserverAttrInterface observer = parse("#octet.min_max<dtype = ui8>");
  EXPECT_EQ(getError(observer, update(observer, {{1, 2, kInf}})),
            "expected finite values, but the observer has seen 1.000000 to inf");
  for (const char *text : {"#octet.per_channel_min_max<dtype = ui8, axis = 3>",
                           "#octet.moving_average_per_channel_min_max<dtype = ui8, axis = 3>",
                           "#octet.mean_squared_error<dtype = ui8, axis = 3>"}) {
    ObserverAttrInterface deep = parse(text);
    EXPECT_EQ(getError(deep, update(deep, {{1, 2, 3}})),
              "expected a tensor with a dimension 3 for the channels, but got 'tensor<1x2x3xf32>'");
  }
  ObserverAttrInterface sums = parse("#octet.channel_sum<axis = 1>");
  EXPECT_EQ(getError(sums, update(sums, {})), "sums mean no quantized type");
  ObserverAttrInterface values = parse("#octet.channel_values<axis = 1>");
  EXPECT_EQ(getError(values, update(values, {})), "values of one run mean no quantized type");
}

TEST_F(Statistics, ColumnsHaveOneScale) {
  auto columns = parse("#octet.column_min_max<dtype = ui8>"),
       plain = parse("#octet.min_max<dtype = ui8>");
  const State state = update(columns, {{1, -2, 3, 4, 5, -6}});
  auto getType = [&](ObserverAttrInterface observer, const State &seen) {
    return *observer.getQuantizedType([&] { return emitError(UnknownLoc::get(&context)); },
                                      this->getType(), seen);
  };
  EXPECT_EQ(getType(columns, state), getType(plain, update(plain, {{1, -2, 3, 4, 5, -6}})));
  auto ranges = cast<ColumnMinMaxObserverAttr>(columns).getColumns(state);
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[0], (std::pair<float, float>(1, 4)));
  EXPECT_EQ(ranges[1], (std::pair<float, float>(-2, 5)));
  EXPECT_EQ(ranges[2], (std::pair<float, float>(-6, 3)));
}

TEST_F(Statistics, HistogramsLeaveInfinitiesOut) {
  ObserverAttrInterface observer = parse("#octet.histogram<dtype = ui8>");
  auto getType = [&](std::vector<float> values) {
    return *observer.getQuantizedType([&] { return emitError(UnknownLoc::get(&context)); },
                                      this->getType(), update(observer, {values}));
  };
  EXPECT_EQ(getType({1, kInf, -1, -kInf}), getType({1, -1}));
}

TEST_F(Statistics, DamagedHistogramsAreRefused) {
  ObserverAttrInterface observer = parse("#octet.histogram<dtype = ui8>");
  const State whole = update(observer, {{1, 2, 3, 4, 5, 6}});
  EXPECT_EQ(getError(observer, whole), "");
  // The state begins with the minimum, the maximum and the exponent.
  auto damage = [&](size_t word, auto value) {
    State state = whole;
    memcpy(state.data() + 4 * word, &value, 4);
    return getError(observer, state);
  };
  const char *expected = "expected the statistics of a histogram, but got damaged ones";
  EXPECT_EQ(damage(0, kNaN), expected);
  EXPECT_EQ(damage(1, kInf), expected);
  EXPECT_EQ(damage(2, int32_t(117)), expected);
  EXPECT_EQ(damage(2, std::numeric_limits<int32_t>::min()), expected);
}

TEST_F(Statistics, ParametersAreVerified) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  for (const char *text : {"#octet.min_max<dtype = i8>",
                           "#octet.min_max<dtype = ui1>",
                           "#octet.min_max<dtype = ui8, eps = 0.0>",
                           "#octet.min_max<dtype = ui8, eps = 1.0e-60>",
                           "#octet.min_max<dtype = ui8, eps = 1.0e+60>",
                           "#octet.channel_sum<axis = -1>",
                           "#octet.channel_sum<axis = 1, clamp = [1.0]>",
                           "#octet.channel_sum<axis = 1, clamp = [1.0, 1.0]>",
                           "#octet.min_max<dtype = ui8, range = [0, 256]>",
                           "#octet.min_max<dtype = ui8, range = [10, 200]>",
                           "#octet.min_max<dtype = si8, range = [-5, -1]>",
                           "#octet.min_max<dtype = ui8, range = [0, 0]>",
                           "#octet.min_max<dtype = ui8, range = [0]>",
                           "#octet.moving_average_min_max<dtype = ui8, constant = 0.0>",
                           "#octet.moving_average_min_max<dtype = ui8, constant = 1.5>",
                           "#octet.moving_average_per_channel_min_max<dtype = ui8, constant = 0.0>",
                           "#octet.moving_average_per_channel_min_max<dtype = ui8, axis = -1>",
                           "#octet.min_max<dtype = ui8, scheme = symmetric, reduce_range = true>",
                           "#octet.min_max<dtype = ui8, range = [0, 1], reduce_range = true>",
                           "#octet.histogram<dtype = ui8, scheme = affine_float_qparams>",
                           "#octet.moving_average_min_max<dtype = ui8, scheme = "
                           "affine_float_qparams>",
                           "#octet.percentile<dtype = ui8, percentile = 0.0>",
                           "#octet.percentile<dtype = ui8, percentile = 100.5>",
                           "#octet.entropy<dtype = ui8, range = [0, 256]>",
                           "#octet.entropy<dtype = i8>",
                           "#octet.mean_squared_error<dtype = ui8, axis = -1>",
                           "#octet.recording<runs = 0>",
                           "#octet.recording<runs = 65537>",
                           "#octet.placeholder<dtype = i8, dynamic = true>",
                           "#octet.placeholder<dtype = ui8>",
                           "#octet.placeholder<dtype = index, dynamic = true>",
                           "#octet.placeholder<dtype = f32, range = [0, 127]>",
                           "#octet.placeholder<dtype = f32, dynamic = true, per_row = true>",
                           "#octet.placeholder<dtype = f16, dynamic = true, reduce_range = true>",
                           "#octet.placeholder<dtype = ui8, dynamic = true, range = [0, 256]>",
                           "#octet.channel_values<axis = -1>",
                           "#octet.channel_values<count = 0>",
                           "#octet.histogram<dtype = ui8, bins = 0>",
                           "#octet.histogram<dtype = ui8, bins = 5000>",
                           "#octet.per_channel_min_max<dtype = ui8, axis = -1>"})
    EXPECT_FALSE(parseAttribute(text, &context)) << text;
}

TEST_F(Statistics, SpecsSayWhatIsPromised) {
  ObserverSpec spec = parse("#octet.per_channel_min_max<dtype = si8, scheme = symmetric, range = "
                            "[-127, 127], axis = 3>")
                          .getSpec();
  EXPECT_TRUE(spec.dtype.isSignedInteger(8));
  EXPECT_EQ(std::make_tuple(*spec.quantMin, *spec.quantMax, *spec.eps, *spec.channelAxis),
            std::make_tuple(int64_t(-127), int64_t(127), 0x1p-23, int64_t(3)));
  spec = parse("#octet.fixed_qparams<ui8, scale = 7.8125e-3 : f32, zero_point = 128>").getSpec();
  EXPECT_EQ(*spec.fixedScale, 0x1p-7);
  EXPECT_EQ(*spec.fixedZeroPoint, 128);
}

TEST_F(Statistics, RealZeroPointsAreNoType) {
  ObserverAttrInterface observer =
      parse("#octet.min_max<dtype = ui8, scheme = affine_float_qparams>");
  State state = update(observer, {{1, 2, 3, 4, 5, 52}});
  EXPECT_TRUE(observer.getSpec().hasFloatZeroPoints);
  EXPECT_EQ(getError(observer, state),
            "has real zero points, which weights of weight-only units alone may have");
  auto emit = [&] { return emitError(UnknownLoc::get(&context)); };
  FloatQParams params = *observer.getFloatQParams(emit, getType(), state);
  EXPECT_EQ(params.axis, -1);
  EXPECT_EQ(params.scales[0], 51.0f / 255.0f); // zero is not forced into the range
  EXPECT_EQ(params.zeroPoints[0], -1.0f / params.scales[0]);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  EXPECT_TRUE(failed(observer.getFloatQParams(emit, getType(), update(observer, {}))));
  EXPECT_TRUE(failed(parse("#octet.histogram<dtype = ui8>").getFloatQParams(emit, getType(), {})));
}

} // namespace
