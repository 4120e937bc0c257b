//===- StepOrdersTest.cpp - which steps are multiplied as bytes ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/StepOrders.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <random>

using namespace octet::codegen;

namespace {
/// What the codes of a run say.
struct RunCodes {
  RunCodes(llvm::ArrayRef<int16_t> codes, int64_t steps) : couples(codes[0]), bytes(codes[1]) {
    for (int64_t i = 0; i < steps; ++i) {
      uint16_t code = codes[i + 2];
      numbers.push_back(code % StepOrders::kMostSteps);
      orders.push_back(code >> StepOrders::kOrderBit);
    }
  }
  int64_t couples, bytes;
  std::vector<int64_t> numbers, orders;
};
} // namespace

/// Panels of one run whose lanes have the same weights in each step.
static std::vector<int8_t> repeat(llvm::ArrayRef<std::array<int8_t, 4>> steps) {
  std::vector<int8_t> panels;
  for (const std::array<int8_t, 4> &weights : steps)
    for (int lane = 0; lane < 16; ++lane)
      panels.insert(panels.end(), weights.begin(), weights.end());
  return panels;
}

/// The largest magnitude of i16 that inputs of 0 and 255 give in any order of additions.
static int64_t getLargest(llvm::ArrayRef<int8_t> panels, const RunCodes &run, int64_t first,
                          int64_t last) {
  int64_t largest = 0;
  for (int64_t half = 0; half < 32; ++half) {
    int64_t above = 0, below = 0;
    for (int64_t i = first; i < last; ++i)
      for (int64_t byte : {0, 1}) {
        int64_t place = StepOrders::kBytes[run.orders[i]][half % 2 * 2 + byte],
                weight = panels[run.numbers[i] * 64 + half / 2 * 4 + place];
        (weight > 0 ? above : below) += 255 * weight;
      }
    // Both signs of one pair are added in one instruction.
    largest = std::max({largest, above, -below});
  }
  return largest;
}

TEST(StepOrders, ChoosesCouplesThenOrdersThenWords) {
  auto panels = repeat({{127, 127, 127, 127},   // fits in no order
                        {64, 0, 0, 64},         // fits with a step of the same
                        {100, 100, -100, -100}, // in the second order
                        {127, 5, 5, -100},      // in the third
                        {127, 1, 0, 0},         // alone
                        {0, 64, 64, 0}});
  RunCodes run(StepOrders(panels, 6).getCodes(), 6);
  EXPECT_EQ(run.couples, 1);
  EXPECT_EQ(run.bytes, 5);
  EXPECT_EQ(run.numbers, (std::vector<int64_t>{1, 5, 2, 3, 4, 0}));
  EXPECT_EQ(run.orders, (std::vector<int64_t>{0, 0, 1, 2, 0, 0}));
}

TEST(StepOrders, SavesByCouplesAndSteps) {
  EXPECT_DOUBLE_EQ(StepOrders(repeat({{0, 0, 0, 0}, {1, 1, 1, 1}}), 2).getSaved(), 0.78 / 2);
  EXPECT_DOUBLE_EQ(StepOrders(repeat({{127, 127, 127, 127}, {127, 1, 0, 0}}), 2).getSaved(),
                   0.235 / 2);
  EXPECT_DOUBLE_EQ(StepOrders(repeat({{65, 64, 65, 64}}), 1).getSaved(), 0);
}

/// Normal weights as channels of trained layers have them: each step is there once, and what is
/// multiplied as bytes fits.
TEST(StepOrders, FitsWhateverTheInput) {
  constexpr int64_t kSteps = 96, kRuns = 40, kMostInWord = 32767;
  std::mt19937 random(0);
  std::normal_distribution<double> normal;
  std::vector<int8_t> panels;
  for (int64_t run = 0; run < kRuns; ++run)
    for (int64_t i = 0; i < kSteps * 64; ++i)
      panels.push_back(std::clamp(std::lrint(normal(random) * (10 + run)), -127L, 127L));
  StepOrders orders(panels, kSteps);
  int64_t couples = 0, singles = 0;
  for (int64_t r = 0; r < kRuns; ++r) {
    RunCodes run(orders.getCodes().slice(r * (kSteps + 2), kSteps + 2), kSteps);
    auto own = llvm::ArrayRef(panels).slice(r * kSteps * 64, kSteps * 64);
    for (int64_t i = 0; i < run.couples; ++i)
      EXPECT_LE(getLargest(own, run, 2 * i, 2 * i + 2), kMostInWord);
    for (int64_t i = 2 * run.couples; i < run.bytes; ++i)
      for (int64_t half = 0; half < 32; ++half) {
        auto bytes = StepOrders::kBytes[run.orders[i]];
        auto weights = own.slice(run.numbers[i] * 64 + half / 2 * 4, 4);
        EXPECT_LE(std::abs(weights[bytes[half % 2 * 2]] + weights[bytes[half % 2 * 2 + 1]]), 128);
      }
    couples += run.couples;
    singles += run.bytes - 2 * run.couples;
    llvm::sort(run.numbers);
    for (int64_t step = 0; step < kSteps; ++step)
      EXPECT_EQ(run.numbers[step], step);
  }
  EXPECT_GT(couples, kRuns * kSteps / 5);
  EXPECT_GT(singles, kRuns * kSteps / 10);
}
