//===- Attention.cpp - attention in integers as one step ------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two steps pack the columns of both products, a third one computes some rows at a time: their
// scores, the weights of these, and the result stay on the stack in between. By [N.matmul],
// [N.reduce] and [N.quantize], in the orders of these.
//
//===----------------------------------------------------------------------===//

#include "AttentionRows.h"
#include "DenseShape.h"
#include "EpilogueBounds.h"
#include "MatmulPanels.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {

/// One of the two products.
struct Product {
  Product(ProgramEmitter &emitter, GroupOp group, nn::MatmulOp op, int64_t packedAt)
      : op(op), rhsValue(group.getOuter(op.getRhs())), lhsType(getTensorType(op.getLhs())),
        packed(op), packedAt(packedAt) {
    if (!emitter.getLevel().isScalar())
      panels.emplace(emitter.getLevel(), packed.depth);
  }

  float getScale() { return paramsOf(op.getLhs()).scales[0] * paramsOf(op.getRhs()).scales[0]; }
  int64_t panelBytes() const { return panels->panelBytes() + 64; }
  /// Where a panel begins in the memory of a matrix.
  Value getPanel(KernelBuilder &b, Value matrixAt, Value panel) const {
    return b.addIndex(b.addIndex(matrixAt, b.mulIndex(panel, panelBytes())), packedAt);
  }

  nn::MatmulOp op;
  Value rhsValue;
  RankedTensorType lhsType;
  PackedOperand packed;
  int64_t packedAt; ///< bytes in the memory of a matrix
  std::optional<MatmulPanels> panels;
  int lhs = -1, rhs = -1, factor = -1; ///< arguments; lhs: or its parameters alone
  int64_t tilePanels = 1;
};

class AttentionKernel {
public:
  AttentionKernel(ProgramEmitter &emitter, GroupOp group, Attention &parts);
  void emit();

private:
  int64_t getMatrixBytes() const { return scores.packed.bytes() + values.packed.bytes(); }
  void chooseTiles();
  void addArguments(Product &product);
  void emitPacking(Product &product);
  void emitUnit(KernelBuilder &b, ValueRange args, Value unit);
  void emitScores(KernelBuilder &b, ValueRange args);
  void emitWeights(KernelBuilder &b, ValueRange args);
  void emitResult(KernelBuilder &b, ValueRange args);

  /// What becomes of the real value of a sum of the row `i` of the unit.
  using StoreFn = function_ref<void(Value i, Value real)>;
  void emitProduct(KernelBuilder &b, ValueRange args, const Product &product, Value lhs,
                   Value lhsAt, int64_t lhsRow, StoreFn store);
  void emitElements(KernelBuilder &b, ValueRange args, const Product &product, Value lhs,
                    Value lhsAt, StoreFn store);
  Value loadZeroPoint(KernelBuilder &b, ValueRange args, int number) const {
    return b.loadSplat(signature.getTensor(number, args).zeroPoints, b.index(kZeroPoints));
  }

  ProgramEmitter &emitter;
  GroupOp group;
  Attention &parts;
  Signature signature;
  Product scores, values;
  int scratch = -1, result = -1;
  std::optional<PartialBody> onScores, onValues;
  std::optional<AttentionRows> rows;
  bool inTiles;
  int64_t tileRows = 1, unitRows = 1;
  SmallVector<int64_t> units; ///< matrices, blocks of rows

  int64_t scoresRow() const { return llvm::alignTo(parts.getColumns(), 16); }
  int64_t weightsRow() const { return llvm::alignTo(parts.getColumns(), 64); }

  // Inside the body.
  Value scoresMemory, weightsMemory, partsOfRows, sums, matrixAt;
  SmallVector<Value> indices; ///< of the unit's first row
};

} // namespace

