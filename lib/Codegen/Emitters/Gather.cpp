//===- Gather.cpp - elements at positions that are computed ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

Value codegen::getPosition(KernelBuilder &b, Value index, int64_t size, Value status) {
  auto integer = [&](int64_t value) {
    return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)).getResult();
  };
  Value zero = integer(0), limit = integer(size);
  Value isNegative = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, zero);
  Value position = b.add(index, arith::SelectOp::create(b, isNegative, limit, zero));
  Value isOutside = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, position, limit);
  scf::IfOp::create(b, isOutside, [&](OpBuilder &inner, Location loc) {
    Value one = arith::ConstantOp::create(inner, loc, inner.getI64IntegerAttr(1));
    Value first = arith::ConstantIndexOp::create(inner, loc, 0);
    memref::StoreOp::create(inner, loc, one, status, first);
    scf::YieldOp::create(inner, loc);
  });
  Value inside = arith::SelectOp::create(b, isOutside, zero, position);
  return arith::IndexCastOp::create(b, b.getIndexType(), inside);
}

namespace {
/// Dimensions that a walk goes over, with the steps of both sides.
struct Walked {
  SmallVector<int64_t> shape, from, to;

  void add(int64_t size, int64_t fromStep, int64_t toStep) {
    if (size == 1)
      return;
    shape.push_back(size);
    from.push_back(fromStep);
    to.push_back(toStep);
  }
  /// Omits the last dimensions, whose elements lie side by side on both sides; their number.
  int64_t takeRun() {
    int64_t run = 1;
    while (!shape.empty() && from.back() == run && to.back() == run) {
      run *= shape.pop_back_val();
      from.pop_back();
      to.pop_back();
    }
    return run;
  }
};
} // namespace

LogicalResult codegen::emitGather(ProgramEmitter &emitter, nn::GatherOp op) {
  RankedTensorType data = op.getData().getType(), indices = op.getIndices().getType();
  Strides from = getStrides(data), at = getStrides(indices), to = getStrides(op.getType());
  int64_t axis = op.getAxis(), rank = indices.getRank(), size = data.getDimSize(axis);
  Walked outer, inner; // the indices' dimensions are outer ones, with steps of their own
  SmallVector<int64_t> indexSteps;
  for (int64_t d = 0; d < axis; ++d)
    outer.add(data.getDimSize(d), from.steps[d], to.steps[d]);
  indexSteps.resize(outer.shape.size(), 0);
  for (int64_t d = 0; d < rank; ++d) {
    outer.add(indices.getDimSize(d), 0, to.steps[axis + d]);
    indexSteps.resize(outer.shape.size(), at.steps[d]);
  }
  for (int64_t d = axis + 1; d < data.getRank(); ++d)
    inner.add(data.getDimSize(d), from.steps[d], to.steps[d + rank - 1]);
  if (outer.shape.empty()) {
    outer = {{1}, {0}, {0}};
    indexSteps.push_back(0);
  }
  int64_t run = emitter.getLevel().isScalar() ? 1 : inner.takeRun();
  Signature signature(emitter);
  int source = signature.add(emitter.getBuffer(op.getData())),
      index = signature.add(emitter.getBuffer(op.getIndices())),
      target = signature.add(emitter.getBuffer(op.getResult())),
      status = signature.add(emitter.getStatus());
  emitter.addStep(op, kernel::Kernels::gather, signature.arguments, outer.shape[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    emitLoopNest(b, outer.shape, begin, end, [&](ValueRange i) {
                      Value number = b.load(args[index], b.linearIndex(i, indexSteps, at.offset));
                      Value position = getPosition(b, number, size, args[status]);
                      Value read = b.addIndex(b.linearIndex(i, outer.from, from.offset),
                                              b.mulIndex(position, from.steps[axis]));
                      Value written = b.linearIndex(i, outer.to, to.offset);
                      emitLoopNest(
                          b, inner.shape, b.index(0),
                          b.index(inner.shape.empty() ? 0 : inner.shape[0]), [&](ValueRange k) {
                            Value fromAt = b.addIndex(read, b.linearIndex(k, inner.from, 0));
                            Value toAt = b.addIndex(written, b.linearIndex(k, inner.to, 0));
                            if (run > 1)
                              return copyRun(b, args[source], fromAt, args[target], toAt, run);
                            b.store(b.load(args[source], fromAt), args[target], toAt);
                          });
                    });
                  });
  return success();
}

namespace {
/// Columns of rows that are combined with others: blocks of sixteen, then those that are left.
struct Columns {
  static constexpr int64_t kLanes = 16;
  int64_t count, blocks;

  Columns(int64_t count, bool inVectors) : count(count), blocks(inVectors ? count / kLanes : 0) {}
  int64_t getRange() const { return std::max<int64_t>(blocks, 1); }
  /// Calls `body` with the first column of b.lanes, in the blocks [begin, end) of the range.
  void emit(KernelBuilder &b, Value begin, Value end, function_ref<void(Value)> body) const {
    if (blocks)
      b.loop(begin, end, 1, [&](Value block) {
        b.lanes = kLanes;
        body(b.mulIndex(block, kLanes));
        b.lanes = 1;
      });
    if (blocks * kLanes == count)
      return;
    Value isLast =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, end, b.index(getRange())).getResult();
    auto rest = scf::IfOp::create(b, isLast, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(rest.thenBlock());
    b.loop(b.index(blocks * kLanes), b.index(count), 1, body);
  }
};
} // namespace

/// The data are copied, then rows are put over them one by one, since several may have the same
/// place: threads take columns.
LogicalResult codegen::emitScatter(ProgramEmitter &emitter, nn::ScatterOp op) {
  emitWholeCopy(emitter, op, op.getData(), op.getResult());
  Signature signature(emitter);
  int indices = signature.addTensor(op.getIndices()),
      updates = signature.addTensor(op.getUpdates()), target = signature.addTensor(op.getResult()),
      status = signature.add(emitter.getStatus());
  RankedTensorType type = op.getUpdates().getType();
  int64_t size = op.getType().getDimSize(0), last = type.getRank() - 1;
  SmallVector<int64_t> rows(type.getShape());
  if (last > 0)
    rows.pop_back();
  bool inVectors = last > 0 && type.getElementType().isF32() && !emitter.getLevel().isScalar() &&
                   getStrides(type).steps[last] == 1 && getStrides(op.getType()).steps[last] == 1;
  Columns columns(last > 0 ? type.getDimSize(last) : 1, inVectors);
  emitter.addStep(op, kernel::Kernels::scatter, signature.arguments, columns.getRange(),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    TensorView from = signature.getTensor(updates, args),
                               to = signature.getTensor(target, args);
                    emitLoopNest(b, rows, b.index(0), b.index(rows[0]), [&](ValueRange i) {
                      Value number =
                          loadRaw(b, signature.getTensor(indices, args), i.take_front(), -1);
                      SmallVector<Value> source(i), place(i);
                      place[0] = getPosition(b, number, size, args[status]);
                      if (last > 0) {
                        source.push_back({});
                        place.push_back({});
                      }
                      columns.emit(b, begin, end, [&](Value column) {
                        int64_t laneAxis = b.lanes > 1 ? last : -1;
                        if (last > 0)
                          source.back() = place.back() = column;
                        Value combined = emitCombination(b, op.getCombination(),
                                                         loadReal(b, to, place, laneAxis),
                                                         loadReal(b, from, source, laneAxis));
                        storeReal(b, combined, to, place, laneAxis);
                      });
                    });
                  });
  return success();
}
