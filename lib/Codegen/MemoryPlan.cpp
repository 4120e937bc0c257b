//===- MemoryPlan.cpp - one arena with reuse ------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryPlan.h"
#include "octet/Dialect/NN/States.h"
#include "octet/Runtime/records.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

bool codegen::isReadThrough(nn::ReshapeOp op) {
  Value result = op.getResult();
  return getLayout(op.getInput().getType()) && !result.use_empty() &&
         llvm::all_of(result.getUsers(), llvm::IsaPred<nn::TransposeOp>) &&
         getReshapedStrides(op.getInput().getType(), op.getResult().getType().getShape());
}

bool codegen::isPartOfShuffle(nn::TransposeOp op) {
  auto source = op.getInput().getDefiningOp<nn::ReshapeOp>();
  if (!source || !isReadThrough(source) || !op->hasOneUse())
    return false;
  auto target = dyn_cast<nn::ReshapeOp>(*op->user_begin());
  return target && getLayout(target.getType()) &&
         getReshapedStrides(target.getType(), op.getType().getShape());
}

/// Whether a reshape writes what its transpose would have: it is no view, though both be dense.
static bool endsShuffle(nn::ReshapeOp op) {
  auto moved = op.getInput().getDefiningOp<nn::TransposeOp>();
  return moved && isPartOfShuffle(moved);
}