AttentionKernel::AttentionKernel(ProgramEmitter &emitter, GroupOp group, Attention &parts)
    : emitter(emitter), group(group), parts(parts), signature(emitter),
      scores(emitter, group, parts.scores, 0),
      values(emitter, group, parts.values, scores.packed.bytes()) {
  // The last bytes of a row are read together with what follows them.
  Value left = group.getOuter(parts.scores.getLhs());
  inTiles = !emitter.getLevel().isScalar() && emitter.hasSlack(left);
  if (inTiles)
    chooseTiles();
  scores.lhs = signature.addTensor(left);
  values.lhs = signature.addParametersOf(values.lhsType);
  addArguments(scores);
  addArguments(values);
  auto addInput = [&](Value outer) { return signature.addTensor(outer); };
  onScores.emplace(group, parts.onScores.getArrayRef(), parts.largest.getInput(), signature,
                   addInput);
  float most = scores.getScale() * 0x1p31f;
  Interval range = onScores->getRange(parts.scores.getResult(), {-most, most});
  rows.emplace(parts, group, range, signature);
  onValues.emplace(group, parts.onValues.getArrayRef(), parts.getResult(), signature, addInput);
  result = signature.addTensor(group.getResult());
}

void AttentionKernel::addArguments(Product &product) {
  if (!inTiles)
    product.rhs = signature.addTensor(product.rhsValue);
  else {
    product.rhs = signature.addParametersOf(getTensorType(product.rhsValue));
    if (scratch < 0)
      scratch = signature.add(emitter.getBuffer(group.getInputs().back()));
  }
  product.factor = signature.addParameters(ArrayRef<float>(product.getScale()), /*block=*/0);
}

/// As many rows at a time as the stack holds, in tiles of both products.
void AttentionKernel::chooseTiles() {
  constexpr int64_t kMostRows = 16;
  int64_t accumulators = emitter.getLevel().accumulators;
  int64_t most = std::min(parts.getRows(), kMostStackBytes / (scoresRow() * 4 + weightsRow()));
  DenseTile tile = chooseTile(accumulators, most, scores.packed.panels(), scores.panels->steps());
  tileRows = tile.vectors;
  unitRows = std::max<int64_t>(1, std::min(most, kMostRows) / tileRows) * tileRows;
  scores.tilePanels = tile.panels;
  while (2 * values.tilePanels <= values.packed.panels() &&
         2 * values.tilePanels * tileRows <= accumulators)
    values.tilePanels *= 2;
}

/// A step that writes the panels of all matrices.
void AttentionKernel::emitPacking(Product &product) {
  Signature own(emitter);
  int rhs = own.addTensor(product.rhsValue), lhs = own.addParametersOf(product.lhsType),
      memory = own.add(emitter.getBuffer(group.getInputs().back()));
  SmallVector<int64_t> shape(getTensorType(product.rhsValue).getShape());
  int64_t panels = product.packed.panels(), matrices = parts.getNumMatrices();
  SmallVector<int64_t> items(ArrayRef(shape).drop_back(2));
  items.push_back(panels);
  emitter.addStep(group, kernel::Kernels::pack_columns, own.arguments, matrices * panels,
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    TensorView view = own.getTensor(rhs, args), left = own.getTensor(lhs, args);
                    b.loop(begin, end, 1, [&](Value item) {
                      auto [matrix, panel] = b.divideIndex(item, panels, matrices);
                      SmallVector<Value> at = b.splitIndex(item, items);
                      at.back() = b.index(0);
                      at.push_back(b.getBlock(panel, product.packed.columns, 16));
                      Value base = b.linearIndex(at, view.strides.steps, view.strides.offset);
                      Value to = product.getPanel(b, b.mulIndex(matrix, getMatrixBytes()), panel);
                      b.lanes = 16;
                      Value sums = product.panels->pack(b, view.memory, base,
                                                        view.strides.steps[shape.size() - 2],
                                                        own.getValue(memory, args), to);
                      Value zero = b.loadSplat(left.zeroPoints, b.index(kZeroPoints));
                      Value initial = b.mul(sums, b.sub(b.constI(0), zero));
                      b.store(b.bitcast(initial, b.getI8Type()), own.getValue(memory, args),
                              b.addIndex(to, product.panels->panelBytes()));
                      b.lanes = 1;
                    });
                  });
}

