//===- MagnitudesTest.cpp - how large observed values are -----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/Octet/Magnitudes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mlir;
using namespace octet;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(),
                kNaN = std::numeric_limits<float>::quiet_NaN();

constexpr const char *kHistogram = "#octet.mean_squared_error<dtype = ui8>",
                     *kChannels = "#octet.mean_squared_error<dtype = ui8, axis = 1>",
                     *kColumns = "#octet.column_min_max<dtype = ui8>";

/// What `get` says of an observer that has seen these runs of two rows.
template <typename ObserverAttr, typename Result>
Result observe(const char *text, const std::vector<std::vector<float>> &runs,
               Result (*get)(ObserverAttr, ArrayRef<char>)) {
  MLIRContext context;
  context.loadDialect<OctetDialect>();
  auto observer = cast<ObserverAttr>(parseAttribute(text, &context));
  int64_t columns = runs.empty() ? 1 : (int64_t)runs.front().size() / 2;
  auto type = RankedTensorType::get({2, columns}, Float32Type::get(&context));
  std::vector<char> state(observer.getStateBytes(type));
  observer.initState(type, state);
  for (const std::vector<float> &run : runs)
    observer.updateState(type, run, state);
  return get(observer, state);
}

float getPeak(const std::vector<std::vector<float>> &runs, const char *text = kHistogram) {
  return observe<MeanSquaredErrorObserverAttr, float>(text, runs, getTypicalPeak);
}
double getSquare(const std::vector<std::vector<float>> &runs, const char *text = kHistogram) {
  return observe<MeanSquaredErrorObserverAttr, double>(text, runs, getMeanSquare);
}
float getPower(const std::vector<std::vector<float>> &runs) {
  return observe<ColumnMinMaxObserverAttr, float>(kColumns, runs, getTypicalPower);
}

TEST(TypicalPeak, HalfOfTheRunsDoNotExceedIt) {
  // Peaks lie in quarters of an octave, by magnitude; infinities are none.
  std::vector<std::vector<float>> runs = {
      {0.01f, 0}, {-0.1f, 0.05f}, {3, 1}, {kInf, kInf}, {-8, 0}};
  EXPECT_EQ(getPeak(runs), 0.109375f);
  runs.push_back({7, 0});
  EXPECT_EQ(getPeak(runs), 3.5f);
}

TEST(TypicalPeak, IsNotKnownOfNothing) {
  EXPECT_EQ(getPeak({}), 0);
  EXPECT_EQ(getPeak({{kNaN, 1}}), 0);
  EXPECT_EQ(getPeak({{1, 2}}, kChannels), 0);
}

TEST(MeanSquare, IsThatOfTheBins) {
  EXPECT_NEAR(getSquare({{1, -2}, {0, 4}}), 21.0 / 4, 0.01);
  EXPECT_NEAR(getSquare({{3, kInf}, {-3, 3}}), 9, 0.01);
  EXPECT_EQ(getSquare({}), 0);
  EXPECT_EQ(getSquare({{kNaN, 1}}), 0);
  EXPECT_EQ(getSquare({{1, 2}}, kChannels), 0);
}

TEST(TypicalPower, HalfOfTheRowsDoNotExceedIt) {
  // Mean squares of 1 (thrice), 16 and 100, in quarters of an octave; a row of zeros is none.
  std::vector<std::vector<float>> runs = {{1, -1, 4, 4}, {1, 1, 0, 0}, {10, 10, -1, 1}};
  EXPECT_EQ(getPower(runs), 1.25f);
  runs.push_back({4, -4, 4, 4});
  EXPECT_EQ(getPower(runs), 20.0f);
  // Sixteen sums side by side, and a rest.
  std::vector<float> row(40);
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = i % 20 == 19 ? -6.0f : 2.0f;
  EXPECT_EQ(getPower({row}), 6.0f);
}

TEST(TypicalPower, IsNotKnownOfNothing) {
  EXPECT_EQ(getPower({}), 0);
  EXPECT_EQ(getPower({{0, 0}}), 0);
}

} // namespace
