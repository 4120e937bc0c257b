//===- MatmulBytes.cpp - products of two quantized values by [N.matmul] ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A unit packs some panels of sixteen columns of the right operand on the stack, as the weights of
// a dense layer lie, and multiplies rows of the left operand by them. With b' = b - 128, which is a
// signed byte, a sum over k of (a - za) * (b - zb) is
//   a . b'  -  za * (sum of b')  +  (128 - zb) * (sum of a - K * za):
// the second part is of a column, the third of a row.
//
//===----------------------------------------------------------------------===//

#include "../Products/Products.h"
#include "DenseShape.h"
#include "Emitters.h"
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
      : BytesMatmul(emitter, op), products(emitter.getLevel().products->forValues()) {}
  /// Whether operands and result lie as tiles read and write them.
  bool chooseShape();
  void emit();

private:
  int64_t steps() const { return llvm::divideCeil(depth, products.inputs()); }
  void emitUnit(KernelBuilder &b, ValueRange args, Value unit);
  Value packPanel(KernelBuilder &b, Value base, int64_t panel);
  Value sumRow(KernelBuilder &b, Value base);
  void emitTile(KernelBuilder &b, ValueRange args, MutableArrayRef<Value> indices, Value row,
                ArrayRef<Value> columnsOfPanels, ArrayRef<Value> initial);
  /// All lanes of all parts 1, but those from element `count` on.
  SmallVector<Value> makeOnes(KernelBuilder &b, int64_t count);

  const TileProducts &products;
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
    return storeRaw(b, scaled, result, indices);
  Value low = b.loadSplat(result.zeroPoints, b.index(kLow)),
        high = b.loadSplat(result.zeroPoints, b.index(kHigh));
  storeRaw(b, roundAndClamp(b, scaled, low, high, loadZeroPoint(b, result)), result, indices);
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
            Value raw = arith::ExtUIOp::create(b, b.i32(), b.load(view.memory, at));
            return b.sub(raw, loadZeroPoint(b, view));
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
  int64_t panelBytes = steps() * products.weightSize();
  // The last bytes of a row are read together with what follows them.
  bool hasSlack = emitter.getBuffer(op.getLhs()).address.getSpace() == kernel::Space::arena;
  if (columns < kPanelOutputs || panelBytes > 2 * kMostStackBytes || !hasSlack ||
      !llvm::all_of(ValueRange{op.getLhs(), op.getRhs(), op.getResult()}, isSideBySide))
    return false;
  int64_t panels = llvm::divideCeil(columns, kPanelOutputs);
  tile = chooseTile(level.accumulators, rows,
                    std::clamp<int64_t>(kMostStackBytes / panelBytes, 1, panels), steps());
  units.assign(shape.begin(), shape.end() - 2);
  units.push_back(llvm::divideCeil(panels, tile.panels));
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
                    int64_t bytes = tile.panels * steps() * products.weightSize();
                    packed = b.allocateOnStack(bytes, b.getI8Type());
                    b.loop(begin, end, 1, [&](Value unit) { emitUnit(b, args, unit); });
                  });
}

SmallVector<Value> TileKernel::makeOnes(KernelBuilder &b, int64_t count) {
  SmallVector<int8_t> bytes(64, 0);
  std::fill_n(bytes.begin(), count, 1);
  auto type = VectorType::get({64}, b.getI8Type());
  Value ones = arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef(bytes)));
  return products.split(b, ones);
}

/// Writes a panel, whose first element is at `base`: four rows of the right operand side by side in
/// each lane, each byte less 128. Returns the sums of its columns.
Value TileKernel::packPanel(KernelBuilder &b, Value base, int64_t panel) {
  auto row = VectorType::get({16}, b.getI8Type());
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < 16; ++lane)
    for (int64_t i = 0; i < 4; ++i)
      order.push_back(i * 16 + lane);
  auto splatByte = [&](Type type, int8_t value) -> Value {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(cast<ShapedType>(type), b.getI8IntegerAttr(value)));
  };
  SmallVector<Value> ones = makeOnes(b, 64);
  auto packStep = [&](Value step, int64_t count, Value sum) {
    SmallVector<Value> quad;
    for (int64_t i = 0; i < 4; ++i) {
      Value at = b.addIndex(base, b.mulIndex(b.addIndex(b.mulIndex(step, 4), i), rhsInner));
      quad.push_back(i < count ? (Value)vector::LoadOp::create(b, row, rhs.memory, ValueRange{at})
                               : splatByte(row, -128));
    }
    Value bytes = concatVectors(b, b.getLoc(), quad);
    bytes = vector::ShuffleOp::create(b, bytes, bytes, order);
    bytes = arith::XOrIOp::create(b, bytes, splatByte(bytes.getType(), -128));
    SmallVector<Value> parts{bytes};
    if (products.readsI16()) {
      auto [even, odd] = b.widenBytes(bytes, /*isSigned=*/true);
      parts = {even, odd};
    }
    Value place = b.addIndex(b.mulIndex(step, products.weightSize()),
                             panel * steps() * products.weightSize());
    for (auto [part, value] : llvm::enumerate(parts)) {
      b.store(b.bitcast(value, b.getI8Type()), packed,
              b.addIndex(place, part * products.partSize()));
      sum = products.multiplyAdd(b, sum, ones[part], value);
    }
    return sum;
  };
  Value sum = b.loop(b.index(0), b.index(depth / 4), 1, ValueRange{b.constI(0)},
                     [&](Value step, ValueRange carried) {
                       return SmallVector<Value>{packStep(step, 4, carried[0])};
                     })[0];
  if (depth % 4)
    sum = packStep(b.index(depth / 4), depth % 4, sum);
  return sum;
}

