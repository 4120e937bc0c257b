//===- Parts.cpp - slices of channels with scales of their own ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.parts] A value that is read by slices of its channels has the scale of the slice in each of
// them, which its producer writes: a slice then moves bytes as ever, and its readers see one scale.
// What is concatenated with other values, and others compute with, takes their scale unless its own
// is far smaller: the concatenation rescales it, which costs a table and rounds twice, but its
// other readers see it with all its bits.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Numerics/Quantize.h"

using namespace mlir;
using namespace octet;
using quant::QuantizedType;
using quant::UniformQuantizedType;

SmallVector<int64_t> octet::getPart(Operation *op, int64_t axis) {
  auto slice = dyn_cast_or_null<nn::SliceOp>(op);
  SmallVector<int64_t> channels;
  if (slice && axis >= 0 && axis < slice.getInput().getType().getRank())
    for (int64_t i = 0; i < slice.getSizes()[axis]; ++i)
      channels.push_back(slice.getStarts()[axis] + i * slice.getSteps()[axis]);
  return channels;
}

/// The octet.observe of a value, or null.
static ObserveOp getObserve(Value value) {
  for (Operation *user : value.getUsers())
    if (auto observe = dyn_cast<ObserveOp>(user))
      return observe;
  return {};
}

/// Whether real numbers of the one type are between the bounds of the other, or not far outside:
/// observers clip some.
static bool isWithin(UniformQuantizedType type, UniformQuantizedType bounds) {
  auto getBounds = [](UniformQuantizedType type) {
    numerics::QuantParams params = numerics::getParams(type);
    return std::pair(numerics::dequantize(params.low, params),
                     numerics::dequantize(params.high, params));
  };
  auto [low, high] = getBounds(type);
  auto [least, most] = getBounds(bounds);
  float some = (most - least) / 8;
  return low >= least - some && high <= most + some;
}

void octet::joinScales(const Unit &unit, DenseMap<Operation *, QuantizedType> &types,
                       function_ref<ArrayRef<ObserveOp>(ObserveOp)> getSharing) {
  // On YOLOv8, scales of a half and a third of the result's are no better than the result's.
  constexpr double kFarSmaller = 0.25;
  DecisionAttr decision = getDecision(unit.op);
  if (decision && decision.getVerdict() != Verdict::Quantized) // floats are not rescaled
    return;
  SmallVector<OpOperand *> operands = unit.getOperands<ActivationOp>();
  if (operands.size() < 2 || PatternOp(unit.pattern).getObservation() != Observation::shared)
    return;
  auto result =
      dyn_cast_or_null<UniformQuantizedType>(types.lookup(getObserve(unit.op->getResult(0))));
  for (OpOperand *operand : operands) {
    auto observe = operand->get().getDefiningOp<ObserveOp>();
    auto own = dyn_cast_or_null<UniformQuantizedType>(types.lookup(observe));
    if (!result || !own || own.getScale() <= kFarSmaller * result.getScale())
      continue;
    // An operand's numbers are among the result's; others that share its scale may be larger.
    auto function = observe->getParentOfType<FunctionOpInterface>();
    bool isAlone = llvm::count_if(getSharing(observe), [&](ObserveOp sharing) {
                     return function->isAncestor(sharing);
                   }) == 1;
    if (isAlone || isWithin(own, result))
      for (ObserveOp sharing : getSharing(observe))
        types[sharing] = result;
  }
}

void octet::takeScalesOfParts(ObserveOp op, DenseMap<Operation *, QuantizedType> &types) {
  numerics::QuantParams params = numerics::getParams(types.lookup(op));
  bool hasParts = false;
  for (Operation *user : op->getUsers()) {
    SmallVector<int64_t> channels = getPart(user, params.axis);
    auto part = channels.empty() ? QuantizedType() : types.lookup(getObserve(user->getResult(0)));
    auto type = dyn_cast_or_null<UniformQuantizedType>(part);
    if (!type)
      continue;
    hasParts = true;
    for (int64_t channel : channels) {
      params.scales[channel] = (float)type.getScale();
      params.zeroPoints[channel] = (int32_t)type.getZeroPoint();
    }
  }
  if (!hasParts)
    return;
  if (llvm::all_equal(params.scales) && llvm::all_equal(params.zeroPoints))
    params.axis = -1;
  types[op] = numerics::withParams(types.lookup(op), params);
}
