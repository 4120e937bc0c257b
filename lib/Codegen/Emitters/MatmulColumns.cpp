//===- MatmulColumns.cpp - [N.matmul] by few columns ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A right operand of one or a few columns fills no vector, so that lanes are rows of the left one:
// sixteen of them, or four, of which four elements each are transposed in registers.
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {

/// The code of one product.
class ColumnsKernel {
public:
  static constexpr int64_t kStep = 4; ///< elements of a row that are loaded at once

  ColumnsKernel(ProgramEmitter &emitter, nn::MatmulOp op);
  bool takesShape();
  void emit();

private:
  void emitBlock(KernelBuilder &b, MutableArrayRef<Value> indices);
  /// Elements k to k + 3 of all rows of a block: four vectors with a lane for each row.
  SmallVector<Value> loadLanes(KernelBuilder &b, Value k) const;
  /// Adds the products of these elements, from `first` on.
  SmallVector<Value> addProducts(KernelBuilder &b, Value k, int64_t first, ValueRange sums) const;
  void store(KernelBuilder &b, MutableArrayRef<Value> indices, ArrayRef<Value> sums) const;

  ProgramEmitter &emitter;
  nn::MatmulOp op;
  Signature signature;
  ArrayRef<int64_t> shape; ///< of the result
  int64_t rank, rows, columns, depth;
  int64_t lanes; ///< rows of a block

  // Inside the body.
  TensorView lhs, rhs, result;
  Value lhsBase, rhsBase; ///< of a block
};

} // namespace

ColumnsKernel::ColumnsKernel(ProgramEmitter &emitter, nn::MatmulOp op)
    : emitter(emitter), op(op), signature(emitter), shape(op.getResult().getType().getShape()),
      rank(shape.size()), rows(shape[rank - 2]), columns(shape[rank - 1]),
      depth(op.getLhs().getType().getShape().back()), lanes(rows < 16 ? 4 : 16) {
  for (Value value : {Value(op.getLhs()), Value(op.getRhs()), Value(op.getResult())})
    signature.addTensor(value);
}

bool ColumnsKernel::takesShape() {
  constexpr int64_t kMostColumns = 4;
  return !emitter.getLevel().isScalar() && columns <= kMostColumns && rows >= lanes &&
         depth >= kStep && getStrides(op.getLhs().getType()).steps.back() == 1;
}

void ColumnsKernel::emit() {
  SmallVector<int64_t> blocks(shape.drop_back());
  blocks.back() = llvm::divideCeil(rows, lanes);
  emitter.addStep(op, kernel::Kernels::matmul, signature.arguments,
                  ShapedType::getNumElements(blocks),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    lhs = signature.getTensor(0, args), rhs = signature.getTensor(1, args),
                    result = signature.getTensor(2, args);
                    alignView(lhs, shape);
                    alignView(rhs, shape);
                    b.loop(begin, end, 1, [&](Value block) {
                      SmallVector<Value> indices = b.splitIndex(block, blocks);
                      indices.back() = b.getBlock(indices.back(), rows, lanes);
                      indices.push_back(b.index(0));
                      emitBlock(b, indices);
                    });
                  });
}

void ColumnsKernel::emitBlock(KernelBuilder &b, MutableArrayRef<Value> indices) {
  Value row = indices[rank - 2];
  lhsBase = b.linearIndex(indices, lhs.strides.steps, lhs.strides.offset);
  indices[rank - 2] = b.index(0);
  rhsBase = b.linearIndex(indices, rhs.strides.steps, rhs.strides.offset);
  indices[rank - 2] = row;
  b.lanes = lanes;
  int64_t rest = depth % kStep;
  SmallVector<Value> sums(columns, b.constF(0));
  sums = b.loop(b.index(0), b.index(depth - rest), kStep, sums,
                [&](Value k, ValueRange carried) { return addProducts(b, k, 0, carried); });
  if (rest)
    sums = addProducts(b, b.index(depth - kStep), kStep - rest, sums);
  store(b, indices, sums);
  b.lanes = 1;
}

SmallVector<Value> ColumnsKernel::loadLanes(KernelBuilder &b, Value k) const {
  int64_t row = lhs.strides.steps[rank - 2];
  Value at = b.addIndex(lhsBase, k);
  // Quarter q of vector i is of row 4 q + i.
  SmallVector<Value> rows = llvm::map_to_vector(llvm::seq(kStep), [&](int64_t i) {
    Value first = b.addIndex(at, i * row);
    return lanes == kStep ? b.load(lhs.memory, first)
                          : b.loadQuarters(lhs.memory, first, kStep * row);
  });
  // Twice, vectors i and i + 2 are interleaved, within the quarters.
  auto interleave = [&](Value low, Value high, int64_t half) {
    SmallVector<int64_t> order;
    for (int64_t quarter = 0; quarter < lanes; quarter += kStep)
      for (int64_t i = quarter + half; i < quarter + half + kStep / 2; ++i)
        order.append({i, lanes + i});
    return vector::ShuffleOp::create(b, low, high, order).getResult();
  };
  for (int64_t stage = 1; stage < kStep; stage *= 2)
    rows = {interleave(rows[0], rows[2], 0), interleave(rows[0], rows[2], kStep / 2),
            interleave(rows[1], rows[3], 0), interleave(rows[1], rows[3], kStep / 2)};
  return rows;
}

SmallVector<Value> ColumnsKernel::addProducts(KernelBuilder &b, Value k, int64_t first,
                                              ValueRange sums) const {
  ArrayRef<int64_t> steps = rhs.strides.steps;
  Value rhsAt = b.addIndex(rhsBase, b.mulIndex(k, steps[rank - 2]));
  SmallVector<Value> elements = loadLanes(b, k), next(sums);
  for (int64_t i = first; i < kStep; ++i)
    for (int64_t column = 0; column < columns; ++column) {
      Value at = b.addIndex(rhsAt, i * steps[rank - 2] + column * steps[rank - 1]);
      next[column] = b.fma(elements[i], b.loadSplat(rhs.memory, at), next[column]);
    }
  return next;
}

void ColumnsKernel::store(KernelBuilder &b, MutableArrayRef<Value> indices,
                          ArrayRef<Value> sums) const {
  if (columns == 1 && result.strides.steps[rank - 2] == 1)
    return storeReal(b, sums[0], result, indices, rank - 2);
  b.lanes = 1;
  Value row = indices[rank - 2];
  for (int64_t lane = 0; lane < lanes; ++lane)
    for (auto [column, sum] : llvm::enumerate(sums)) {
      indices[rank - 2] = b.addIndex(row, lane);
      indices[rank - 1] = b.index(column);
      storeReal(b, vector::ExtractOp::create(b, sum, lane), result, indices, -1);
    }
}

bool codegen::emitMatmulOfColumns(ProgramEmitter &emitter, nn::MatmulOp op) {
  ColumnsKernel kernel(emitter, op);
  if (!kernel.takesShape())
    return false;
  kernel.emit();
  return true;
}
