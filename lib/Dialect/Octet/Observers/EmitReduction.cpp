//===- EmitReduction.cpp - code that reads strided tensors ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitReduction.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace octet;

/// Vectors in flight: min and max have a latency of several cycles.
static constexpr int64_t kUnroll = 4;

Value octet::emitIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value octet::emitFloat(OpBuilder &builder, Location loc, Type type, float value) {
  FloatAttr scalar = builder.getF32FloatAttr(value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(vector, scalar.getValue()));
  return arith::ConstantOp::create(builder, loc, scalar);
}

FlatTensor octet::flatten(OpBuilder &builder, Location loc, Value data, int64_t channelAxis) {
  auto type = cast<MemRefType>(data.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  FlatTensor tensor;
  SmallVector<StridedDim> dims;
  int64_t extent = 1;
  for (auto [axis, size] : llvm::enumerate(type.getShape())) {
    extent += (size - 1) * strides[axis];
    if ((int64_t)axis == channelAxis)
      tensor.channel = {size, strides[axis]};
    else if (size > 1)
      dims.push_back({size, strides[axis]});
  }
  llvm::sort(dims, [](StridedDim a, StridedDim b) { return a.stride > b.stride; });
  for (StridedDim dim : dims) {
    bool isDense = !tensor.dims.empty() && tensor.dims.back().stride == dim.size * dim.stride;
    if (isDense)
      tensor.dims.back() = {tensor.dims.back().size * dim.size, dim.stride};
    else
      tensor.dims.push_back(dim);
  }
  auto flatType = MemRefType::get({extent}, type.getElementType(),
                                  StridedLayoutAttr::get(builder.getContext(), offset, {1}));
  tensor.memory = memref::ReinterpretCastOp::create(
      builder, loc, flatType, data, offset, ArrayRef<int64_t>{extent}, ArrayRef<int64_t>{1});
  return tensor;
}

SmallVector<Value> octet::emitLoops(OpBuilder &builder, Location loc, ArrayRef<StridedDim> dims,
                                    Value base, ValueRange carried, LoopBody body) {
  if (dims.empty())
    return body(builder, loc, base, carried);
  StridedDim dim = dims.front();
  auto loop = scf::ForOp::create(
      builder, loc, emitIndex(builder, loc, 0), emitIndex(builder, loc, dim.size * dim.stride),
      emitIndex(builder, loc, dim.stride), carried,
      [&](OpBuilder &b, Location loc, Value step, ValueRange carried) {
        Value index = arith::AddIOp::create(b, loc, base, step);
        scf::YieldOp::create(b, loc, emitLoops(b, loc, dims.drop_front(), index, carried, body));
      });
  return SmallVector<Value>(loop.getResults());
}

Value octet::emitMin(OpBuilder &builder, Location loc, Value a, Value b) {
  // The sign of zero is settled by emitPlusZero.
  return arith::MinimumFOp::create(builder, loc, a, b, arith::FastMathFlags::nsz);
}

Value octet::emitMax(OpBuilder &builder, Location loc, Value a, Value b) {
  return arith::MaximumFOp::create(builder, loc, a, b, arith::FastMathFlags::nsz);
}

Value octet::emitPlusZero(OpBuilder &builder, Location loc, Value x) {
  return arith::AddFOp::create(builder, loc, x, emitFloat(builder, loc, x.getType(), 0.0f));
}

int64_t octet::getLanes(int64_t size) {
  return std::min<int64_t>(16, llvm::bit_floor((uint64_t)size));
}

namespace {
/// The innermost loop: `count` vectors, `stride` elements apart, and one more at `extra` if the
/// vectors leave a rest (it may overlap: taking an element twice changes no minimum).
struct InnerLoop {
  int64_t lanes, count, stride;
  std::optional<int64_t> extra;
};

/// Emits the reduction with kUnroll pairs of vectors in flight.
struct Reducer {
  const FlatTensor &tensor;
  InnerLoop inner;
  Values values;

  MinMax update(OpBuilder &b, Location loc, MinMax acc, Value index) const {
    auto type = cast<VectorType>(acc.min.getType());
    Value x = vector::LoadOp::create(b, loc, type, tensor.memory, index);
    if (values == Values::All)
      return {emitMin(b, loc, acc.min, x), emitMax(b, loc, acc.max, x)};
    Value inf = emitFloat(b, loc, type, std::numeric_limits<float>::infinity());
    Value negInf = emitFloat(b, loc, type, -std::numeric_limits<float>::infinity());
    Value isBelow = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, x, inf);
    Value isAbove = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, x, negInf);
    Value isFinite = arith::AndIOp::create(b, loc, isBelow, isAbove);
    return {emitMin(b, loc, acc.min, arith::SelectOp::create(b, loc, isFinite, x, inf)),
            emitMax(b, loc, acc.max, arith::SelectOp::create(b, loc, isFinite, x, negInf))};
  }

  void updateSlot(OpBuilder &b, Location loc, SmallVector<Value> &carried, int64_t slot, Value base,
                  int64_t offset) const {
    Value index = arith::AddIOp::create(b, loc, base, emitIndex(b, loc, offset));
    MinMax next = update(b, loc, {carried[2 * slot], carried[2 * slot + 1]}, index);
    carried[2 * slot] = next.min;
    carried[2 * slot + 1] = next.max;
  }

  SmallVector<Value> row(OpBuilder &b, Location loc, Value base, ValueRange carried) const {
    int64_t blocks = inner.count / kUnroll;
    SmallVector<Value> current(carried);
    if (blocks > 0) {
      StridedDim dim{blocks, kUnroll * inner.stride};
      current = emitLoops(b, loc, dim, base, current,
                          [&](OpBuilder &b, Location loc, Value index, ValueRange carried) {
                            SmallVector<Value> next(carried);
                            for (int64_t slot = 0; slot < kUnroll; ++slot)
                              updateSlot(b, loc, next, slot, index, slot * inner.stride);
                            return next;
                          });
    }
    int64_t done = blocks * kUnroll;
    for (int64_t slot = 0; done + slot < inner.count; ++slot)
      updateSlot(b, loc, current, slot, base, (done + slot) * inner.stride);
    if (inner.extra)
      updateSlot(b, loc, current, kUnroll - 1, base, *inner.extra);
    return current;
  }

  MinMax emit(OpBuilder &b, Location loc, ArrayRef<StridedDim> outer, Value base) const {
    auto type = VectorType::get({inner.lanes}, b.getF32Type());
    Value inf = emitFloat(b, loc, type, std::numeric_limits<float>::infinity());
    Value negInf = emitFloat(b, loc, type, -std::numeric_limits<float>::infinity());
    SmallVector<Value> carried;
    for (int64_t slot = 0; slot < kUnroll; ++slot)
      carried.append({inf, negInf});
    carried = emitLoops(b, loc, outer, base, carried,
                        [&](OpBuilder &b, Location loc, Value index, ValueRange carried) {
                          return row(b, loc, index, carried);
                        });
    MinMax result{carried[0], carried[1]};
    for (int64_t slot = 1; slot < kUnroll; ++slot)
      result = {emitMin(b, loc, result.min, carried[2 * slot]),
                emitMax(b, loc, result.max, carried[2 * slot + 1])};
    return result;
  }
};
} // namespace

