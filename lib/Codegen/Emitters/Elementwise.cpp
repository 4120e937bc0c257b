//===- Elementwise.cpp - element-wise ops by the float laws ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The laws (octet/Dialect/NN/Laws.h) as code, and what Codegen must know of that code beforehand.
//
//===----------------------------------------------------------------------===//

#include "EpilogueBounds.h"
#include "octet/Dialect/NN/IntegerLaws.h"
#include "octet/Numerics/Quantize.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

namespace {
/// Values of one or of sixteen lanes, computed where the builder stands.
struct EmitArithmetic {
  using Real = Value;
  using Integer = Value;

  Value real(float value) { return b.constF(value); }
  Value bits(uint32_t bits) { return b.constBits(bits); }
  Value add(Value x, Value y) { return b.add(x, y); }
  Value sub(Value x, Value y) { return b.sub(x, y); }
  Value mul(Value x, Value y) { return b.mul(x, y); }
  Value div(Value x, Value y) { return b.div(x, y); }
  Value fma(Value x, Value y, Value z) { return b.fma(x, y, z); }
  Value sqrt(Value x) { return math::SqrtOp::create(b, x); }
  Value neg(Value x) { return arith::NegFOp::create(b, x); }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value max(Value x, Value y) { return b.maxF(x, y); }
  Value min(Value x, Value y) { return b.minF(x, y); }
  Value selectLess(Value x, Value y, Value yes, Value no) { return b.selectLess(x, y, yes, no); }
  /// Exponents: small integers. By an addition they come with the bits of the middle, 1.5 * 2^23,
  /// that shifting into an exponent drops.
  Value round(Value x) {
    return convertsByAdding() ? b.bitcast(b.add(x, b.constF(b.kMiddle)), b.getI32Type())
                              : b.round(x);
  }
  Value toReal(Value n) {
    return convertsByAdding() ? b.sub(b.bitcast(n, b.getF32Type()), b.constF(b.kMiddle))
                              : b.toFloat(n);
  }
  Value scale(Value x, Value n) { return kernel::ScaleOp::create(b, b.f32(), x, n); }
  Value keepNaN(Value x, Value y) {
    if (b.valuesAreFinite)
      return y;
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, x, x);
    return arith::SelectOp::create(b, isNumber, y, x);
  }
  template <typename Function> Value monotone(Value x, Function function, float = 0) {
    return function(*this, x);
  }
  template <typename Function> Value near(Value, float, Function function) { return function(); }

  KernelBuilder &b;

private:
  bool convertsByAdding() const { return b.level.convertsByAdding && b.lanes > 1; }
};

/// The same for the laws of integers: f32, i64 and i1.
struct EmitIntegers {
  using Number = Value;

  Value real(float value) { return b.constF(value); }
  Value integer(int64_t value) { return constant(b.getI64IntegerAttr(value)); }
  Value allOnes(Value x) {
    return constant(b.getIntegerAttr(getElementTypeOrSelf(x.getType()), -1));
  }
  Value add(Value x, Value y) { return b.add(x, y); }
  Value sub(Value x, Value y) { return b.sub(x, y); }
  Value mul(Value x, Value y) { return b.mul(x, y); }
  Value divide(Value x, Value y) { return arith::DivSIOp::create(b, x, y); }
  Value both(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value other(Value x, Value y) { return arith::XOrIOp::create(b, x, y); }
  Value shiftLeft(Value x, Value y) { return arith::ShLIOp::create(b, x, y); }
  Value shiftRight(Value x, Value y) { return arith::ShRSIOp::create(b, x, y); }
  Value equal(Value x, Value y) {
    return compare(x, y, arith::CmpFPredicate::OEQ, arith::CmpIPredicate::eq);
  }
  Value less(Value x, Value y) {
    bool isTruth = getElementTypeOrSelf(x.getType()).isInteger(1);
    return compare(x, y, arith::CmpFPredicate::OLT,
                   isTruth ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(b, condition, yes, no);
  }
  Value toReal(Value x) { return b.toFloat(x); }
  Value toInteger(Value x) { return arith::FPToSIOp::create(b, b.ofLanes(b.getI64Type()), x); }

  KernelBuilder &b;

private:
  Value constant(TypedAttr value) { return b.splat(arith::ConstantOp::create(b, value)); }
  Value compare(Value x, Value y, arith::CmpFPredicate ofReals, arith::CmpIPredicate ofIntegers) {
    if (isa<FloatType>(getElementTypeOrSelf(x.getType())))
      return arith::CmpFOp::create(b, ofReals, x, y);
    return arith::CmpIOp::create(b, ofIntegers, x, y);
  }
};
} // namespace

/// [N.quantize] and [N.dequantize] of a value between operators, in registers.
static Value emitRounding(KernelBuilder &b, const QuantParams &params, Value value) {
  Value scale = b.constF(params.scales[0]);
  if (!b.valuesAreFinite) {
    Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, value, value);
    value = arith::SelectOp::create(b, isNumber, value, b.constF(0));
  }
  bool multiplies = b.level.hasFma && hasReciprocals(params);
  Value quotient = multiplies
                       ? b.mulReciprocal(value, b.constF(1 / params.scales[0]),
                                         b.constF(numerics::reciprocalRest(params.scales[0])))
                       : b.div(value, scale);
  quotient = b.minNumber(b.maxNumber(quotient, b.constF(params.low - params.zeroPoints[0])),
                         b.constF(params.high - params.zeroPoints[0]));
  if (!b.level.hasFma)
    return b.mul(b.toFloat(b.round(quotient)), scale);
  // Rounding keeps the sign of a zero, which adding zero takes away.
  return b.fma(math::RoundEvenOp::create(b, quotient), scale, b.constF(0));
}

