//===- Recording.cpp - the values of the first runs -----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// [N.stat.recording] State: the number of runs seen (int64), then the row-major values of the first
// ones, f32.
//
//===----------------------------------------------------------------------===//

#include "EmitReduction.h"
#include "Range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;
using namespace octet;

static constexpr int64_t kMaxRuns = 65536;

LogicalResult RecordingObserverAttr::verify(EmitError emitError, int64_t runs) {
  if (runs < 1 || runs > kMaxRuns)
    return emitError() << "expected 1 to " << kMaxRuns << " runs, but got " << runs;
  return success();
}

ObserverSpec RecordingObserverAttr::getSpec() const { return {}; }

int64_t RecordingObserverAttr::getStateBytes(RankedTensorType observed) const {
  return sizeof(int64_t) +
         llvm::alignTo(getRuns() * observed.getNumElements() * sizeof(float), sizeof(int64_t));
}

void RecordingObserverAttr::initState(RankedTensorType, MutableArrayRef<char> state) const {
  memset(state.data(), 0, state.size());
}

/// Appends the values of `count` runs as far as there is room.
static void append(MutableArrayRef<char> state, int64_t room, int64_t runBytes, int64_t count,
                   const char *values) {
  int64_t &seen = *stateAs<int64_t>(state);
  int64_t first = std::min(seen, room), more = std::min(count, room - first);
  memcpy(state.data() + sizeof(int64_t) + first * runBytes, values, more * runBytes);
  seen += count;
}

void RecordingObserverAttr::updateState(RankedTensorType, ArrayRef<float> data,
                                        MutableArrayRef<char> state) const {
  append(state, getRuns(), data.size() * sizeof(float), 1,
         reinterpret_cast<const char *>(data.data()));
}

LogicalResult RecordingObserverAttr::mergeState(RankedTensorType observed,
                                                MutableArrayRef<char> state,
                                                ArrayRef<char> other) const {
  int64_t numKept = *stateAs<int64_t>(state), numMore = *stateAs<int64_t>(other);
  if (numKept < 0 || numMore < 0)
    return failure(); // damaged
  append(state, getRuns(), observed.getNumElements() * sizeof(float), std::min(numMore, getRuns()),
         other.data() + sizeof(int64_t));
  *stateAs<int64_t>(state) = numKept + numMore;
  return success();
}

/// The indices of the `linear`-th element of a row-major tensor.
static SmallVector<Value> emitIndices(OpBuilder &b, Location loc, ArrayRef<int64_t> shape,
                                      Value linear) {
  SmallVector<Value> indices(shape.size());
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    Value size = emitIndex(b, loc, shape[dim]);
    indices[dim] = arith::RemUIOp::create(b, loc, linear, size);
    linear = arith::DivUIOp::create(b, loc, linear, size);
  }
  return indices;
}

void RecordingObserverAttr::emitUpdate(OpBuilder &builder, Location loc, RankedTensorType observed,
                                       Value data, Value state) const {
  int64_t numElements = observed.getNumElements();
  Value zero = emitIndex(builder, loc, 0);
  Value counter = emitStateView(builder, loc, state, builder.getI64Type(), 1);
  Value seen = memref::LoadOp::create(builder, loc, counter, zero);
  Value one = arith::ConstantIntOp::create(builder, loc, 1, 64),
        room = arith::ConstantIntOp::create(builder, loc, getRuns(), 64);
  memref::StoreOp::create(builder, loc, arith::AddIOp::create(builder, loc, seen, one), counter,
                          zero);
  Value isKept = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, seen, room);
  scf::IfOp::create(builder, loc, isKept, [&](OpBuilder &b, Location loc) {
    Value values =
        emitStateView(b, loc, state, b.getF32Type(), getRuns() * numElements, sizeof(int64_t));
    Value run = arith::IndexCastOp::create(b, loc, b.getIndexType(), seen);
    Value first = arith::MulIOp::create(b, loc, run, emitIndex(b, loc, numElements));
    emitLoops(b, loc, StridedDim{numElements, 1}, zero, {},
              [&](OpBuilder &b, Location loc, Value i, ValueRange) -> SmallVector<Value> {
                Value value = memref::LoadOp::create(b, loc, data,
                                                     emitIndices(b, loc, observed.getShape(), i));
                memref::StoreOp::create(b, loc, value, values,
                                        arith::AddIOp::create(b, loc, first, i).getResult());
                return {};
              });
    scf::YieldOp::create(b, loc);
  });
}

FailureOr<quant::QuantizedType> RecordingObserverAttr::getQuantizedType(EmitError emitError,
                                                                        RankedTensorType,
                                                                        ArrayRef<char>) const {
  return emitError() << "a recording means no quantized type";
}
