//===- GoldenTest.cpp - observers against PyTorch's records ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The records are those of $OCTET_SHARED/spec/golden*/{observers,qdq}.json; their README says how
// the inputs are made.
//
//===----------------------------------------------------------------------===//

#include "GoldenRecords.h"
#include "mlir/AsmParser/AsmParser.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Numerics/Quantize.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace octet;

namespace {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

Tensor generate(const llvm::json::Object &spec) {
  Tensor tensor;
  int64_t count = 1;
  for (const llvm::json::Value &size : *spec.getArray("shape"))
    count *= tensor.shape.emplace_back(*size.getAsInteger());
  uint32_t state = *spec.getInteger("seed");
  double low = *spec.getNumber("lo"), high = *spec.getNumber("hi");
  llvm::StringRef kind = *spec.getString("kind");
  int64_t inner = count / tensor.shape[0];
  for (int64_t i = 0; i < count; ++i) {
    state = 1664525u * state + 1013904223u;
    double u = (state >> 8) * 0x1p-24, t = 2 * u - 1;
    if (kind == "heavy")
      tensor.values.push_back((float)(high * (t * t * t * t * t)));
    else if (kind == "const")
      tensor.values.push_back((float)low);
    else
      tensor.values.push_back((float)(low + (high - low) * u));
    if (kind == "chan")
      tensor.values.back() *= std::ldexp(1.0f, i / inner);
  }
  return tensor;
}

/// An observer's parameters as attribute text, or "" if Octet has no such observer.
std::string getObserverText(const llvm::json::Object &record) {
  llvm::StringRef name = *record.getString("observer");
  const llvm::json::Object &args = *record.getObject("args");
  llvm::StringRef mnemonic =
      llvm::StringSwitch<llvm::StringRef>(name)
          .Case("MinMax", "min_max")
          .Case("MovingAverageMinMax", "moving_average_min_max")
          .Case("PerChannelMinMax", "per_channel_min_max")
          .Case("MovingAveragePerChannelMinMax", "moving_average_per_channel_min_max")
          .Case("FixedQParams", "fixed_qparams")
          .Case("Histogram(1.13)", "histogram")
          .Case("Histogram(2.1 rules)", "histogram")
          .Default("");
  llvm::StringRef scheme = args.getString("qscheme").value_or("per_tensor_affine");
  llvm::StringRef dtype = args.getString("dtype").value_or("quint8");
  if (mnemonic.empty())
    return "";
  if (mnemonic == "fixed_qparams")
    return llvm::formatv("#octet.fixed_qparams<ui8, scale = {0:e17} : f32, zero_point = {1}>",
                         *args.getNumber("scale"), *args.getInteger("zero_point"));
  std::string text = ("#octet." + mnemonic + "<dtype = ").str();
  text += dtype == "quint8" ? "ui8" : dtype == "qint8" ? "si8" : dtype == "qint32" ? "si32" : "ui4";
  if (scheme.ends_with("symmetric"))
    text += ", scheme = symmetric";
  if (scheme.ends_with("float_qparams"))
    text += ", scheme = affine_float_qparams";
  if (auto low = args.getInteger("quant_min"))
    text += ", range = [" + std::to_string(*low) + ", " +
            std::to_string(*args.getInteger("quant_max")) + "]";
  if (args.getBoolean("reduce_range").value_or(false))
    text += ", reduce_range = true";
  if (auto eps = args.getNumber("eps"))
    text += llvm::formatv(", eps = {0:e17}", *eps);
  if (auto constant = args.getNumber("averaging_constant"))
    text += llvm::formatv(", constant = {0:e17}", *constant);
  if (auto axis = args.getInteger("ch_axis"))
    text += ", axis = " + std::to_string(*axis);
  if (auto bins = args.getInteger("bins"))
    text += ", bins = " + std::to_string(*bins);
  return text + ">";
}

/// What is done with a record.
enum class Use { exact, close, refused, none };

/// For `none` with the reason.
std::pair<Use, std::string> getUse(const llvm::json::Object &record, llvm::StringRef folder) {
  llvm::StringRef name = *record.getString("observer");
  llvm::StringRef error = record.getString("error").value_or("");
  if (!name.starts_with("Histogram"))
    return {error.empty() ? Use::exact : Use::refused, ""};
  if (error.contains("'upsample_rate'"))
    return {Use::none, "2.13 has no such argument"};
  if (!error.empty())
    return {Use::none, "the recording's own class, which 2.13 breaks"};
  if (folder == "golden" && name == "Histogram(1.13)")
    return {Use::none, "1.13 cuts the bounds of its bins to integers"};
  if (folder == "golden" && record.getObject("args")->getInteger("bins").value_or(2048) < 100)
    return {Use::none, "2.1 moves the upper bound by a part of its few bins"};
  return {Use::close, ""};
}

/// Scales and zero points, of integers or real ones.
struct Params {
  std::vector<double> scales, zeroPoints;
};

class Golden : public testing::TestWithParam<const char *> {
protected:
  /// A file of the folder; empty if it is absent.
  static llvm::json::Object read(llvm::StringRef name) {
    return readGoldenRecords(GetParam(), name);
  }

