//===- SplitOutliers.cpp - columns for what reaches beyond the others -----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.split] Between calibration and conversion, so that the statistics are those of the network as
// it was: they can be saved and loaded, and no samples are needed here.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "RepeatColumns.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Constants.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_SPLITOUTLIERSPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

namespace {

using Columns = ArrayRef<std::pair<float, float>>;

/// clip(x[column] - shift, low, high)
struct Part {
  int64_t column;
  float shift, low, high;
};

struct Split {
  float low = 0, high = 0;
  SmallVector<Part, 0> parts; ///< of the columns behind those that there are

  SmallVector<int64_t> getColumns() const {
    return llvm::map_to_vector(parts, [](const Part &part) { return part.column; });
  }
};

/// How many parts of size `step` are behind the first one.
double countParts(double reach, double step) {
  return reach > step ? std::ceil(reach / step) - 1 : 0;
}

/// The smallest step for which all reaches, the largest first, need at most `budget` further parts.
float findStep(ArrayRef<float> reaches, int64_t budget) {
  auto fits = [&](double step) {
    double count = 0;
    for (float reach : reaches) {
      double parts = countParts(reach, step);
      count += parts;
      if (parts == 0 || count > (double)budget)
        break;
    }
    return count <= (double)budget;
  };
  double low = 0, high = reaches.front();
  for (int i = 0; i < 40 && high > 0; ++i) {
    double middle = (low + high) / 2;
    (fits(middle) ? high : low) = middle;
  }
  // The largest part of a reach that is cut as often as that.
  float step = 0;
  for (float reach : reaches)
    step = std::max(step, (float)(reach / (1 + countParts(reach, high))));
  return fits(step) ? step : std::nextafter(step, INFINITY);
}

/// The parts of all columns beyond the step, with the bounds of a part.
void addParts(SmallVectorImpl<Part> &parts, ArrayRef<float> reaches, float step, bool isAbove) {
  for (auto [column, reach] : llvm::enumerate(reaches))
    for (int64_t i = 1, n = (int64_t)countParts(reach, step); i <= n; ++i)
      parts.push_back(isAbove ? Part{(int64_t)column, (float)i * step, 0, step}
                              : Part{(int64_t)column, -((float)i * step), -step, 0});
}

/// How far columns reach to one side.
SmallVector<float, 0> getReaches(Columns columns, bool isAbove) {
  return llvm::map_to_vector<0>(
      columns, [&](auto range) { return std::max(isAbove ? range.second : -range.first, 0.0f); });
}

/// The smallest range with at most `budget` further columns.
std::pair<float, float> chooseRange(Columns columns, int64_t budget) {
  SmallVector<float, 0> above = getReaches(columns, true), below = getReaches(columns, false);
  for (SmallVector<float, 0> *reaches : {&above, &below})
    llvm::sort(*reaches, std::greater<float>());
  float high = 0, low = 0, least = INFINITY;
  for (int64_t i = 0; i <= budget; ++i) {
    float up = findStep(above, i), down = findStep(below, budget - i);
    if (up + down < least)
      std::tie(high, low, least) = std::tuple(up, down, up + down);
  }
  return {-low, high};
}

/// The range widened to ends that are integers in `type`, which has its zero point: the parts of a
/// value that end there are exact, so that one part alone is rounded.
std::pair<float, float> alignRange(std::pair<float, float> range,
                                   quant::UniformQuantizedType type) {
  auto above = (float)(type.getStorageTypeMax() - type.getZeroPoint()),
       below = (float)(type.getZeroPoint() - type.getStorageTypeMin());
  float scale =
      std::max(above > 0 ? range.second / above : 0, below > 0 ? -range.first / below : 0);
  return {-(scale * below), scale * above};
}

Split makeSplit(Columns columns, std::pair<float, float> range) {
  Split split{range.first, range.second, {}};
  addParts(split.parts, getReaches(columns, true), range.second, /*isAbove=*/true);
  addParts(split.parts, getReaches(columns, false), -range.first, /*isAbove=*/false);
  // Kernels read columns in fours; further ones are always zero.
  constexpr int64_t kFour = 4;
  if (!split.parts.empty() && columns.size() % kFour == 0)
    split.parts.resize(llvm::alignTo(split.parts.size(), kFour), Part{0, 0, 0, 0});
  return split;
}

/// A unit that reads an observed value, and where.
struct Reader {
  Unit unit;
  OpOperand *operand;
};

/// An observer, its values, and the units that are to read further columns.
struct Candidate {
  SmallVector<ObserveOp> observes;
  SmallVector<Reader, 0> readers;
  SmallVector<Operation *> reshapes;
  bool isSingle = false; ///< a single row
  bool isRefused = false;

  /// Whether the pass erases `use` or gives it the value with further columns.
  bool isKnown(OpOperand &use) const {
    return llvm::is_contained(observes, use.getOwner()) ||
           llvm::any_of(readers, [&](const Reader &reader) { return reader.operand == &use; });
  }
};

struct SplitOutliers : octet::impl::SplitOutliersPassBase<SplitOutliers> {
  using SplitOutliersPassBase::SplitOutliersPassBase;
  /// Weights of the network, and multiply-adds with them.
  int64_t total = 0, totalMultiplyAdds = 0;
  bool isOfBucket = false; ///< buckets, whose numbers of rows differ, decide by weights alone

