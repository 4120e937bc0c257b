//===- ChooseQParamsTest.cpp ----------------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/ChooseQParams.h"
#include "gtest/gtest.h"
#include <limits>

using octet::numerics::chooseQParams;

namespace {

using Params = std::pair<float, int32_t>;

TEST(ChooseQParams, ZeroIsInTheRange) {
  EXPECT_EQ(chooseQParams(1, 5.1f, 0, 255), Params(5.1f / 255, 0));
  EXPECT_EQ(chooseQParams(-5.1f, -1, 0, 255), Params(5.1f / 255, 255));
  EXPECT_EQ(chooseQParams(0.5f, 0.5f, 0, 127), Params(0.5f / 127, 0));
}

TEST(ChooseQParams, TheZeroPointIsCountedFromTheNearerEnd) {
  EXPECT_EQ(chooseQParams(-100, 155, 0, 255), Params(1, 100));
  EXPECT_EQ(chooseQParams(-100, 155, -128, 127), Params(1, -28));
}

// Nothing but zeros: the scale is not that of small values, and the integers of i8 are 127.
TEST(ChooseQParams, ZerosHaveAScaleOfTheirOwn) {
  EXPECT_EQ(chooseQParams(0, 0, 0, 255), Params(0.1f, 0));
  EXPECT_EQ(chooseQParams(0, 0, -128, 127), Params(0.1f, 127));
  EXPECT_EQ(chooseQParams(-1e-41f, 1e-41f, 0, 255).first, 0.1f);
}

TEST(ChooseQParams, SmallScalesAreRaised) {
  EXPECT_EQ(chooseQParams(-1e-6f, 1e-6f, 0, 254), Params(6.1e-5f, 127));
  EXPECT_EQ(chooseQParams(0, 1e-6f, 0, 255), Params(6.1e-5f, 0));
  EXPECT_EQ(chooseQParams(-1e-6f, 0, 0, 255), Params(6.1e-5f, 255));
}

TEST(ChooseQParams, InfiniteValuesGiveAnInfiniteScale) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(chooseQParams(-1, infinity, 0, 255), Params(infinity, 0));
  EXPECT_EQ(chooseQParams(-infinity, 1, -128, 127).second, 127);
}

} // namespace
