//===- Rows.cpp - normalizations as one step ------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is read once for each of its reductions and once for the result; it stays in the first
// cache in between. By [N.reduce] and the laws of the operators, in the orders of these.
//
//===----------------------------------------------------------------------===//

#include "../Rows.h"
#include "PartialBody.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
class RowsKernel {
public:
  RowsKernel(ProgramEmitter &emitter, GroupOp group);
  void emit();

private:
  /// A value of a row: a reduction of what the body yields, or that itself.
  struct Stage {
    Operation *op;
    PartialBody body;
  };
  /// Some rows at a time, so that a CPU is busy while one waits for a sum.
  static constexpr int64_t kRows = 4;
  struct Row {
    SmallVector<Value> at; ///< the indices of its first element
    /// What there is one of for the row, in an order that makes equal kernels equal.
    llvm::MapVector<Value, Value> known;
  };

  PartialBody makeBody(ArrayRef<Operation *> ops, Value yielded);
  PartialBody makeBodyOf(Value element);
  void reduce(KernelBuilder &b, ValueRange args, const Stage &stage,
              MutableArrayRef<Row> rows) const;
  void emitRows(KernelBuilder &b, ValueRange args, MutableArrayRef<Row> rows, int64_t lanes) const;
  Value emitElement(KernelBuilder &b, ValueRange args, const PartialBody &body, Row &row,
                    Value k) const;
  void store(KernelBuilder &b, ValueRange args, MutableArrayRef<Row> rows) const;

  ProgramEmitter &emitter;
  GroupOp group;
  SmallVector<int64_t> shape, shapeOfRows;
  Signature signature;
  RowOperands operands;
  SmallVector<Stage> stages;
  std::optional<PartialBody> last;
  int target;
};
} // namespace

RowsKernel::RowsKernel(ProgramEmitter &emitter, GroupOp group)
    : emitter(emitter), group(group), shape(getTensorType(group.getResult()).getShape()),
      shapeOfRows(getShapeOfRows(shape)), signature(emitter), operands(signature) {
  for (Operation &op : group.getBody().front().without_terminator())
    if (reducesRows(&op))
      stages.push_back({&op, makeBodyOf(op.getOperand(0))});
    else if (getTensorType(op.getResult(0)).getShape() == ArrayRef(shapeOfRows))
      stages.push_back({&op, makeBody(&op, op.getResult(0))});
  last.emplace(makeBodyOf(group.getYielded()));
  target = signature.addTensor(group.getResult());
}

PartialBody RowsKernel::makeBody(ArrayRef<Operation *> ops, Value yielded) {
  return PartialBody(group, ops, yielded, signature,
                     [&](Value outer) { return operands.add(outer); });
}

/// The operators that compute an element of the row from values of the row.
PartialBody RowsKernel::makeBodyOf(Value element) {
  llvm::SetVector<Value> needed;
  needed.insert(element);
  for (size_t i = 0; i < needed.size(); ++i)
    if (Operation *op = needed[i].getDefiningOp();
        op && getTensorType(needed[i]).getShape() == ArrayRef(shape))
      needed.insert_range(op->getOperands());
  SmallVector<Operation *> ops;
  for (Operation &op : group.getBody().front().without_terminator())
    if (needed.contains(op.getResult(0)) &&
        getTensorType(op.getResult(0)).getShape() == ArrayRef(shape))
      ops.push_back(&op);
  return makeBody(ops, element);
}

/// What a body yields at element `k` of a row, or from there on.
Value RowsKernel::emitElement(KernelBuilder &b, ValueRange args, const PartialBody &body, Row &row,
                              Value k) const {
  llvm::DenseMap<Value, Value> known;
  for (auto [value, scalar] : row.known)
    known[value] = b.splat(scalar);
  row.at.back() = k;
  return body.emit(b, args, shape, row.at, std::move(known));
}

void RowsKernel::reduce(KernelBuilder &b, ValueRange args, const Stage &stage,
                        MutableArrayRef<Row> rows) const {
  auto [neutral, join] = getFold(stage.op);
  auto element = [&](int64_t row, Value k) {
    return emitElement(b, args, stage.body, rows[row], k);
  };
  SmallVector<Value> results = foldRows(b, shape.back(), rows.size(), neutral, element, join);
  b.lanes = 1;
  for (auto [row, result] : llvm::zip_equal(rows, results))
    row.known[stage.op->getResult(0)] =
        isa<nn::ReduceMeanOp>(stage.op) ? b.div(result, b.constF(shape.back())) : result;
}

void RowsKernel::emitRows(KernelBuilder &b, ValueRange args, MutableArrayRef<Row> rows,
                          int64_t lanes) const {
  for (const Stage &stage : stages) {
    if (reducesRows(stage.op)) {
      b.lanes = lanes;
      reduce(b, args, stage, rows);
      continue;
    }
    for (Row &row : rows) {
      row.at.back() = b.index(0);
      row.known[stage.op->getResult(0)] =
          stage.body.emit(b, args, shapeOfRows, row.at,
                          llvm::DenseMap<Value, Value>(row.known.begin(), row.known.end()));
    }
  }
  b.lanes = lanes;
  b.loopOverBlocks(shape.back(), lanes, [&](Value k) {
    for (Row &row : rows)
      row.at.back() = k;
    store(b, args, rows);
  });
  b.lanes = 1;
}

/// An element of each row, or sixteen of each; bytes are packed together.
void RowsKernel::store(KernelBuilder &b, ValueRange args, MutableArrayRef<Row> rows) const {
  TensorView y = signature.getTensor(target, args);
  int64_t laneAxis = b.lanes > 1 ? shape.size() - 1 : -1;
  bool packs = b.lanes > 1 && storesPacked(b, y) && rows.size() == kRows;
  SmallVector<Value> words;
  for (Row &row : rows) {
    Value real = emitElement(b, args, *last, row, row.at.back());
    if (packs)
      words.push_back(quantize(b, real, y, row.at, laneAxis, /*packSaturates=*/true));
    else
      storeReal(b, real, y, row.at, laneAxis);
  }
  if (!packs)
    return;
  Value packed = kernel::PackOp::create(b, words, isSigned(y.type));
  for (auto [i, row] : llvm::enumerate(rows))
    b.store(b.slice(packed, 16 * i, 16), y.memory,
            b.linearIndex(row.at, y.strides.steps, y.strides.offset));
}

void RowsKernel::emit() {
  int64_t count = ShapedType::getNumElements(shapeOfRows), block = std::min(count, kRows);
  emitter.addStep(group, kernel::Kernels::rows, signature.arguments, llvm::divideCeil(count, block),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    int64_t lanes = operands.areInVectors(b, args, shape, target) ? 16 : 1;
                    b.loop(begin, end, 1, [&](Value i) {
                      Value first = b.getBlock(i, count, block);
                      SmallVector<Row> rows(block);
                      for (auto [k, row] : llvm::enumerate(rows))
                        row.at = b.splitIndex(b.addIndex(first, k), shapeOfRows);
                      emitRows(b, args, rows, lanes);
                    });
                  });
}

void codegen::emitRowGroup(ProgramEmitter &emitter, GroupOp group) {
  RowsKernel(emitter, group).emit();
}
