//===- ChannelSumTest.cpp - sums of channels ------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "octet/Dialect/Octet/Octet.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace octet;

namespace {

/// Of a tensor of two channels with three elements each.
class ChannelSum : public testing::Test {
protected:
  ChannelSum() { context.loadDialect<OctetDialect>(); }

  using State = std::vector<double>;
  static MutableArrayRef<char> getBytes(State &state) {
    return {reinterpret_cast<char *>(state.data()), state.size() * sizeof(double)};
  }

  /// The state behind two runs whose states merge.
  State observe(const char *text, std::vector<float> first, std::vector<float> second) {
    auto observer = cast<ObserverAttrInterface>(parseAttribute(text, &context));
    auto type = RankedTensorType::get({1, 2, 3}, Float32Type::get(&context));
    auto update = [&](ArrayRef<float> data) {
      State state(observer.getStateBytes(type) / sizeof(double));
      observer.initState(type, getBytes(state));
      observer.updateState(type, data, getBytes(state));
      return state;
    };
    State state = update(first), other = update(second);
    EXPECT_TRUE(succeeded(observer.mergeState(type, getBytes(state), getBytes(other))));
    return state;
  }

  MLIRContext context;
};

TEST_F(ChannelSum, SumsAreOfAnyMagnitude) {
  auto sums = observe("#octet.channel_sum<axis = 1>", {0x1p90f, 0, 0x1p90f, 0x1p-90f, 0x1p-80f, 0},
                      {0x1p60f, 0, 0, 0, 0, 0x1p-70f});
  EXPECT_EQ(sums, State({0x1p91 + 0x1p60, 0x1p-90 + 0x1p-80 + 0x1p-70}));
}

TEST_F(ChannelSum, OfAClampAndHowManyItLetsThrough) {
  auto sums = observe("#octet.channel_sum<axis = 1, clamp = [0.0, 6.0]>", {-1, 2, 9, 0, 6, 5},
                      {1, 1, 1, -4, -5, -6});
  EXPECT_EQ(sums, State({2 + 6 + 3, 6 + 5, 1 + 3, 1}));
}

} // namespace
