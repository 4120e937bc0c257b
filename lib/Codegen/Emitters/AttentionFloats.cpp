//===- AttentionFloats.cpp - attention in floats as one step --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two steps pack the columns of both products side by side, a third one computes some rows at a
// time: their scores and the parts of these stay in a cache in between. By [N.matmul], [N.softmax]
// and the laws of the operators around the softmax.
//
//===----------------------------------------------------------------------===//

#include "../Attention.h"
#include "../Rows.h"
#include "DenseShape.h"
#include "PartialBody.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// One of the two products, as tiles of rows x vectors of columns.
struct FloatProduct {
  FloatProduct(GroupOp group, nn::MatmulOp op)
      : op(op), rhsValue(group.getOuter(op.getRhs())), shape(op.getType().getShape()),
        columns(shape.back()), depth(op.getLhs().getType().getShape().back()) {}

  nn::MatmulOp op;
  Value rhsValue;
  ArrayRef<int64_t> shape;
  int64_t columns, depth, panels = 1;
  int rhs = -1;         ///< argument
  int64_t packedAt = 0; ///< elements in the memory of a matrix's panels

  int64_t allPanels() const { return llvm::divideCeil(columns, 16); }
};

class FloatAttention {
public:
  FloatAttention(ProgramEmitter &emitter, GroupOp group, nn::SoftmaxOp softmax, nn::MatmulOp scores,
                 nn::MatmulOp values);
  void emit();

private:
  PartialBody makeBody(Value yielded);
  void emitPacking(const FloatProduct &product);
  /// Where the panels of a matrix begin in the scratch memory, behind the places of units.
  Value getPanels(KernelBuilder &b, Value matrix) const {
    return b.addIndex(b.mulIndex(matrix, layout.panels()), layout.panelsAt());
  }
  TensorView getRhs(ValueRange args, const FloatProduct &product, int number,
                    const Signature &of) const {
    TensorView rhs = of.getTensor(number, args);
    alignView(rhs, product.shape);
    return rhs;
  }
  void chooseTiles();
  void emitUnit(KernelBuilder &b, ValueRange args, Value unit);
  void emitScores(KernelBuilder &b, ValueRange args);
  void emitParts(KernelBuilder &b, ValueRange args);
  void emitResult(KernelBuilder &b, ValueRange args);
  /// What becomes of a sum of row `i` of the unit, and the lanes from column `column` on.
  using StoreFn = function_ref<void(Value i, Value column, Value sum)>;
  /// Rows from `lhsAt` on, `lhsRow` elements apart, times all columns.
  void emitProduct(KernelBuilder &b, ValueRange args, const FloatProduct &product, Value lhs,
                   Value lhsAt, int64_t lhsRow, int64_t lhsInner, StoreFn store);
  /// Whether columns lie side by side in what a product reads.
  static bool liesInRows(const FloatProduct &product) {
    return getStrides(getTensorType(product.rhsValue)).steps.back() == 1;
  }
  int64_t pitch() const { return layout.pitch(); }
  Value getPlace(KernelBuilder &b, Value row, Value column) const {
    return b.addIndex(b.addIndex(slot, b.mulIndex(row, pitch())), column);
  }
  SmallVector<Value> getIndices(KernelBuilder &b, Value row, Value column) const {
    SmallVector<Value> at(indices);
    at[rank - 2] = b.addIndex(at[rank - 2], row);
    at.back() = column;
    return at;
  }

  ProgramEmitter &emitter;
  GroupOp group;
  nn::SoftmaxOp softmax;
  FloatProduct scores, values;
  FloatAttentionMemory layout;
  SmallVector<int64_t> shape, units; ///< of the scores; matrices, blocks of rows
  int64_t rank, rows;
  Signature signature;
  RowOperands operands;
  PartialBody before, after;
  int lhs, scratch, target;
  bool packs;
  int64_t tileRows = 1, unitRows = 1, rowsTogether = 1;

  // Inside the body.
  Value memory, slot, exponentials, panelsAt;
  SmallVector<Value> indices; ///< of the unit's first row
};
} // namespace

FloatAttention::FloatAttention(ProgramEmitter &emitter, GroupOp group, nn::SoftmaxOp softmax,
                               nn::MatmulOp scores, nn::MatmulOp values)
    : emitter(emitter), group(group), softmax(softmax), scores(group, scores),
      values(group, values), layout(scores, values), shape(softmax.getType().getShape()),
      units(ArrayRef(shape).drop_back()), rank(shape.size()), rows(shape[rank - 2]),
      signature(emitter), operands(signature), before(makeBody(softmax.getInput())),
      after(makeBody(values.getLhs())), lhs(signature.addTensor(group.getOuter(scores.getLhs()))),
      scratch(signature.add(emitter.getBuffer(group.getInputs().back()))),
      target(signature.addTensor(group.getResult())) {
  this->scores.rhs = signature.addTensor(this->scores.rhsValue);
  this->values.rhs = signature.addTensor(this->values.rhsValue);
  this->values.packedAt = layout.firstPanels();
  packs = !emitter.getLevel().isScalar() && liesInRows(this->scores) && liesInRows(this->values);
  chooseTiles();
  units.back() = llvm::divideCeil(rows, unitRows);
}

