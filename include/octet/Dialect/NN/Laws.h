//===- Laws.h - the float laws of element-wise nn ops -----------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each law of docs/numerics.md, section 4, "Element by element", once, over an arithmetic A
// (octet/Numerics/Arithmetic.h): numbers of the compiler, emitted code, bounds, depth. Formulas
// give the bits of the page; some are reordered, or clamp where no bit changes, to be faster.
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_LAWS_H
#define OCTET_DIALECT_NN_LAWS_H

#include "octet/Dialect/NN/Formulas.h"
#include "octet/Dialect/NN/LawOf.h"

namespace octet::nn {

//===----------------------------------------------------------------------===//
// The laws: of an op whose operands are `x`
//===----------------------------------------------------------------------===//

/// [N.relu]
template <typename A> Real<A> law(A &a, ReluOp, Reals<A> x) { return a.max(x[0], a.real(0)); }

/// [N.clip]
template <typename A> Real<A> law(A &a, ClipOp op, Reals<A> x) {
  return clip(a, x[0], op.getMin().convertToFloat(), op.getMax().convertToFloat());
}

/// [N.leaky_relu]
template <typename A> Real<A> law(A &a, LeakyReluOp op, Reals<A> x) {
  return a.selectLess(x[0], a.real(0), a.mul(a.real(op.getAlpha().convertToFloat()), x[0]), x[0]);
}

/// [N.elu]
template <typename A> Real<A> law(A &a, EluOp op, Reals<A> x) {
  Real<A> alpha = a.real(op.getAlpha().convertToFloat());
  return a.selectLess(x[0], a.real(0), a.mul(alpha, expMinusOne(a, x[0], 0.0f)), x[0]);
}

/// [N.sigmoid]
template <typename A> Real<A> law(A &a, SigmoidOp, Reals<A> x) {
  return divideByLogistic<A>(a, x[0], a.real(1.0f));
}

/// [N.silu], [N.coarse]
template <typename A> Real<A> law(A &a, SiluOp op, Reals<A> x) {
  return op.getCoarse() ? coarseSilu(a, x[0]) : divideByLogistic(a, x[0]);
}

/// [N.tanh]
template <typename A> Real<A> law(A &a, TanhOp, Reals<A> x) { return tanh(a, x[0]); }

/// [N.hard_sigmoid]
template <typename A> Real<A> law(A &a, HardSigmoidOp op, Reals<A> x) {
  return hardSigmoid(a, x[0], op.getAlpha().convertToFloat(), op.getBeta().convertToFloat());
}

/// [N.hard_swish] Clamped from above first, which changes no number: LLVM has fewer instructions.
template <typename A> Real<A> law(A &a, HardSwishOp, Reals<A> x) {
  Real<A> sum = a.fma(a.real(1.0f / 6.0f), x[0], a.real(0.5f));
  return a.mul(x[0], a.max(a.min(sum, a.real(1.0f)), a.real(0)));
}

/// [N.exp], [N.coarse]
template <typename A> Real<A> law(A &a, ExpOp op, Reals<A> x) {
  bool isSmall = isAtMostZero(op.getInput());
  return op.getCoarse() ? coarseExp(a, x[0], isSmall) : exp(a, x[0], isSmall);
}

/// [N.erf]
template <typename A> Real<A> law(A &a, ErfOp, Reals<A> x) { return erf(a, x[0]); }

/// [N.softplus] max(x, 0) + log(1 + e) with e = exp(-|x|): the logarithm as e + e^2 * P(e).
template <typename A> Real<A> law(A &a, SoftplusOp, Reals<A> operands) {
  return a.monotone(operands[0], [](auto &a, auto x) {
    auto magnitude = a.min(a.max(x, a.neg(x)), a.real(86.0f));
    auto e = expOfClamped(a, magnitude, /*isNegated=*/true);
    auto p = polynomial(a, e, 0xBB57A4E7,
                        {0x3CA48BE7, 0xBD6B5846, 0x3DDA5704, 0xBE1D21AF, 0x3E49A5AA, 0xBE7F91F3,
                         0x3EAAA6E8, 0xBEFFFFE9});
    auto logarithm = a.fma(a.mul(e, p), e, e);
    return a.keepNaN(x, a.add(a.max(x, a.real(0)), logarithm));
  });
}

/// [N.gelu] max(x, 0) + v * T(v) with v = -|x| and T(v) = (1 + erf(v / sqrt(2))) / 2 as 2^Q(v), by
/// its whole part and a polynomial of the rest; it is less than 2^-27 up to -5.8.
template <typename A> Real<A> geluOfErf(A &a, Real<A> x) {
  Real<A> positive = a.max(x, a.real(0)), v = a.max(a.min(a.neg(positive), x), a.real(-5.8f));
  Real<A> tail = a.monotone(v, [](auto &a, auto v) {
    auto q = polynomial(a, v, 0x380ACBC8,
                        {0x3A49A493, 0x3C0464C3, 0x3D5AC68B, 0xBEEAE40B, 0x3F935A93, 0xBF7FFF8C});
    auto n = a.round(q);
    auto t = polynomial(a, a.sub(q, a.toReal(n)), 0x3AAE046E,
                        {0x3C1E8629, 0x3D635B73, 0x3E75FC8C, 0x3F317214, 0x3F800001});
    return a.scale(t, n);
  });
  return a.keepNaN(x, a.fma(v, tail, positive));
}

/// [N.gelu] 1 + tanh(u) is 2 / (1 + exp(-2 u)), precise where small: less than 2^-100 below -10.
template <typename A> Real<A> law(A &a, GeluOp op, Reals<A> operands) {
  if (op.getCoarse())
    return coarseGelu(a, operands[0], op.getForm());
  if (op.getForm() == GeluForm::none)
    return geluOfErf(a, operands[0]);
  Real<A> x = operands[0], t = a.max(x, a.real(-10.0f));
  Real<A> twice = a.mul(t, a.fma(a.mul(t, t), a.bits(0x3D922279), a.bits(0x3FCC422A)));
  return divideByLogistic<A>(a, a.keepNaN(x, twice), t);
}

/// [N.thresholded_relu]
template <typename A> Real<A> law(A &a, ThresholdedReluOp op, Reals<A> x) {
  return a.selectLess(a.real(op.getAlpha().convertToFloat()), x[0], x[0], a.real(0));
}

/// [N.abs], [N.sign]
template <typename A> Real<A> law(A &a, AbsOp, Reals<A> x) { return magnitude(a, x[0]); }
template <typename A> Real<A> law(A &a, SignOp, Reals<A> operands) {
  return a.monotone(operands[0], [](auto &a, auto x) {
    auto notNegative = a.selectLess(a.real(0), x, a.real(1.0f), x);
    return a.selectLess(x, a.real(0), a.real(-1.0f), notNegative);
  });
}

/// [N.round] and its like
template <typename A> Real<A> law(A &a, RoundOp, Reals<A> x) { return nearestInteger(a, x[0]); }
template <typename A> Real<A> law(A &a, FloorOp, Reals<A> operands) {
  return a.monotone(operands[0], [](auto &a, auto x) {
    auto n = nearestInteger(a, x);
    return a.selectLess(x, n, a.sub(n, a.real(1.0f)), n);
  });
}
template <typename A> Real<A> law(A &a, CeilOp, Reals<A> operands) {
  return a.monotone(operands[0], [](auto &a, auto x) {
    auto n = nearestInteger(a, x);
    return a.selectLess(n, x, a.add(n, a.real(1.0f)), n);
  });
}

/// [N.log], [N.sin], [N.atan]
template <typename A> Real<A> law(A &a, LogOp, Reals<A> x) { return log(a, x[0]); }
template <typename A> Real<A> law(A &a, SinOp, Reals<A> x) { return sine(a, x[0], 0.0f); }
template <typename A> Real<A> law(A &a, CosOp, Reals<A> x) { return sine(a, x[0], 0.5f); }
template <typename A> Real<A> law(A &a, AtanOp, Reals<A> x) { return atan(a, x[0]); }

/// [N.sqrt], [N.neg]
template <typename A> Real<A> law(A &a, SqrtOp, Reals<A> x) { return a.sqrt(x[0]); }
template <typename A> Real<A> law(A &a, NegOp, Reals<A> x) { return a.neg(x[0]); }

/// [N.add] and its like; [N.batch_norm]
template <typename A> Real<A> law(A &a, AddOp, Reals<A> x) { return a.add(x[0], x[1]); }
template <typename A> Real<A> law(A &a, SubOp, Reals<A> x) { return a.sub(x[0], x[1]); }
template <typename A> Real<A> law(A &a, MulOp, Reals<A> x) { return a.mul(x[0], x[1]); }
template <typename A> Real<A> law(A &a, DivOp, Reals<A> x) { return a.div(x[0], x[1]); }

/// [N.max]
template <typename A> Real<A> larger(A &a, Real<A> x, Real<A> y) {
  return a.keepNaN(x, a.max(x, y));
}
template <typename A> Real<A> lesser(A &a, Real<A> x, Real<A> y) {
  return a.keepNaN(x, a.min(x, y));
}
template <typename A> Real<A> law(A &a, MaxOp, Reals<A> x) { return larger<A>(a, x[0], x[1]); }
template <typename A> Real<A> law(A &a, MinOp, Reals<A> x) { return lesser<A>(a, x[0], x[1]); }

/// The combination of two real numbers; for integers see IntegerLaws.h.
template <typename A> Real<A> combine(A &a, Combination combination, Real<A> x, Real<A> y) {
  switch (combination) {
  case Combination::replace:
    return y;
  case Combination::sum:
    return a.add(x, y);
  case Combination::product:
    return a.mul(x, y);
  case Combination::max:
    return larger<A>(a, x, y);
  case Combination::min:
    return lesser<A>(a, x, y);
  }
  llvm_unreachable("all combinations are above");
}

/// [N.half] Between floats, which all are f32.
template <typename A> Real<A> law(A &, CastOp, Reals<A> x) { return x[0]; }

/// [N.leaky_relu]
template <typename A> Real<A> law(A &a, PreluOp, Reals<A> x) {
  return a.selectLess(x[0], a.real(0), a.mul(x[1], x[0]), x[0]);
}

/// [N.pow] Of a negative number by whether the exponent is an integer, and an odd one.
template <typename A> Real<A> law(A &a, PowOp, Reals<A> operands) {
  Real<A> x = operands[0], y = operands[1], zero = a.real(0), half = a.mul(y, a.real(0.5f));
  auto isFraction = [&](Real<A> value, Real<A> yes, Real<A> no) {
    Real<A> rest = magnitude(a, a.sub(value, nearestInteger(a, value)));
    return a.selectLess(zero, rest, yes, no);
  };
  Real<A> power = exp(a, a.mul(y, log(a, magnitude(a, x))));
  Real<A> odd = isFraction(y, a.bits(0x7FC00000), isFraction(half, a.neg(power), power));
  Real<A> result = a.selectLess(x, zero, odd, power);
  return a.keepNaN(y, a.selectLess(zero, magnitude(a, y), result, a.real(1.0f)));
}

template <typename A> Real<A> law(A &a, FmaOp, Reals<A> x) { return a.fma(x[0], x[1], x[2]); }

//===----------------------------------------------------------------------===//
// The law of any op
//===----------------------------------------------------------------------===//

/// The result of the law of `op` for `operands`; nothing if the op has no law.
template <typename A>
std::optional<Real<A>> applyLaw(A &a, mlir::Operation *op, Reals<A> operands) {
  auto lawOf = [&a](auto typed, Reals<A> x) -> decltype(law(a, typed, x)) {
    return law(a, typed, x);
  };
  return applyLawOf<Real<A>>(lawOf, op, operands);
}

} // namespace octet::nn

#endif // OCTET_DIALECT_NN_LAWS_H