Value codegen::getAliasRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto reshape = dyn_cast<nn::ReshapeOp>(op);
    auto isDense = [](TypedValue<RankedTensorType> tensor) { return isRowMajor(tensor.getType()); };
    bool isView =
        reshape &&
        ((isDense(reshape.getInput()) && isDense(reshape.getResult()) && !endsShuffle(reshape)) ||
         isReadThrough(reshape));
    auto transpose = dyn_cast<nn::TransposeOp>(op);
    isView |= transpose && isPartOfShuffle(transpose);
    if (!isView && !isa<ObserveOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Offset of a slice in its input, in bytes, if its elements lie side by side there.
static std::optional<int64_t> findOffset(nn::SliceOp slice) {
  RankedTensorType whole = slice.getInput().getType();
  if (!isRowMajor(whole) || !isRowMajor(slice.getType()))
    return std::nullopt;
  bool isWhole = true; // of the dimensions behind
  int64_t offset = 0;
  for (auto [size, step, start, all, stride] :
       llvm::reverse(llvm::zip_equal(slice.getSizes(), slice.getSteps(), slice.getStarts(),
                                     whole.getShape(), getStrides(whole).steps))) {
    if (size > 1 && (!isWhole || step != 1))
      return std::nullopt;
    isWhole &= size == all;
    offset += start * stride;
  }
  return offset * (getStorageType(whole).getIntOrFloatBitWidth() / 8);
}

namespace {
/// A part of an arena buffer.
struct View {
  Value root;
  int64_t offset; ///< in bytes
};
using Views = llvm::MapVector<Value, View>;

/// An arena buffer: the root value and the steps between which it is alive.
struct Lifetime {
  Value root;
  int64_t first, last, bytes;
  int64_t offset = -1;
};
} // namespace

/// Slices of arena buffers that need no copy: they begin where an address can.
static Views findViews(func::FuncOp func, const DenseMap<Value, kernel::ArgAttr> &fixed) {
  Views views;
  for (auto slice : func.getOps<nn::SliceOp>()) {
    std::optional<int64_t> offset = findOffset(slice);
    Value root = getAliasRoot(slice.getInput());
    if (!offset || fixed.contains(slice) || fixed.contains(root) ||
        root.getDefiningOp<nn::ConstantOp>())
      continue;
    View view{root, *offset};
    if (auto outer = views.find(root); outer != views.end())
      view = {outer->second.root, outer->second.offset + *offset};
    if (view.offset % OCTET_MEMORY_UNIT == 0)
      views.insert({slice, view});
  }
  return views;
}

/// Lifetimes of all roots that live in the arena, in program order.
static SmallVector<Lifetime> collectLifetimes(func::FuncOp func,
                                              const DenseMap<Value, kernel::ArgAttr> &fixed,
                                              const Views &views) {
  llvm::MapVector<Value, Lifetime> lifetimes;
  for (auto [position, op] : llvm::enumerate(func.getBody().front())) {
    for (Value operand : op.getOperands()) {
      Value root = getAliasRoot(operand);
      if (auto view = views.find(root); view != views.end())
        root = view->second.root;
      if (auto it = lifetimes.find(root); it != lifetimes.end())
        it->second.last = position;
    }
    if (isa<nn::ConstantOp>(op))
      continue;
    for (Value result : op.getResults())
      if (getAliasRoot(result) == result && !fixed.contains(result) && !views.contains(result))
        lifetimes.insert({result, Lifetime{result, (int64_t)position, (int64_t)position,
                                           getBufferBytes(getTensorType(result))}});
  }
  return llvm::map_to_vector(lifetimes, [](auto &entry) { return entry.second; });
}

/// Lowest offset where a buffer collides with none that is alive at the same time; large buffers
/// first.
static int64_t placeBuffers(MutableArrayRef<Lifetime> lifetimes) {
  SmallVector<Lifetime *> order = llvm::map_to_vector(lifetimes, [](Lifetime &l) { return &l; });
  llvm::stable_sort(order, [](Lifetime *a, Lifetime *b) { return a->bytes > b->bytes; });
  int64_t end = 0;
  SmallVector<Lifetime *> placed;
  for (Lifetime *buffer : order) {
    int64_t size = llvm::alignTo(buffer->bytes + 64, 64), offset = 0;
    for (Lifetime *other : placed) { // sorted by offset
      if (other->last < buffer->first || buffer->last < other->first)
        continue;
      if (offset + size <= other->offset)
        break;
      offset = std::max<int64_t>(offset, other->offset + llvm::alignTo(other->bytes + 64, 64));
    }
    buffer->offset = offset;
    placed.insert(llvm::upper_bound(placed, buffer,
                                    [](Lifetime *a, Lifetime *b) { return a->offset < b->offset; }),
                  buffer);
    end = std::max(end, offset + size);
  }
  return end;
}

/// Arguments and returned values: the caller's memory, or a state's.
static void placeInterface(func::FuncOp func, MemoryPlan &plan) {
  MLIRContext *context = func.getContext();
  DenseMap<StringAttr, kernel::ArgAttr> states;
  int64_t inputs = 0, outputs = 0;
  for (BlockArgument argument : func.getArguments()) {
    StringAttr state = nn::getStateOfArgument(func, argument.getArgNumber());
    kernel::ArgAttr &address = plan.addresses[argument];
    if (!state) {
      address = kernel::ArgAttr::get(context, kernel::Space::input, inputs++);
      continue;
    }
    address = kernel::ArgAttr::get(context, kernel::Space::state, plan.stateBytes);
    states[state] = address;
    plan.stateBytes += llvm::alignTo(getBufferBytes(getTensorType(argument)), 64);
  }
  for (OpOperand &operand : func.getBody().front().getTerminator()->getOpOperands()) {
    StringAttr state = nn::getStateOfResult(func, operand.getOperandNumber());
    plan.addresses[getAliasRoot(operand.get())] =
        state ? states.lookup(state)
              : kernel::ArgAttr::get(context, kernel::Space::output, outputs++);
  }
}

MemoryPlan codegen::planMemory(func::FuncOp func) {
  MemoryPlan plan;
  MLIRContext *context = func.getContext();
  placeInterface(func, plan);
  Views views = findViews(func, plan.addresses);
  SmallVector<Lifetime> lifetimes = collectLifetimes(func, plan.addresses, views);
  plan.arenaBytes = placeBuffers(lifetimes) + kArenaSlack;
  auto getAddress = [&](int64_t offset) {
    return kernel::ArgAttr::get(context, kernel::Space::arena, offset);
  };
  for (const Lifetime &buffer : lifetimes)
    plan.addresses[buffer.root] = getAddress(buffer.offset);
  for (auto &[slice, view] : views) {
    plan.addresses[slice] = getAddress(plan.addresses.lookup(view.root).getOffset() + view.offset);
    plan.views.insert(slice);
  }
  func.walk([&](ObserveOp op) {
    StringAttr symbol = op.getObserverAttr().getAttr();
    if (plan.observerStates.count(symbol))
      return;
    auto observer = SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, symbol);
    plan.observerStates[symbol] = plan.stateBytes;
    plan.stateBytes +=
        llvm::alignTo(observer.getObserver().getStateBytes(op.getInput().getType()), 64);
  });
  return plan;
}