void AttentionKernel::emit() {
  if (inTiles) {
    emitPacking(scores);
    emitPacking(values);
  }
  units.assign(parts.scores.getType().getShape().begin(),
               parts.scores.getType().getShape().end() - 2);
  units.push_back(llvm::divideCeil(parts.getRows(), unitRows));
  emitter.addStep(group, kernel::Kernels::attention, signature.arguments,
                  ShapedType::getNumElements(units),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    scoresMemory = b.allocateOnStack(unitRows * scoresRow(), b.getF32Type());
                    weightsMemory = b.allocateOnStack(unitRows * weightsRow(), b.getI8Type());
                    partsOfRows = b.allocateOnStack(unitRows, b.getI32Type());
                    sums = b.allocateOnStack(unitRows, b.getF32Type());
                    b.loop(begin, end, 1, [&](Value unit) { emitUnit(b, args, unit); });
                  });
}

void AttentionKernel::emitUnit(KernelBuilder &b, ValueRange args, Value unit) {
  indices = b.splitIndex(unit, units);
  indices.back() = b.getBlock(indices.back(), parts.getRows(), unitRows);
  indices.push_back(b.index(0));
  matrixAt =
      b.mulIndex(b.divideIndex(unit, units.back(), parts.getNumMatrices()).first, getMatrixBytes());
  b.lanes = inTiles ? 16 : 1;
  emitScores(b, args);
  emitWeights(b, args);
  emitResult(b, args);
  b.lanes = 1;
}

void AttentionKernel::emitScores(KernelBuilder &b, ValueRange args) {
  TensorView left = signature.getTensor(scores.lhs, args);
  int64_t row = left.strides.steps[parts.getRank() - 2];
  Value at = b.linearIndex(indices, left.strides.steps, left.strides.offset);
  auto shape = parts.scores.getType().getShape();
  emitProduct(b, args, scores, left.memory, at, row, [&](Value i, Value real) {
    SmallVector<Value> place(indices);
    place[place.size() - 2] = b.addIndex(indices[indices.size() - 2], i);
    Value score = onScores->emit(b, args, shape, place, {{parts.scores.getResult(), real}});
    b.store(score, scoresMemory, b.addIndex(b.mulIndex(i, scoresRow()), indices.back()));
  });
}

void AttentionKernel::emitWeights(KernelBuilder &b, ValueRange args) {
  int64_t together = inTiles ? std::min(unitRows, kRowsTogether) : 1;
  b.loopOverBlocks(unitRows, together, [&](Value first) {
    SmallVector<AttentionRows::Row> of;
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < together; ++i) {
      Value number = numbers.emplace_back(b.addIndex(first, i));
      auto &row = of.emplace_back();
      row.indices = indices;
      row.indices[indices.size() - 2] = b.addIndex(indices[indices.size() - 2], number);
      row.scoresAt = b.mulIndex(number, scoresRow());
      row.weightsAt = b.mulIndex(number, weightsRow());
    }
    for (auto [number, sum] :
         llvm::zip_equal(numbers, rows->emit(b, args, of, scoresMemory, weightsMemory)))
      memref::StoreOp::create(b, sum, sums, ValueRange{number});
  });
}

void AttentionKernel::emitResult(KernelBuilder &b, ValueRange args) {
  TensorView view = signature.getTensor(result, args);
  int64_t laneAxis = b.lanes > 1 ? parts.getRank() - 1 : -1;
  emitProduct(b, args, values, weightsMemory, b.index(0), weightsRow(), [&](Value i, Value real) {
    SmallVector<Value> place(indices);
    place[place.size() - 2] = b.addIndex(indices[indices.size() - 2], i);
    Value divided = onValues->emit(
        b, args, view.shape(), place,
        {{parts.values.getResult(), real}, {parts.sum.getResult(), b.loadSplat(sums, i)}});
    storeReal(b, divided, view, place, laneAxis);
  });
}

