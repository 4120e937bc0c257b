//===- Parameters.cpp - one value a channel, in the order of lanes --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library holds the arrays of a kernel one behind the other, in the order of channels, integers
// in as few bytes as an array of them needs, and no reciprocals. A model gets arrays of four bytes
// a value in the order of lanes, whole blocks of them, so that kernels load vectors.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// The source of an array's values: stored integers, of as many bytes as the number says (floats
/// are kFull), or the reciprocals of the floats before them and the rests of these.
enum Kind : int64_t { kByte = 1, kHalf = 2, kTriple = 3, kFull = 4, kReciprocal, kReciprocalRest };

/// A step takes the kinds of its arrays as digits of a bound.
static constexpr int64_t kKinds = 16;

/// How few bytes hold all of the integers: one without a sign, two, three or four with it.
static Kind getKind(ArrayRef<int32_t> values) {
  if (llvm::all_of(values, [](int32_t value) { return llvm::isUInt<8>(value); }))
    return kByte;
  if (llvm::all_of(values, [](int32_t value) { return llvm::isInt<16>(value); }))
    return kHalf;
  return llvm::all_of(values, [](int32_t value) { return llvm::isInt<24>(value); }) ? kTriple
                                                                                    : kFull;
}

void ParameterArrays::addArray(int64_t kind, int64_t channels) {
  assert((this->channels == 0 || this->channels == channels) && "expected one value a channel");
  assert(numArrays < 8 && "the kinds do not fit into a bound of 32 bits");
  this->channels = channels;
  kinds += kind << 4 * numArrays++;
}

void ParameterArrays::add(ArrayRef<int32_t> perChannel) {
  Kind kind = getKind(perChannel);
  addArray(kind, perChannel.size());
  for (int32_t value : perChannel)
    for (int byte = 0; byte < kind; ++byte)
      values.push_back(char(value >> 8 * byte));
}

void ParameterArrays::add(ArrayRef<float> perChannel) {
  addArray(kFull, perChannel.size());
  auto *bytes = reinterpret_cast<const char *>(perChannel.data());
  values.insert(values.end(), bytes, bytes + perChannel.size() * sizeof(float));
}

void ParameterArrays::addReciprocals() {
  addArray(kReciprocal, channels);
  addArray(kReciprocalRest, channels);
}

int64_t ParameterArrays::getPositions() const { return llvm::alignTo(channels, block); }

/// The value of `size` bytes at a place, extended to 32 bits; one byte without a sign.
static Value loadExtended(EmittedCode &c, Value from, Index place, Index size) {
  KernelBuilder &b = c.b;
  Type i32 = b.getI32Type();
  auto asShift = [&](Index bits) -> Value {
    return arith::IndexCastOp::create(b, i32, Value(bits));
  };
  Value word = b.loop(c.index(0), size, 1, b.constI(0), [&](Value i, ValueRange carried) {
    Index byte(b, i);
    Value value = arith::ExtUIOp::create(b, i32, b.load(from, place + byte));
    Value shifted = arith::ShLIOp::create(b, value, asShift(byte * 8));
    return SmallVector<Value>{arith::OrIOp::create(b, carried[0], shifted)};
  })[0];
  Value shift = asShift(c.select(size == kByte, c.index(0), c.index(32) - size * 8));
  return arith::ShRSIOp::create(b, arith::ShLIOp::create(b, word, shift), shift);
}

/// 1 / x in f32, or what that leaves out of 1 / x; the bits of both.
static Value invert(KernelBuilder &b, Value word, Value isReciprocal) {
  Value x = b.bitcast(word, b.getF32Type()), reciprocal = b.div(b.constF(1), x);
  Type f64 = b.getF64Type();
  auto extend = [&](Value value) -> Value { return arith::ExtFOp::create(b, f64, value); };
  Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  Value rest =
      arith::SubFOp::create(b, arith::DivFOp::create(b, one, extend(x)), extend(reciprocal));
  rest = arith::TruncFOp::create(b, b.getF32Type(), rest);
  return b.bitcast(arith::SelectOp::create(b, isReciprocal, reciprocal, rest), b.getI32Type());
}

/// Bounds: channels, block, arrays, their kinds. `from` [array][channel], `to` [array][position].
static void writeParameters(EmittedCode &c, Value from, Value to, ArrayRef<Index> bounds,
                            Index begin, Index end) {
  KernelBuilder &b = c.b;
  Index channels = bounds[0], block = bounds[1], arrays = bounds[2];
  Index positions = (channels + block - 1) / block * block;
  c.loop(begin, end, [&](Index position) {
    Index channel = getLaneChannel(c, channels, block, position);
    b.loop(
        c.index(0), arrays, 1, {bounds[3], c.index(0), position}, [&](Value, ValueRange carried) {
          Index kinds(b, carried[0]), source(b, carried[1]), target(b, carried[2]);
          Index kind = kinds % kKinds, size = c.min(kind, c.index(kFull));
          Value isReciprocal = kind == kReciprocal;
          Value inverts = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, kind, size);
          source = source - c.select(inverts, channels * 4, c.index(0));
          Value word = loadExtended(c, from, source + channel * size, size);
          // Integers, read as floats, may take long to divide.
          auto inverse = scf::IfOp::create(
              b, inverts,
              [&](OpBuilder &inner, Location loc) {
                KernelBuilder then(loc, inner, b.level);
                scf::YieldOp::create(then, invert(then, word, isReciprocal));
              },
              [&](OpBuilder &inner, Location loc) { scf::YieldOp::create(inner, loc, word); });
          b.store(inverse.getResult(0), to, target);
          return SmallVector<Value>{kinds / kKinds, source + channels * size, target + positions};
        });
  });
}

KernelArgument ParameterArrays::prepare(ProgramEmitter &emitter) const {
  KernelArgument source = emitter.getWeights<int8_t>(
      "parameters/" + std::string(values.begin(), values.end()),
      [&] { return std::vector<int8_t>(values.begin(), values.end()); }, OCTET_WEIGHTS_UNIT);
  int64_t positions = getPositions();
  auto target = MemRefType::get({positions * numArrays}, emitter.getBuilder().getI32Type());
  return emitter.prepare(
      {"write_parameters", source, target, {channels, block, numArrays, kinds}, positions},
      writeParameters);
}
