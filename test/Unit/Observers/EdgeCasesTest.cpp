//===- EdgeCasesTest.cpp - what PyTorch's observers do at the edges --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `edge_cases` of $OCTET_SHARED/spec/golden*/observers.json: each is one row here, and what differs
// is a row of docs/deviations.md, or for 1.13 alone a sentence of docs/fx.md.
//
//===----------------------------------------------------------------------===//

#include "GoldenRecords.h"
#include "mlir/AsmParser/AsmParser.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Numerics/Quantize.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <set>

using namespace mlir;
using namespace octet;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(),
                kNaN = std::numeric_limits<float>::quiet_NaN();

struct EdgeCase {
  std::string record;
  /// Empty: such values have no observer.
  std::string observer;
  /// What it sees, run by run: rows of equal length.
  std::vector<std::vector<std::vector<float>>> runs;
  /// A part of the page that says so, if some version of PyTorch does something else.
  std::string deviation;
};

const char *const kSawNothing = "| an observer that saw nothing gives scale 1 |",
                  *const kNotFinite = "| infinite values and NaN give an infinite scale or none |",
                  *const kNotF32 = "| float16 values and integers are observed |",
                  *const kInfinityOf113 = "1.13's histogram raises at an infinite value",
                  *const kWideRange = "| `quant_max` may exceed an unsigned type |";

/// Those of every observer of a whole tensor.
void addValues(std::vector<EdgeCase> &cases, const std::string &name, const std::string &observer,
               bool ignoresInfinity) {
  auto add = [&](const char *suffix, std::vector<std::vector<std::vector<float>>> runs,
                 const char *deviation = "") {
    cases.push_back({name + suffix, observer, std::move(runs), deviation});
  };
  const char *infinite = ignoresInfinity ? kInfinityOf113 : kNotFinite;
  add(".never_called", {}, kSawNothing);
  add(".empty_tensor", {{{}}}, kSawNothing);
  add(".nan", {{{1, kNaN, -1}}}, ignoresInfinity ? "" : kNotFinite);
  add(".nan_then_ok", {{{1, kNaN, -1}}, {{2, -2}}}, ignoresInfinity ? "" : kNotFinite);
  add(".posinf", {{{1, kInf, -1}}}, infinite);
  add(".neginf", {{{1, -kInf, -1}}}, infinite);
  add(".single_value", {{{3}}});
  cases.push_back({name + ".f16_input", "", {}, kNotF32});
  cases.push_back({name + ".int_input", "", {}, ignoresInfinity ? "" : kNotF32});
}

std::vector<EdgeCase> getEdgeCases() {
  std::vector<EdgeCase> cases;
  addValues(cases, "MinMax", "#octet.min_max<dtype = ui8>", false);
  addValues(cases, "MovingAverage", "#octet.moving_average_min_max<dtype = ui8>", false);
  addValues(cases, "Histogram1.13", "#octet.histogram<dtype = ui8>", true);
  addValues(cases, "Histogram2.1", "#octet.histogram<dtype = ui8>", true);
  auto perChannel = [](const std::string &arguments) {
    return "#octet.per_channel_min_max<" + arguments + ", axis = 0>";
  };
  auto construct = [&](const std::string &arguments, const std::string &observer,
                       const char *deviation = "") {
    cases.push_back(
        {"ctor MinMax {" + arguments + "}", "#octet.min_max<" + observer + ">", {}, deviation});
  };
  cases.push_back({"PerChannel.never_called", perChannel("dtype = ui8"), {}, kSawNothing});
  cases.push_back({"PerChannel.const_zero_channel",
                   perChannel("dtype = si8, scheme = symmetric"),
                   {{{0, 0}, {1, -1}}},
                   ""});
  cases.push_back({"PerChannel.float_qparams_const",
                   perChannel("dtype = ui8, scheme = affine_float_qparams"),
                   {{{2, 2}, {1, -1}}},
                   ""});
  construct("'quant_min': '1', 'quant_max': '5'", "dtype = ui8, range = [1, 5]");
  construct("'quant_min': '-5', 'quant_max': '-1'", "dtype = ui8, range = [-5, -1]");
  construct("'quant_min': '0', 'quant_max': '0'", "dtype = ui8, range = [0, 0]");
  construct("'dtype': 'torch.float16'", "dtype = f16");
  construct("'qscheme': 'torch.per_channel_affine'", "dtype = ui8, scheme = per_channel_affine");
  construct("'dtype': 'torch.quint8', 'qscheme': 'torch.per_tensor_symmetric', "
            "'reduce_range': 'True'",
            "dtype = ui8, scheme = symmetric, reduce_range = true");
  construct("'dtype': 'torch.qint8', 'quant_min': '-200', 'quant_max': '100'",
            "dtype = si8, range = [-200, 100]");
  construct("'quant_min': '0', 'quant_max': '300'", "dtype = ui8, range = [0, 300]", kWideRange);
  construct("'quant_min': '0'", "dtype = ui8");
  cases.push_back({"PlaceholderObserver", "#octet.placeholder<dtype = f32>", {}, ""});
  cases.push_back({"NoopObserver", "#octet.placeholder<dtype = f16>", {}, ""});
  cases.push_back({"RecordingObserver", "#octet.recording", {}, ""});
  cases.push_back({"ReuseInputObserver", "#octet.reuse_input", {}, ""});
  return cases;
}