/// Rows from `lhsAt` on, `lhsRow` bytes apart, times all columns; `store` finds the first of the
/// columns at hand in the last index.
void AttentionKernel::emitProduct(KernelBuilder &b, ValueRange args, const Product &product,
                                  Value lhs, Value lhsAt, int64_t lhsRow, StoreFn store) {
  if (!inTiles)
    return emitElements(b, args, product, lhs, lhsAt, store);
  Value factor = b.loadSplat(signature.getValue(product.factor, args), b.index(0));
  Value za = loadZeroPoint(b, args, product.lhs), zb = loadZeroPoint(b, args, product.rhs);
  Value packed = signature.getValue(scratch, args);
  auto getRow = [&](Value i) { return b.addIndex(lhsAt, b.mulIndex(i, lhsRow)); };
  b.loop(0, unitRows, [&](Value i) {
    Value ofRow = product.panels->getPartOfRow(b, lhs, getRow(i), za, zb);
    memref::StoreOp::create(b, vector::ExtractOp::create(b, ofRow, int64_t(0)), partsOfRows,
                            ValueRange{i});
  });
  auto emitTile = [&](Value firstPanel, Value firstRow) {
    SmallVector<Value> tileRowsOfUnit, bases, panels, initial, sums;
    for (int64_t p = 0; p < product.tilePanels; ++p) {
      panels.push_back(product.getPanel(b, matrixAt, b.addIndex(firstPanel, p)));
      auto bytes = VectorType::get({64}, b.getI8Type());
      Value at = b.addIndex(panels.back(), product.panels->panelBytes());
      initial.push_back(
          b.bitcast(vector::LoadOp::create(b, bytes, packed, ValueRange{at}), b.getI32Type()));
    }
    for (int64_t i = 0; i < tileRows; ++i) {
      tileRowsOfUnit.push_back(b.addIndex(firstRow, i));
      bases.push_back(getRow(tileRowsOfUnit.back()));
      for (Value ofColumn : initial)
        sums.push_back(b.add(ofColumn, b.loadSplat(partsOfRows, tileRowsOfUnit.back())));
    }
    sums = product.panels->multiply(b, lhs, bases, packed, panels, std::move(sums));
    for (size_t n = 0; n < sums.size(); ++n) {
      Value panel = b.addIndex(firstPanel, n % product.tilePanels);
      indices.back() = b.getBlock(panel, product.packed.columns, 16);
      store(tileRowsOfUnit[n / product.tilePanels], b.mul(b.toFloat(sums[n]), factor));
    }
  };
  b.loopOverBlocks(product.packed.panels(), product.tilePanels, [&](Value firstPanel) {
    b.loop(0, unitRows / tileRows,
           [&](Value tile) { emitTile(firstPanel, b.mulIndex(tile, tileRows)); });
  });
}

/// One column after the other of one row.
void AttentionKernel::emitElements(KernelBuilder &b, ValueRange args, const Product &product,
                                   Value lhs, Value lhsAt, StoreFn store) {
  TensorView right = signature.getTensor(product.rhs, args);
  Value factor = b.loadSplat(signature.getValue(product.factor, args), b.index(0));
  Value za = loadZeroPoint(b, args, product.lhs), zb = loadZeroPoint(b, args, product.rhs);
  auto load = [&](Value memory, Value at, Value zeroPoint) {
    return b.sub(extendByte(b, b.load(memory, at), isSigned(right.type)), zeroPoint);
  };
  b.loop(b.index(0), b.index(product.packed.columns), 1, [&](Value column) {
    indices.back() = column;
    SmallVector<Value> place(indices);
    place[place.size() - 2] = b.index(0);
    Value base = b.linearIndex(place, right.strides.steps, right.strides.offset);
    Value acc =
        b.loop(b.index(0), b.index(product.packed.depth), 1, ValueRange{b.constI(0)},
               [&](Value k, ValueRange carried) {
                 Value at = b.addIndex(base, b.mulIndex(k, right.strides.steps[place.size() - 2]));
                 Value x = b.mul(load(lhs, b.addIndex(lhsAt, k), za), load(right.memory, at, zb));
                 return SmallVector<Value>{b.add(carried[0], x)};
               })[0];
    store(b.index(0), b.mul(b.toFloat(acc), factor));
  });
}

bool codegen::emitAttention(ProgramEmitter &emitter, GroupOp group) {
  for (auto weights : group.getBody().getOps<QuantizeOp>())
    if (std::optional<Attention> parts = Attention::match(weights)) {
      AttentionKernel(emitter, group, *parts).emit();
      return true;
    }
  return false;
}
