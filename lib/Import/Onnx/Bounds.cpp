//===- Bounds.cpp - the least and the largest number ---------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"
#include "mlir/IR/TypeUtilities.h"
#include "octet/Support/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

/// Values of more elements are no shapes and no positions of slices.
static constexpr int64_t kMostElements = 64;

/// Behind more ops, nothing is known: loops have many one behind the other.
static constexpr int64_t kMostDepth = 64;

/// Sums of numbers within these do not wrap around.
static constexpr int64_t kMostAdded = int64_t(1) << 62;

/// What integers of a type may be.
static std::optional<Bounds> getRange(Type element) {
  if (element.isInteger(1))
    return Bounds{false, true};
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || (integer.isUnsigned() && integer.getWidth() == 64))
    return std::nullopt;
  unsigned bits = integer.getWidth();
  return integer.isUnsigned() ? Bounds{int64_t(0), (int64_t)llvm::maxUIntN(bits)}
                              : Bounds{llvm::minIntN(bits), llvm::maxIntN(bits)};
}

template <typename Stored, typename Held> static ElementBounds readConstants(Value constant) {
  ElementBounds bounds;
  auto values = getConstantValues<Stored>(constant);
  for (Stored value : succeeded(values) ? ArrayRef<Stored>(*values) : ArrayRef<Stored>())
    bounds.push_back(Bounds{static_cast<Held>(value), static_cast<Held>(value)});
  return bounds;
}

/// Of a constant; none of other values.
static ElementBounds readConstants(Value value) {
  Type element = getElementTypeOrSelf(value);
  if (element.isF32())
    return readConstants<float, float>(value);
  if (element.isInteger(1))
    return readConstants<int8_t, bool>(value);
  if (element.isSignlessInteger(32))
    return readConstants<int32_t, int64_t>(value);
  return element.isSignlessInteger(64) ? readConstants<int64_t, int64_t>(value) : ElementBounds();
}

/// Whether the op's result does not decrease where an operand grows.
static bool isMonotone(Operation *op, ArrayRef<std::optional<Bounds>> operands) {
  bool isTruth = getElementTypeOrSelf(op->getResult(0)).isInteger(1);
  auto isAdded = [](const std::optional<Bounds> &bounds) {
    auto *low = std::get_if<int64_t>(&bounds->low), *high = std::get_if<int64_t>(&bounds->high);
    return low && high && *low > -kMostAdded && *high < kMostAdded;
  };
  if (isa<nn::AndOp, nn::OrOp>(op))
    return isTruth;
  if (isa<nn::AddOp>(op))
    return llvm::all_of(operands, isAdded);
  return isa<nn::MaxOp, nn::MinOp>(op) || (isa<nn::CastOp>(op) && !isTruth);
}

/// Of one element of an element-wise op; none if the result wraps around, or may.
static std::optional<Bounds> applyBounds(Operation *op, ArrayRef<std::optional<Bounds>> operands) {
  if (isa<nn::SelectOp>(op) && operands[0]->isOne())
    return operands[std::get<bool>(operands[0]->low) ? 1 : 2];
  auto isKnown = [](const std::optional<Bounds> &bounds) { return bounds.has_value(); };
  auto isOne = [](const std::optional<Bounds> &bounds) { return bounds->isOne(); };
  if (!llvm::all_of(operands, isKnown) ||
      !(llvm::all_of(operands, isOne) || isMonotone(op, operands)))
    return std::nullopt;
  auto low = applyLaw(op, llvm::map_to_vector(operands, [](auto &each) { return each->low; })),
       high = applyLaw(op, llvm::map_to_vector(operands, [](auto &each) { return each->high; }));
  if (!low || !high)
    return std::nullopt;
  auto range = getRange(getElementTypeOrSelf(op->getResult(0)));
  if (range && (*low < range->low || *high > range->high))
    return std::nullopt;
  return Bounds{*low, *high};
}

/// From the bounds of its operands; elements of which nothing is known are none.
static ElementBounds deriveBounds(Operation *op, BoundsMap &known, int64_t depth) {
  ElementBounds bounds;
  if (isa<nn::ReshapeOp>(op))
    return findBounds(op->getOperand(0), known, depth + 1);
  if (isa<nn::ConcatOp>(op) && shapeOf(op->getResult(0)).size() == 1) {
    for (Value part : op->getOperands())
      llvm::append_range(bounds, findBounds(part, known, depth + 1));
    return bounds;
  }
  if (auto slice = dyn_cast<nn::SliceOp>(op); slice && slice.getStarts().size() == 1) {
    ElementBounds all = findBounds(slice.getInput(), known, depth + 1);
    for (int64_t i = 0; i < slice.getSizes()[0]; ++i)
      bounds.push_back(all[slice.getStarts()[0] + i * slice.getSteps()[0]]);
    return bounds;
  }
  if (!op->hasTrait<nn::Elementwise>())
    return bounds;
  SmallVector<ElementBounds> operands;
  size_t count = *countElements(shapeOf(op->getResult(0)));
  for (Value operand : op->getOperands()) {
    operands.push_back(findBounds(operand, known, depth + 1));
    if (operands.back().size() != count && operands.back().size() != 1)
      return bounds;
  }
  for (size_t i = 0; i < count; ++i)
    bounds.push_back(applyBounds(op, llvm::map_to_vector(operands, [&](const ElementBounds &each) {
                                   return each[each.size() == 1 ? 0 : i];
                                 })));
  return bounds;
}

ElementBounds onnx_import::findBounds(Value value, BoundsMap &known, int64_t depth) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  int64_t count = *countElements(shapeOf(value));
  auto range = getRange(getElementTypeOrSelf(value));
  ElementBounds bounds;
  Operation *op = value.getDefiningOp();
  if (op && count <= kMostElements)
    bounds = readConstants(value);
  if (op && bounds.empty() && count <= kMostElements && depth < kMostDepth)
    bounds = deriveBounds(op, known, depth);
  bounds.resize(count);
  for (auto &each : bounds)
    each = each ? each : range;
  return known[value] = bounds;
}

std::optional<HostTensor> onnx_import::findOnlyValue(Value value) {
  BoundsMap known;
  Type element = getElementTypeOrSelf(value);
  if (!countElements(shapeOf(value), kMostElements))
    return std::nullopt;
  SmallVector<Number> numbers;
  for (const auto &bounds : findBounds(value, known)) {
    if (!bounds || !bounds->isOne())
      return std::nullopt;
    numbers.push_back(bounds->low);
  }
  return makeTensor(shapeOf(value), numbers, element);
}
