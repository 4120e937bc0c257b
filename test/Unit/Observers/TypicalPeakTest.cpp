//===- TypicalPeakTest.cpp - how large a value is in most runs ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/Octet/TypicalPeak.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"
#include <limits>

using namespace mlir;
using namespace octet;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(),
                kNaN = std::numeric_limits<float>::quiet_NaN();

/// The typical peak of these runs.
float getPeak(const std::vector<std::vector<float>> &runs,
              const char *text = "#octet.mean_squared_error<dtype = ui8>") {
  MLIRContext context;
  context.loadDialect<OctetDialect>();
  auto observer = cast<MeanSquaredErrorObserverAttr>(parseAttribute(text, &context));
  auto type = RankedTensorType::get({1, 2}, Float32Type::get(&context));
  std::vector<char> state(observer.getStateBytes(type));
  observer.initState(type, state);
  for (const std::vector<float> &run : runs)
    observer.updateState(type, run, state);
  return getTypicalPeak(observer, state);
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
  EXPECT_EQ(getPeak({{1, 2}}, "#octet.mean_squared_error<dtype = ui8, axis = 1>"), 0);
}

} // namespace