/// What a value is behind a quantize and a dequantize of these parameters.
static Value round(EmitArithmetic &arithmetic, const QuantParams &params, Value value) {
  return emitRounding(arithmetic.b, params, value);
}
static Interval round(numerics::IntervalArithmetic &, const QuantParams &params, Interval value) {
  if (!value.isBounded())
    return value;
  return {numerics::dequantize(params.low, params, 0),
          numerics::dequantize(params.high, params, 0)};
}
static int round(numerics::DepthArithmetic &, const QuantParams &, int value) { return value + 6; }

/// One op of a body; its operands are real values already, dequantized ones, too.
template <typename A>
static std::optional<nn::Real<A>> apply(A &arithmetic, Operation *op, nn::Reals<A> operands) {
  if (isa<DequantizeOp>(op))
    return operands.front();
  if (isa<QuantizeOp>(op))
    return round(arithmetic, paramsOf(op->getResult(0)), operands.front());
  if (nn::isOfReals(op))
    return nn::applyLaw(arithmetic, op, operands);
  if constexpr (std::is_same_v<A, EmitArithmetic>) {
    EmitIntegers integers{arithmetic.b};
    return nn::applyIntegerLaw(integers, op, operands);
  }
  return std::nullopt; // their values have neither bounds nor depth
}

/// The value that the body yields, from those of the product and of the outer inputs; `unknown`
/// stands for inputs that are not among them and for results of ops without a law.
template <typename A>
static nn::Real<A> applyBody(A &arithmetic, const FusedOp &fused,
                             llvm::DenseMap<Value, nn::Real<A>> known, nn::Real<A> unknown) {
  for (Operation *op : fused.body) {
    auto operands = llvm::map_to_vector(
        op->getOperands(), [&](Value operand) { return known.lookup_or(operand, unknown); });
    known[op->getResult(0)] = apply<A>(arithmetic, op, operands).value_or(unknown);
  }
  return known.lookup_or(fused.yielded, unknown);
}

Value codegen::emitExpOfSmall(KernelBuilder &b, Value x) {
  EmitArithmetic arithmetic{b};
  return nn::exp(arithmetic, x, /*isSmall=*/true);
}

Value codegen::emitElementwise(KernelBuilder &b, Operation *op, ValueRange operands) {
  EmitArithmetic arithmetic{b};
  return apply<EmitArithmetic>(arithmetic, op, llvm::to_vector(operands)).value_or(Value());
}

Value codegen::emitCombination(KernelBuilder &b, nn::Combination combination, Value x, Value y) {
  EmitArithmetic reals{b};
  EmitIntegers integers{b};
  return isa<FloatType>(getElementTypeOrSelf(x.getType()))
             ? nn::combine(reals, combination, x, y)
             : nn::combineIntegers(integers, combination, x, y);
}

Value codegen::emitBody(KernelBuilder &b, const FusedOp &fused,
                        llvm::DenseMap<Value, Value> known) {
  EmitArithmetic arithmetic{b};
  return applyBody(arithmetic, fused, std::move(known), Value());
}

Interval codegen::getBodyRange(const FusedOp &fused,
                               const llvm::DenseMap<Value, Interval> &ranges) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  numerics::IntervalArithmetic arithmetic;
  return applyBody(arithmetic, fused, ranges, {-kInfinity, kInfinity});
}

bool codegen::hasLongChain(const FusedOp &fused) {
  constexpr int kLong = 8;
  numerics::DepthArithmetic arithmetic;
  return llvm::any_of(fused.body, [&](Operation *op) {
    SmallVector<int> operands(op->getNumOperands(), 0);
    return apply<numerics::DepthArithmetic>(arithmetic, op, operands).value_or(0) > kLong;
  });
}
