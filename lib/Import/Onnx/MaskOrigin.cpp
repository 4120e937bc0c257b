//===- MaskOrigin.cpp - what a mask was made of ---------------------------- ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MaskOrigin.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace octet;
using namespace octet::onnx_import;

MaskOrigin onnx_import::findRepeated(Value value, int64_t axis) {
  auto concat = value.getDefiningOp<nn::ConcatOp>();
  if (!concat || (int64_t)concat.getAxis() != axis)
    return {value};
  MaskOrigin first = findRepeated(concat.getInputs()[0], axis), all = first;
  for (Value input : concat.getInputs().drop_front()) {
    MaskOrigin other = input == concat.getInputs()[0] ? first : findRepeated(input, axis);
    if (other.mask != first.mask)
      return {value};
    all.repeat += other.repeat;
  }
  return all;
}

/// The truth values that a cast to truth values reads as numbers, or null.
static Value findTruths(nn::CastOp cast) {
  Value value = cast.getInput();
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
    value = reshape.getInput();
  if (auto before = value.getDefiningOp<nn::CastOp>())
    value = before.getInput();
  return getElementTypeOrSelf(value).isInteger(1) ? value : Value();
}

MaskOrigin onnx_import::findMaskOrigin(Value mask) {
  MaskOrigin origin{mask};
  while (Operation *op = origin.mask.getDefiningOp()) {
    MaskOrigin before{origin.mask};
    if (auto reshape = dyn_cast<nn::ReshapeOp>(op))
      before.mask = reshape.getInput();
    else if (auto cast = dyn_cast<nn::CastOp>(op))
      before.mask = findTruths(cast);
    else if (auto concat = dyn_cast<nn::ConcatOp>(op))
      before = findRepeated(origin.mask, concat.getAxis());
    bool isElement =
        before.mask &&
        (!isa<nn::ConcatOp>(op) ||
         countElements(shapeOf(before.mask).drop_front(cast<nn::ConcatOp>(op).getAxis())) == 1);
    if (before.mask == origin.mask || !isElement)
      break;
    origin = {before.mask, origin.repeat * before.repeat};
  }
  return origin;
}

/// Whether a value is the number of truth values that hold: a sum of all of them as numbers.
static bool isCount(Value value, Value mask) {
  bool isSum = false;
  while (Operation *op = value.getDefiningOp()) {
    auto reduce = dyn_cast<nn::ReduceOp>(op);
    bool sums = reduce && reduce.getCombination() == nn::Combination::sum;
    if (value == mask || !(sums || isa<nn::ReshapeOp, nn::CastOp>(op)))
      break;
    isSum |= sums;
    value = op->getOperand(0);
  }
  MaskOrigin origin = findMaskOrigin(value);
  return isSum && origin.mask == mask && origin.repeat == 1;
}

std::optional<std::pair<HostTensor, HostTensor>>
onnx_import::readSizes(Value sizes, const Masked &masked,
                       function_ref<HostTensorRef(Value)> getConstant) {
  std::vector<int64_t> all, other;
  int64_t count = *countElements(shapeOf(masked.mask));
  SmallVector<Value> parts{sizes};
  if (auto concat = sizes.getDefiningOp<nn::ConcatOp>())
    parts.assign(concat.getInputs().begin(), concat.getInputs().end());
  for (Value part : parts) {
    HostTensorRef constant = getConstant(part);
    if (constant && constant->isInteger()) {
      llvm::append_range(all, *constant->integers());
      llvm::append_range(other, *constant->integers());
    } else if (countElements(shapeOf(part)) == 1 && isCount(part, masked.mask)) {
      all.push_back(count);
      other.push_back(count + 1);
    } else {
      return std::nullopt;
    }
  }
  Shape shape{(int64_t)all.size()};
  return std::pair(HostTensor{"", shape, std::move(all)}, HostTensor{"", shape, std::move(other)});
}

MaybeValue onnx_import::flattenMask(Node &node, const Masked &masked) {
  int64_t count = *countElements(shapeOf(masked.mask));
  auto repeated =
      repeatAlong(node, node.reshape(masked.mask, {count, 1}), /*axis=*/1, masked.repeat);
  return failed(repeated) ? repeated : node.reshape(*repeated, {count * masked.repeat});
}

Entry onnx_import::makeElements(Masked masked, int64_t axis, int64_t repeat, Entry of) {
  masked.kind = Masked::elements, masked.axis = axis, masked.repeat = repeat;
  of.masked = std::make_shared<const Masked>(std::move(masked));
  return of;
}

Entry onnx_import::listPositions(const Entry &entry) {
  if (!entry.masked || entry.masked->kind == Masked::sizes ||
      entry.masked->kind == Masked::elements)
    return entry;
  const Masked &masked = *entry.masked;
  ShapeRef shape = masked.shape;
  int64_t rank = shape.size(), count = *countElements(shape);
  Shape strides = getStrides(shape);
  bool isColumns = masked.kind == Masked::columns;
  std::vector<int64_t> positions(rank * count);
  for (int64_t row = 0; row < count; ++row)
    for (int64_t axis = 0; axis < rank; ++axis)
      positions[isColumns ? axis * count + row : row * rank + axis] =
          row / strides[axis] % shape[axis];
  Shape of = isColumns ? Shape{rank, count} : Shape{count, rank};
  if (masked.kind == Masked::places)
    of.pop_back();
  return makeElements(
      masked, isColumns, masked.repeat,
      Entry{std::make_shared<HostTensor>(HostTensor{"", of, std::move(positions)}), {}});
}

bool onnx_import::countsAll(const Entry &indices, ShapeRef data) {
  const HostTensor *tuples = indices.tensor.get();
  if (!tuples || !tuples->isInteger() || tuples->shape.empty() || tuples->shape.size() > 2)
    return false;
  int64_t rank = tuples->shape.size() == 2 ? tuples->shape[1] : 1, i = 0;
  if (rank > (int64_t)data.size())
    return false;
  ShapeRef whole = data.take_front(rank);
  Shape strides = getStrides(whole);
  return tuples->shape[0] == countElements(whole) &&
         llvm::all_of(*tuples->integers(), [&](int64_t index) {
           int64_t row = i / rank, axis = i++ % rank;
           return index == row / strides[axis] % whole[axis];
         });
}
