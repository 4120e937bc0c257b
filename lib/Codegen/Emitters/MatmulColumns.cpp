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
  ColumnsKernel(ProgramEmitter &emitter, nn::MatmulOp op);
  bool takesShape();
  void emit();

private:
  void emitBlock(KernelBuilder &b, MutableArrayRef<Value> indices);
  /// Adds the products of elements k to k + 3 of all rows of a block, from `first` of them on.
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
         depth >= kElementsTogether && getStrides(op.getLhs().getType()).steps.back() == 1;
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
  int64_t rest = depth % kElementsTogether;
  SmallVector<Value> sums(columns, b.constF(0));
  sums = b.loop(b.index(0), b.index(depth - rest), kElementsTogether, sums,
                [&](Value k, ValueRange carried) { return addProducts(b, k, 0, carried); });
  if (rest)
    sums = addProducts(b, b.index(depth - kElementsTogether), kElementsTogether - rest, sums);
  store(b, indices, sums);
  b.lanes = 1;
}

SmallVector<Value> ColumnsKernel::addProducts(KernelBuilder &b, Value k, int64_t first,
                                              ValueRange sums) const {
  ArrayRef<int64_t> steps = rhs.strides.steps;
  Value rhsAt = b.addIndex(rhsBase, b.mulIndex(k, steps[rank - 2]));
  SmallVector<Value> elements =
      loadRowsAsLanes(b, lhs.memory, b.addIndex(lhsBase, k), lhs.strides.steps[rank - 2]);
  SmallVector<Value> next(sums);
  for (int64_t i = first; i < kElementsTogether; ++i)
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
