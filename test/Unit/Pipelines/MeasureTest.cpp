//===- MeasureTest.cpp - statistics of taps in both networks --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Measure.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "octet/Backend/Backend.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Pipelines/Library.h"
#include "octet/Support/Constants.h"
#include "octet/Support/Npz.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <numeric>

using namespace mlir;
using namespace octet;

namespace {
/// Two layers of one channel each, 2 * x and then 3 * it, with statistics of [-4, 4] and [-8, 8],
/// so that the reference network is off.
constexpr char kCalibrated[] = R"mlir(
  octet.observer @x #octet.min_max<dtype = ui8> statistics dense<[0, 0, -128, -64, 0, 0, -128, 64]> : tensor<8xi8>
  octet.observer @y #octet.min_max<dtype = ui8> statistics dense<[0, 0, 0, -63, 0, 0, 0, 65]> : tensor<8xi8>
  octet.observer @w #octet.min_max<dtype = si8>
  func.func @main(%x: tensor<1x2xf32> {nn.name = "x"}) -> tensor<1x1xf32> {
    %a = nn.constant dense<2.0> : tensor<1x2xf32>
    %b = nn.constant dense<3.0> : tensor<1x1xf32>
    %ao = octet.observe %a by @w : tensor<1x2xf32>
    %xo = octet.observe %x by @x : tensor<1x2xf32>
    %y = nn.linear %xo, %ao : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x1xf32>
    %yo = octet.observe %y by @y : tensor<1x1xf32>
    %z = nn.linear %yo, %b : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
    return %z : tensor<1x1xf32>
  }
)mlir";

class Measure : public testing::Test {
protected:
  Measure() {
    DialectRegistry registry;
    registerOctetDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(kCalibrated, &context);
    EXPECT_TRUE(succeeded(attachPolicy(*module, /*backend=*/"", /*qconfigMapping=*/"")));
    module->walk([&](nn::LinearOp op) { layers.push_back(op); });
    writeSamples({0.5f, 1.0f, -1.0f, 1.25f, 0.25f, 0.25f});
  }
  ~Measure() override { llvm::sys::fs::remove(path); }

  /// Samples of two numbers each.
  void writeSamples(const std::vector<float> &values) {
    NpyArray array;
    array.name = "x";
    array.dtype = NpyDType::F32;
    array.shape = {(int64_t)values.size() / 2, 1, 2};
    array.data.assign(reinterpret_cast<const char *>(values.data()),
                      reinterpret_cast<const char *>(values.data() + values.size()));
    int file;
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("samples", "npz", file, path));
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << llvm::cantFail(writeNpz({array}));
    samples.files = {path.str().str()};
  }

  ObserverAttrInterface parseObserver(StringRef text) {
    return cast<ObserverAttrInterface>(parseAttribute(text, &context));
  }
  Tap makeSumTap(Operation *op) {
    return {op, ChannelSumObserverAttr::get(&context, 1, /*clamp=*/{}), 1};
  }

  /// The only channel's sum.
  static double getSum(const TapStatistics &statistics) {
    return *reinterpret_cast<const double *>(statistics.data());
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<Operation *> layers;
  SmallString<128> path;
  MeasureContext samples{nullptr};
};

TEST_F(Measure, FloatNetworkSeesEverySample) {
  auto measured = measureFloat(*module, {makeSumTap(layers[0]), makeSumTap(layers[1])}, samples);
  ASSERT_TRUE(!!measured) << llvm::toString(measured.takeError());
  EXPECT_EQ(getSum((*measured)[0]), 2 * (0.5 + 1 - 1 + 1.25 + 0.25 + 0.25));
  EXPECT_EQ(getSum((*measured)[1]), 6 * (0.5 + 1 - 1 + 1.25 + 0.25 + 0.25));
}

