//===- SoftmaxRows.cpp - softmax of rows as one step ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of some rows and their exponentials lie on the stack between the operators in front
// of the softmax and those behind it. By [N.softmax] and the laws of the operators.
//
//===----------------------------------------------------------------------===//

#include "../Attention.h"
#include "../Groups.h"
#include "../Rows.h"
#include "PartialBody.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
class SoftmaxRows {
public:
  SoftmaxRows(ProgramEmitter &emitter, GroupOp group, nn::SoftmaxOp softmax);
  void emit();

private:
  /// If they fit on the stack.
  int64_t getRowsTogether() const {
    return kRowsTogether * 2 * paddedLength() * 4 <= kMostStackBytes ? kRowsTogether : 1;
  }
  int64_t paddedLength() const { return llvm::alignTo(shape.back(), 16); }

  PartialBody makeBody(Value yielded);
  /// Of several rows, whose first elements these indices are.
  using Rows = MutableArrayRef<SmallVector<Value>>;
  void emitRows(KernelBuilder &b, ValueRange args, Rows rows);

  ProgramEmitter &emitter;
  GroupOp group;
  nn::SoftmaxOp softmax;
  SmallVector<int64_t> shape, shapeOfRows;
  Signature signature;
  RowOperands operands;
  PartialBody before, after;
  int target;

  // Inside the body.
  Value values, exponentials; ///< memory on the stack
};
} // namespace

SoftmaxRows::SoftmaxRows(ProgramEmitter &emitter, GroupOp group, nn::SoftmaxOp softmax)
    : emitter(emitter), group(group), softmax(softmax), shape(softmax.getType().getShape()),
      shapeOfRows(shape), signature(emitter), operands(signature),
      before(makeBody(softmax.getInput())), after(makeBody(group.getYielded())),
      target(signature.addTensor(group.getResult())) {
  shapeOfRows.back() = 1;
}

/// The operators that compute a value of the group, those in front of the softmax excepted.
PartialBody SoftmaxRows::makeBody(Value yielded) {
  llvm::SetVector<Value> needed;
  needed.insert(yielded);
  for (size_t i = 0; i < needed.size(); ++i)
    if (Operation *op = needed[i].getDefiningOp(); op && op != softmax)
      needed.insert_range(op->getOperands());
  SmallVector<Operation *> ops;
  for (Operation &op : group.getBody().front().without_terminator())
    if (&op != softmax && needed.contains(op.getResult(0)))
      ops.push_back(&op);
  return PartialBody(group, ops, yielded, signature,
                     [&](Value outer) { return operands.add(outer); });
}

void SoftmaxRows::emitRows(KernelBuilder &b, ValueRange args, Rows rows) {
  TensorView y = signature.getTensor(target, args);
  auto getPlace = [&](int64_t row, Value k) { return b.addIndex(k, row * paddedLength()); };
  emitSoftmaxOfRows(
      b, shape.back(), rows.size(), exponentials, paddedLength(),
      [&](int64_t row, Value k) {
        rows[row].back() = k;
        Value x = before.emit(b, args, shape, rows[row], llvm::DenseMap<Value, Value>());
        b.store(x, values, getPlace(row, k));
        return x;
      },
      [&](int64_t row, Value k) { return b.load(values, getPlace(row, k)); },
      [&](int64_t row, Value k, Value part) {
        rows[row].back() = k;
        Value result = after.emit(b, args, shape, rows[row], {{softmax.getResult(), part}});
        storeReal(b, result, y, rows[row], b.lanes > 1 ? (int64_t)shape.size() - 1 : -1);
      });
}

void SoftmaxRows::emit() {
  int64_t count = ShapedType::getNumElements(shapeOfRows),
          block = std::min(count, getRowsTogether());
  emitter.addStep(group, kernel::Kernels::softmax, signature.arguments,
                  llvm::divideCeil(count, block),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    int64_t lanes = operands.areInVectors(b, args, shape, target) ? 16 : 1;
                    values = b.allocateOnStack(block * paddedLength(), b.getF32Type());
                    exponentials = b.allocateOnStack(block * paddedLength(), b.getF32Type());
                    b.loop(begin, end, 1, [&](Value i) {
                      Value first = b.getBlock(i, count, block);
                      SmallVector<SmallVector<Value>> rows;
                      for (int64_t k = 0; k < block; ++k)
                        rows.push_back(b.splitIndex(b.addIndex(first, k), shapeOfRows));
                      b.lanes = lanes;
                      emitRows(b, args, rows);
                      b.lanes = 1;
                    });
                  });
}

bool codegen::emitSoftmaxGroup(ProgramEmitter &emitter, GroupOp group) {
  auto found = group.getBody().getOps<nn::SoftmaxOp>();
  if (found.empty() || !isSoftmaxOfRows(*found.begin()))
    return false;
  nn::SoftmaxOp softmax = *found.begin();
  auto isPart = [&](Operation &op) { return &op == softmax || isElementwisePart(&op); };
  if (!llvm::all_of(group.getBody().front().without_terminator(), isPart))
    return false;
  SoftmaxRows(emitter, group, softmax).emit();
  return true;
}
