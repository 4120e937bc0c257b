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

Value codegen::emitExp(KernelBuilder &b, Value x, float lowest) {
  Value clamped = b.minF(b.maxF(x, b.constF(lowest)), b.constF(110.0f));
  Value n = b.round(b.mul(clamped, b.constBits(0x3FB8AA3B)));
  Value nf = b.toFloat(n);
  Value r = b.fma(nf, b.constBits(0xBF317200), clamped);
  r = b.fma(nf, b.constBits(0xB5BFBE8E), r);
  Value p = b.constBits(0x39506967);
  for (uint32_t coefficient : {0x3AB743CEu, 0x3C088908u, 0x3D2AA9C1u, 0x3E2AAAAAu, 0x3F000000u})
    p = b.fma(p, r, b.constBits(coefficient));
  Value y = b.add(b.fma(p, b.mul(r, r), r), b.constF(1.0f));
  y = kernel::ScaleOp::create(b, b.f32(), y, n);
  if (b.valuesAreFinite)
    return y;
  Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, x, x);
  return arith::SelectOp::create(b, isNumber, y, x);
}

static Value clip(KernelBuilder &b, Value x, float low, float high) {
  return b.minF(b.maxF(x, b.constF(low)), b.constF(high));
}

static Value hardSigmoid(KernelBuilder &b, Value x, float alpha, float beta) {
  return clip(b, b.fma(b.constF(alpha), x, b.constF(beta)), 0.0f, 1.0f);
}

/// exp(x) where it is added to 1 or -1: below exp(-20), which is less than 2^-25, it changes no bit of the sum. Subnormal
/// numbers, which some CPUs make in microcode, do not come up.
static Value emitExpBesideOne(KernelBuilder &b, Value x) { return emitExp(b, x, -20.0f); }

/// 1 + exp(-x), the divisor of sigmoid and silu.
static Value onePlusExpOfNegated(KernelBuilder &b, Value x) {
  return b.add(emitExpBesideOne(b, arith::NegFOp::create(b, x)), b.constF(1.0f));
}

static Value tanh(KernelBuilder &b, Value x) {
  Value e = emitExp(b, clip(b, b.mul(x, b.constF(2.0f)), -20.0f, 20.0f));
  return b.div(b.sub(e, b.constF(1.0f)), b.add(e, b.constF(1.0f)));
}

static Value elu(KernelBuilder &b, Value x, float alpha) {
  Value negative = b.mul(b.constF(alpha), b.sub(emitExpBesideOne(b, x), b.constF(1.0f)));
  return b.selectLess(x, b.constF(0), negative, x);
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
      .Case([&](nn::SigmoidOp) { return b.div(b.constF(1.0f), onePlusExpOfNegated(b, in[0])); })
      .Case([&](nn::SiluOp) { return b.div(in[0], onePlusExpOfNegated(b, in[0])); })
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
      .Default([](Operation *) { return Value(); });
}
