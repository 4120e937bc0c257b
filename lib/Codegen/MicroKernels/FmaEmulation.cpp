//===- FmaEmulation.cpp - exact fused multiply-add without hardware -------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The product of two f32 is exact in f64. Their sum with the third operand is rounded to odd in f64
// (inexact results get an odd last bit), so that the final rounding to f32 sees every bit that
// decides: f64 has more than two bits to spare (Boldo and Melquiond, "Emulation of FMA and
// correctly rounded sums", 2008).
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

static Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? VectorType::get(vector.getShape(), element) : element;
}

static Value splatConstant(ImplicitLocOpBuilder &b, Type type, TypedAttr value) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, (Attribute)value));
  return arith::ConstantOp::create(b, value);
}

static Value bitcast(ImplicitLocOpBuilder &b, Type type, Value value) {
  if (isa<VectorType>(type))
    return vector::BitCastOp::create(b, type, value);
  return arith::BitcastOp::create(b, type, value);
}

namespace {
struct EmulateFma : OpRewritePattern<math::FmaOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FmaOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "requires f32");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type f64 = withElement(op.getType(), b.getF64Type()),
         i64 = withElement(op.getType(), b.getI64Type());
    auto widen = [&](Value value) -> Value { return arith::ExtFOp::create(b, f64, value); };
    Value product = arith::MulFOp::create(b, widen(op.getA()), widen(op.getB())),
          addend = widen(op.getC());
    Value sum = arith::AddFOp::create(b, product, addend);
    // Knuth's two-sum: the exact error of the addition.
    Value virtualAddend = arith::SubFOp::create(b, sum, product);
    Value productError =
        arith::SubFOp::create(b, product, arith::SubFOp::create(b, sum, virtualAddend));
    Value addendError = arith::SubFOp::create(b, addend, virtualAddend);
    Value error = arith::AddFOp::create(b, productError, addendError);
    Value odd = roundToOdd(b, sum, error, f64, i64);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), odd);
    return success();
  }

private:
  /// Where the error is not zero and the last bit even: one step from `sum` towards the error.
  static Value roundToOdd(ImplicitLocOpBuilder &b, Value sum, Value error, Type f64, Type i64) {
    Value zero = splatConstant(b, f64, b.getF64FloatAttr(0)),
          zeroBits = splatConstant(b, i64, b.getI64IntegerAttr(0));
    Value one = splatConstant(b, i64, b.getI64IntegerAttr(1)),
          minusOne = splatConstant(b, i64, b.getI64IntegerAttr(-1));
    Value bits = bitcast(b, i64, sum);
    // False for NaN: infinities and NaN pass unchanged.
    Value isInexact = arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, error, zero);
    Value errorIsPositive = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, error, zero);
    Value sumIsPositive = arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, sum, zero);
    Value isAway =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, errorIsPositive, sumIsPositive);
    Value step = arith::SelectOp::create(b, isAway, one, minusOne);
    Value isEven = arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                         arith::AndIOp::create(b, bits, one), zeroBits);
    Value moves = arith::AndIOp::create(b, isInexact, isEven);
    Value moved = arith::AddIOp::create(b, bits, arith::SelectOp::create(b, moves, step, zeroBits));
    return bitcast(b, f64, moved);
  }
};
} // namespace

/// Replaces fused multiply-adds of one type by calls of a function.
static void outline(ArrayRef<math::FmaOp> ops, ModuleOp module, StringRef name, Type type) {
  if (ops.empty())
    return;
  auto b = ImplicitLocOpBuilder::atBlockEnd(UnknownLoc::get(module.getContext()), module.getBody());
  auto function = func::FuncOp::create(b, name, b.getFunctionType({type, type, type}, {type}));
  function.setPrivate();
  b.setInsertionPointToStart(function.addEntryBlock());
  Value result = math::FmaOp::create(b, function.getArgument(0), function.getArgument(1),
                                     function.getArgument(2));
  func::ReturnOp::create(b, result);
  for (math::FmaOp op : ops) {
    OpBuilder builder(op);
    auto call = func::CallOp::create(builder, op.getLoc(), function, op.getOperands());
    op.replaceAllUsesWith(call.getResult(0));
    op.erase();
  }
}

void codegen::outlineFma(ModuleOp module) {
  SmallVector<math::FmaOp> scalars, vectors;
  module.walk([&](math::FmaOp op) {
    if (op.getType().isF32())
      scalars.push_back(op);
    else if (kernel::isVector(op.getType(), 16, 32, /*isFloat=*/true))
      vectors.push_back(op);
  });
  Type f32 = Float32Type::get(module.getContext());
  outline(scalars, module, "fma", f32);
  outline(vectors, module, "fma_lanes", VectorType::get({16}, f32));
}

void codegen::populateFmaEmulation(RewritePatternSet &patterns) {
  patterns.add<EmulateFma>(patterns.getContext());
}