MinMax octet::emitMinMax(OpBuilder &builder, Location loc, const FlatTensor &tensor, Value base,
                         Values values) {
  ArrayRef<StridedDim> outer(tensor.dims);
  StridedDim last{1, 1};
  if (!outer.empty() && outer.back().stride == 1) {
    last = outer.back();
    outer = outer.drop_back();
  }
  int64_t lanes = getLanes(last.size);
  InnerLoop inner{lanes, last.size / lanes, lanes, std::nullopt};
  if (last.size % lanes)
    inner.extra = last.size - lanes;
  MinMax vectors = Reducer{tensor, inner, values}.emit(builder, loc, outer, base);
  Value min =
      vector::ReductionOp::create(builder, loc, vector::CombiningKind::MINIMUMF, vectors.min);
  Value max =
      vector::ReductionOp::create(builder, loc, vector::CombiningKind::MAXIMUMF, vectors.max);
  return {min, max};
}

MinMax octet::emitMinMaxOfLanes(OpBuilder &builder, Location loc, const FlatTensor &tensor,
                                Value base, int64_t lanes) {
  ArrayRef<StridedDim> outer(tensor.dims);
  StridedDim last{1, 1};
  if (!outer.empty()) {
    last = outer.back();
    outer = outer.drop_back();
  }
  InnerLoop inner{lanes, last.size, last.stride, std::nullopt};
  return Reducer{tensor, inner, Values::All}.emit(builder, loc, outer, base);
}

Value octet::emitStateView(OpBuilder &builder, Location loc, Value state, Type element,
                           int64_t count, int64_t offset) {
  return emitStateView(builder, loc, state, element, count, emitIndex(builder, loc, offset));
}

Value octet::emitStateView(OpBuilder &builder, Location loc, Value state, Type element,
                           int64_t count, Value offset) {
  return memref::ViewOp::create(builder, loc, MemRefType::get({count}, element), state, offset,
                                ::mlir::ValueRange{});
}
