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
#include "Splits.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Numerics/ChooseQParams.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Constants.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"
#include <cfloat>
#include <cmath>

using namespace mlir;
using namespace octet;

namespace octet {
#define GEN_PASS_DEF_SPLITOUTLIERSPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

namespace {
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

/// A value whose range is known.
struct Member {
  ObserverOp observer;
  Candidate *candidate;
  ColumnMinMaxObserverAttr kind;
  SmallVector<Ends, 0> columns;
  Ends whole;

  Member(ObserverOp observer, Candidate &candidate)
      : observer(observer), candidate(&candidate),
        kind(cast<ColumnMinMaxObserverAttr>(observer.getObserver())) {
    SmallVector<char> bytes = observer.getState();
    columns = kind.getColumns(bytes);
  }
};
using Group = SmallVector<Member, 1>;

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
    for (Group &group : joinByWeights(candidates))
      split(group);
    for (auto &[observer, candidate] : candidates)
      if (candidate.isSingle)
        widen(cast<ObserverOp>(observer));
  }

  /// Values whose layers share weights get the same further columns; in the order of the network.
  static SmallVector<Group, 0> joinByWeights(llvm::MapVector<Operation *, Candidate> &candidates) {
    llvm::EquivalenceClasses<void *> joined;
    for (auto &[observer, candidate] : candidates)
      for (const Reader &reader : candidate.readers)
        joined.unionSets(observer, getWeights(reader.unit).getInput().getAsOpaquePointer());
    llvm::MapVector<void *, Group> groups;
    for (auto &[observer, candidate] : candidates)
      if (!candidate.isSingle && !candidate.isRefused && !candidate.readers.empty())
        groups[joined.getLeaderValue(observer)].emplace_back(cast<ObserverOp>(observer), candidate);
    return llvm::to_vector<0>(llvm::make_second_range(groups));
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
  int64_t getBudget(const Group &group, int64_t numColumns) const {
    int64_t weights = 0, multiplyAdds = 0; // per column
    for (const Member &member : group)
      for (const Reader &reader : member.candidate->readers) {
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

  /// Makes room for what is to come, where few numbers were seen.
  void widen(ObserverOp observer) {
    SmallVector<char> bytes = observer.getState();
    auto kind = cast<ColumnMinMaxObserverAttr>(observer.getObserver());
    auto ranges = kind.getColumns(bytes);
    auto range = getWholeRange(ranges);
    float room =
        numerics::getRoom((double)kind.getNumRows(bytes) * (double)ranges.size(), (double)numbers);
    if (!range || room == 1)
      return;
    observer.setObserverAttr(kind.getPlain());
    observer.setState(toBytes({range->first * room, range->second * room}));
    ++numWidened;
  }

  void split(Group &group) {
    for (Member &member : group) {
      auto whole = getWholeRange(member.columns);
      if (!whole)
        return; // octet-convert says so
      member.whole = *whole;
    }
    // Of several values each counts as a part of its own range.
    SmallVector<float> sizes(group.size(), 1);
    SmallVector<Ends, 0> ranges = group.front().columns;
    if (group.size() > 1) {
      for (auto [member, size] : llvm::zip_equal(group, sizes))
        size = std::max(member.whole.second - member.whole.first, FLT_MIN);
      ranges = joinRanges(
          llvm::map_to_vector(group, [](const Member &m) { return ColumnRanges(m.columns); }),
          sizes);
    }
    Ends chosen = chooseRange(ranges, getBudget(group, ranges.size()));
    auto range = align(group.front(), chosen), all = getWholeRange(ranges);
    if (!range)
      return signalPassFailure();
    Split split = makeSplit(ranges, *range, *range);
    if (split.parts.empty() || !(split.high - split.low <= gain * (all->second - all->first))) {
      for (Member &member : group)
        if (member.kind.getNumRows(member.observer.getState()) >= rows)
          clip(member);
      return;
    }
    RepeatedConstants known;
    for (auto [member, size] : llvm::zip_equal(group, sizes)) {
      auto own = align(member, {size * chosen.first, size * chosen.second});
      if (!own)
        return signalPassFailure();
      apply(member, makeSplit(ranges, *range, *own), known);
    }
  }

  static std::optional<Ends> align(const Member &member, Ends range) {
    ObserverOp observer = member.observer;
    auto type = member.kind.getPlain().getQuantizedType([&] { return observer.emitOpError(); },
                                                        RankedTensorType(), toBytes(range));
    if (failed(type))
      return std::nullopt;
    return alignRange(range, cast<quant::UniformQuantizedType>(*type));
  }

  void apply(const Member &member, const Split &split, RepeatedConstants &known) {
    Candidate &candidate = *member.candidate;
    for (ObserveOp op : candidate.observes)
      op.replaceAllUsesWith(op.getInput());
    ObserverOp narrow = createObserver(member.observer, split);
    llvm::MapVector<Value, Value> widened;
    for (Reader &reader : candidate.readers) {
      Value &wide = widened[reader.operand->get()];
      if (!wide)
        wide = widen(reader.operand->get(), narrow, split, candidate, known);
      setOperand(*reader.operand, wide);
      repeatWeights(reader.unit, split, known);
    }
    for (ObserveOp op : candidate.observes)
      op.erase();
    ObserverOp(member.observer).erase();
    for (Operation *reshape : candidate.reshapes)
      keepFloat(reshape);
    ++numSplit;
    numColumns += split.parts.size();
  }

  /// Clips what reaches beyond the others in the few widest columns.
  void clip(Member &member) {
    auto [min, max] = member.whole;
    auto [low, high] =
        chooseRange(member.columns, (int64_t)(columns * (double)member.columns.size()));
    low = std::min(low, (float)kept * min);
    high = std::max(high, (float)kept * max);
    if (low == min && high == max)
      return;
    member.observer.setObserverAttr(member.kind.getPlain());
    member.observer.setState(toBytes({low, high}));
    ++numClipped;
  }

  /// Its statistics.
  static SmallVector<char> toBytes(Ends range) {
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
                     const Candidate &candidate, RepeatedConstants &known) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t numColumns = type.getShape().back();
    OriginPropagation origins(getOrigin(value));
    OpBuilder builder(value.getContext(), &origins);
    builder.setInsertionPointAfterValue(value);
    Location loc = value.getLoc();
    Value result = repeatColumns(builder, value, split.getColumns(), known,
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

  static void repeatWeights(const Unit &unit, const Split &split, RepeatedConstants &known) {
    OpOperand *weights = unit.getOperand<WeightOp>();
    int64_t axis = cast<RankedTensorType>(weights->get().getType()).getRank() - 1;
    repeatConstant(*weights, axis, split.getColumns(), known);
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