TEST_F(Measure, OffsetIsInForceBehindItsTap) {
  auto measure = [&](float offset) {
    std::vector<double> sums;
    llvm::cantFail(measureBoth(*module, {makeSumTap(layers[0]), makeSumTap(layers[1])}, samples,
                               [&](const Measured &measured) {
                                 EXPECT_EQ(measured.numSamples, 3);
                                 EXPECT_EQ(measured.tap * 2, sums.size());
                                 sums.push_back(getSum(measured.floating));
                                 sums.push_back(getSum(measured.reference));
                                 measured.offset[0] = offset;
                               }));
    return sums;
  };
  std::vector<double> without = measure(0), with = measure(1);
  EXPECT_EQ(with[0], without[0]);
  EXPECT_EQ(with[1], without[1]);
  EXPECT_EQ(with[2], without[2]);
  EXPECT_GT(with[3], without[3] + 8); // three samples, each about 3 more
}

TEST_F(Measure, SamplesStayApartOnRequest) {
  Tap sums = makeSumTap(layers[0]), values = sums;
  sums.offsetAxis.reset();
  values.observer = parseObserver("#octet.channel_values<axis = 1>");
  values.keepsSamples = true;
  auto measure = [&](unsigned threads) {
    samples.threads = threads;
    std::vector<float> seen;
    double sum = 0;
    llvm::cantFail(
        measureBoth(*module, {sums, values, makeSumTap(layers[1])}, samples, [&](auto &measured) {
          if (measured.tap == 0)
            sum = getSum(measured.floating);
          if (measured.tap != 1)
            return;
          EXPECT_EQ(measured.referenceSamples.size(), 3u);
          for (const TapStatistics &sample : measured.floatingSamples)
            seen.push_back(*reinterpret_cast<const float *>(sample.data()));
        }));
    EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0), sum);
    return seen;
  };
  std::vector<float> seen = measure(1);
  EXPECT_EQ(measure(2), seen);
  EXPECT_EQ(measure(7), seen);
  llvm::sort(seen);
  EXPECT_EQ(seen, (std::vector<float>{0.5f, 1.0f, 3.0f}));
}

TEST_F(Measure, NetworkIsNotChanged) {
  std::string before, after;
  llvm::raw_string_ostream(before) << *module;
  llvm::cantFail(measureBoth(*module, makeSumTap(layers[0]), samples, [](auto &) {}));
  llvm::raw_string_ostream(after) << *module;
  EXPECT_EQ(before, after);
}

/// The bytes of all constants that are resources of the context.
int64_t countStoredBytes(MLIRContext *context) {
  int64_t bytes = 0;
  auto count = [&](const auto &resources) {
    for (const auto &entry : resources)
      if (const AsmResourceBlob *blob = entry.second.getBlob())
        bytes += blob->getData().size();
  };
  DenseResourceElementsHandle::getManagerInterface(context).getBlobManager().getBlobMap(count);
  return bytes;
}

TEST_F(Measure, LeavesNoConstantsOfItsNetworksBehind) {
  auto weights = layers[1]->getOperand(1).getDefiningOp<nn::ConstantOp>();
  float three = 3;
  auto stored = makeElements("b", cast<RankedTensorType>(weights.getType()),
                             ArrayRef(reinterpret_cast<const char *>(&three), sizeof(three)));
  weights.setValueAttr(stored);
  EXPECT_EQ(countStoredBytes(&context), 4);
  llvm::cantFail(
      measureBoth(*module, {makeSumTap(layers[0]), makeSumTap(layers[1])}, samples, [](auto &) {}));
  llvm::cantFail(measureFloat(*module, makeSumTap(layers[1]), samples).takeError());
  EXPECT_EQ(countStoredBytes(&context), 4);
  EXPECT_EQ(getConstantValues<float>(stored)->front(), 3);
}

TEST_F(Measure, RefusesTapsThatItCannotFollow) {
  auto measure = [&](ArrayRef<Tap> taps) {
    return llvm::toString(measureBoth(*module, taps, samples, [](auto &) {}));
  };
  EXPECT_EQ(measure({makeSumTap(layers[1]), makeSumTap(layers[0])}),
            "the taps are not in the order of the program");
  Operation *observe = layers[0]->getOperand(0).getDefiningOp();
  EXPECT_EQ(measure(makeSumTap(observe)), "'octet.observe' cannot be measured: octet-convert "
                                          "leaves no such operator");
  Tap moving{layers[0], parseObserver("#octet.moving_average_min_max<dtype = ui8>"), std::nullopt};
  EXPECT_EQ(measure(moving), "the tap's observer cannot merge its statistics");
}
} // namespace
