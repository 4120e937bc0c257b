//===- StoredWeights.cpp - weights in few bits, as kernels read them ------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator that computes with floats may read weights in fewer bits. Where Kernels.def has a
// kernel for that, the operator and its octet.dequantize_weights become one group, which stays
// until code generation; in front of all other operators the weights become f32.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using quant::QuantizedType;

/// Whether the kernels of the reader take such weights in this place: a table whose rows are looked
/// up.
static bool isTaken(OpOperand &use, RankedTensorType weights) {
  auto gather = dyn_cast<nn::GatherOp>(use.getOwner());
  return weights.getRank() == 2 && (!gather || gather.getAxis() == 0) &&
         kernel::readsStored(use, weights.getElementType());
}

static bool isStoredConstant(Value value) {
  return !value || value.getDefiningOp<nn::ConstantOp>();
}

/// One scale and zero point of each element, or of each index of an axis, as tensors.
static DequantizeWeightsOp withOperands(DequantizeOp op, OpBuilder &builder) {
  auto constant = op.getInput().getDefiningOp<nn::ConstantOp>();
  auto type = op.getResult().getType();
  QuantizedType quantized = getQuantizedType(op.getInput());
  numerics::QuantParams params = numerics::getParams(quantized);
  SmallVector<int64_t> shape(type.getRank(), 1);
  if (params.axis >= 0)
    shape[params.axis] = params.scales.size();
  SmallVector<float> zeroPoints(params.zeroPoints.begin(), params.zeroPoints.end());
  auto integer =
      IntegerType::get(op.getContext(), quantized.getStorageTypeIntegralWidth(),
                       quantized.isSigned() ? IntegerType::Signed : IntegerType::Unsigned);
  std::string name = nn::getConstantName(constant).str();
  auto parameter = [&](StringRef suffix, ArrayRef<float> values) {
    auto tensor = RankedTensorType::get(shape, builder.getF32Type());
    return nn::createConstant<float>(builder, op.getLoc(), name + suffix.str(), tensor, values);
  };
  Value weights = nn::ConstantOp::create(
      builder, op.getLoc(), RankedTensorType::get(type.getShape(), integer), constant.getValue());
  Value scales = parameter(".scales", params.scales), zeros;
  if (!llvm::all_of(zeroPoints, [](float zeroPoint) { return zeroPoint == 0; }))
    zeros = parameter(".zero_points", zeroPoints);
  return DequantizeWeightsOp::create(builder, op.getLoc(), type, weights, scales, zeros,
                                     /*block=*/nullptr);
}

/// Whether an operator is float because its activations are, not for want of a kernel.
static bool isWeightOnly(Operation *op) {
  DecisionAttr decision = getDecision(op);
  return decision && decision.getVerdict() == Verdict::WeightOnly;
}

/// Weights with integer zero points have them in their type: they become operands where a kernel
/// takes these.
static void expressAsOperands(Block &block, OpBuilder &builder) {
  for (auto op : llvm::make_early_inc_range(block.getOps<DequantizeOp>())) {
    QuantizedType quantized = getQuantizedType(op.getInput());
    auto integer = RankedTensorType::get(
        op.getResult().getType().getShape(),
        IntegerType::get(op.getContext(), quantized.getStorageTypeIntegralWidth()));
    auto isReader = [&](OpOperand &use) {
      return (isa<nn::GatherOp>(use.getOwner()) || isWeightOnly(use.getOwner())) &&
             isTaken(use, integer);
    };
    if (!op.getInput().getDefiningOp<nn::ConstantOp>() || llvm::none_of(op->getUses(), isReader))
      continue;
    builder.setInsertionPoint(op);
    op.getResult().replaceUsesWithIf(withOperands(op, builder).getResult(), isReader);
  }
}

/// The group of a reader and its weights.
static void group(DequantizeWeightsOp weights, OpOperand &use, OpBuilder &builder) {
  Operation *reader = use.getOwner();
  builder.setInsertionPoint(reader);
  SmallVector<Value> inputs(weights->getOperands());
  size_t numOfWeights = inputs.size();
  for (Value operand : reader->getOperands())
    if (operand != weights.getResult())
      inputs.push_back(operand);
  auto group = GroupOp::create(builder, reader->getLoc(), reader->getResult(0).getType(),
                               /*pattern=*/nullptr, inputs);
  setOrigin(group, getOrigin(reader));
  if (DecisionAttr decision = getDecision(reader))
    group->setAttr(kDecisionAttr, decision);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&group.getBody());
  IRMapping inside;
  for (Value input : inputs)
    body->addArgument(input.getType(), input.getLoc());
  for (size_t i = 0; i < numOfWeights; ++i)
    inside.map(inputs[i], body->getArgument(i));
  builder.clone(*weights, inside);
  size_t next = numOfWeights;
  for (Value operand : reader->getOperands())
    if (operand != weights.getResult())
      inside.map(operand, body->getArgument(next++));
  Operation *copy = builder.clone(*reader, inside);
  copy->removeAttr(kDecisionAttr);
  YieldOp::create(builder, reader->getLoc(), copy->getResult(0));
  reader->getResult(0).replaceAllUsesWith(group.getResult());
  reader->erase();
}

/// A unit with such weights is taken apart: its decision is that of the operator that reads them.
static void inlineUnits(Block &block) {
  for (auto unit : llvm::make_early_inc_range(block.getOps<GroupOp>())) {
    DecisionAttr decision = getDecision(unit);
    if (!decision || decision.getVerdict() != Verdict::WeightOnly)
      continue;
    for (auto [argument, input] : llvm::zip(unit.getBody().getArguments(), unit.getInputs()))
      if (input.getDefiningOp<DequantizeWeightsOp>() || input.getDefiningOp<DequantizeOp>())
        for (Operation *reader : argument.getUsers())
          reader->setAttr(kDecisionAttr, decision);
    unit.inlineBody();
    unit.erase();
  }
}

void lower::groupStoredWeights(Block &block) {
  OpBuilder builder(block.getParentOp()->getContext());
  inlineUnits(block);
  expressAsOperands(block, builder);
  SmallVector<DequantizeWeightsOp> stored(block.getOps<DequantizeWeightsOp>());
  for (DequantizeWeightsOp weights : stored) {
    if (!llvm::all_of(weights->getOperands(), isStoredConstant))
      continue;
    for (OpOperand &use : llvm::make_early_inc_range(weights->getUses()))
      if (isTaken(use, weights.getWeights().getType()))
        group(weights, use, builder);
  }
}