  void runOnOperation() override {
    const Backend *backend = getAnalysis<PolicyAnalysis>().getBackend();
    if (!backend)
      return signalPassFailure();
    markAnalysesPreserved<PolicyAnalysis>();
    isOfBucket = getOperation()->hasAttr(kBucketAttr);
    llvm::MapVector<Operation *, Candidate> candidates;
    getOperation().walk([&](ObserveOp op) {
      auto observer = SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, op.getObserverAttr());
      if (observer && isa<ColumnMinMaxObserverAttr>(observer.getObserver()) &&
          observer.getStatisticsAttr())
        collect(candidates[observer], *backend, op);
    });
    total = countWeights(getOperation());
    getOperation().walk([&](nn::ProductOpInterface product) {
      if (product.getWeightOperand())
        totalMultiplyAdds += product.getNumMultiplyAdds();
    });
    for (auto &[observer, candidate] : candidates)
      if (candidate.isSingle)
        widen(cast<ObserverOp>(observer));
      else if (!candidate.isRefused && !candidate.readers.empty())
        split(cast<ObserverOp>(observer), candidate);
  }

  /// A layer on a single row is as slow as its weights are read, which more columns would cost in
  /// full.
  static bool hasRows(RankedTensorType type) {
    return type.hasStaticShape() && type.getRank() > 0 &&
           type.getNumElements() > type.getShape().back();
  }

  void collect(Candidate &candidate, const Backend &backend, ObserveOp op) {
    candidate.observes.push_back(op);
    candidate.isSingle |= !isOfBucket && !hasRows(op.getObservedType());
    for (OpOperand &use : op.getResult().getUses()) {
      DecisionAttr decision = getDecision(use.getOwner());
      if (!decision || decision.getVerdict() == Verdict::Float ||
          decision.getVerdict() == Verdict::WeightOnly)
        continue;
      std::optional<Unit> unit = backend.matchUnit(use.getOwner());
      if (unit && isSplittable(*unit, use) && getWeights(*unit))
        candidate.readers.push_back({std::move(*unit), &use});
      else if (isa<nn::ReshapeOp>(use.getOwner()))
        candidate.reshapes.push_back(use.getOwner());
      else
        candidate.isRefused = true;
    }
  }

  /// The observer of a unit's constant weights, or null.
  static ObserveOp getWeights(const Unit &unit) {
    auto observe = unit.getOperand<WeightOp>()->get().getDefiningOp<ObserveOp>();
    return observe && succeeded(getConstantValues<float>(observe.getInput())) ? observe
                                                                              : ObserveOp();
  }

  /// The largest number of further columns: a part of those that there are, or what adds a small
  /// part to the network's weights and multiply-adds.
  int64_t getBudget(const Candidate &candidate, int64_t numColumns) const {
    int64_t weights = 0, multiplyAdds = 0; // per column
    for (const Reader &reader : candidate.readers) {
      weights += countWeights(reader.unit.op) / numColumns;
      multiplyAdds += nn::countMultiplyAdds(reader.unit.op) / numColumns;
    }
    auto ofNetwork = [&](int64_t all, int64_t perColumn) {
      return (int64_t)(cost * (double)all) / std::max<int64_t>(perColumn, 1);
    };
    int64_t few = std::min(ofNetwork(total, weights), numColumns);
    if (!isOfBucket)
      few = std::min(few, ofNetwork(totalMultiplyAdds, multiplyAdds));
    return llvm::alignTo(std::max((int64_t)std::ceil(columns * (double)numColumns), few), 4);
  }

  /// The range over all columns and zero, if it is finite; octet-convert says so otherwise.
  static std::optional<std::pair<float, float>> getRange(Columns columns) {
    float min = 0, max = 0;
    for (auto [low, high] : columns) {
      if (!std::isfinite(low) || !std::isfinite(high))
        return std::nullopt;
      min = std::min(min, low);
      max = std::max(max, high);
    }
    return std::pair(min, max);
  }

  /// Makes room for what is to come, where few numbers were seen.
  void widen(ObserverOp observer) {
    SmallVector<char> bytes = observer.getState();
    auto kind = cast<ColumnMinMaxObserverAttr>(observer.getObserver());
    auto ranges = kind.getColumns(bytes);
    auto range = getRange(ranges);
    double count = (double)kind.getNumRows(bytes) * (double)ranges.size();
    if (!range || !(count > 1 && count < (double)numbers))
      return;
    auto room = (float)std::sqrt(std::log((double)numbers) / std::log(count));
    observer.setObserverAttr(kind.getPlain());
    observer.setState(toBytes({range->first * room, range->second * room}));
    ++numWidened;
  }