/// Scales and zero points, of integers or real ones; or the quantized range where only that is
/// known.
struct Result {
  std::vector<double> scales, zeroPoints;
  int64_t quantMin = 0, quantMax = 255;
};

class EdgeCases : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    llvm::json::Object data = readGoldenRecords(GetParam(), "observers");
    if (data.empty())
      GTEST_SKIP() << "spec/" << GetParam() << " is absent (set OCTET_SHARED)";
    records = std::move(*data.getObject("edge_cases"));
    context.loadDialect<OctetDialect>();
  }

  /// Nothing if Octet refuses the observer or its statistics.
  std::optional<Result> observe(const EdgeCase &edge) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    auto observer = edge.observer.empty() ? Attribute() : parseAttribute(edge.observer, &context);
    if (!observer)
      return std::nullopt;
    auto interface = cast<ObserverAttrInterface>(observer);
    if (StringRef(edge.record).starts_with("ctor"))
      return Result{{}, {}, *interface.getSpec().quantMin, *interface.getSpec().quantMax};
    int64_t channels = edge.runs.empty() ? 1 : edge.runs[0].size();
    auto getType = [&](int64_t length) {
      return RankedTensorType::get({channels, length}, Float32Type::get(&context));
    };
    std::vector<char> state(interface.getStateBytes(getType(1)));
    interface.initState(getType(1), state);
    for (const auto &run : edge.runs) {
      std::vector<float> values;
      for (const std::vector<float> &row : run)
        values.insert(values.end(), row.begin(), row.end());
      interface.updateState(getType(run[0].size()), values, state);
    }
    return read(interface, getType(1), state);
  }

  std::optional<Result> read(ObserverAttrInterface observer, RankedTensorType type,
                             llvm::ArrayRef<char> state) {
    auto emit = [&] { return emitError(UnknownLoc::get(&context)); };
    auto widen = [](const auto &params) -> Result {
      return {{params.scales.begin(), params.scales.end()},
              {params.zeroPoints.begin(), params.zeroPoints.end()}};
    };
    if (observer.getSpec().hasFloatZeroPoints) {
      auto params = observer.getFloatQParams(emit, type, state);
      return succeeded(params) ? std::optional(widen(*params)) : std::nullopt;
    }
    auto quantized = observer.getQuantizedType(emit, type, state);
    return succeeded(quantized) ? std::optional(widen(numerics::getParams(*quantized)))
                                : std::nullopt;
  }

  MLIRContext context;
  llvm::json::Object records;
};

/// The recorded numbers, which are texts or numbers.
std::vector<double> getNumbers(const llvm::json::Object &record, llvm::StringRef key) {
  std::vector<double> numbers;
  if (const llvm::json::Array *array = record.getArray(key))
    for (const llvm::json::Value &value : *array)
      numbers.push_back(value.getAsNumber() ? *value.getAsNumber()
                                            : std::stod(value.getAsString()->str()));
  return numbers;
}

bool isNear(llvm::ArrayRef<double> own, llvm::ArrayRef<double> recorded, double tolerance) {
  return llvm::equal(own, recorded, [&](double a, double b) {
    return a == b || std::fabs(a - b) <= tolerance * std::fabs(b);
  });
}

/// Whether Octet does what the record says. Histograms agree within 2 %, as elsewhere.
bool agrees(const std::optional<Result> &own, const llvm::json::Object &record, bool isHistogram) {
  bool refuses = record.get("error") || record.get("calculate_qparams");
  if (refuses || !own)
    return refuses && !own;
  if (record.getBoolean("ok"))
    return own->quantMin == record.getInteger("quant_min") &&
           own->quantMax == record.getInteger("quant_max");
  double tolerance = isHistogram ? 0.02 : 0;
  return isNear(own->scales, getNumbers(record, "scale"), tolerance) &&
         isNear(own->zeroPoints, getNumbers(record, "zero_point"), tolerance);
}

TEST_P(EdgeCases, AgreeOrAreInTheTableOfDeviations) {
  std::string pages;
  for (llvm::StringRef name : {"deviations", "fx"}) {
    auto page = llvm::MemoryBuffer::getFile(OCTET_TEST_INPUTS "/../../docs/" + name + ".md");
    ASSERT_TRUE(page);
    pages += (*page)->getBuffer();
  }
  std::set<std::string> left;
  for (const auto &[name, value] : records)
    left.insert(name.str());
  int differing = 0;
  for (const EdgeCase &edge : getEdgeCases()) {
    ASSERT_EQ(left.erase(edge.record), 1u) << edge.record;
    if (agrees(observe(edge), *records.getObject(edge.record),
               StringRef(edge.record).starts_with("Histogram")))
      continue;
    ++differing;
    EXPECT_TRUE(!edge.deviation.empty() && StringRef(pages).contains(edge.deviation))
        << edge.record << ": " << edge.deviation;
  }
  EXPECT_TRUE(left.empty()) << "a record that is not in the table here: " << *left.begin();
  EXPECT_EQ(differing, StringRef(GetParam()) == "golden" ? 20 : 24);
}

INSTANTIATE_TEST_SUITE_P(PyTorch, EdgeCases, testing::Values("golden", "golden-2.13"),
                         [](const auto &info) {
                           return std::string(info.param) == "golden" ? "v1_13" : "v2_13";
                         });

} // namespace
