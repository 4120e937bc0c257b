//===- Decompose.cpp - quantize and dequantize in upstream arithmetic -----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Support/Constants.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;
using numerics::QuantParams;
using quant::QuantizedType;

namespace octet {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "octet/Lower/Passes.h.inc"
} // namespace octet

static bool isQuantized(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<QuantizedType>(tensor.getElementType());
}

/// Quantized tensors as tensors of their storage type; others unchanged.
static Type getStoredType(Type type) {
  if (!isQuantized(type))
    return type;
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(getStorageElementType(tensor.getElementType()));
}

namespace {
/// Writes the arithmetic of one operator.
class Writer {
public:
  Writer(OpBuilder &builder, Location loc, RankedTensorType shape, QuantizedType type)
      : builder(builder), loc(loc), floats(shape.clone(builder.getF32Type())), type(type),
        params(numerics::getParams(type)) {}

  /// clamp(rne(x * f32(1 / scale)) + zero point), as f32. NaN gives the low bound.
  Value quantize(Value x) {
    Value scaled = arith::MulFOp::create(
        builder, loc, x, perChannel([&](int64_t c) { return 1.0f / params.getScale(c); }));
    Value steps = math::RoundEvenOp::create(builder, loc, scaled);
    if (llvm::any_of(params.zeroPoints, [](int32_t z) { return z != 0; }))
      steps = arith::AddFOp::create(builder, loc, steps, perChannel([&](int64_t c) {
                                      return (float)params.getZeroPoint(c);
                                    }));
    Value low = arith::MaxNumFOp::create(builder, loc, steps, splat((float)params.low));
    return arith::MinNumFOp::create(builder, loc, low, splat((float)params.high));
  }

  Value toStorage(Value steps) {
    Type stored = floats.clone(getStorageElementType(type));
    return type.isSigned() ? arith::FPToSIOp::create(builder, loc, stored, steps).getResult()
                           : arith::FPToUIOp::create(builder, loc, stored, steps).getResult();
  }

  Value fromStorage(Value stored) {
    return type.isSigned() ? arith::SIToFPOp::create(builder, loc, floats, stored).getResult()
                           : arith::UIToFPOp::create(builder, loc, floats, stored).getResult();
  }

  /// (q - zero point) * scale of integers as f32, whose difference is exact.
  Value dequantize(Value steps) {
    if (llvm::any_of(params.zeroPoints, [](int32_t z) { return z != 0; }))
      steps = arith::SubFOp::create(builder, loc, steps, perChannel([&](int64_t c) {
                                      return (float)params.getZeroPoint(c);
                                    }));
    return arith::MulFOp::create(builder, loc, steps,
                                 perChannel([&](int64_t c) { return params.getScale(c); }));
  }

private:
  Value splat(float value) {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(floats, value));
  }

  /// A number for each channel, in the shape of the tensor.
  Value perChannel(llvm::function_ref<float(int64_t)> get) {
    int64_t count = params.scales.size();
    SmallVector<float> values;
    for (int64_t c = 0; c < count; ++c)
      values.push_back(get(c));
    if (llvm::all_equal(values))
      return splat(values.front());
    auto vector = RankedTensorType::get({count}, builder.getF32Type());
    Value constant = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(vector, ArrayRef<float>(values)));
    Value empty = tensor::EmptyOp::create(builder, loc, floats.getShape(), builder.getF32Type());
    SmallVector<int64_t> others;
    for (int64_t d = 0; d < floats.getRank(); ++d)
      if (d != params.axis)
        others.push_back(d);
    return linalg::BroadcastOp::create(builder, loc, constant, empty, others).getResult().front();
  }

  OpBuilder &builder;
  Location loc;
  RankedTensorType floats;
  QuantizedType type;
  QuantParams params;
};

/// Rewrites one function.
class Decomposer {
public:
  explicit Decomposer(func::FuncOp function)
      : function(function), builder(function.getContext(), &origins) {}

  /// Fails, with an error emitted, where an operator is left on quantized values.
  LogicalResult check();
  int64_t run();

private:
  void replace(Operation *op);
  Value rewrite(QuantizeOp op);
  Value rewrite(DequantizeOp op);
  Value rewrite(FakeQuantizeOp op);
  void storeConstant(Operation *op);
  void storeSignature();

  func::FuncOp function;
  OriginPropagation origins;
  OpBuilder builder;
  /// Of the operands of octet.dequantize, which become integers before it is rewritten.
  DenseMap<Operation *, QuantizedType> types;
};
} // namespace

/// Whether f32 holds every integer of the type, so that clamps and differences in f32 are exact.
static bool fitsFloat(QuantizedType type) {
  return type.getStorageTypeMax() <= (1 << 24) && type.getStorageTypeMin() >= -(1 << 24);
}