  void SetUp() override {
    data = read("observers");
    if (data.empty())
      GTEST_SKIP() << "spec/" << GetParam() << " is absent (set OCTET_SHARED)";
    context.loadDialect<OctetDialect>();
  }

  std::vector<Tensor> getInputs(llvm::StringRef name) {
    std::vector<Tensor> tensors;
    if (auto *sequence = data.getObject("sequences")->getArray(name))
      for (const llvm::json::Value &spec : *sequence)
        tensors.push_back(generate(*spec.getAsObject()));
    else
      tensors.push_back(generate(*data.getObject("inputs")->getObject(name)));
    return tensors;
  }

  /// Calls `use(record, text of the observer, input)` for the records of this use; their number.
  int forEach(
      Use use,
      llvm::function_ref<void(const llvm::json::Object &, const std::string &, llvm::StringRef)>
          body) {
    int count = 0;
    for (const llvm::json::Value &value : *data.getArray("records")) {
      const llvm::json::Object &record = *value.getAsObject();
      if (getUse(record, GetParam()).first != use)
        continue;
      body(record, getObserverText(record), *record.getString("input"));
      ++count;
    }
    return count;
  }

  /// None if the statistics give none.
  Params observe(const std::string &text, llvm::ArrayRef<Tensor> inputs) {
    auto observer = dyn_cast_or_null<ObserverAttrInterface>(parseAttribute(text, &context));
    EXPECT_TRUE(observer) << text;
    if (!observer)
      return {};
    auto type = RankedTensorType::get(inputs[0].shape, Float32Type::get(&context));
    std::vector<char> state(observer.getStateBytes(type));
    observer.initState(type, state);
    for (const Tensor &input : inputs)
      observer.updateState(type, input.values, state);
    auto emit = [&] { return emitError(UnknownLoc::get(&context)); };
    auto widen = [](const auto &params) -> Params {
      return {{params.scales.begin(), params.scales.end()},
              {params.zeroPoints.begin(), params.zeroPoints.end()}};
    };
    if (observer.getSpec().hasFloatZeroPoints) {
      auto params = observer.getFloatQParams(emit, type, state);
      return succeeded(params) ? widen(*params) : Params();
    }
    auto quantized = observer.getQuantizedType(emit, type, state);
    return succeeded(quantized) ? widen(numerics::getParams(*quantized)) : Params();
  }

  MLIRContext context;
  llvm::json::Object data;
};

void expectSame(const Params &own, const llvm::json::Object &record, double scaleTolerance,
                double zeroTolerance, const std::string &what) {
  const llvm::json::Array &scales = *record.getArray("scale"),
                          &zeroPoints = *record.getArray("zero_point");
  ASSERT_EQ(own.scales.size(), scales.size()) << what;
  for (size_t i = 0; i < scales.size(); ++i) {
    double scale = *scales[i].getAsNumber(), zeroPoint = *zeroPoints[i].getAsNumber();
    EXPECT_LE(std::fabs(own.scales[i] - scale), scaleTolerance * scale)
        << what << ": " << own.scales[i] << " " << scale;
    EXPECT_LE(std::fabs(own.zeroPoints[i] - zeroPoint), zeroTolerance)
        << what << ": " << own.zeroPoints[i] << " " << zeroPoint;
  }
}

TEST_P(Golden, RangeObserversAgreeBitForBit) {
  int compared = forEach(Use::exact, [&](auto &record, const std::string &text, auto input) {
    expectSame(observe(text, getInputs(input)), record, 0, 0, text + " of " + input.str());
  });
  EXPECT_EQ(compared, 299);
}

TEST_P(Golden, ParametersThatPyTorchRefusesAreRefused) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  int refused = forEach(Use::refused, [&](auto &, const std::string &text, auto) {
    EXPECT_FALSE(parseAttribute(text, &context)) << text;
  });
  EXPECT_EQ(refused, 21);
}

