//===- StoredRows.cpp - weights in few bits, row by row -------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredRows.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

StoredRows::StoredRows(Signature &signature, GroupOp group, DequantizeWeightsOp weights)
    : type(weights.getWeights().getType()) {
  auto getConstant = [&](Value inner) {
    return cast<nn::ConstantOp>(group.getOuter(inner).getDefiningOp());
  };
  ProgramEmitter &emitter = signature.emitter;
  auto constant = getConstant(weights.getWeights());
  memory =
      signature.add(isPacked() ? emitter.getWeights<int8_t>("nibbles/" + getConstantKey(constant),
                                                            [&] { return pack(constant); })
                               : emitter.getRowMajor(constant));
  if (isHalf())
    return;
  rowsOfBlock = weights.getBlockSize(0);
  block = weights.getBlockSize(1);
  scales = signature.add(emitter.getRowMajor(getConstant(weights.getScales())));
  if (weights.getZeroPoints())
    zeroPoints = signature.add(emitter.getRowMajor(getConstant(weights.getZeroPoints())));
}

Value codegen::widenStored(KernelBuilder &b, Value stored, Type element) {
  if (isa<FloatType>(element))
    return widenHalf(b, stored, element.isBF16());
  unsigned bits = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  if (!isUnsigned && bits == 8)
    return b.toFloat(arith::ExtSIOp::create(b, b.i32(), stored));
  Value integer = arith::ExtUIOp::create(b, b.i32(), stored);
  if (!isUnsigned) { // the last bit is the sign
    Value sign = b.constI(1 << (bits - 1));
    integer = arith::AndIOp::create(b, integer, b.constI((1 << bits) - 1));
    integer = b.sub(arith::XOrIOp::create(b, integer, sign), sign);
  }
  return b.toFloat(integer);
}

/// The lower and the upper halves of bytes.
std::pair<Value, Value> codegen::splitNibbles(KernelBuilder &b, Value bytes) {
  auto constant = [&](int64_t value) -> Value {
    auto vector = dyn_cast<VectorType>(bytes.getType());
    TypedAttr attr = b.getI8IntegerAttr(value);
    if (vector)
      attr = DenseElementsAttr::get(vector, cast<Attribute>(attr));
    return arith::ConstantOp::create(b, attr);
  };
  return {arith::AndIOp::create(b, bytes, constant(15)),
          arith::ShRUIOp::create(b, bytes, constant(4))};
}

std::vector<int8_t> StoredRows::pack(nn::ConstantOp constant) const {
  std::vector<char> bytes = nn::getConstantBytes(constant);
  int64_t rowBytes = llvm::divideCeil(columns(), 2);
  std::vector<int8_t> packed(rows() * rowBytes);
  for (int64_t row = 0; row < rows(); ++row)
    for (int64_t column = 0; column < columns(); ++column)
      packed[row * rowBytes + column / 2] |= (bytes[row * columns() + column] & 15)
                                             << (column % 2 * 4);
  return packed;
}

Value StoredRows::loadNibbles(KernelBuilder &b, Value memory, Value row, Value column) const {
  Value half = b.createIndex<arith::DivUIOp>(column, b.index(2));
  Value at = b.addIndex(b.mulIndex(row, llvm::divideCeil(columns(), 2)), half);
  if (b.lanes == 1) {
    auto [lower, upper] = splitNibbles(b, b.load(memory, at));
    Value rest = b.createIndex<arith::RemUIOp>(column, b.index(2));
    Value odd = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, rest, b.index(0));
    return arith::SelectOp::create(b, odd, upper, lower);
  }
  auto type = VectorType::get({b.lanes / 2}, b.getI8Type());
  auto [lower, upper] = splitNibbles(b, vector::LoadOp::create(b, type, memory, ValueRange{at}));
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < b.lanes; ++i)
    order.push_back(i / 2 + i % 2 * (b.lanes / 2));
  return vector::ShuffleOp::create(b, lower, upper, order);
}

Value StoredRows::load(KernelBuilder &b, Value memory, Value row, Value column) const {
  Value stored = isPacked() ? loadNibbles(b, memory, row, column)
                            : b.load(memory, b.addIndex(b.mulIndex(row, columns()), column));
  return widenStored(b, stored, type.getElementType());
}

void StoredRows::forEach(KernelBuilder &b, ValueRange args, Value row,
                         llvm::function_ref<void(Value, Value)> use) const {
  // A vector of integers of 4 bits begins with a byte.
  bool hasVectors = !b.level.isScalar() && (!isPacked() || blocks() == 1 || block % 2 == 0);
  Value scaleRow = b.mulIndex(
      rowsOfBlock == 1 ? row : b.createIndex<arith::DivUIOp>(row, b.index(rowsOfBlock)), blocks());
  auto emitColumns = [&](Value begin, Value end, int64_t lanes, Value scaleAt) {
    b.loop(begin, end, lanes, [&](Value column) {
      b.lanes = lanes;
      Value values = load(b, args[memory], row, column);
      if (zeroPoints >= 0)
        values = b.sub(values, b.loadSplat(args[zeroPoints], scaleAt));
      if (scales >= 0)
        values = b.mul(values, b.loadSplat(args[scales], scaleAt));
      use(column, values);
      b.lanes = 1;
    });
  };
  b.loop(0, blocks(), [&](Value i) {
    Value scaleAt = b.addIndex(scaleRow, i), begin = b.mulIndex(i, isHalf() ? columns() : block);
    Value end = b.createIndex<arith::MinUIOp>(b.addIndex(begin, isHalf() ? columns() : block),
                                              b.index(columns()));
    Value middle = begin;
    if (hasVectors) {
      Value size = b.createIndex<arith::SubIOp>(end, begin);
      Value rest = b.createIndex<arith::RemUIOp>(size, b.index(16));
      middle = b.createIndex<arith::SubIOp>(end, rest);
      emitColumns(begin, middle, 16, scaleAt);
    }
    emitColumns(middle, end, 1, scaleAt);
  });
}