/// The element-wise operators that compute a value of the group from the product or the softmax in
/// front of them.
PartialBody FloatAttention::makeBody(Value yielded) {
  llvm::SetVector<Value> needed;
  needed.insert(yielded);
  for (size_t i = 0; i < needed.size(); ++i)
    if (Operation *op = needed[i].getDefiningOp(); op && op->hasTrait<nn::Elementwise>())
      needed.insert_range(op->getOperands());
  SmallVector<Operation *> ops;
  for (Operation &op : group.getBody().front().without_terminator())
    if (op.hasTrait<nn::Elementwise>() && needed.contains(op.getResult(0)))
      ops.push_back(&op);
  return PartialBody(group, ops, yielded, signature,
                     [&](Value outer) { return operands.add(outer); });
}

/// As many rows at a time as leave room for the right operands in the second cache.
void FloatAttention::chooseTiles() {
  constexpr int64_t kTiles = 4;
  const CpuLevel &level = emitter.getLevel();
  if (level.isScalar())
    return;
  int64_t sums = level.floatSums ? level.floatSums : level.accumulators;
  DenseTile tile = chooseFloatTile(level, rows, scores.allPanels(), scores.depth);
  tileRows = tile.vectors;
  scores.panels = tile.panels;
  while (2 * values.panels <= values.allPanels() && 2 * values.panels * tileRows <= sums)
    values.panels *= 2;
  unitRows = std::clamp<int64_t>(rows / tileRows, 1, kTiles) * tileRows;
  assert(unitRows <= FloatAttentionMemory::kMostRows && "a place would reach into the next");
  rowsTogether = kRowsTogether;
  while (unitRows % rowsTogether != 0 || rowsTogether * pitch() * 4 > kMostStackBytes)
    --rowsTogether;
}

/// A step that writes the panels of all matrices.
void FloatAttention::emitPacking(const FloatProduct &product) {
  Signature own(emitter);
  int rhs = own.addTensor(product.rhsValue),
      to = own.add(emitter.getBuffer(group.getInputs().back()));
  SmallVector<int64_t> items(ArrayRef(shape).drop_back(2));
  int64_t panels = product.allPanels();
  items.push_back(panels);
  emitter.addStep(group, kernel::Kernels::pack_columns, own.arguments, layout.matrices * panels,
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    TensorView view = getRhs(args, product, rhs, own);
                    b.loop(begin, end, 1, [&](Value item) {
                      auto [matrix, panel] = b.divideIndex(item, panels, layout.matrices);
                      SmallVector<Value> at = b.splitIndex(item, items);
                      at.back() = b.index(0);
                      at.push_back(b.getBlock(panel, product.columns, 16));
                      Value from = b.linearIndex(at, view.strides.steps, view.strides.offset),
                            place = b.addIndex(b.addIndex(getPanels(b, matrix), product.packedAt),
                                               b.mulIndex(panel, product.depth * 16));
                      b.lanes = 16;
                      b.loop(0, product.depth, [&](Value k) {
                        Value row =
                            b.load(view.memory,
                                   b.addIndex(from, b.mulIndex(k, view.strides.steps[rank - 2])));
                        b.store(row, own.getValue(to, args), b.addIndex(place, b.mulIndex(k, 16)));
                      });
                      b.lanes = 1;
                    });
                  });
}

void FloatAttention::emit() {
  if (packs) {
    emitPacking(scores);
    emitPacking(values);
  }
  int64_t perMatrix = units.back();
  emitter.addStep(group, kernel::Kernels::attention, signature.arguments,
                  layout.matrices * perMatrix,
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    memory = signature.getValue(scratch, args);
                    // A range has the place of its first unit for itself: that stays in a cache.
                    auto [matrix, number] = b.divideIndex(begin, perMatrix, layout.matrices);
                    Value row = b.addIndex(b.mulIndex(matrix, layout.rowsPerMatrix()),
                                           b.mulIndex(number, unitRows));
                    slot = b.mulIndex(row, pitch());
                    exponentials = b.allocateOnStack(rowsTogether * pitch(), b.getF32Type());
                    bool inVectors = operands.areInVectors(b, args, shape, target) && packs;
                    b.loop(begin, end, 1, [&](Value unit) {
                      b.lanes = inVectors ? 16 : 1;
                      emitUnit(b, args, unit);
                      b.lanes = 1;
                    });
                  });
}