TEST_P(Golden, HistogramsAgreeWithinTwoPercent) {
  int compared = forEach(Use::close, [&](auto &record, const std::string &text, auto input) {
    expectSame(observe(text, getInputs(input)), record, 0.02, 2, text + " of " + input.str());
  });
  EXPECT_EQ(compared, llvm::StringRef(GetParam()) == "golden" ? 90 : 160);
}

TEST_P(Golden, RecordsThatAreNotComparedHaveAReason) {
  int leftOut = forEach(Use::none, [&](auto &record, const std::string &, auto) {
    EXPECT_FALSE(getUse(record, GetParam()).second.empty());
  });
  EXPECT_EQ(leftOut, llvm::StringRef(GetParam()) == "golden" ? 110 : 40);
  EXPECT_EQ(data.getArray("records")->size(), 520u);
}

/// [N.quantize_weight], [N.dequantize_weights]
TEST_P(Golden, WeightsWithRealZeroPointsAreIntegersAsRecorded) {
  llvm::json::Object records = read("qdq");
  for (auto [name, bits] : {std::pair("quint8", 8), std::pair("quint4x2", 4)}) {
    const llvm::json::Object &record =
        *records.getObject(std::string("quantize_per_channel_float_qparams_") + name);
    const llvm::json::Array &scales = *record.getArray("scale"),
                            &zeroPoints = *record.getArray("zero_point"),
                            &stored = *record.getArray("q"), &reals = *record.getArray("dq");
    Tensor input = getInputs(*record.getString("input"))[0];
    ASSERT_EQ(reals.size(), input.values.size());
    for (size_t i = 0; i < reals.size(); ++i) {
      size_t row = i / (reals.size() / input.shape[0]);
      float scale = *scales[row].getAsNumber(), zeroPoint = *zeroPoints[row].getAsNumber();
      int64_t q = numerics::quantizeWeight(input.values[i], scale, zeroPoint, 0, (1 << bits) - 1);
      // Two integers of 4 bits in a byte, the first in the lower half.
      int64_t byte = *stored[i * bits / 8].getAsInteger();
      EXPECT_EQ(q, byte >> (i * bits % 8) & ((1 << bits) - 1)) << name << " " << i;
      EXPECT_EQ(numerics::dequantizeWeight(q, scale, zeroPoint), (float)*reals[i].getAsNumber())
          << name << " " << i;
    }
  }
}

/// The range of a FakeQuantize module's observer after each of several inputs.
TEST_P(Golden, FakeQuantizeCarriesAMovingAverage) {
  llvm::json::Object modules = read("qdq");
  int compared = 0;
  for (const llvm::json::Value &value : *modules.getArray("fused_moving_avg_obs_fq")) {
    const llvm::json::Object &record = *value.getAsObject();
    int64_t low = *record.getInteger("quant_min"), high = *record.getInteger("quant_max");
    std::string text =
        llvm::formatv("#octet.moving_average_min_max<dtype = {0}, range = [{1}, {2}]>",
                      low < 0 ? "si8" : "ui8", low, high);
    auto observer = dyn_cast_or_null<ObserverAttrInterface>(parseAttribute(text, &context));
    ASSERT_TRUE(observer) << text;
    std::vector<Tensor> inputs = getInputs(*record.getString("seq"));
    auto type = RankedTensorType::get(inputs[0].shape, Float32Type::get(&context));
    std::vector<char> state(observer.getStateBytes(type));
    observer.initState(type, state);
    for (auto [input, step] : llvm::zip_equal(inputs, *record.getArray("steps"))) {
      observer.updateState(type, input.values, state);
      float range[2];
      memcpy(range, state.data(), sizeof(range));
      const llvm::json::Object &wanted = *step.getAsObject();
      EXPECT_EQ(range[0], (float)*wanted.getArray("min_val")->front().getAsNumber()) << text;
      EXPECT_EQ(range[1], (float)*wanted.getArray("max_val")->front().getAsNumber()) << text;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 40);
}

INSTANTIATE_TEST_SUITE_P(PyTorch, Golden, testing::Values("golden", "golden-2.13"),
                         [](const auto &info) {
                           return std::string(info.param) == "golden" ? "v1_13" : "v2_13";
                         });

} // namespace
