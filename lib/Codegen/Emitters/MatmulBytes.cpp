//===- MatmulBytes.cpp - products of two quantized values by [N.matmul] ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit packs some panels of sixteen columns of the right operand on the stack, and multiplies
// rows of the left operand by them.
//
//===----------------------------------------------------------------------===//

#include "DenseShape.h"
#include "Emitters.h"
#include "MatmulPanels.h"
#include "octet/Numerics/Requantize.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static constexpr int64_t kMostStackBytes = 64 * 1024; ///< a caller's stack may be small

namespace {

/// What both forms of the code share: operands, and what becomes of a sum.
class BytesMatmul {
public:
  BytesMatmul(ProgramEmitter &emitter, nn::MatmulOp op);

protected:
  /// The real value of a sum, or its quantized one. [N.requantize]
  void store(KernelBuilder &b, ValueRange args, Value acc, ValueRange indices);
  void setViews(ValueRange args);
  Value loadZeroPoint(KernelBuilder &b, const TensorView &view) {
    return b.loadSplat(view.zeroPoints, b.index(kZeroPoints));
  }

  ProgramEmitter &emitter;
  nn::MatmulOp op;
  Signature signature;
  SmallVector<int64_t> shape; ///< of the result
  int64_t rank, rows, columns, depth;
  int factor; ///< of a sum

  // Inside the body.
  TensorView lhs, rhs, result;
  int64_t lhsInner = 0, rhsInner = 0; ///< steps along the dimension that is summed over
};

/// One element after the other.
struct ElementKernel : BytesMatmul {
  using BytesMatmul::BytesMatmul;
  void emit();
};

class TileKernel : BytesMatmul {
public:
  TileKernel(ProgramEmitter &emitter, nn::MatmulOp op)
      : BytesMatmul(emitter, op), panels(emitter.getLevel(), depth) {}
  /// Whether operands and result lie as tiles read and write them.
  bool chooseShape();
  void emit();

private:
  void emitUnit(KernelBuilder &b, ValueRange args, Value unit);
  void emitTile(KernelBuilder &b, ValueRange args, MutableArrayRef<Value> indices, Value row,
                ArrayRef<Value> columnsOfPanels, ArrayRef<Value> initial);
  MatmulPanels panels;
  DenseTile tile{1, 1};
  SmallVector<int64_t> units; ///< matrices, blocks of columns, parts of the rows
  Value packed;
};

} // namespace

BytesMatmul::BytesMatmul(ProgramEmitter &emitter, nn::MatmulOp op)
    : emitter(emitter), op(op), signature(emitter), shape(op.getResult().getType().getShape()),
      rank(shape.size()), rows(shape[rank - 2]), columns(shape[rank - 1]),
      depth(op.getLhs().getType().getShape().back()) {
  auto getScale = [](Value value) {
    auto type = cast<quant::QuantizedType>(getTensorType(value).getElementType());
    return numerics::getParams(type).scales[0];
  };
  for (Value value : {Value(op.getLhs()), Value(op.getRhs()), Value(op.getResult())})
    signature.addTensor(value);
  float scale = getScale(op.getLhs()) * getScale(op.getRhs());
  if (isQuantized(op.getResult().getType()))
    scale = numerics::requantizeMultiplier(scale, getScale(op.getResult()));
  factor = signature.addParameters(ArrayRef<float>(scale), /*block=*/0);
}

void BytesMatmul::setViews(ValueRange args) {
  lhs = signature.getTensor(0, args), rhs = signature.getTensor(1, args),
  result = signature.getTensor(2, args);
  lhsInner = lhs.strides.steps.back();
  rhsInner = rhs.strides.steps[rhs.strides.steps.size() - 2];
  alignView(lhs, shape);
  alignView(rhs, shape);
  // The result's row and column pick the operands' ones; along the inner dimension these have steps
  // of their own.
  lhs.strides.steps[rank - 1] = 0;
  rhs.strides.steps[rank - 2] = 0;
}

