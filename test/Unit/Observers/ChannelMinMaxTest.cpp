//===- ChannelMinMaxTest.cpp - room for what few numbers have not shown ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "octet/Dialect/Octet/Octet.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace octet;

TEST(ChannelMinMax, FewNumbersGetRoom) {
  MLIRContext context;
  context.loadDialect<OctetDialect>();
  auto type = RankedTensorType::get({1, 2, 3}, Float32Type::get(&context));
  auto getScale = [&](const char *text, int runs) {
    auto observer = cast<ObserverAttrInterface>(parseAttribute(text, &context));
    std::vector<char> state(observer.getStateBytes(type));
    observer.initState(type, state);
    for (int run = 0; run < runs; ++run)
      observer.updateState(type, {1, -2, 3, 4, 5, -6}, state);
    auto quantized = observer.getQuantizedType([&] { return emitError(UnknownLoc::get(&context)); },
                                               type, state);
    return cast<quant::UniformQuantizedPerAxisType>(*quantized).getScales()[1];
  };
  const char *roomy = "#octet.channel_min_max<dtype = ui8, axis = 1>";
  double exact = getScale("#octet.per_channel_min_max<dtype = ui8, axis = 1>", 1);
  // Three numbers of each channel in a run.
  EXPECT_NEAR(getScale(roomy, 1) / exact, std::sqrt(std::log(1e5) / std::log(3)), 1e-6);
  EXPECT_NEAR(getScale(roomy, 50) / exact, std::sqrt(std::log(1e5) / std::log(150)), 1e-6);
  EXPECT_EQ(getScale(roomy, 50000), exact);
}

TEST(ChannelMinMax, NoRoomBeyondAClamp) {
  MLIRContext context;
  context.loadDialect<OctetDialect>();
  auto type = RankedTensorType::get({1, 3, 2}, Float32Type::get(&context));
  auto observer = cast<ObserverAttrInterface>(
      parseAttribute("#octet.channel_min_max<dtype = ui8, axis = 1>", &context));
  auto getScales = [&](ArrayRef<float> numbers) {
    std::vector<char> state(observer.getStateBytes(type));
    observer.initState(type, state);
    observer.updateState(type, numbers, state);
    auto quantized = observer.getQuantizedType([&] { return emitError(UnknownLoc::get(&context)); },
                                               type, state);
    return llvm::to_vector(cast<quant::UniformQuantizedPerAxisType>(*quantized).getScales());
  };
  double room = std::sqrt(std::log(1e5) / std::log(2));
  // Two channels end at 6, so that none goes beyond; the third one has room below that.
  auto scales = getScales({0, 6, 1, 6, 0.5, 0.25});
  EXPECT_NEAR(scales[0], 6.0 / 255, 1e-6);
  EXPECT_NEAR(scales[1], 6.0 / 255, 1e-6);
  EXPECT_NEAR(scales[2], 0.5 * room / 255, 1e-6);
  EXPECT_NEAR(getScales({0, -6, -1, -6, 0, -3})[2], 6.0 / 255, 1e-6); // -12 and more without
  EXPECT_NEAR(getScales({0, 6, 1, 5.9f, 0, 3})[0], 6 * room / 255, 1e-5);
  // Channels that are saturated throughout, above and below 0.
  EXPECT_NEAR(getScales({6, 6, 6, 6, 1, 2})[0], 6.0 / 255, 1e-6);
  EXPECT_NEAR(getScales({-6, -6, -6, -6, -1, -2})[0], 6.0 / 255, 1e-6);
}
