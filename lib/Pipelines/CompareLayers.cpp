//===- CompareLayers.cpp - the error of every quantized operator ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Shadows.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Support/FileUtilities.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Pipelines/Passes.h"
#include "octet/Quantize/Passes.h"
#include "octet/Quantize/Statistics.h"
#include "octet/Support/Constants.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ToolOutputFile.h"
#include <cmath>

namespace octet {
#define GEN_PASS_DEF_COMPARELAYERSPASS
#include "octet/Pipelines/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;

//===----------------------------------------------------------------------===//
// Figures
//===----------------------------------------------------------------------===//

namespace {
/// [N.stat.distance] Of computed numbers from wanted ones.
struct Distance {
  double wanted = 0, got = 0, products = 0, errors = 0; ///< sums of squares and products

  void add(double x, double y) {
    wanted += x * x;
    got += y * y;
    products += x * y;
    errors += (x - y) * (x - y);
  }
  double getSqnr() const { return 10 * std::log10(wanted / errors); }
  double getNormalizedL2() const { return std::sqrt(errors / wanted); }
  double getCosine() const { return products / (std::sqrt(wanted) * std::sqrt(got)); }
};

/// The distances of one unit.
struct Row {
  Operation *op;
  Distance output, alone, local;
  std::optional<Distance> weights;
};
} // namespace

/// Adds the values that two taps kept of every sample.
static void addAll(Distance &distance, ArrayRef<TapStatistics> wanted,
                   ArrayRef<TapStatistics> got) {
  for (auto [x, y] : llvm::zip_equal(wanted, got))
    for (size_t i = 0; i < x.size() / sizeof(float); ++i)
      distance.add(reinterpret_cast<const float *>(x.data())[i],
                   reinterpret_cast<const float *>(y.data())[i]);
}

/// The distance of a unit's weights from their values as integers; nothing if it has none.
static std::optional<Distance> compareWeights(const Unit &unit) {
  OpOperand *operand = unit.getOperand<WeightOp>();
  auto observe = operand ? operand->get().getDefiningOp<ObserveOp>() : ObserveOp();
  if (!observe)
    return std::nullopt;
  auto values = getConstantValues<float>(observe.getInput());
  auto type = failed(values) ? quant::QuantizedType() : getTypeOfConstant(observe, *values);
  if (!type)
    return std::nullopt;
  auto tensor = cast<RankedTensorType>(observe.getInput().getType());
  numerics::QuantParams params = numerics::getParams(type);
  Distance distance;
  numerics::forEachElement(tensor.getShape(), params, [&](int64_t i, int64_t channel) {
    int64_t q = numerics::quantizeWeight((*values)[i], params, channel);
    distance.add((*values)[i], numerics::dequantize(q, params, channel));
  });
  return distance;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

/// JSON has no infinities.
static llvm::json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

static llvm::json::Object describe(const Distance &distance) {
  return llvm::json::Object{{"sqnr", number(distance.getSqnr())},
                            {"normalized_l2", number(distance.getNormalizedL2())},
                            {"cosine", number(distance.getCosine())}};
}

static llvm::json::Array describe(ArrayRef<Row> rows) {
  llvm::json::Array array;
  for (const Row &row : rows) {
    llvm::json::Object decision = describeDecision(row.op);
    llvm::json::Object object{{"name", std::move(decision["name"])},
                              {"operator", std::move(decision["operator"])},
                              {"output", describe(row.output)},
                              {"alone", describe(row.alone)},
                              {"local", describe(row.local)}};
    if (row.weights)
      object["weights"] = describe(*row.weights);
    array.push_back(std::move(object));
  }
  return array;
}

/// One line per unit, decibels and the cosine of the output. Names may come from files.
static void printTable(ArrayRef<Row> rows, raw_ostream &os) {
  auto decibels = [](const Distance &distance) {
    return std::isinf(distance.getSqnr()) && distance.errors == 0
               ? std::string("exact")
               : llvm::formatv("{0:F1} dB", distance.getSqnr()).str();
  };
  SmallVector<std::array<std::string, 7>, 0> lines{
      {"layer", "operator", "output", "local", "alone", "weights", "cosine"}};
  for (const Row &row : rows) {
    llvm::json::Object decision = describeDecision(row.op);
    lines.push_back({escapeText(decision.getString("name").value_or("")),
                     escapeText(decision.getString("operator").value_or("")), decibels(row.output),
                     decibels(row.local), decibels(row.alone),
                     row.weights ? decibels(*row.weights) : "",
                     llvm::formatv("{0:F5}", row.output.getCosine())});
  }
  std::array<size_t, 7> widths{};
  for (const auto &line : lines)
    for (auto [width, text] : llvm::zip_equal(widths, line))
      width = std::max(width, text.size());
  for (const auto &line : lines) {
    std::string text;
    for (auto [width, cell] : llvm::zip_equal(widths, line))
      text += cell + std::string(width + 2 - cell.size(), ' ');
    os << StringRef(text).rtrim() << '\n';
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// See Passes.td.
struct CompareLayers : octet::impl::CompareLayersPassBase<CompareLayers> {
  using CompareLayersPassBase::CompareLayersPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    const MeasureContext &context = getAnalysis<MeasureContext>();
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    if (failed(findLayers(getOperation(), backend))) // says what is no network
      return signalPassFailure();
    if (context.files.empty()) {
      getOperation().emitError("the layers are not compared: octet-compare-layers needs samples, "
                               "not only statistics of them")
          << Remedy("give some with --calibration-data, too");
      return signalPassFailure();
    }
    llvm::Expected<SmallVector<Row, 0>> rows = compare(*backend, context);
    if (!rows) {
      emitError(UnknownLoc::get(&getContext())) << Cause(rows.takeError());
      return signalPassFailure();
    }
    numCompared += rows->size();
    if (context.progress.onFigure)
      context.progress.onFigure("layers", describe(*rows));
    if (!output.empty() && failed(write(*rows)))
      return signalPassFailure();
  }

  /// Values of a result, in the order of its elements: all if they are not too many.
  Tap makeTap(Operation *op) {
    int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
    // No axis of channels: what is kept are values of the whole tensor.
    return {op, ChannelValuesObserverAttr::get(&getContext(), rank, values), std::nullopt,
            /*keepsSamples=*/true};
  }

  llvm::Expected<SmallVector<Row, 0>> compare(const Backend &backend,
                                              const MeasureContext &context) {
    ShadowedNetwork network(getOperation(), backend);
    SmallVector<Row, 0> rows;
    SmallVector<Tap> taps; // those of both twins, then the unit's
    for (const ShadowedNetwork::Shadowed &shadowed : network.getUnits()) {
      rows.push_back({shadowed.unit.op, {}, {}, {}, compareWeights(shadowed.unit)});
      for (Operation *op : {shadowed.twin, shadowed.twinOfReals, shadowed.result})
        taps.push_back(makeTap(op));
    }
    std::vector<TapStatistics> twins[2];
    auto use = [&](const Measured &measured) {
      Row &row = rows[measured.tap / 3];
      if (size_t tap = measured.tap % 3; tap < 2) {
        twins[tap] = measured.referenceSamples.vec();
        return;
      }
      addAll(row.output, measured.floatingSamples, measured.referenceSamples);
      addAll(row.alone, twins[0], measured.referenceSamples);
      addAll(row.local, twins[1], measured.referenceSamples);
    };
    if (llvm::Error error = measureBoth(network.getModule(), taps, context, use))
      return std::move(error);
    return rows;
  }

  LogicalResult write(ArrayRef<Row> rows) {
    std::string message;
    auto file = openOutputFile(output, &message);
    if (!file)
      return emitError(getOperation().getLoc()) << message;
    if (json)
      file->os() << llvm::formatv("{0:2}", llvm::json::Value(describe(rows))) << '\n';
    else
      printTable(rows, file->os());
    file->keep();
    return success();
  }
};
} // namespace
