//===- PartialBody.cpp - some of a group's operators ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartialBody.h"
#include "EpilogueBounds.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static FusedOp makeFused(GroupOp group, ArrayRef<Operation *> ops, Value yielded) {
  FusedOp fused(group);
  fused.product = fused.rounding = fused.dynamic = nullptr;
  fused.body.assign(ops.begin(), ops.end());
  fused.yielded = yielded;
  return fused;
}

PartialBody::PartialBody(GroupOp group, ArrayRef<Operation *> ops, Value yielded,
                         const Signature &signature, function_ref<int(Value)> addInput)
    : fused(makeFused(group, ops, yielded)), signature(signature) {
  llvm::SetVector<Value> inner;
  inner.insert_range(fused.getBodyInputs());
  if (isa<BlockArgument>(yielded)) // where there are no operators
    inner.insert(yielded);
  for (Value value : inner)
    inputs.push_back({value, addInput(fused.getOuter(value))});
}

Value PartialBody::emit(KernelBuilder &b, ValueRange args, ArrayRef<int64_t> shape,
                        ValueRange indices, llvm::DenseMap<Value, Value> known) const {
  int64_t laneAxis = b.lanes > 1 ? shape.size() - 1 : -1;
  for (auto [inner, number] : inputs) {
    TensorView view = signature.getTensor(number, args);
    alignView(view, shape);
    known[inner] = loadReal(b, view, indices, laneAxis);
  }
  return emitBody(b, fused, std::move(known));
}

Interval PartialBody::getRange(Value inner, Interval range) const {
  llvm::DenseMap<Value, Interval> ranges{{inner, range}};
  for (auto [input, number] : inputs)
    ranges[input] = getOperandRange(fused.getOuter(input));
  return getBodyRange(fused, ranges);
}

int RowOperands::add(Value outer) {
  auto [entry, isNew] = numbers.try_emplace(outer, -1);
  if (isNew)
    entry->second = signature.addTensor(outer);
  return entry->second;
}

bool RowOperands::areInVectors(const KernelBuilder &b, ValueRange args, ArrayRef<int64_t> shape,
                               int target) const {
  auto getStep = [&](int number) {
    TensorView view = signature.getTensor(number, args);
    alignView(view, shape);
    return view.strides.steps.back();
  };
  return !b.level.isScalar() && getStep(target) == 1 &&
         llvm::all_of(numbers, [&](auto &entry) { return getStep(entry.second) <= 1; });
}
