//===- CountedState.cpp - ranges, and how many numbers they are of --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CountedState.h"
#include "EmitReduction.h"
#include "Range.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace octet;

static MutableArrayRef<char> getKeptOf(MutableArrayRef<char> state) {
  return state.drop_back(sizeof(int64_t));
}

static int64_t &getCountOf(MutableArrayRef<char> state) {
  return *stateAs<int64_t>(state.take_back(sizeof(int64_t)));
}

ArrayRef<char> CountedState::getKept(ArrayRef<char> state) {
  return state.drop_back(sizeof(int64_t));
}

int64_t CountedState::getCount(ArrayRef<char> state) {
  return *stateAs<int64_t>(state.take_back(sizeof(int64_t)));
}

int64_t CountedState::getBytes() const {
  return keeper.getStateBytes(observed) + (int64_t)sizeof(int64_t);
}

void CountedState::init(MutableArrayRef<char> state) const {
  keeper.initState(observed, getKeptOf(state));
  getCountOf(state) = 0;
}

void CountedState::update(ArrayRef<float> data, MutableArrayRef<char> state) const {
  keeper.updateState(observed, data, getKeptOf(state));
  getCountOf(state) += ofRun;
}

LogicalResult CountedState::merge(MutableArrayRef<char> state, ArrayRef<char> other) const {
  getCountOf(state) += getCount(other);
  return keeper.mergeState(observed, getKeptOf(state), getKept(other));
}

void CountedState::emitUpdate(OpBuilder &builder, Location loc, Value data, Value state) const {
  keeper.emitUpdate(builder, loc, observed, data, state);
  Value count = emitStateView(builder, loc, state, builder.getI64Type(), 1,
                              keeper.getStateBytes(observed)),
        zero = emitIndex(builder, loc, 0),
        more = arith::ConstantIntOp::create(builder, loc, ofRun, 64);
  Value sum =
      arith::AddIOp::create(builder, loc, memref::LoadOp::create(builder, loc, count, zero), more);
  memref::StoreOp::create(builder, loc, sum, count, zero);
}
