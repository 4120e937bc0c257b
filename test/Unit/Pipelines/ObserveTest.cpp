//===- ObserveTest.cpp - compiled observers against the host's ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A network that shows its input (row-major) and a value inside (channels last) to every observer;
// the statistics that its code leaves behind are those of updateState, byte for byte, at every CPU
// level that this machine has.
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Pipelines/Library.h"
#include "octet/Support/ModelLibrary.h"
#include "gtest/gtest.h"
#include <limits>
#include <random>

using namespace mlir;
using namespace octet;

namespace {

const char *const kObservers[] = {
    "#octet.min_max<dtype = ui8>",
    "#octet.moving_average_min_max<dtype = ui8, constant = 0.3>",
    "#octet.per_channel_min_max<dtype = ui8, axis = 1>",
    "#octet.histogram<dtype = ui8>",
    "#octet.channel_sum<axis = 1>",
    "#octet.channel_sum<axis = 1, clamp = [-2.5e-01, 1.0]>",
    "#octet.moving_average_per_channel_min_max<dtype = ui8, axis = 1, constant = 0.3>",
    "#octet.mean_squared_error<dtype = ui8, axis = 1>",
    "#octet.recording<runs = 2>",
    "#octet.channel_values<axis = 1, count = 7>",
};

class Observe : public testing::TestWithParam<std::vector<int64_t>> {
protected:
  Observe() {
    DialectRegistry registry;
    registerOctetDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    type = RankedTensorType::get(GetParam(), Float32Type::get(&context));
  }

  /// Observers are called a0, a1, ... for the input and b0, b1, ... for its negative.
  std::string makeNetwork() {
    std::string observers, body, tensor;
    llvm::raw_string_ostream(tensor) << type;
    for (auto [i, text] : llvm::enumerate(kObservers))
      for (const char *value : {"a", "b"}) {
        std::string symbol = value + std::to_string(i);
        observers += "octet.observer @" + symbol + " " + text + "\n";
        body += "  %o" + symbol + " = octet.observe %" + value + " by @" + symbol + " : " + tensor +
                "\n";
      }
    return observers + "func.func @main(%a: " + tensor + ") -> " + tensor +
           " {\n  %b = nn.neg %a : (" + tensor + ") -> " + tensor + "\n" + body +
           "  return %b : " + tensor + "\n}\n";
  }

  ObserverAttrInterface getObserver(int i) {
    return cast<ObserverAttrInterface>(parseAttribute(kObservers[i], &context));
  }

  /// Three runs of values of different magnitudes; one value is infinite if asked for.
  std::vector<std::vector<float>> makeData(bool hasInfinity) {
    std::mt19937 random(7);
    std::vector<std::vector<float>> data(3);
    for (int run = 0; run < 3; ++run)
      for (int64_t i = 0; i < type.getNumElements(); ++i)
        data[run].push_back(std::ldexp((float)(random() % 4001) - 2000.0f, run * 3 - 9));
    data[1][0] = -0.0f;
    if (hasInfinity)
      data[2].back() = -std::numeric_limits<float>::infinity();
    return data;
  }

  std::vector<char> observeOnHost(int observer, llvm::ArrayRef<std::vector<float>> data,
                                  float sign) {
    std::vector<char> state(getObserver(observer).getStateBytes(type));
    getObserver(observer).initState(type, state);
    for (std::vector<float> values : data) {
      for (float &value : values)
        value *= sign;
      getObserver(observer).updateState(type, values, state);
    }
    return state;
  }

  void compareWithHost(octet_model *model, const octet_model_api &api,
                       const llvm::StringMap<CompiledObserver> &observers, bool hasInfinity,
                       const std::string &level) {
    auto data = makeData(hasInfinity);
    char *state = static_cast<char *>(api.frame(model)->state);
    auto forEach = [&](auto use) {
      for (int i = 0; i < (int)std::size(kObservers); ++i)
        for (const char *value : {"a", "b"}) {
          int64_t offset = observers.lookup(value + std::to_string(i)).offset,
                  bytes = getObserver(i).getStateBytes(type);
          use(i, *value == 'a' ? 1.0f : -1.0f, llvm::MutableArrayRef<char>(state + offset, bytes));
        }
    };
    forEach([&](int i, float, llvm::MutableArrayRef<char> bytes) {
      getObserver(i).initState(type, bytes);
    });
    std::vector<float> output(type.getNumElements());
    for (const std::vector<float> &values : data) {
      const void *inputs[] = {values.data()};
      void *outputs[] = {output.data()};
      ASSERT_EQ(api.run(model, inputs, outputs), 0);
    }
    forEach([&](int i, float sign, llvm::MutableArrayRef<char> bytes) {
      EXPECT_EQ(std::vector<char>(bytes.begin(), bytes.end()), observeOnHost(i, data, sign))
          << kObservers[i] << (sign > 0 ? " of the input" : " of the value inside") << " at level "
          << level;
    });
  }

  MLIRContext context;
  RankedTensorType type;
};

TEST_P(Observe, CompiledStatisticsAreTheHosts) {
  auto module = parseSourceString<ModuleOp>(makeNetwork(), &context);
  ASSERT_TRUE(module);
  LibraryOptions options;
  options.emit.triple = getHostTriple();
  options.levels = getLevelsOfTarget(options.emit.triple);
  llvm::Expected<CompiledLibrary> compiled = compileLibrary(*module, options);
  ASSERT_TRUE(!!compiled) << llvm::toString(compiled.takeError());
  auto library = ModelLibrary::loadBytes(compiled->bytes);
  ASSERT_TRUE(!!library) << llvm::toString(library.takeError());
  for (const std::string &level : options.levels) {
    if (!(*library)->api().supports(level.c_str()))
      continue;
    for (bool hasInfinity : {false, true}) {
      auto model = createModel(**library, 1, level);
      ASSERT_TRUE(!!model) << llvm::toString(model.takeError());
      compareWithHost(model->get(), (*library)->api(), compiled->observers, hasInfinity, level);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Observe,
    testing::Values(std::vector<int64_t>{1, 1, 1, 1}, std::vector<int64_t>{1, 3, 5, 7},
                    std::vector<int64_t>{1, 16, 8, 8}, std::vector<int64_t>{2, 8, 1, 9},
                    std::vector<int64_t>{1, 37, 3, 4}, std::vector<int64_t>{1, 69},
                    std::vector<int64_t>{2, 5, 70}));

} // namespace
