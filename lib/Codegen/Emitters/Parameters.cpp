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
// Levels whose sums are the bits of floats (ShiftedSums) hold them without these, so that they are
// short. What one such level's sums have beyond another's is behind all arrays, in front of which
// both levels' bytes are the same, and in the library once.
//
//===----------------------------------------------------------------------===//

#include "Packing.h"
#include "ShiftedSums.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// The source of an array's values: stored integers, of as many bytes as the number says (floats
/// are kFull), or the reciprocals of the floats before them, the rests of these, or products of the
/// floats with -2^23. Beyond kShifted, integers to which KernelBuilder::kMiddleBits are added;
/// beyond kShiftedToLeast, ShiftedSums::kLeastBits.
enum Kind : int64_t {
  kByte = 1,
  kHalf = 2,
  kTriple = 3,
  kFull = 4,
  kReciprocal,
  kReciprocalRest,
  kLeastProduct,
  kShifted = 8,
  kShiftedToLeast = 12
};

/// A step takes the kinds of its arrays as digits of a bound, of 32 bits with its sign.
static constexpr int64_t kKinds = 16;
[[maybe_unused]] static constexpr size_t kMostArrays = 8;

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
  assert(arrays.size() < kMostArrays && "the kinds do not fit into a bound of 32 bits");
  this->channels = channels;
  arrays.push_back(kind);
}

void ParameterArrays::appendIntegers(ArrayRef<int32_t> perChannel, int64_t size) {
  for (int32_t value : perChannel)
    for (int byte = 0; byte < size; ++byte)
      values.push_back(char(value >> 8 * byte));
}

void ParameterArrays::add(ArrayRef<int32_t> perChannel) {
  Kind kind = getKind(perChannel);
  addArray(kind, perChannel.size());
  appendIntegers(perChannel, kind);
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

void ParameterArrays::addLeastProducts() { addArray(kLeastProduct, channels); }

void ParameterArrays::addShifted(ArrayRef<int32_t> sums, bool beginAtLeast) {
  if (Kind kind = getKind(sums); kind < kFull) {
    addArray((beginAtLeast ? kShiftedToLeast : kShifted) + kind, sums.size());
    appendIntegers(sums, kind);
    return;
  }
  SmallVector<int32_t> whole;
  for (int32_t sum : sums)
    whole.push_back((int32_t)((uint32_t)sum + (uint32_t)ShiftedSums::getFirstBits(beginAtLeast)));
  addArray(kFull, sums.size());
  appendIntegers(whole, kFull);
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

/// `word`, or what `other` gives if the condition holds.
static Value replaceIf(KernelBuilder &b, Value condition, Value word,
                       function_ref<Value(KernelBuilder &)> other) {
  auto either = scf::IfOp::create(
      b, condition,
      [&](OpBuilder &inner, Location loc) {
        KernelBuilder then(loc, inner, b.level);
        scf::YieldOp::create(then, other(then));
      },
      [&](OpBuilder &inner, Location loc) { scf::YieldOp::create(inner, loc, word); });
  return either.getResult(0);
}

static Value isBeyond(Index kind, int64_t other) {
  return arith::CmpIOp::create(kind.builder(), arith::CmpIPredicate::ugt, kind,
                               kind.constant(other));
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

/// What the float is times -2^23; its bits.
static Value getLeastProduct(KernelBuilder &b, Value word) {
  Value product = b.mul(b.bitcast(word, b.getF32Type()), b.constF(-ShiftedSums::kLeast));
  return b.bitcast(product, b.getI32Type());
}

/// Bounds: channels, block, arrays, their kinds. `from` [array][channel], `to` [array][position].
static void writeParameters(EmittedCode &c, Value from, Value to, ArrayRef<Index> bounds,
                            Index begin, Index end) {
  KernelBuilder &b = c.b;
  const bool hasShifts = b.level.convertsByAdding;
  Index channels = bounds[0], block = bounds[1], arrays = bounds[2];
  Index positions = (channels + block - 1) / block * block;
  c.loop(begin, end, [&](Index position) {
    Index channel = getLaneChannel(c, channels, block, position);
    b.loop(
        c.index(0), arrays, 1, {bounds[3], c.index(0), position}, [&](Value, ValueRange carried) {
          Index kinds(b, carried[0]), source(b, carried[1]), target(b, carried[2]);
          Index kind = kinds % kKinds, size = c.min(kind, c.index(kFull));
          Value isReciprocal = kind == kReciprocal, isShifted, isToLeast;
          if (hasShifts) {
            isShifted = isBeyond(kind, kShifted);
            isToLeast = isBeyond(kind, kShiftedToLeast);
            kind = c.select(isShifted, kind & 3, kind);
            size = c.min(kind, c.index(kFull));
          }
          Value derives = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, kind, size);
          source = source - c.select(derives, channels * 4, c.index(0));
          Value word = loadExtended(c, from, source + channel * size, size);
          // Integers, read as floats, may take long to divide.
          word = replaceIf(b, derives, word, [&](KernelBuilder &then) {
            Value inverse = invert(then, word, isReciprocal);
            if (!hasShifts)
              return inverse;
            return arith::SelectOp::create(then, kind == kLeastProduct, getLeastProduct(then, word),
                                           inverse)
                .getResult();
          });
          if (hasShifts)
            word = replaceIf(b, isShifted, word, [&](KernelBuilder &then) {
              Value middle = then.constI(ShiftedSums::getFirstBits(false)),
                    least = then.constI(ShiftedSums::getFirstBits(true));
              return then.add(word, arith::SelectOp::create(then, isToLeast, least, middle));
            });
          b.store(word, to, target);
          return SmallVector<Value>{kinds / kKinds, source + channels * size, target + positions};
        });
  });
}

KernelArgument ParameterArrays::prepare(ProgramEmitter &emitter) {
  KernelArgument source = emitter.getWeights<int8_t>(
      "parameters/" + std::string(values.begin(), values.end()),
      [&] { return std::vector<int8_t>(values.begin(), values.end()); }, OCTET_WEIGHTS_UNIT);
  int64_t positions = getPositions(), numArrays = arrays.size(), kinds = 0;
  for (int64_t kind : llvm::reverse(arrays))
    kinds = kinds * kKinds + kind;
  auto target = MemRefType::get({positions * numArrays}, emitter.getBuilder().getI32Type());
  StringRef name =
      emitter.getLevel().convertsByAdding ? "write_shifted_parameters" : "write_parameters";
  return emitter.prepare({name, source, target, {channels, block, numArrays, kinds}, positions},
                         writeParameters);
}
