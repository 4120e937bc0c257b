//===- DynamicScales.cpp - scales that a file multiplies sums by ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ONNX's MatMulInteger and ConvInteger give sums of integers, which the file multiplies by the
// product of two scales: that of the input, which is chosen in each run, and a constant of the
// weights. Here both belong to the operands, and the product multiplies by the same number
// ([N.dynamic_product]).
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Numerics/Quantize.h"
#include <cmath>

using namespace mlir;
using namespace octet;
using numerics::QuantParams;
using quant::QuantizedType;

static Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

static bool isNumber(Value value) { return cast<RankedTensorType>(value.getType()).getRank() == 0; }

/// The scale of an operand, and the constants by which the file multiplies it (1 if it does not);
/// missing if `factor` is no such product.
static std::pair<Value, SmallVector<float, 0>> splitFactor(Value factor) {
  factor = skipReshapes(factor);
  if (auto product = factor.getDefiningOp<nn::MulOp>())
    for (auto [scale, other] : {std::pair(product.getLhs(), product.getRhs()),
                                std::pair(product.getRhs(), product.getLhs())}) {
      auto constants = nn::getConstantValues<float>(skipReshapes(other));
      if (succeeded(constants) && isNumber(skipReshapes(scale)))
        return {skipReshapes(scale), std::move(*constants)};
    }
  return isNumber(factor) ? std::pair(factor, SmallVector<float, 0>{1})
                          : std::pair(Value(), SmallVector<float, 0>());
}

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Whether the outputs are the same dimension in both: the last, or a convolution's second.
static bool keepsOutputs(nn::ProductOpInterface product, Value before, Value behind) {
  unsigned numKept = isa<nn::ConvOp>(product) ? 2 : 1;
  ArrayRef<int64_t> from = getShape(before), to = getShape(behind);
  if (from.size() < numKept || to.size() < numKept)
    return false;
  return isa<nn::ConvOp>(product) ? from.take_front(numKept) == to.take_front(numKept)
                                  : from.back() == to.back();
}

/// The multiplication that alone reads the product, past reshapes that keep the outputs.
static nn::MulOp findMul(nn::ProductOpInterface product) {
  Value value = product->getResult(0);
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (auto mul = dyn_cast<nn::MulOp>(user))
      return mul;
    if (!isa<nn::ReshapeOp>(user) || !keepsOutputs(product, value, user->getResult(0)))
      return {};
    value = user->getResult(0);
  }
  return {};
}

/// Whether constants of the shape of `factor` are one for all outputs of `sums`, or one for each.
static bool areOfOutputs(nn::ProductOpInterface product, Value sums, Value factor, size_t count) {
  if (count == 1)
    return true;
  size_t behind = isa<nn::ConvOp>(product) ? getShape(sums).size() - 1 : 1;
  ArrayRef<int64_t> shape = getShape(factor);
  int64_t numOutputs = getShape(product->getOperand(1))[0];
  return (int64_t)count == numOutputs && shape.size() >= behind &&
         shape[shape.size() - behind] == numOutputs;
}

static bool isOne(Value scale) {
  auto values = nn::getConstantValues<float>(scale);
  return succeeded(values) && values->size() == 1 && values->front() == 1;
}

static bool isInFrontOf(Value value, Operation *op) {
  Operation *producer = value.getDefiningOp();
  return !producer || (producer->getBlock() == op->getBlock() && producer->isBeforeInBlock(op));
}

/// `type`, whose scales are 1, with those of the outputs of a linear layer.
static QuantizedType withScales(QuantizedType type, ArrayRef<float> scales) {
  QuantParams params = numerics::getParams(type);
  size_t count = std::max(scales.size(), params.zeroPoints.size());
  params.scales.assign(scales.begin(), scales.end());
  params.scales.resize(count, scales.front());
  params.zeroPoints.resize(count, params.zeroPoints.front());
  params.axis = count > 1 ? 0 : params.axis;
  return numerics::withParams(type, params);
}

/// The input of the product is reshaped and then quantized.
static void reshapeBeforeQuantize(OpBuilder &builder, nn::ProductOpInterface product) {
  auto reshape = product->getOperand(0).getDefiningOp<nn::ReshapeOp>();
  auto held = reshape ? reshape.getInput().getDefiningOp<DequantizeDynamicOp>() : nullptr;
  auto quantize = held ? held.getInput().getDefiningOp<QuantizeDynamicOp>() : nullptr;
  if (!quantize || !isNumber(quantize.getScale()) || !isNumber(held.getScale()))
    return;
  builder.setInsertionPoint(product);
  Location loc = reshape.getLoc();
  auto type = reshape.getResult().getType();
  auto stored = cast<RankedTensorType>(held.getInput().getType()).clone(type.getShape());
  Value x = nn::ReshapeOp::create(builder, loc, type, quantize.getInput());
  Value q = QuantizeDynamicOp::create(builder, loc, stored, x, quantize.getScale(),
                                      quantize.getZeroPoint());
  product->setOperand(
      0, DequantizeDynamicOp::create(builder, loc, type, q, held.getScale(), held.getZeroPoint()));
}

bool octet::takeDynamicScales(OpBuilder &builder, nn::ProductOpInterface product) {
  reshapeBeforeQuantize(builder, product);
  OpOperand *activation = &product->getOpOperand(0), *filter = product.getWeightOperand();
  if (!filter || product.getBiasOperand())
    return false;
  auto input = activation->get().getDefiningOp<DequantizeDynamicOp>();
  auto weights = filter->get().getDefiningOp<DequantizeOp>();
  auto constant = weights ? weights.getInput().getDefiningOp<nn::ConstantOp>() : nullptr;
  nn::MulOp mul = findMul(product);
  if (!input || !constant || !mul || !isOne(input.getScale()))
    return false;
  bool isLeft = skipReshapes(mul.getLhs()) == product->getResult(0);
  Value sums = isLeft ? mul.getLhs() : mul.getRhs(), factor = isLeft ? mul.getRhs() : mul.getLhs();
  auto [scale, constants] = splitFactor(factor);
  auto stored = nn::getConstantValues<int8_t>(weights.getInput());
  auto tensor = cast<RankedTensorType>(weights.getInput().getType());
  auto type = cast<QuantizedType>(tensor.getElementType());
  bool areUnits =
      llvm::all_of(numerics::getParams(type).scales, [](float scale) { return scale == 1; });
  if (!scale || !isInFrontOf(scale, product) || failed(stored) || !areUnits ||
      sums.getType() != mul.getType() || !areOfOutputs(product, sums, factor, constants.size()) ||
      !llvm::all_of(constants, [](float c) { return c > 0 && std::isnormal(c); }))
    return false;
  builder.setInsertionPoint(product);
  Value own = nn::createConstant<int8_t>(builder, constant.getLoc(),
                                         (nn::getConstantName(constant) + ".scaled").str(),
                                         tensor.clone(withScales(type, constants)), *stored);
  filter->set(DequantizeOp::create(builder, constant.getLoc(), weights.getResult().getType(), own));
  activation->set(DequantizeDynamicOp::create(builder, input.getLoc(), input.getResult().getType(),
                                              input.getInput(), scale, input.getZeroPoint()));
  mul.getResult().replaceAllUsesWith(sums);
  mul.erase();
  return true;
}
