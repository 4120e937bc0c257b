//===- Matmul.cpp - products of two values by [N.matmul] ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile holds rows x vectors of sixteen columns of the result in accumulators. The right operand
// is read where it lies. Of fewer columns, vectors are of eight or four, of which the lanes beyond
// the columns are not stored; where columns do not lie side by side, a vector is one element.
//
//===----------------------------------------------------------------------===//

#include "DenseShape.h"
#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {

/// The code of one product.
class MatmulKernel {
public:
  MatmulKernel(ProgramEmitter &emitter, nn::MatmulOp op);
  void emit();

private:
  void emitUnit(KernelBuilder &b, Value unit);
  void emitTile(KernelBuilder &b, MutableArrayRef<Value> indices, Value firstVector);

  ProgramEmitter &emitter;
  nn::MatmulOp op;
  Signature signature;
  SmallVector<int64_t> shape, units; ///< of the result; the same in blocks of rows
  int64_t rank, rows, columns, depth;
  int64_t lanes = 1;
  DenseTile tile{1, 1};
  int64_t unitRows = 1; ///< a multiple of the tile's

  // Inside the body.
  TensorView lhs, rhs, result;
  int64_t lhsInner = 0, rhsInner = 0; ///< steps along the dimension that is summed over
};

} // namespace

MatmulKernel::MatmulKernel(ProgramEmitter &emitter, nn::MatmulOp op)
    : emitter(emitter), op(op), signature(emitter), shape(op.getResult().getType().getShape()),
      rank(shape.size()), rows(shape[rank - 2]), columns(shape[rank - 1]),
      depth(op.getLhs().getType().getShape().back()) {
  for (Value value : {Value(op.getLhs()), Value(op.getRhs()), Value(op.getResult())})
    signature.addTensor(value);
  auto isSideBySide = [](RankedTensorType type) {
    return !isQuantized(type) && getStrides(type).steps.back() == 1;
  };
  const CpuLevel &level = emitter.getLevel();
  constexpr int64_t kFewestLanes = 4;
  if (level.isScalar() || (columns < kFewestLanes && !emitter.hasSlack(op.getRhs())) ||
      !isSideBySide(op.getRhs().getType()) || !isSideBySide(op.getResult().getType()))
    return;
  lanes = std::clamp<int64_t>(llvm::bit_floor<uint64_t>(columns), kFewestLanes, 16);
  tile = chooseFloatTile(level, rows, llvm::divideCeil(columns, lanes), depth);
  // Columns that one tile has brought into the first cache are there for the next ones.
  constexpr int64_t kMostTiles = 4, kFewestUnits = 8;
  int64_t tiles = std::clamp<int64_t>(rows / (kFewestUnits * tile.vectors), 1, kMostTiles);
  unitRows = tiles * tile.vectors;
}

void MatmulKernel::emit() {
  units.assign(shape.begin(), shape.end() - 1);
  units.back() = llvm::divideCeil(rows, unitRows);
  emitter.addStep(op, kernel::Kernels::matmul, signature.arguments,
                  ShapedType::getNumElements(units),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    lhs = signature.getTensor(0, args), rhs = signature.getTensor(1, args),
                    result = signature.getTensor(2, args);
                    lhsInner = lhs.strides.steps.back();
                    rhsInner = rhs.strides.steps[rhs.strides.steps.size() - 2];
                    alignView(lhs, shape);
                    alignView(rhs, shape);
                    // The result's row and column pick the operands' ones; along the inner
                    // dimension these have steps of their own.
                    lhs.strides.steps[rank - 1] = 0;
                    rhs.strides.steps[rank - 2] = 0;
                    b.loop(begin, end, 1, [&](Value unit) { emitUnit(b, unit); });
                  });
}

/// Some rows of tiles of one matrix.
void MatmulKernel::emitUnit(KernelBuilder &b, Value unit) {
  SmallVector<Value> indices = b.splitIndex(unit, units);
  Value firstRow = b.getBlock(indices.back(), rows, unitRows);
  indices.emplace_back();
  b.loopOverBlocks(llvm::divideCeil(columns, lanes), tile.panels, [&](Value firstVector) {
    b.loop(0, unitRows / tile.vectors, [&](Value number) {
      indices[rank - 2] = b.addIndex(firstRow, b.mulIndex(number, tile.vectors));
      emitTile(b, indices, firstVector);
    });
  });
}

void MatmulKernel::emitTile(KernelBuilder &b, MutableArrayRef<Value> indices, Value firstVector) {
  Value row = indices[rank - 2];
  SmallVector<Value> vectors, rhsBases;
  for (int64_t p = 0; p < tile.panels; ++p) {
    vectors.push_back(b.clampBlock(b.mulIndex(b.addIndex(firstVector, p), lanes),
                                   std::max(columns, lanes), lanes));
    indices[rank - 1] = vectors.back();
    rhsBases.push_back(b.linearIndex(indices, rhs.strides.steps, rhs.strides.offset));
  }
  Value lhsBase = b.linearIndex(indices, lhs.strides.steps, lhs.strides.offset);
  b.lanes = lanes;
  SmallVector<Value> sums =
      multiplyFloatTile(b, {lhs.memory, lhsBase, rhs.memory, tile.vectors,
                            lhs.strides.steps[rank - 2], lhsInner, rhsInner, depth, rhsBases});
  for (int64_t i = 0; i < tile.vectors; ++i)
    for (int64_t p = 0; p < tile.panels; ++p) {
      indices[rank - 2] = b.addIndex(row, i);
      indices[rank - 1] = vectors[p];
      Value sum = sums[i * tile.panels + p];
      if (lanes > 1)
        storeFirst(b, columns, sum, result, indices);
      else
        storeReal(b, sum, result, indices, -1);
    }
  indices[rank - 2] = row;
  b.lanes = 1;
}

SmallVector<Value> codegen::multiplyFloatTile(KernelBuilder &b, const FloatTile &tile) {
  int64_t panels = tile.columns.size();
  SmallVector<Value> zeros(tile.rows * panels, b.constF(0));
  return b.loop(b.index(0), b.index(tile.depth), 1, zeros, [&](Value k, ValueRange carried) {
    SmallVector<Value> next(carried), w;
    for (Value column : tile.columns)
      w.push_back(b.load(tile.rhs, b.addIndex(column, b.mulIndex(k, tile.rhsInner))));
    for (int64_t i = 0; i < tile.rows; ++i) {
      Value at = b.addIndex(b.addIndex(tile.lhsAt, b.mulIndex(k, tile.lhsInner)), i * tile.lhsRow);
      Value x = b.loadSplat(tile.lhs, at);
      for (int64_t p = 0; p < panels; ++p)
        next[i * panels + p] = b.fma(x, w[p], next[i * panels + p]);
    }
    return next;
  });
}

LogicalResult codegen::emitMatmul(ProgramEmitter &emitter, nn::MatmulOp op) {
  if (isQuantized(op.getLhs().getType()))
    return emitMatmulOfBytes(emitter, op);
  if (!emitMatmulOfColumns(emitter, op))
    MatmulKernel(emitter, op).emit();
  return success();
}