/// The quantized type whose integers the operator computes with in f32; null if it has none.
static QuantizedType getComputedType(Operation *op) {
  if (auto fake = dyn_cast<FakeQuantizeOp>(op))
    return cast<QuantizedType>(fake.getQuantizedType());
  if (auto quantize = dyn_cast<QuantizeOp>(op))
    return cast<QuantizedType>(quantize.getResult().getType().getElementType());
  auto dequantize = dyn_cast<DequantizeOp>(op);
  if (!dequantize)
    return {};
  auto type = cast<QuantizedType>(dequantize.getInput().getType().getElementType());
  auto isZero = [](int32_t zeroPoint) { return zeroPoint == 0; };
  return llvm::all_of(numerics::getParams(type).zeroPoints, isZero) ? QuantizedType() : type;
}

/// Whether an operator of another kind has operands or results that are quantized.
static bool isLeftOver(Operation *op) {
  if (isa<QuantizeOp, DequantizeOp, FakeQuantizeOp, func::FuncOp, quant::StorageCastOp>(op) ||
      op->hasTrait<OpTrait::ReturnLike>() || op->hasTrait<OpTrait::ConstantLike>())
    return false;
  return llvm::any_of(op->getOperandTypes(), isQuantized) ||
         llvm::any_of(op->getResultTypes(), isQuantized);
}

LogicalResult Decomposer::check() {
  WalkResult result = function.walk([&](Operation *op) {
    QuantizedType type = getComputedType(op);
    if (type && !fitsFloat(type)) {
      op->emitOpError("expected integers that f32 holds, but got ")
          << type << Remedy("quantize to 24 bits at most");
      return WalkResult::interrupt();
    }
    if (isa<QuantizeOp, DequantizeOp, FakeQuantizeOp>(op) &&
        !cast<RankedTensorType>(op->getOperand(0).getType()).hasStaticShape()) {
      op->emitOpError("expected a static shape, but got ")
          << op->getOperand(0).getType() << Remedy("give the network sizes first");
      return WalkResult::interrupt();
    }
    if (!isLeftOver(op))
      return WalkResult::advance();
    op->emitOpError("takes or gives quantized values")
        << Remedy("run octet-decompose in front of octet-lower");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

int64_t Decomposer::run() {
  function.walk([&](DequantizeOp op) {
    types[op] = cast<QuantizedType>(op.getInput().getType().getElementType());
  });
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<QuantizeOp, DequantizeOp, FakeQuantizeOp>(op))
      ops.push_back(op);
    else if (op->getNumResults() == 1 && isQuantized(op->getResult(0).getType()))
      storeConstant(op);
  });
  storeSignature();
  for (Operation *op : ops)
    replace(op);
  return ops.size();
}

void Decomposer::replace(Operation *op) {
  origins.setSource(getOrigin(op));
  builder.setInsertionPoint(op);
  Value value =
      llvm::TypeSwitch<Operation *, Value>(op).Case<QuantizeOp, DequantizeOp, FakeQuantizeOp>(
          [&](auto op) { return rewrite(op); });
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
}

Value Decomposer::rewrite(QuantizeOp op) {
  RankedTensorType result = op.getResult().getType();
  Writer writer(builder, op.getLoc(), result, cast<QuantizedType>(result.getElementType()));
  return writer.toStorage(writer.quantize(op.getInput()));
}

Value Decomposer::rewrite(DequantizeOp op) {
  Writer writer(builder, op.getLoc(), cast<RankedTensorType>(op.getResult().getType()), types[op]);
  return writer.dequantize(writer.fromStorage(op.getInput()));
}

Value Decomposer::rewrite(FakeQuantizeOp op) {
  Writer writer(builder, op.getLoc(), cast<RankedTensorType>(op.getResult().getType()),
                cast<QuantizedType>(op.getQuantizedType()));
  return writer.dequantize(writer.quantize(op.getInput()));
}

/// Constants hold storage values already; a cast says so of another dialect's.
void Decomposer::storeConstant(Operation *op) {
  Value stored;
  if (auto storage = dyn_cast<quant::StorageCastOp>(op)) {
    stored = storage.getInput();
  } else {
    builder.setInsertionPoint(op);
    auto elements = cast<TypedAttr>(getConstantElements(op->getResult(0)));
    stored = arith::ConstantOp::create(builder, op->getLoc(), elements);
  }
  op->getResult(0).replaceAllUsesWith(stored);
  op->erase();
}

void Decomposer::storeSignature() {
  auto store = [](Value value) { value.setType(getStoredType(value.getType())); };
  for (Block &block : function.getFunctionBody())
    llvm::for_each(block.getArguments(), store);
  FunctionType type = function.getFunctionType();
  function.setFunctionType(
      FunctionType::get(function.getContext(), llvm::map_to_vector(type.getInputs(), getStoredType),
                        llvm::map_to_vector(type.getResults(), getStoredType)));
}

namespace {
struct Decompose : octet::impl::DecomposePassBase<Decompose> {
  void runOnOperation() override {
    Decomposer decomposer(getOperation());
    if (failed(decomposer.check()))
      return signalPassFailure();
    numDecomposed += decomposer.run();
  }
};
} // namespace