void BytesMatmul::store(KernelBuilder &b, ValueRange args, Value acc, ValueRange indices) {
  Value scaled = b.mul(b.toFloat(acc), b.loadSplat(signature.getValue(factor, args), b.index(0)));
  if (!result.isQuantized())
    return storeFirst(b, columns, scaled, result, indices);
  Value low = b.loadSplat(result.zeroPoints, b.index(kLow)),
        high = b.loadSplat(result.zeroPoints, b.index(kHigh));
  storeFirst(b, columns, roundAndClamp(b, scaled, low, high, loadZeroPoint(b, result)), result,
             indices);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

void ElementKernel::emit() {
  emitter.addStep(
      op, kernel::Kernels::matmul, signature.arguments, ShapedType::getNumElements(shape),
      [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
        setViews(args);
        b.loop(begin, end, 1, [&](Value element) {
          SmallVector<Value> indices = b.splitIndex(element, shape);
          auto load = [&](const TensorView &view, Value k, int64_t inner) {
            Value at = b.addIndex(b.linearIndex(indices, view.strides.steps, view.strides.offset),
                                  b.mulIndex(k, inner));
            return b.sub(extendByte(b, b.load(view.memory, at), isSigned(view.type)),
                         loadZeroPoint(b, view));
          };
          Value acc = b.loop(b.index(0), b.index(depth), 1, ValueRange{b.constI(0)},
                             [&](Value k, ValueRange carried) {
                               Value product =
                                   b.mul(load(lhs, k, lhsInner), load(rhs, k, rhsInner));
                               return SmallVector<Value>{b.add(carried[0], product)};
                             })[0];
          store(b, args, acc, indices);
        });
      });
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

bool TileKernel::chooseShape() {
  const CpuLevel &level = emitter.getLevel();
  auto isSideBySide = [](Value value) {
    return getStrides(getTensorType(value)).steps.back() == 1;
  };
  int64_t panelBytes = panels.panelBytes();
  // The last bytes of a row are read together with what follows them; so are few columns.
  if (!emitter.hasSlack(op.getLhs()) ||
      (columns < kPanelOutputs && !emitter.hasSlack(op.getRhs())) ||
      panelBytes > 2 * kMostStackBytes ||
      !llvm::all_of(ValueRange{op.getLhs(), op.getRhs(), op.getResult()}, isSideBySide))
    return false;
  int64_t count = llvm::divideCeil(columns, kPanelOutputs);
  tile = chooseTile(level.accumulators, rows,
                    std::clamp<int64_t>(kMostStackBytes / panelBytes, 1, count), panels.steps());
  units.assign(shape.begin(), shape.end() - 2);
  units.push_back(llvm::divideCeil(count, tile.panels));
  // A part of the rows packs for itself, which is worth it where threads would have nothing to do.
  constexpr int64_t kFewUnits = 8, kRowsOfPart = 128;
  bool hasFew = ShapedType::getNumElements(units) < kFewUnits;
  units.push_back(hasFew ? std::clamp<int64_t>(rows / kRowsOfPart, 1, kFewUnits) : 1);
  return true;
}

void TileKernel::emit() {
  emitter.addStep(op, kernel::Kernels::matmul, signature.arguments,
                  ShapedType::getNumElements(units),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    setViews(args);
                    int64_t bytes = tile.panels * panels.panelBytes();
                    packed = b.allocateOnStack(bytes, b.getI8Type());
                    b.loop(begin, end, 1, [&](Value unit) { emitUnit(b, args, unit); });
                  });
}

void TileKernel::emitUnit(KernelBuilder &b, ValueRange args, Value unit) {
  SmallVector<Value> indices = b.splitIndex(unit, units);
  Value part = indices.pop_back_val();
  Value firstPanel =
      b.getBlock(indices.pop_back_val(), llvm::divideCeil(columns, kPanelOutputs), tile.panels);
  indices.append(2, b.index(0));
  b.lanes = 16;
  SmallVector<Value> first, initial;
  Value minusZero = b.sub(b.constI(0), loadZeroPoint(b, lhs));
  for (int64_t p = 0; p < tile.panels; ++p) {
    first.push_back(b.clampBlock(b.mulIndex(b.addIndex(firstPanel, p), kPanelOutputs),
                                 std::max(columns, kPanelOutputs), kPanelOutputs));
    indices[rank - 1] = first.back();
    Value base = b.linearIndex(indices, rhs.strides.steps, rhs.strides.offset);
    Value sums =
        panels.pack(b, rhs.memory, base, rhsInner, packed, b.index(p * panels.panelBytes()));
    initial.push_back(b.mul(sums, minusZero));
  }
  int64_t blocks = llvm::divideCeil(rows, tile.vectors),
          perPart = llvm::divideCeil(blocks, units.back());
  Value begin = b.mulIndex(part, perPart);
  Value end = b.createIndex<arith::MinUIOp>(b.addIndex(begin, perPart), b.index(blocks));
  b.loop(begin, end, 1, [&](Value block) {
    emitTile(b, args, indices, b.getBlock(block, rows, tile.vectors), first, initial);
  });
  b.lanes = 1;
}

void TileKernel::emitTile(KernelBuilder &b, ValueRange args, MutableArrayRef<Value> indices,
                          Value row, ArrayRef<Value> columnsOfPanels, ArrayRef<Value> initial) {
  SmallVector<Value> sums, bases, places;
  for (int64_t i = 0; i < tile.vectors; ++i) {
    indices[rank - 2] = b.addIndex(row, i);
    bases.push_back(b.linearIndex(indices, lhs.strides.steps, lhs.strides.offset));
    Value ofRow = panels.getPartOfRow(b, lhs.memory, bases.back(), loadZeroPoint(b, lhs),
                                      loadZeroPoint(b, rhs));
    for (Value ofColumn : initial)
      sums.push_back(b.add(ofColumn, ofRow));
  }
  for (int64_t p = 0; p < tile.panels; ++p)
    places.push_back(b.index(p * panels.panelBytes()));
  sums = panels.multiply(b, lhs.memory, bases, packed, places, std::move(sums));
  for (int64_t i = 0; i < tile.vectors; ++i)
    for (int64_t p = 0; p < tile.panels; ++p) {
      indices[rank - 2] = b.addIndex(row, i);
      indices[rank - 1] = columnsOfPanels[p];
      store(b, args, sums[i * tile.panels + p], indices);
    }
}

LogicalResult codegen::emitMatmulOfBytes(ProgramEmitter &emitter, nn::MatmulOp op) {
  if (!emitter.getLevel().isScalar())
    if (TileKernel tiles(emitter, op); tiles.chooseShape()) {
      tiles.emit();
      return success();
    }
  ElementKernel(emitter, op).emit();
  return success();
}