void FloatAttention::emitUnit(KernelBuilder &b, ValueRange args, Value unit) {
  indices = b.splitIndex(unit, units);
  indices.back() = b.getBlock(indices.back(), rows, unitRows);
  indices.push_back(b.index(0));
  panelsAt = getPanels(b, b.divideIndex(unit, units.back(), layout.matrices).first);
  emitScores(b, args);
  emitParts(b, args);
  emitResult(b, args);
}

void FloatAttention::emitScores(KernelBuilder &b, ValueRange args) {
  TensorView left = signature.getTensor(lhs, args);
  int64_t inner = left.strides.steps.back();
  Value at = b.linearIndex(indices, left.strides.steps, left.strides.offset);
  emitProduct(b, args, scores, left.memory, at, left.strides.steps[rank - 2], inner,
              [&](Value i, Value column, Value sum) {
                Value score = before.emit(b, args, shape, getIndices(b, i, column),
                                          {{scores.op.getResult(), sum}});
                b.store(score, memory, getPlace(b, i, column));
              });
}

/// From the scores of the unit's rows to their parts of the sums of exponentials.
void FloatAttention::emitParts(KernelBuilder &b, ValueRange args) {
  b.loop(0, unitRows / rowsTogether, [&](Value block) {
    Value first = b.mulIndex(block, rowsTogether);
    auto loadScore = [&](int64_t row, Value k) {
      return b.load(memory, getPlace(b, b.addIndex(first, row), k));
    };
    emitSoftmaxOfRows(b, shape.back(), rowsTogether, exponentials, pitch(), loadScore, loadScore,
                      [&](int64_t row, Value k, Value part) {
                        Value number = b.addIndex(first, row);
                        Value result = after.emit(b, args, shape, getIndices(b, number, k),
                                                  {{softmax.getResult(), part}});
                        b.store(result, memory, getPlace(b, number, k));
                      });
  });
}

void FloatAttention::emitResult(KernelBuilder &b, ValueRange args) {
  TensorView result = signature.getTensor(target, args);
  emitProduct(b, args, values, memory, slot, pitch(), 1, [&](Value i, Value column, Value sum) {
    storeReal(b, sum, result, getIndices(b, i, column), b.lanes > 1 ? rank - 1 : -1);
  });
}

void FloatAttention::emitProduct(KernelBuilder &b, ValueRange args, const FloatProduct &product,
                                 Value left, Value lhsAt, int64_t lhsRow, int64_t lhsInner,
                                 StoreFn store) {
  TensorView rhs = getRhs(args, product, product.rhs, signature);
  int64_t lanes = b.lanes, rhsInner = lanes > 1 ? 16 : rhs.strides.steps[rank - 2];
  rhs.strides.steps[rank - 2] = 0;
  Value right = lanes > 1 ? memory : rhs.memory;
  auto emitTile = [&](Value firstVector, Value firstRow) {
    SmallVector<Value> columns, bases;
    for (int64_t p = 0; p < product.panels; ++p) {
      Value column = b.mulIndex(b.addIndex(firstVector, p), lanes);
      columns.push_back(b.clampBlock(column, product.columns, lanes));
      bases.push_back(lanes > 1
                          ? b.addIndex(b.addIndex(panelsAt, product.packedAt),
                                       b.mulIndex(b.addIndex(firstVector, p), product.depth * 16))
                          : b.linearIndex(getIndices(b, b.index(0), columns.back()),
                                          rhs.strides.steps, rhs.strides.offset));
    }
    SmallVector<Value> sums =
        multiplyFloatTile(b, {left, b.addIndex(lhsAt, b.mulIndex(firstRow, lhsRow)), right,
                              tileRows, lhsRow, lhsInner, rhsInner, product.depth, bases});
    for (auto [n, sum] : llvm::enumerate(sums))
      store(b.addIndex(firstRow, n / product.panels), columns[n % product.panels], sum);
  };
  b.loopOverBlocks(llvm::divideCeil(product.columns, lanes), product.panels,
                   [&](Value firstVector) {
                     b.loop(0, unitRows / tileRows,
                            [&](Value tile) { emitTile(firstVector, b.mulIndex(tile, tileRows)); });
                   });
}

bool codegen::emitFloatAttention(ProgramEmitter &emitter, GroupOp group) {
  auto products = llvm::to_vector(group.getBody().getOps<nn::MatmulOp>());
  auto found = group.getBody().getOps<nn::SoftmaxOp>();
  if (products.size() != 2 || found.empty())
    return false;
  FloatAttention(emitter, group, *found.begin(), products[0], products[1]).emit();
  return true;
}
