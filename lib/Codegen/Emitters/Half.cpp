//===- Half.cpp - floats of 16 bits ---------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Conversions by integer operations, alike on all levels: LLVM calls functions of its own library
// where the CPU has no instruction.
//
//===----------------------------------------------------------------------===//

#include "Signature.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// 32-bit integers under short names.
struct Bits {
  Value constant(uint32_t bits) { return b.constI(static_cast<int32_t>(bits)); }
  Value shiftLeft(Value x, uint32_t count) { return arith::ShLIOp::create(b, x, constant(count)); }
  Value shiftRight(Value x, uint32_t count) {
    return arith::ShRUIOp::create(b, x, constant(count));
  }
  Value mask(Value x, uint32_t bits) { return arith::AndIOp::create(b, x, constant(bits)); }
  Value join(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value add(Value x, uint32_t bits) { return b.add(x, constant(bits)); }
  /// Of numbers without a sign.
  Value selectLess(Value x, uint32_t bound, Value yes, Value no) {
    Value isLess = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, constant(bound));
    return arith::SelectOp::create(b, isLess, yes, no);
  }
  Value asFloat(Value x) { return b.bitcast(x, b.getF32Type()); }
  Value asBits(Value x) { return b.bitcast(x, b.getI32Type()); }
  /// `x / 2^count`, rounded to the nearest, ties to even.
  Value shiftRounded(Value x, uint32_t count) {
    Value odd = mask(shiftRight(x, count), 1);
    return shiftRight(b.add(add(x, (1u << (count - 1)) - 1), odd), count);
  }

  KernelBuilder &b;
};
} // namespace

/// The exponents of float16 are less by 112: a product makes up for that, of subnormal numbers,
/// too.
Value codegen::widenHalf(KernelBuilder &b, Value stored, bool isBrain) {
  Bits bits{b};
  Value half = arith::ExtUIOp::create(b, b.i32(), stored);
  if (isBrain)
    return bits.asFloat(bits.shiftLeft(half, 16));
  Value magnitude = bits.shiftLeft(bits.mask(half, 0x7FFF), 13);
  Value finite = bits.asBits(b.mul(bits.asFloat(magnitude), b.constF(0x1p112f)));
  Value infinite = bits.join(magnitude, bits.constant(0x7F800000));
  Value wide = bits.selectLess(magnitude, 0x0F800000, finite, infinite);
  return bits.asFloat(bits.join(wide, bits.shiftLeft(bits.mask(half, 0x8000), 16)));
}

Value codegen::narrowToHalf(KernelBuilder &b, Value value, bool isBrain) {
  Bits bits{b};
  Value single = bits.asBits(value), magnitude = bits.mask(single, 0x7FFFFFFF);
  Value sign = bits.mask(bits.shiftRight(single, 16), 0x8000);
  uint32_t infinity = isBrain ? 0x7F80 : 0x7C00, nan = isBrain ? 0x7FC0 : 0x7E00;
  Value rounded;
  if (isBrain) {
    rounded = bits.shiftRounded(magnitude, 16);
  } else {
    Value normal = bits.shiftRounded(bits.add(magnitude, -(112u << 23)), 13);
    // The last bit of a half below 2^-14 is 2^-24, as is that of 0.5.
    Value sum = b.add(bits.asFloat(magnitude), b.constF(0.5f));
    Value subnormal = bits.add(bits.asBits(sum), -0x3F000000u);
    rounded = bits.selectLess(magnitude, 0x38800000, subnormal, normal);
    rounded = bits.selectLess(magnitude, 0x47800000, rounded, bits.constant(infinity));
  }
  Value number = bits.selectLess(magnitude, 0x7F800001, rounded, bits.constant(nan));
  return arith::TruncIOp::create(b, b.ofLanes(b.getI16Type()), bits.join(number, sign));
}
