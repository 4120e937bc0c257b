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

#include "mlir/AsmParser/AsmParser.h"
#include "octet/Dialect/Octet/Octet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>

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
          .Default("");
  llvm::StringRef scheme = args.getString("qscheme").value_or("per_tensor_affine");
  llvm::StringRef dtype = args.getString("dtype").value_or("quint8");
  if (mnemonic.empty() || scheme.ends_with("float_qparams"))
    return "";
  if (mnemonic == "fixed_qparams")
    return llvm::formatv("#octet.fixed_qparams<ui8, scale = {0:e17} : f32, zero_point = {1}>",
                         *args.getNumber("scale"), *args.getInteger("zero_point"));
  std::string text = ("#octet." + mnemonic + "<dtype = ").str();
  text += dtype == "quint8" ? "ui8" : dtype == "qint8" ? "si8" : dtype == "qint32" ? "si32" : "ui4";
  if (scheme.ends_with("symmetric"))
    text += ", scheme = symmetric";
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

class Golden : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    context.loadDialect<OctetDialect>();
    load("observers.json", data);
  }

  static void load(const std::string &name, llvm::json::Object &records) {
    const char *shared = getenv("OCTET_SHARED");
    std::string path =
        std::string(shared ? shared : "../shared") + "/spec/" + GetParam() + "/" + name;
    auto file = llvm::MemoryBuffer::getFile(path);
    if (!file)
      GTEST_SKIP() << path << " is absent (set OCTET_SHARED)";
    auto json = llvm::json::parse((*file)->getBuffer());
    ASSERT_TRUE(!!json) << llvm::toString(json.takeError());
    records = *json->getAsObject();
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

  quant::QuantizedType observe(ObserverAttrInterface observer, llvm::ArrayRef<Tensor> inputs) {
    auto type = RankedTensorType::get(inputs[0].shape, Float32Type::get(&context));
    std::vector<char> state(observer.getStateBytes(type));
    observer.initState(type, state);
    for (const Tensor &input : inputs)
      observer.updateState(type, input.values, state);
    auto quantized = observer.getQuantizedType([&] { return emitError(UnknownLoc::get(&context)); },
                                               type, state);
    return succeeded(quantized) ? *quantized : quant::QuantizedType();
  }

  MLIRContext context;
  llvm::json::Object data;
};

void expectSame(quant::QuantizedType type, const llvm::json::Object &record, double scaleTolerance,
                int64_t zeroTolerance, const std::string &what) {
  const llvm::json::Array &scales = *record.getArray("scale"),
                          &zeroPoints = *record.getArray("zero_point");
  llvm::SmallVector<double> ownScales;
  llvm::SmallVector<int64_t> ownZeroPoints;
  if (auto uniform = dyn_cast_or_null<quant::UniformQuantizedType>(type)) {
    ownScales.push_back(uniform.getScale());
    ownZeroPoints.push_back(uniform.getZeroPoint());
  } else if (auto perAxis = dyn_cast_or_null<quant::UniformQuantizedPerAxisType>(type)) {
    llvm::append_range(ownScales, perAxis.getScales());
    llvm::append_range(ownZeroPoints, perAxis.getZeroPoints());
  }
  ASSERT_EQ(ownScales.size(), scales.size()) << what;
  for (size_t i = 0; i < scales.size(); ++i) {
    double expected = *scales[i].getAsNumber();
    EXPECT_LE(std::fabs(ownScales[i] - expected), scaleTolerance * expected)
        << what << ": " << ownScales[i] << " " << expected;
    EXPECT_LE(std::abs(ownZeroPoints[i] - *zeroPoints[i].getAsInteger()), zeroTolerance)
        << what << ": " << ownZeroPoints[i] << " " << *zeroPoints[i].getAsInteger();
  }
}

TEST_P(Golden, RangeObserversAgreeBitForBit) {
  int compared = 0;
  for (const llvm::json::Value &value : *data.getArray("records")) {
    const llvm::json::Object &record = *value.getAsObject();
    std::string text = getObserverText(record);
    if (text.empty() || llvm::StringRef(text).contains("histogram") || record.get("error"))
      continue;
    auto observer = dyn_cast_or_null<ObserverAttrInterface>(parseAttribute(text, &context));
    ASSERT_TRUE(observer) << text;
    std::string input = record.getString("input")->str();
    expectSame(observe(observer, getInputs(input)), record, 0, 0, text + " of " + input);
    ++compared;
  }
  EXPECT_EQ(compared, 263);
}

TEST_P(Golden, ParametersThatPyTorchRefusesAreRefused) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
  int refused = 0;
  for (const llvm::json::Value &value : *data.getArray("records")) {
    const llvm::json::Object &record = *value.getAsObject();
    // The errors about histograms are of the recording's own code.
    if (!record.get("error") || record.getString("observer")->starts_with("Histogram"))
      continue;
    std::string text = getObserverText(record);
    EXPECT_FALSE(parseAttribute(text, &context)) << text;
    ++refused;
  }
  EXPECT_EQ(refused, 21);
}

TEST_P(Golden, HistogramsAgreeWithinTwoPercent) {
  int compared = 0;
  for (const llvm::json::Value &value : *data.getArray("records")) {
    const llvm::json::Object &record = *value.getAsObject();
    std::string text = getObserverText(record);
    // 1.13 cuts the bounds of its bins to integers; later versions do not.
    bool isSound = llvm::StringRef(GetParam()) != "golden";
    if (!llvm::StringRef(text).contains("histogram") || record.get("error") || !isSound)
      continue;
    auto observer = dyn_cast_or_null<ObserverAttrInterface>(parseAttribute(text, &context));
    ASSERT_TRUE(observer) << text;
    std::string input = record.getString("input")->str();
    expectSame(observe(observer, getInputs(input)), record, 0.02, 2, text + " of " + input);
    ++compared;
  }
  EXPECT_EQ(compared, llvm::StringRef(GetParam()) == "golden" ? 0 : 90);
}

/// The range of a FakeQuantize module's observer after each of several inputs.
TEST_P(Golden, FakeQuantizeCarriesAMovingAverage) {
  llvm::json::Object modules;
  load("qdq.json", modules);
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
  EXPECT_EQ(compared, 45);
}

INSTANTIATE_TEST_SUITE_P(PyTorch, Golden, testing::Values("golden", "golden-2.13"),
                         [](const auto &info) {
                           return std::string(info.param) == "golden" ? "v1_13" : "v2_13";
                         });

} // namespace
