//===- Elementwise.cpp - element-wise ops by the float laws ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One small function per op; docs/numerics.md defines each result bit for bit.
//
//===----------------------------------------------------------------------===//

#include "Fused.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static Value clip(KernelBuilder &b, Value x, float low, float high) {
  return b.minF(b.maxF(x, b.constF(low)), b.constF(high));
}

/// [N.exp] of t = `clamped` or of t = -`clamped`, which is no NaN. Rounding is symmetric: with -r, every other sign of
/// the polynomial changes, and no bit of its value. `isNormal`: t is within [-87, 88].
static Value expOfClamped(KernelBuilder &b, Value clamped, bool isNegated, bool isNormal) {
  uint32_t flip = isNegated ? 0x80000000u : 0u;
  Value n = b.round(b.mul(clamped, b.constBits(0x3FB8AA3B ^ flip)));
  Value nf = b.toFloat(n);
  Value r = b.fma(nf, b.constBits(0xBF317200 ^ flip), clamped);
  r = b.fma(nf, b.constBits(0xB5BFBE8E ^ flip), r);
  Value y = b.constBits(0x3AB511E8);
  uint32_t sign = 0;
  for (uint32_t coefficient : {0x3C091D10u, 0x3D2AAC79u, 0x3E2AAA49u, 0x3EFFFFFEu, 0x3F800000u, 0x3F800000u}) {
    sign ^= flip;
    y = b.fma(y, r, b.constBits(coefficient ^ sign));
  }
  return kernel::ScaleOp::create(b, b.f32(), y, n, isNormal);
}

/// `y`, or NaN where x is one.
static Value keepNaN(KernelBuilder &b, Value x, Value y) {
  if (b.valuesAreFinite)
    return y;
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, x, x);
  return arith::SelectOp::create(b, isNumber, y, x);
}

Value codegen::emitExp(KernelBuilder &b, Value x) {
  return keepNaN(b, x, expOfClamped(b, clip(b, x, -110.0f, 110.0f), /*isNegated=*/false, /*isNormal=*/false));
}

static Value hardSigmoid(KernelBuilder &b, Value x, float alpha, float beta) {
  return clip(b, b.fma(b.constF(alpha), x, b.constF(beta)), 0.0f, 1.0f);
}

// Below exp(-20), which is less than 2^-25, an exponential that is added to 1 or -1 changes no bit of the sum, so that the
// three below clamp there: neither subnormal numbers, which some CPUs make in microcode, nor factors beside them come up.

/// `a / (1 + exp(-t))` with t = x < -87 ? -87 : x, where a is t if it is not given.
static Value divideByLogistic(KernelBuilder &b, Value x, Value a) {
  Value t = b.maxF(x, b.constF(-87.0f));
  Value e = expOfClamped(b, b.minF(t, b.constF(20.0f)), /*isNegated=*/true, /*isNormal=*/true);
  return b.div(a ? a : t, b.add(keepNaN(b, x, e), b.constF(1.0f)));
}

static Value tanh(KernelBuilder &b, Value x) {
  Value doubled = clip(b, b.mul(x, b.constF(2.0f)), -20.0f, 20.0f);
  Value e = expOfClamped(b, doubled, /*isNegated=*/false, /*isNormal=*/true);
  return b.div(b.sub(e, b.constF(1.0f)), b.add(e, b.constF(1.0f)));
}

static Value elu(KernelBuilder &b, Value x, float alpha) {
  Value e = expOfClamped(b, clip(b, x, -20.0f, 0.0f), /*isNegated=*/false, /*isNormal=*/true);
  return b.selectLess(x, b.constF(0), b.mul(b.constF(alpha), b.sub(e, b.constF(1.0f))), x);
}

Value codegen::emitElementwise(KernelBuilder &b, Operation *op, ValueRange in) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](DequantizeOp) { return in[0]; }) // operands of a body are real values already
      .Case([&](nn::ReluOp) { return b.maxF(in[0], b.constF(0)); })
      .Case([&](nn::ClipOp o) { return clip(b, in[0], o.getMin().convertToFloat(), o.getMax().convertToFloat()); })
      .Case([&](nn::LeakyReluOp o) {
        return b.selectLess(in[0], b.constF(0), b.mul(b.constF(o.getAlpha().convertToFloat()), in[0]), in[0]);
      })
      .Case([&](nn::EluOp o) { return elu(b, in[0], o.getAlpha().convertToFloat()); })
      .Case([&](nn::SigmoidOp) { return divideByLogistic(b, in[0], b.constF(1.0f)); })
      .Case([&](nn::SiluOp) { return divideByLogistic(b, in[0], Value()); })
      .Case([&](nn::TanhOp) { return tanh(b, in[0]); })
      .Case([&](nn::HardSigmoidOp o) {
        return hardSigmoid(b, in[0], o.getAlpha().convertToFloat(), o.getBeta().convertToFloat());
      })
      .Case([&](nn::HardSwishOp) { return b.mul(in[0], hardSigmoid(b, in[0], 1.0f / 6.0f, 0.5f)); })
      .Case([&](nn::ExpOp) { return emitExp(b, in[0]); })
      .Case([&](nn::SqrtOp) { return math::SqrtOp::create(b, in[0]); }) // [N.sqrt]
      .Case([&](nn::NegOp) { return arith::NegFOp::create(b, in[0]); }) // [N.neg]
      .Case([&](nn::AddOp) { return b.add(in[0], in[1]); })             // [N.add], and the three below
      .Case([&](nn::SubOp) { return b.sub(in[0], in[1]); })
      .Case([&](nn::MulOp) { return b.mul(in[0], in[1]); })
      .Case([&](nn::DivOp) { return b.div(in[0], in[1]); })
      .Case([&](nn::FmaOp) { return b.fma(in[0], in[1], in[2]); }) // [N.batch_norm]
      .Default([](Operation *) { return Value(); });
}