/// The sum of a row of the left operand, in all lanes.
Value TileKernel::sumRow(KernelBuilder &b, Value base) {
  auto addTo = [&](Value sum, Value at, ArrayRef<Value> ones) {
    Value bytes =
        vector::LoadOp::create(b, VectorType::get({64}, b.getI8Type()), lhs.memory, ValueRange{at});
    for (auto [part, one] : llvm::zip(products.split(b, bytes), ones))
      sum = products.multiplyAdd(b, sum, part, one);
    return sum;
  };
  SmallVector<Value> ones = makeOnes(b, 64);
  Value sum = b.loop(b.index(0), b.index(depth / 64), 1, ValueRange{b.constI(0)},
                     [&](Value i, ValueRange carried) {
                       Value at = b.addIndex(base, b.mulIndex(i, 64));
                       return SmallVector<Value>{addTo(carried[0], at, ones)};
                     })[0];
  if (depth % 64)
    sum = addTo(sum, b.addIndex(base, depth / 64 * 64), makeOnes(b, depth % 64));
  return b.splat(vector::ReductionOp::create(b, vector::CombiningKind::ADD, sum));
}

void TileKernel::emitUnit(KernelBuilder &b, ValueRange args, Value unit) {
  SmallVector<Value> indices = b.splitIndex(unit, units);
  Value part = indices.pop_back_val();
  Value firstPanel = b.mulIndex(indices.pop_back_val(), tile.panels);
  indices.append(2, b.index(0));
  b.lanes = 16;
  SmallVector<Value> first, initial;
  Value minusZero = b.sub(b.constI(0), loadZeroPoint(b, lhs));
  for (int64_t p = 0; p < tile.panels; ++p) {
    first.push_back(
        b.clampBlock(b.mulIndex(b.addIndex(firstPanel, p), kPanelOutputs), columns, kPanelOutputs));
    indices[rank - 1] = first.back();
    Value base = b.linearIndex(indices, rhs.strides.steps, rhs.strides.offset);
    initial.push_back(b.mul(packPanel(b, base, p), minusZero));
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
  SmallVector<Value> sums, bases;
  Value zero = loadZeroPoint(b, lhs), shift = b.sub(b.constI(128), loadZeroPoint(b, rhs));
  Value depthTimesZero = b.mul(zero, b.constI(depth));
  for (int64_t i = 0; i < tile.vectors; ++i) {
    indices[rank - 2] = b.addIndex(row, i);
    bases.push_back(b.linearIndex(indices, lhs.strides.steps, lhs.strides.offset));
    Value ofRow = b.mul(shift, b.sub(sumRow(b, bases.back()), depthTimesZero));
    for (Value ofColumn : initial)
      sums.push_back(b.add(ofColumn, ofRow));
  }
  int64_t panelSize = steps() * products.weightSize();
  sums = b.loop(b.index(0), b.index(steps()), 1, sums, [&](Value step, ValueRange carried) {
    SmallVector<Value> next(carried);
    SmallVector<SmallVector<Value>> panels;
    for (int64_t p = 0; p < tile.panels; ++p)
      panels.push_back(products.loadWeights(
          b, packed, b.addIndex(b.mulIndex(step, products.weightSize()), p * panelSize)));
    for (int64_t i = 0; i < tile.vectors; ++i) {
      Value at = b.addIndex(bases[i], b.mulIndex(step, products.inputs()));
      SmallVector<Value> input = products.split(b, products.broadcast(b, lhs.memory, at));
      for (int64_t p = 0; p < tile.panels; ++p)
        for (auto [part, x] : llvm::enumerate(input)) {
          Value &sum = next[i * tile.panels + p];
          sum = products.multiplyAdd(b, sum, x, panels[p][part]);
        }
    }
    return next;
  });
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
