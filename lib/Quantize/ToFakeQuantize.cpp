//===- ToFakeQuantize.cpp - pairs of a trained network as fake-quantize ---===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Numerics/Quantize.h"
#include "octet/Quantize/Passes.h"
#include "octet/Support/Constants.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;
using numerics::QuantParams;
using quant::QuantizedType;

namespace octet {
#define GEN_PASS_DEF_TOFAKEQUANTIZEPASS
#include "octet/Quantize/Passes.h.inc"
} // namespace octet

static QuantizedType getQuantizedType(Value quantized) {
  return cast<QuantizedType>(cast<RankedTensorType>(quantized.getType()).getElementType());
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

namespace {
/// A constant that is dequantized.
struct Constant {
  Value source; ///< the constant itself, in floats or integers
  QuantizedType type;
  SmallVector<int64_t, 0> stored;
};
} // namespace

/// Integers of a constant, as they are or as a quantize makes them.
static std::optional<Constant> readConstant(Value quantized) {
  Constant constant{quantized, getQuantizedType(quantized), {}};
  QuantParams params = numerics::getParams(constant.type);
  if (auto storage = quantized.getDefiningOp<quant::StorageCastOp>())
    constant.source = storage.getInput();
  if (auto quantize = quantized.getDefiningOp<QuantizeOp>()) {
    constant.source = quantize.getInput();
    auto values = getConstantValues<float>(constant.source);
    if (failed(values))
      return std::nullopt;
    constant.stored.resize(values->size());
    numerics::forEachElement(
        quantize.getInput().getType().getShape(), params, [&](int64_t i, int64_t channel) {
          constant.stored[i] = numerics::quantize((*values)[i], params, channel);
        });
    return constant;
  }
  bool isUnsigned = !constant.type.isSigned();
  if (auto bytes = getConstantValues<int8_t>(constant.source); succeeded(bytes))
    for (int8_t byte : *bytes)
      constant.stored.push_back(isUnsigned ? (uint8_t)byte : byte);
  else if (auto wide = getConstantValues<int32_t>(constant.source); succeeded(wide))
    constant.stored.assign(wide->begin(), wide->end());
  else
    return std::nullopt;
  return constant;
}

/// Signed bytes with these scales and zero points of 0.
static QuantizedType getSignedBytes(QuantizedType type, QuantParams params) {
  llvm::fill(params.zeroPoints, 0);
  params.low = -128;
  params.high = 127;
  QuantizedType like = quant::UniformQuantizedType::get(quant::QuantizationFlags::Signed,
                                                        IntegerType::get(type.getContext(), 8),
                                                        type.getExpressedType(), 1.0, 0, -128, 127);
  return numerics::withParams(like, params);
}

static bool isSignedByte(int64_t distance) { return distance >= -128 && distance <= 127; }

static bool isCentered(QuantizedType type) {
  return type.isSigned() && llvm::all_of(numerics::getParams(type).zeroPoints,
                                         [](int64_t point) { return point == 0; });
}

/// [N.centered] Signed bytes with zero points of 0 for the same real numbers; the type itself if
/// there are none.
static QuantizedType getCenteredType(const Constant &constant, ArrayRef<int64_t> shape) {
  QuantParams params = numerics::getParams(constant.type);
  bool fits = true;
  numerics::forEachElement(shape, params, [&](int64_t i, int64_t channel) {
    fits &= isSignedByte(constant.stored[i] - params.getZeroPoint(channel));
  });
  return fits ? getSignedBytes(constant.type, params) : constant.type;
}

/// Signed bytes for weights that are not all distances of signed bytes: output channels of which
/// all are keep their scale, others get the least that holds them. Null if scales belong to other
/// channels.
static QuantizedType getWidenedType(const Constant &constant, ArrayRef<int64_t> shape) {
  QuantParams params = numerics::getParams(constant.type), widened = params;
  if (params.axis > 0)
    return {};
  widened.axis = 0;
  widened.scales.assign(shape[0], 0);
  widened.zeroPoints.assign(shape[0], 0);
  int64_t perChannel = constant.stored.size() / std::max<int64_t>(shape[0], 1);
  for (int64_t channel = 0; channel < shape[0]; ++channel) {
    int64_t largest = 127, zeroPoint = params.getZeroPoint(params.axis < 0 ? 0 : channel);
    for (int64_t stored : ArrayRef(constant.stored).slice(channel * perChannel, perChannel))
      if (!isSignedByte(stored - zeroPoint))
        largest = std::max(largest, std::abs(stored - zeroPoint));
    widened.scales[channel] =
        params.getScale(params.axis < 0 ? 0 : channel) * ((float)largest / 127);
  }
  return getSignedBytes(constant.type, widened);
}

/// The real numbers of a dequantized constant and, for bytes, where their range was trained. Null
/// if the constant's dialect makes no others.
static Value makeReals(OpBuilder &builder, DequantizeOp op, const Constant &constant) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  QuantParams params = numerics::getParams(constant.type);
  SmallVector<float, 0> values(constant.stored.size());
  numerics::forEachElement(type.getShape(), params, [&](int64_t i, int64_t channel) {
    values[i] = numerics::dequantize(constant.stored[i], params, channel);
  });
  std::string name = (getConstantName(getConstantElements(constant.source)) + ".f32").str();
  Value reals =
      createConstantLike<float>(builder, op.getLoc(), constant.source, name, type, values);
  if (!reals || constant.type.getStorageTypeIntegralWidth() != 8)
    return reals;
  return FakeQuantizeOp::create(builder, op.getLoc(), type, reals,
                                TypeAttr::get(getCenteredType(constant, type.getShape())));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Says that a quantized value has no place between observers.
static LogicalResult refuse(Operation *op, const Twine &why) {
  return op->emitOpError() << why
                           << Remedy("adopt the network as it is (octet-adopt), without samples");
}

namespace {
struct ToFakeQuantize : octet::impl::ToFakeQuantizePassBase<ToFakeQuantize> {
  void runOnOperation() override {
    OriginPropagation origins;
    OpBuilder builder(&getContext(), &origins);
    dropScalesOfEachRun(builder, origins);
    WalkResult result = getOperation().walk([&](DequantizeOp op) {
      if (!isOwn(op))
        return WalkResult::advance();
      builder.setInsertionPoint(op);
      origins.setSource(getOrigin(op.getOperation()));
      return WalkResult(replace(builder, op));
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    result = getOperation().walk([&](QuantizeOp op) {
      if (!isOwn(op))
        return WalkResult::advance();
      if (!op->use_empty())
        return WalkResult(refuse(*op->user_begin(), "reads integers"));
      op.erase();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    getOperation().walk([](Operation *op) {
      if ((op->hasTrait<OpTrait::ConstantLike>() || isa<quant::StorageCastOp>(op)) &&
          op->use_empty())
        op->erase();
    });
  }

  /// What the file quantizes in each run has no range in it: it is observed as in a float network.
  void dropScalesOfEachRun(OpBuilder &builder, OriginPropagation &origins) {
    SmallVector<nn::ProductOpInterface> products;
    getOperation().walk([&](nn::ProductOpInterface product) {
      if (isOwn(product))
        products.push_back(product);
    });
    for (nn::ProductOpInterface product : products) {
      origins.setSource(getOrigin(product.getOperation()));
      takeDynamicScales(builder, product);
    }
    bool any = false;
    getOperation().walk([&](DequantizeDynamicOp op) {
      auto quantize = op.getInput().getDefiningOp<QuantizeDynamicOp>();
      if (!isOwn(op) || !quantize || quantize.getScale() != op.getScale() ||
          quantize.getZeroPoint() != op.getZeroPoint())
        return;
      op.replaceAllUsesWith(quantize.getInput());
      op.erase();
      any = true;
      ++numDynamic;
    });
    if (!any)
      return;
    // Backwards: the integers, then the scales that they alone have read.
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
      if (isOwn(op) && isOpTriviallyDead(op))
        op->erase();
    });
  }

  /// Modules inside of this one are left to passes of their own.
  bool isOwn(Operation *op) { return op->getParentOfType<ModuleOp>() == getOperation(); }

  LogicalResult replace(OpBuilder &builder, DequantizeOp op) {
    Value source = op.getInput();
    if (std::optional<Constant> constant = readConstant(source)) {
      Value reals = makeReals(builder, op, *constant);
      if (!reals)
        return refuse(op, "reads a constant of a dialect that makes no others");
      readPlainly(op, reals);
      widen(builder, op, reals, *constant);
      finish(op, reals);
      if (reals.use_empty())
        reals.getDefiningOp()->erase();
      ++numConstants;
      return success();
    }
    auto quantize = source.getDefiningOp<QuantizeOp>();
    if (!quantize)
      return refuse(op, "reads integers that no octet.quantize makes");
    if (numerics::getChannelAxis(getQuantizedType(source)) >= 0)
      return refuse(op, "reads an activation with a scale per channel");
    finish(op, round(builder, op, quantize));
    return success();
  }

  /// Parameters of a batch norm are numbers that octet-fuse computes with: they have no range.
  static void readPlainly(DequantizeOp op, Value reals) {
    if (auto trained = reals.getDefiningOp<FakeQuantizeOp>())
      op.getResult().replaceUsesWithIf(trained.getInput(), [](OpOperand &use) {
        return isa<nn::BatchNormOp>(use.getOwner()) && use.getOperandNumber() > 0;
      });
  }

  /// Weights that no product reads as they are get a wider range.
  static void widen(OpBuilder &builder, DequantizeOp op, Value reals, const Constant &constant) {
    auto trained = reals.getDefiningOp<FakeQuantizeOp>();
    auto isWeight = [](OpOperand &use) {
      auto product = dyn_cast<nn::ProductOpInterface>(use.getOwner());
      return product && product.getWeightOperand() == &use;
    };
    if (!trained || isCentered(cast<QuantizedType>(trained.getQuantizedType())) ||
        llvm::none_of(op->getUses(), isWeight))
      return;
    QuantizedType type = getWidenedType(constant, trained.getType().getShape());
    if (!type)
      return;
    Value widened = FakeQuantizeOp::create(builder, op.getLoc(), trained.getType(),
                                           trained.getInput(), TypeAttr::get(type));
    op.getResult().replaceUsesWithIf(widened, isWeight);
  }

  static void finish(DequantizeOp op, Value replacement) {
    op.replaceAllUsesWith(replacement);
    op.erase();
  }

  /// The input of a pair, rounded once, whatever number of pairs there are.
  Value round(OpBuilder &builder, DequantizeOp op, QuantizeOp quantize) {
    Value input = quantize.getInput();
    auto type = TypeAttr::get(getQuantizedType(quantize.getResult()));
    auto isAlike = [&](FakeQuantizeOp other) {
      return other && other.getQuantizedTypeAttr() == type;
    };
    if (auto same = input.getDefiningOp<FakeQuantizeOp>(); isAlike(same))
      return same;
    for (Operation *user : input.getUsers())
      if (auto same = dyn_cast<FakeQuantizeOp>(user); isAlike(same))
        return same;
    ++numValues;
    builder.setInsertionPoint(quantize); // in front of all readers
    return FakeQuantizeOp::create(builder, op.getLoc(), input.getType(), input, type);
  }
};
} // namespace
