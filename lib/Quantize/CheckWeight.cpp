//===- CheckWeight.cpp - do weights fit a pattern's data types -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckQConfig.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace octet;

std::optional<Reason> octet::checkWeightType(DTypesOp dtypes, ObserverAttrInterface observer) {
  ObserverSpec spec = observer.getSpec();
  if (spec.hasFloatZeroPoints && !isWeightOnly(dtypes))
    return Reason{
        "OCT204",
        "the weight observer yields real zero points, but the backend multiplies integers",
        "give the weight observer the scheme affine or symmetric"};
  if (spec.hasFloatZeroPoints && spec.dtype.getWidth() > 8)
    return Reason{
        "OCT211",
        llvm::formatv("the weight observer yields {0} with real zero points, which have at "
                      "most 8 bits",
                      printType(spec.dtype)),
        "give the weight observer the dtype ui8 or ui4"};
  return checkObserver(dtypes.getWeightAttr(), observer, "weight");
}

/// The weight's observer: present, with channels along the pattern's axis, which the weight has,
/// and with integer zero points where they are multiplied as integers.
static std::optional<Reason> checkObservedWeight(DTypesOp dtypes, ObserverAttrInterface observer,
                                                 int64_t axis, ShapedType weight) {
  if (!observer)
    return Reason{"OCT208", "the QConfig has no weight observer",
                  "add `weight = ...` to the QConfig"};
  if (axis >= weight.getRank())
    return Reason{"OCT208",
                  llvm::formatv("the pattern says that the weight's channels lie on axis {0}, but "
                                "the weight has {1} dimensions",
                                axis, weight.getRank()),
                  "correct `octet.weight axis` in the backend"};
  auto channelAxis = observer.getSpec().channelAxis;
  if (channelAxis && weight.isDynamicDim(axis))
    return Reason{"OCT216",
                  llvm::formatv("the weight observer has one scale per element of axis {0}, whose "
                                "size is known at run time only",
                                axis),
                  "give the weights an observer of the whole tensor"};
  if (channelAxis && *channelAxis != axis)
    return Reason{"OCT208",
                  llvm::formatv("the weight observer has one scale per element of axis {0}, but "
                                "the result's channels lie on axis {1}",
                                *channelAxis, axis),
                  llvm::formatv("set axis = {0} in the weight observer", axis)};
  return checkWeightType(dtypes, observer);
}

std::optional<Reason> octet::checkWeight(DTypesOp dtypes, ObserverAttrInterface observer,
                                         int64_t axis, OpOperand &operand) {
  if (auto trained = operand.get().getDefiningOp<FakeQuantizeOp>())
    return checkTrainedWeight(dtypes.getWeightAttr(), trained, axis);
  return checkObservedWeight(dtypes, observer, axis, cast<ShapedType>(operand.get().getType()));
}
