//===- DynamicScale.cpp - quantizing by a scale that is a value -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DynamicScale.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

/// What a value is quantized by, in all lanes.
static QuantizeOperands splat(KernelBuilder &b, QuantizeOperands by) {
  for (Value *part : {&by.scale, &by.zeroPoint, &by.low, &by.high})
    *part = b.splat(*part);
  if (by.reciprocal.first)
    by.reciprocal = {b.splat(by.reciprocal.first), b.splat(by.reciprocal.second)};
  return by;
}

/// Whether reciprocals in two parts take the place of a division (quantizeBy).
static Value fitsReciprocals(KernelBuilder &b, const QuantizeOperands &by) {
  auto isTrue = [&](arith::CmpFPredicate predicate, float bound) -> Value {
    return arith::CmpFOp::create(b, predicate, by.scale, b.constF(bound));
  };
  auto isWithin = [&](arith::CmpIPredicate predicate, Value bound) -> Value {
    return arith::CmpIOp::create(b, predicate, by.zeroPoint, bound);
  };
  Value fits = isTrue(arith::CmpFPredicate::OGE, 0x1p-80f);
  for (Value other :
       {isTrue(arith::CmpFPredicate::OLE, 0x1p80f), isWithin(arith::CmpIPredicate::sge, by.low),
        isWithin(arith::CmpIPredicate::sle, by.high)})
    fits = arith::AndIOp::create(b, fits, other);
  return fits;
}

/// numerics::reciprocalRest, and what it is the rest of.
static std::pair<Value, Value> getReciprocal(KernelBuilder &b, Value scale) {
  Value one = arith::ConstantOp::create(b, b.getF64FloatAttr(1));
  auto wide = [&](Value x) -> Value { return arith::ExtFOp::create(b, b.getF64Type(), x); };
  Value near = b.div(b.constF(1), scale), rest = b.sub(b.div(one, wide(scale)), wide(near));
  return {near, arith::TruncFOp::create(b, b.getF32Type(), rest)};
}

void codegen::emitByScale(KernelBuilder &b, const QuantParams &params, Value scale, Value zeroPoint,
                          bool inVectors, llvm::function_ref<void(QuantizeFn)> emitLoops) {
  QuantizeOperands by;
  by.scale = scale;
  by.zeroPoint = b.add(zeroPoint, b.constI(params.zeroPoints[0]));
  by.low = b.constI(params.low);
  by.high = b.constI(params.high);
  auto emitWith = [&] { emitLoops([&](Value real) { return quantizeBy(b, real, splat(b, by)); }); };
  if (!inVectors || !b.level.hasFma || params.high - params.low > 255)
    return emitWith();
  auto branch = scf::IfOp::create(b, fitsReciprocals(b, by), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  emitWith();
  b.setInsertionPointToStart(branch.thenBlock());
  by.isWord = true;
  by.reciprocal = getReciprocal(b, by.scale);
  emitWith();
}