  void split(ObserverOp observer, Candidate &candidate) {
    SmallVector<char> bytes = observer.getState();
    auto kind = cast<ColumnMinMaxObserverAttr>(observer.getObserver());
    auto ranges = kind.getColumns(bytes);
    auto whole = getRange(ranges);
    if (!whole)
      return;
    auto [min, max] = *whole;
    auto range = chooseRange(ranges, getBudget(candidate, ranges.size()));
    auto type = kind.getPlain().getQuantizedType([&] { return observer.emitOpError(); },
                                                 RankedTensorType(), toBytes(range));
    if (failed(type))
      return signalPassFailure();
    Split split = makeSplit(ranges, alignRange(range, cast<quant::UniformQuantizedType>(*type)));
    if (split.parts.empty() || !(split.high - split.low <= gain * (max - min))) {
      if (kind.getNumRows(bytes) >= rows)
        clip(observer, ranges, min, max);
      return;
    }
    for (ObserveOp op : candidate.observes)
      op.replaceAllUsesWith(op.getInput());
    ObserverOp narrow = createObserver(observer, split);
    llvm::MapVector<Value, Value> widened;
    for (Reader &reader : candidate.readers) {
      Value &wide = widened[reader.operand->get()];
      if (!wide)
        wide = widen(reader.operand->get(), narrow, split, candidate);
      setOperand(*reader.operand, wide);
      repeatWeights(reader.unit, split);
    }
    for (ObserveOp op : candidate.observes)
      op.erase();
    observer.erase();
    for (Operation *reshape : candidate.reshapes)
      keepFloat(reshape);
    ++numSplit;
    numColumns += split.parts.size();
  }

  /// Clips what reaches beyond the others in the few widest columns.
  void clip(ObserverOp observer, Columns ranges, float min, float max) {
    auto [low, high] = chooseRange(ranges, (int64_t)(columns * (double)ranges.size()));
    low = std::min(low, (float)kept * min);
    high = std::max(high, (float)kept * max);
    if (low == min && high == max)
      return;
    observer.setObserverAttr(cast<ColumnMinMaxObserverAttr>(observer.getObserver()).getPlain());
    observer.setState(toBytes({low, high}));
    ++numClipped;
  }

  /// Its statistics.
  static SmallVector<char> toBytes(std::pair<float, float> range) {
    std::array<float, 2> values{range.first, range.second};
    auto *bytes = reinterpret_cast<const char *>(values.data());
    return SmallVector<char>(bytes, bytes + sizeof(values));
  }

  static ObserverOp createObserver(ObserverOp old, const Split &split) {
    OpBuilder builder(old);
    SmallVector<char> bytes = toBytes({split.low, split.high});
    auto observer = ObserverOp::create(
        builder, old.getLoc(), builder.getStringAttr(old.getSymName() + ".split"),
        cast<ColumnMinMaxObserverAttr>(old.getObserver()).getPlain(), nullptr);
    observer.setState(bytes);
    return observer;
  }

  /// A constant with a number for each column, those of the parts last.
  static Value createRow(OpBuilder &builder, Value value, StringRef name, int64_t numColumns,
                         float first, const Split &split, float Part::*member) {
    SmallVector<float, 0> row(numColumns, first);
    for (const Part &part : split.parts)
      row.push_back(part.*member);
    auto type = RankedTensorType::get({(int64_t)row.size()}, builder.getF32Type());
    return nn::createConstant<float>(builder, value.getLoc(), name, type, row);
  }

  /// The value with its parts as further columns, observed.
  static Value widen(Value value, ObserverOp observer, const Split &split,
                     const Candidate &candidate) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t numColumns = type.getShape().back();
    OriginPropagation origins(getOrigin(value));
    OpBuilder builder(value.getContext(), &origins);
    builder.setInsertionPointAfterValue(value);
    Location loc = value.getLoc();
    Value result = repeatColumns(builder, value, split.getColumns(),
                                 [&](OpOperand &use) { return candidate.isKnown(use); });
    Type wide = result.getType();
    auto row = [&](StringRef name, float first, float Part::*member) {
      return createRow(builder, value, name, numColumns, first, split, member);
    };
    result = nn::SubOp::create(builder, loc, wide, result, row("split.shift", 0, &Part::shift));
    result = nn::MaxOp::create(builder, loc, wide, result, row("split.low", split.low, &Part::low));
    result =
        nn::MinOp::create(builder, loc, wide, result, row("split.high", split.high, &Part::high));
    return ObserveOp::create(builder, loc, wide, result, FlatSymbolRefAttr::get(observer));
  }

  static void repeatWeights(const Unit &unit, const Split &split) {
    OpOperand *weights = unit.getOperand<WeightOp>();
    int64_t axis = cast<RankedTensorType>(weights->get().getType()).getRank() - 1;
    repeatConstant(*weights, axis, split.getColumns());
  }

  static void keepFloat(Operation *op) {
    DecisionAttr old = getDecision(op);
    auto reason =
        ReasonAttr::get(op->getContext(), "OCT102", "no quantized operator reads the result", "");
    op->setAttr(kDecisionAttr, DecisionAttr::get(op->getContext(), old.getNumber(), Verdict::Float,
                                                 old.getPattern(), reason, old.getNote(), false));
  }
};
} // namespace
