//===- KernelBuilder.cpp - writes kernel functions ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

Value KernelBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }

Value KernelBuilder::addIndex(Value lhs, Value rhs) { return createIndex<arith::AddIOp>(lhs, rhs); }

Value KernelBuilder::addIndex(Value lhs, int64_t rhs) {
  return rhs == 0 && !keepsStructure ? lhs : addIndex(lhs, index(rhs));
}

Value KernelBuilder::mulIndex(Value lhs, int64_t rhs) {
  return rhs == 1 && !keepsStructure ? lhs : createIndex<arith::MulIOp>(lhs, index(rhs));
}

Value KernelBuilder::linearIndex(ValueRange indices, ArrayRef<int64_t> strides, int64_t base) {
  Value sum = index(base);
  for (auto [i, stride] : llvm::zip(indices, strides))
    if (stride != 0 || keepsStructure)
      sum = addIndex(sum, mulIndex(i, stride));
  return sum;
}

Type KernelBuilder::ofLanes(Type element) {
  return lanes == 1 ? element : VectorType::get({lanes}, element);
}

static Value makeConstant(KernelBuilder &b, Type type, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, (Attribute)value));
  return arith::ConstantOp::create(b, value);
}

Value KernelBuilder::constF(float value) {
  return makeConstant(*this, f32(), getF32FloatAttr(value));
}

Value KernelBuilder::constI(int32_t value) {
  return makeConstant(*this, i32(), getI32IntegerAttr(value));
}

Value KernelBuilder::constBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof(value));
  return constF(value);
}

Value KernelBuilder::splat(Value scalar) {
  return lanes == 1 ? scalar
                    : vector::BroadcastOp::create(*this, ofLanes(scalar.getType()), scalar);
}

Value KernelBuilder::load(Value memory, Value index) {
  auto type = cast<MemRefType>(memory.getType());
  if (lanes == 1)
    return memref::LoadOp::create(*this, memory, index);
  return vector::LoadOp::create(*this, cast<VectorType>(ofLanes(type.getElementType())), memory,
                                ValueRange{index});
}

Value KernelBuilder::slice(Value vector, int64_t offset, int64_t size) {
  if (size == cast<VectorType>(vector.getType()).getNumElements())
    return vector;
  return vector::ExtractStridedSliceOp::create(*this, vector, ArrayRef<int64_t>{offset},
                                               ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
}

Value codegen::concatVectors(OpBuilder &b, Location loc, ArrayRef<Value> parts) {
  SmallVector<Value> level(parts);
  while (level.size() > 1) {
    SmallVector<Value> next;
    for (size_t i = 0; i < level.size(); i += 2) {
      int64_t lanes = cast<VectorType>(level[i].getType()).getNumElements();
      next.push_back(vector::ShuffleOp::create(b, loc, level[i], level[i + 1],
                                               llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes))));
    }
    level = next;
  }
  return level[0];
}

Value KernelBuilder::loadQuarters(Value memory, Value index, int64_t stride) {
  auto type = VectorType::get({4}, cast<MemRefType>(memory.getType()).getElementType());
  SmallVector<Value> parts;
  for (int64_t i = 0; i < 4; ++i)
    parts.push_back(
        vector::LoadOp::create(*this, type, memory, ValueRange{addIndex(index, i * stride)}));
  return concatVectors(*this, getLoc(), parts);
}

/// Sixteen lanes: as many as a register has from each of these places.
static Value reloadFrom(KernelBuilder &b, Value memory, ArrayRef<Value> places) {
  int64_t lanes = 16 / (int64_t)places.size();
  auto type = VectorType::get({lanes}, cast<MemRefType>(memory.getType()).getElementType());
  auto parts = llvm::map_to_vector(
      places, [&](Value at) -> Value { return kernel::ReloadOp::create(b, type, memory, at); });
  return concatVectors(b, b.getLoc(), parts);
}

Value KernelBuilder::reload(Value memory, Value index) {
  if (!level.reloadsOperands || lanes != 16)
    return load(memory, index);
  SmallVector<Value> places;
  for (int64_t lane = 0; lane < 16; lane += registerLanes)
    places.push_back(addIndex(index, lane));
  return reloadFrom(*this, memory, places);
}

Value KernelBuilder::reloadQuarters(Value memory, Value index, int64_t stride) {
  if (!level.reloadsOperands)
    return loadQuarters(memory, index, stride);
  return reloadFrom(*this, memory, llvm::map_to_vector(llvm::seq<int64_t>(0, 4), [&](int64_t i) {
    return addIndex(index, i * stride);
  }));
}

Value KernelBuilder::reloadRepeated(Value memory, Value index, int64_t period) {
  if (!level.reloadsOperands || lanes != 16 || period % 4 != 0)
    return loadRepeated(memory, index, period);
  return reloadFrom(*this, memory, llvm::map_to_vector(llvm::seq<int64_t>(0, 4), [&](int64_t i) {
    return addIndex(index, 4 * i % period);
  }));
}

