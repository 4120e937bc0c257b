//===- Plan.h - what parts of the plan share --------------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of the plan, which octet/Quantize/Plan.h declares, share with each other and with
// the passes of this folder.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_QUANTIZE_PLAN_H
#define OCTET_LIB_QUANTIZE_PLAN_H

#include "octet/Dialect/Octet/Origin.h"
#include "octet/Quantize/Plan.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"

namespace octet {

/// The plan's decisions as octet-prepare writes them down, counted from `number` on.
llvm::SmallVector<std::pair<mlir::Operation *, DecisionAttr>, 0>
getDecisionAttrs(const Plan &plan, const Backend &backend, int64_t &number);

/// The decisions that a network has in its file, which is quantized: an operator between dequantize
/// and quantize runs in integers.
llvm::SmallVector<std::pair<mlir::Operation *, DecisionAttr>, 0>
readDecisions(mlir::ModuleOp module);

/// The element-wise operators and means whose results a normalization squares and averages or adds
/// up, directly or behind others of them, these two, what it scales by, and residual sums that add
/// to such.
llvm::DenseSet<mlir::Operation *> findNormOps(mlir::Block &block);

/// The products and groups, and the operators that compute element by element or move, whose
/// results only sines and cosines read, directly or behind the latter; of the latter also those
/// that others read, too, if the angle is many times the value.
llvm::DenseSet<mlir::Operation *> findAngleOps(mlir::Block &block);

/// The operators that compute what a logarithm or a quotient reads from inputs of the network,
/// where these are products, sums, powers, moves, and clamps behind the last product.
llvm::DenseSet<mlir::Operation *> findRatioOps(mlir::Block &block);

/// The residual sums each of which adds to another, as many in a row as `rule` says, and what
/// stands between them beside the branches. (Trunks.cpp)
llvm::DenseSet<mlir::Operation *> findLongSums(mlir::Block &block, FloatSumsOp rule);

/// Adds the residual sums that add to sums among `floats`, and what stands between. (Trunks.cpp)
void addSumsBehind(mlir::Block &block, llvm::DenseSet<mlir::Operation *> &floats);

/// The units whose columns may be split that have less than `share` of the weights and read an
/// argument of the function, moved at most, and those that make its results, if all of them
/// together have less. (Ends.cpp)
llvm::DenseSet<mlir::Operation *> findSmallEnds(mlir::FunctionOpInterface function,
                                                const Plan &plan, double share);
/// All products of two activations, if they have less than `share` of the multiply-adds, in a
/// bucket of those of the one where they have most; else, but in buckets, those of a single row or
/// column. (Attention.cpp)
llvm::DenseSet<mlir::Operation *> findSmallProducts(mlir::Block &block, double share);

/// The layers in integers between residual sums of floats and others that carry their results on,
/// if they have at most `share` of the multiply-adds. (Trunks.cpp)
llvm::DenseSet<mlir::Operation *> findTrunkLayers(const Plan &plan, double share);
/// What such layers have in place of `qconfig`, or null.
QConfigAttr getQConfigOfTrunks(QConfigAttr qconfig);

/// Units whose pattern says so stay float if operators that stay float compute all that they read.
/// True if there was such a unit.
bool keepFloatOnFloats(Plan &plan, const Backend &backend);

/// The elements of the weights of the products in `op` and its regions.
int64_t countWeights(mlir::Operation *op);
/// Whether octet-split-outliers may add columns to this operand of the unit and to the weights.
bool isSplittable(const Unit &unit, mlir::OpOperand &operand);
/// Whether all that read these values quantized, which share an observer, are units whose columns
/// may be split.
bool areSplittable(llvm::ArrayRef<ObservedPoint> points,
                   llvm::function_ref<const Decision *(mlir::Operation *)> getDecision);
/// The channels along `axis` that a slice takes of its operand; none if `op` is no slice.
llvm::SmallVector<int64_t> getPart(mlir::Operation *op, int64_t axis);
/// Operands of a unit that joins several values take the scale of its result, in `types` of
/// octet.observe, unless theirs is far smaller; so do all values that share their observer. Units
/// behind others come first.
void joinScales(const Unit &unit,
                llvm::DenseMap<mlir::Operation *, mlir::quant::QuantizedType> &types,
                llvm::function_ref<llvm::ArrayRef<ObserveOp>(ObserveOp)> getSharing);
/// A value with a scale per channel takes those of the slices that read it.
void takeScalesOfParts(ObserveOp op,
                       llvm::DenseMap<mlir::Operation *, mlir::quant::QuantizedType> &types);

/// The integers, or floats of 16 bits, that octet.dequantize or octet.dequantize_weights reads.
mlir::Type getStoredElementType(mlir::Value stored);

/// In a network that is quantized already, values that are only moved between a quantize and an
/// operator are quantized on both sides. Returns how many became so.
int64_t spreadQuantization(mlir::ModuleOp module);
/// In such a network, a product of integers that are quantized in each run takes the scales by
/// which its sums are multiplied behind it. True if it does. If its input is reshaped behind that
/// (a convolution over a sequence), it reads what is reshaped and then quantized.
bool takeDynamicScales(mlir::OpBuilder &builder, nn::ProductOpInterface product);
/// Whether `op` moves the values of its only operand and brings in no others.
bool movesOne(mlir::Operation *op);
/// The type of the integers that `op` could move instead of the real numbers that it moves, or
/// null.
mlir::quant::QuantizedType getStoredType(mlir::Operation *op);

/// The row of the report about an operator or a group.
llvm::json::Object describeDecision(mlir::Operation *op, DecisionAttr decision);

Reason getReasonOfNone();
/// Why a unit reads through an observer with other settings than it asked for.
Reason getReasonOfIgnored();
/// Why a value has a second observer at this point.
Reason getReasonOfSecond(const Plan &plan, const ObservedPoint &point,
                         ObserverAttrInterface observer);

/// Whether the decision is about a unit that reads floats, quantizes them in each run, and writes
/// floats: it has no observers of activations.
inline bool isDynamic(const Decision &decision) {
  if (!decision.qconfig || decision.verdict == Verdict::WeightOnly)
    return false;
  return decision.qconfig.getActivation().getSpec().isDynamic;
}
Reason getReasonOfDynamic();

/// Nothing if the data types and the QConfig are both dynamic, or neither.
std::optional<Reason> checkKind(DTypesOp dtypes, QConfigAttr qconfig);
/// What a dynamic unit asks of its weighted activation: nothing if it is so.
std::optional<Reason> checkDynamic(const Unit &unit, const ObserverSpec &spec);

/// The operator whose QConfig a unit gets: the weighted one, or the last.
mlir::Operation *getAnchor(const Unit &unit);

/// The QConfig of the unit's weighted operator (or its last), or why there is none.
std::optional<Reason> chooseQConfig(const QConfigMapping &mapping, const Unit &unit,
                                    QConfigAttr &qconfig);
/// Why a unit stays float whose values are of types that cannot be observed.
std::optional<Reason> checkTypes(const Unit &unit);

/// Fails, with an error emitted, if operators of one unit have object types with different
/// activation observers.
mlir::LogicalResult checkQConfigsOfUnits(const Backend &backend, const QConfigMapping &mapping,
                                         mlir::Block &block);

/// [N.signed] The type that a value was trained with, for the same real numbers in signed or
/// unsigned integers if it has 8 bits.
mlir::quant::UniformQuantizedType getTrainedType(FakeQuantizeOp op, bool isSigned);
/// Nothing if weights that were trained so fit the backend's type: its integers, around 0, with
/// scales along `axis` at most.
std::optional<Reason> checkTrainedWeight(DTypeAttr dtype, FakeQuantizeOp op, int64_t axis);

/// The inputs and outputs of a function that are integers by its mapping. That of the module says
/// it of functions that no operator refers to.
struct Interface {
  Interface(mlir::FunctionOpInterface function, const QConfigMapping &mapping);
  llvm::SmallVector<int64_t> inputs, outputs;
};

/// Warns of entries that apply to no operator; with `strict`, they are errors.
mlir::LogicalResult checkEntries(mlir::ModuleOp module, const QConfigMapping &mapping, bool strict);

/// Nothing if the unit's QConfig, and the types that its weights were trained with, fit one of the
/// backend's combinations of data types, which give the verdict, else why not the nearest.
std::optional<Reason> checkQConfig(const Unit &unit, QConfigAttr qconfig, Verdict &verdict);
/// The output of the combination that the QConfig fits.
DTypeAttr getOutputType(const Unit &unit, QConfigAttr qconfig);
/// Whether units of these data types compute with floats, but have their weights in fewer bits.
bool isWeightOnly(DTypesOp dtypes);

/// Nothing if a QConfig of the mapping fits the data types, else why the nearest does not.
std::optional<Reason> findMisfit(const QConfigMapping &mapping, DTypesOp dtypes, bool hasWeight);
/// Whether the integers are the same; signed types are written `si8` or `i8`.
bool isSameInteger(mlir::Type a, mlir::IntegerType b);

/// The same of the observers that the unit's inputs and result have in the end (null: none).
std::optional<Reason>
checkObservers(const Unit &unit,
               llvm::function_ref<ObserverAttrInterface(mlir::OpOperand &)> getInput,
               ObserverAttrInterface result);

/// Whether one of the backend's combinations takes the observer for the unit's inputs or result.
bool takesObserver(const Unit &unit, ObserverAttrInterface observer, bool isResult);

} // namespace octet

#endif // OCTET_LIB_QUANTIZE_PLAN_H
