//===- Table.cpp - look-ups in tables of 256 entries ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// Dimensions in the order of memory, but the first with more than one element in front: threads
/// share it.
static SmallVector<unsigned> getWalk(RankedTensorType type) {
  Strides strides = getStrides(type);
  SmallVector<unsigned> order = llvm::to_vector(llvm::seq<unsigned>(0, type.getRank()));
  llvm::stable_sort(order,
                    [&](unsigned a, unsigned b) { return strides.steps[a] > strides.steps[b]; });
  auto first = llvm::find_if(order, [&](unsigned dim) { return type.getDimSize(dim) > 1; });
  if (first != order.end())
    std::rotate(order.begin(), first, first + 1);
  return order;
}

/// A storage byte without its sign.
static Value loadByte(KernelBuilder &b, const TensorView &view, ValueRange indices) {
  Value raw = loadRaw(b, view, indices, /*laneAxis=*/-1);
  return isSigned(view.type) ? arith::AndIOp::create(b, raw, b.constI(255)).getResult() : raw;
}

/// Whether the table flips the sign bit: signed activations of a caller become unsigned ones, or
/// the other way round [N.signed].
static bool flipsSign(ArrayRef<int8_t> table) {
  return llvm::all_of(llvm::enumerate(table),
                      [](auto entry) { return uint8_t(entry.value()) == (entry.index() ^ 0x80); });
}

/// Sign bits are flipped in whole vectors where input and result lie alike; false elsewhere.
static bool emitSignFlip(ProgramEmitter &emitter, nn::TableOp op) {
  constexpr int64_t kBytes = 64;
  RankedTensorType in = getTensorType(op.getInput()), out = getTensorType(op.getResult());
  int64_t size = getStrides(in).extent;
  bool liesAlike = getLayout(in) == getLayout(out) && (!getLayout(in) || !hasBorder(in));
  if (!emitter.has(kernel::Kernels::flip) || !flipsSign(op.getTable()) || !liesAlike ||
      size < kBytes)
    return false;
  Signature signature(emitter);
  int source = signature.add(emitter.getBuffer(op.getInput()));
  int target = signature.add(emitter.getBuffer(op.getResult()));
  emitter.addStep(op, kernel::Kernels::flip, signature.arguments, llvm::divideCeil(size, kBytes),
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    auto type = VectorType::get({kBytes}, b.getI8Type());
                    Value signBits = arith::ConstantOp::create(
                        b, DenseElementsAttr::get(type, (Attribute)b.getI8IntegerAttr(-128)));
                    b.loop(begin, end, 1, [&](Value block) {
                      Value at = b.getBlock(block, size, kBytes);
                      Value bytes = vector::LoadOp::create(b, type, args[source], ValueRange{at});
                      vector::StoreOp::create(b, arith::XOrIOp::create(b, bytes, signBits),
                                              args[target], ValueRange{at});
                    });
                  });
  return true;
}

LogicalResult codegen::emitTable(ProgramEmitter &emitter, nn::TableOp op) {
  if (emitSignFlip(emitter, op))
    return success();
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput(), Signature::Parameters::none);
  int target = signature.addTensor(op.getResult(), Signature::Parameters::none);
  ArrayRef<int8_t> entries = op.getTable();
  std::string key =
      "table/" + std::string(reinterpret_cast<const char *>(entries.data()), entries.size());
  int table = signature.addWeights<int8_t>(
      key, [&] { return std::vector<int8_t>(entries.begin(), entries.end()); });
  ArrayRef<int64_t> shape = getTensorType(op.getResult()).getShape();
  SmallVector<unsigned> order = getWalk(getTensorType(op.getResult()));
  SmallVector<int64_t> sizes = llvm::map_to_vector(order, [&](unsigned dim) { return shape[dim]; });
  if (sizes.empty())
    sizes.push_back(1);
  emitter.addStep(op, kernel::Kernels::table, signature.arguments, sizes[0],
                  [&](KernelBuilder &b, ValueRange args, Value begin, Value end) {
                    TensorView x = signature.getTensor(source, args),
                               y = signature.getTensor(target, args);
                    Value memory = signature.getValue(table, args);
                    emitLoopNest(b, sizes, begin, end, [&](ValueRange walked) {
                      SmallVector<Value> i(shape.size());
                      for (auto [position, dim] : llvm::enumerate(order))
                        i[dim] = walked[position];
                      Value byte = loadByte(b, x, i);
                      Value q = arith::IndexCastUIOp::create(b, b.getIndexType(), byte);
                      Value entry = arith::ExtUIOp::create(b, b.i32(), b.load(memory, q));
                      storeRaw(b, entry, y, i);
                    });
                  });
  return success();
}