void KernelBuilder::store(Value value, Value memory, Value index) {
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(*this, value, memory, ValueRange{index});
  else
    memref::StoreOp::create(*this, value, memory, ValueRange{index});
}

Value KernelBuilder::allocateOnStack(int64_t count, Type element) {
  InsertionGuard guard(*this);
  setInsertionPointToStart(
      &getInsertionBlock()->getParent()->getParentOfType<func::FuncOp>().getBody().front());
  return memref::AllocaOp::create(*this, MemRefType::get({count}, element), getI64IntegerAttr(64));
}

Value KernelBuilder::loadSplat(Value memory, Value index) {
  return splat(memref::LoadOp::create(*this, memory, index));
}

Value KernelBuilder::loadRepeated(Value memory, Value index, int64_t period) {
  auto type = VectorType::get({period}, cast<MemRefType>(memory.getType()).getElementType());
  Value once = vector::LoadOp::create(*this, type, memory, ValueRange{index});
  SmallVector<int64_t> order = llvm::map_to_vector(llvm::seq<int64_t>(0, lanes),
                                                   [&](int64_t lane) { return lane % period; });
  return vector::ShuffleOp::create(*this, once, once, order);
}

Value KernelBuilder::add(Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
    return arith::AddFOp::create(*this, a, b);
  return arith::AddIOp::create(*this, a, b);
}

Value KernelBuilder::sub(Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
    return arith::SubFOp::create(*this, a, b);
  return arith::SubIOp::create(*this, a, b);
}

Value KernelBuilder::mul(Value a, Value b) {
  if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
    return arith::MulFOp::create(*this, a, b);
  return arith::MulIOp::create(*this, a, b);
}

Value KernelBuilder::div(Value a, Value b) { return arith::DivFOp::create(*this, a, b); }

Value KernelBuilder::fma(Value a, Value b, Value c) { return math::FmaOp::create(*this, a, b, c); }

Value KernelBuilder::mulReciprocal(Value value, Value reciprocal, Value rest) {
  Value small = level.hasFastSubnormals ? mul(value, rest) : fma(value, rest, constF(0x1p-60f));
  return fma(value, reciprocal, small);
}

Value KernelBuilder::maxF(Value a, Value b) { return selectLess(b, a, a, b); }

Value KernelBuilder::minF(Value a, Value b) { return selectLess(a, b, a, b); }

Value KernelBuilder::selectLess(Value a, Value b, Value yes, Value no) {
  Value isLess = arith::CmpFOp::create(*this, arith::CmpFPredicate::OLT, a, b);
  return arith::SelectOp::create(*this, isLess, yes, no);
}

Value KernelBuilder::round(Value value) { return kernel::RoundOp::create(*this, i32(), value); }

Value KernelBuilder::toFloat(Value value) { return arith::SIToFPOp::create(*this, f32(), value); }

Value KernelBuilder::smallToFloat(Value value) {
  if (!level.convertsByAdding || lanes == 1)
    return toFloat(value);
  return sub(bitcast(add(value, constI(kMiddleBits)), getF32Type()), constF(kMiddle));
}

/// The low halves of i32 and of a zero point (may be null), added.
static Value addWords(KernelBuilder &b, Value rounded, Value zeroPoint) {
  auto getWords = [&](Value from) -> Value {
    return arith::TruncIOp::create(b, b.ofLanes(b.getI16Type()), from);
  };
  Value words = getWords(rounded);
  if (zeroPoint)
    words = b.add(words, getWords(zeroPoint));
  return arith::ExtSIOp::create(b, b.i32(), words);
}

/// A number that is the same in all lanes of all calls, and even: beside it, halves are rounded to
/// even numbers as they are without it.
static std::optional<int32_t> getEvenNumber(Value value) {
  IntegerAttr number;
  if (value && matchPattern(value, m_Constant(&number)) && number.getInt() % 2 == 0)
    return number.getInt();
  DenseIntElementsAttr numbers;
  if (!value || !matchPattern(value, m_Constant(&numbers)) || !numbers.isSplat())
    return std::nullopt;
  int64_t splat = numbers.getSplatValue<APInt>().getSExtValue();
  return splat % 2 == 0 ? std::optional<int32_t>(splat) : std::nullopt;
}

Value KernelBuilder::roundToWord(Value value, Value zeroPoint) {
  if (level.convertsByAdding && lanes > 1) {
    std::optional<int32_t> even = getEvenNumber(zeroPoint);
    Value sum = add(value, constF(kMiddle + even.value_or(0)));
    return addWords(*this, bitcast(sum, getI32Type()), even ? Value() : zeroPoint);
  }
  Value rounded = round(value);
  return zeroPoint ? add(rounded, zeroPoint) : rounded;
}

Value KernelBuilder::roundNaNToWord(Value value, Value zeroPoint) {
  return addWords(*this, bitcast(add(value, constF(kMiddle)), getI32Type()), zeroPoint);
}

Value KernelBuilder::maxNumber(Value a, Value b) {
  return level.hasMinMax && lanes > 1 ? arith::MaximumFOp::create(*this, a, b).getResult()
                                      : maxF(a, b);
}

Value KernelBuilder::minNumber(Value a, Value b) {
  return level.hasMinMax && lanes > 1 ? arith::MinimumFOp::create(*this, a, b).getResult()
                                      : minF(a, b);
}

Value KernelBuilder::bitcast(Value value, Type element) {
  if (auto vector = dyn_cast<VectorType>(value.getType())) {
    int64_t bits = vector.getNumElements() * vector.getElementTypeBitWidth();
    return vector::BitCastOp::create(
        *this, VectorType::get({bits / element.getIntOrFloatBitWidth()}, element), value);
  }
  return arith::BitcastOp::create(*this, element, value);
}

std::pair<Value, Value> KernelBuilder::widenBytes(Value bytes, bool isSigned) {
  Value words = bitcast(bytes, getI16Type());
  Value eight = makeConstant(*this, words.getType(), getI16IntegerAttr(8));
  if (!isSigned)
    return {arith::AndIOp::create(*this, words,
                                  makeConstant(*this, words.getType(), getI16IntegerAttr(255))),
            arith::ShRUIOp::create(*this, words, eight)};
  return {arith::ShRSIOp::create(*this, arith::ShLIOp::create(*this, words, eight), eight),
          arith::ShRSIOp::create(*this, words, eight)};
}

void KernelBuilder::loop(Value lower, Value upper, int64_t step, function_ref<void(Value)> body) {
  loop(lower, upper, step, ValueRange{}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

void KernelBuilder::loop(int64_t lower, int64_t upper, function_ref<void(Value)> body) {
  if (upper - lower == 1 && !keepsStructure)
    return body(index(lower));
  loop(index(lower), index(upper), 1, body);
}

Value KernelBuilder::getBlock(Value i, int64_t size, int64_t block) {
  return clampBlock(mulIndex(i, block), size, block);
}

std::pair<Value, Value> KernelBuilder::divideIndex(Value i, int64_t size, int64_t parts) {
  if (parts == 1)
    return {index(0), i};
  Value part = createIndex<arith::DivUIOp>(i, index(size));
  return {part, createIndex<arith::SubIOp>(i, mulIndex(part, size))};
}

SmallVector<Value> KernelBuilder::splitIndex(Value i, ArrayRef<int64_t> shape) {
  SmallVector<Value> indices(shape.size());
  int64_t parts = ShapedType::getNumElements(shape);
  for (int64_t dim = shape.size() - 1; dim >= 0; --dim) {
    parts /= shape[dim];
    std::tie(i, indices[dim]) = divideIndex(i, shape[dim], parts);
  }
  return indices;
}

Value KernelBuilder::clampBlock(Value first, int64_t size, int64_t block) {
  bool divides = size % block == 0 && !keepsStructure;
  return divides ? first
                 : createIndex<arith::MinUIOp>(first, index(std::max<int64_t>(0, size - block)));
}

void KernelBuilder::loopOverBlocks(int64_t size, int64_t block, function_ref<void(Value)> body) {
  loop(0, llvm::divideCeil(size, block), [&](Value i) { body(getBlock(i, size, block)); });
}

SmallVector<Value> KernelBuilder::loop(Value lower, Value upper, int64_t step, ValueRange init,
                                       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto op = scf::ForOp::create(*this, lower, upper, index(step), init);
  // A loop without carried values comes with its terminator.
  if (init.empty())
    op.getBody()->getTerminator()->erase();
  InsertionGuard guard(*this);
  setInsertionPointToEnd(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  scf::YieldOp::create(*this, next);
  return SmallVector<Value>(op.getResults());
}

Operation *Interleaving::getLast() const {
  return b.getInsertionPoint() == b.getInsertionBlock()->begin()
             ? nullptr
             : &*std::prev(b.getInsertionPoint());
}

void Interleaving::next() {
  auto &piece = pieces.emplace_back();
  Block *block = b.getInsertionBlock();
  for (auto it = end ? std::next(end->getIterator()) : block->begin(); it != b.getInsertionPoint();
       ++it)
    if (isa<VectorType>(it->getResult(0).getType()))
      piece.push_back(&*it);
  end = getLast();
}

void Interleaving::finish() {
  auto areAlike = [&](ArrayRef<Operation *> piece) {
    return llvm::equal(piece, pieces[0],
                       [](Operation *a, Operation *b) { return a->getName() == b->getName(); });
  };
  if (pieces.size() < 2 || !llvm::all_of(pieces, areAlike))
    return;
  for (size_t i = 0; i < pieces[0].size(); ++i)
    for (ArrayRef<Operation *> piece : pieces)
      piece[i]->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
}
