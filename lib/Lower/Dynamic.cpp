//===- Dynamic.cpp - linear layers that are quantized in each run ---------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Numerics/Requantize.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;

static Value getOuter(Operation *unit, Value value) {
  auto group = dyn_cast<GroupOp>(unit);
  return group ? group.getOuter(value) : value;
}

DequantizeDynamicOp lower::getDynamicInput(Operation *unit, Operation *product) {
  return getOuter(unit, product->getOperand(0)).getDefiningOp<DequantizeDynamicOp>();
}

/// Whether the product has the form [N.dynamic_product], with the proof of [N.overflow].
static Outcome check(nn::ProductOpInterface product, DequantizeDynamicOp input, Value filter) {
  const kernel::OperatorRow &row = kernel::getOperatorRow(product);
  quant::QuantizedType integers = getQuantizedType(input.getInput());
  if (!isa<nn::LinearOp>(product) ||
      checkActivation(row.input, integers, product) != Outcome::Lowered)
    return Outcome::Dynamic;
  FailureOr<SmallVector<int8_t, 0>> weights = failure();
  if (filter)
    weights = nn::getConstantValues<int8_t>(filter);
  if (failed(weights) ||
      kernel::matchForm(row.weights, getQuantizedType(filter), product) != kernel::Fit::yes)
    return Outcome::Filter;
  int64_t numOutputs = cast<RankedTensorType>(filter.getType()).getDimSize(0);
  // The zero point of the type is 0, so that the bound holds for every one within the bytes.
  numerics::ProductTypes types(integers, getQuantizedType(filter), numOutputs);
  bool fits = llvm::all_of(numerics::accumulatorBounds(types, *weights, /*bias=*/{}),
                           [](int64_t bound) { return bound <= numerics::kMaxAccumulator; });
  return fits ? Outcome::Lowered : Outcome::Overflow;
}

/// The operands of the group, by the arguments of its body, that others than the product read.
static SmallVector<std::pair<Value, Value>> getFurtherInputs(GroupOp group, Operation *product) {
  SmallVector<std::pair<Value, Value>> inputs;
  for (auto [argument, input] : llvm::zip(group.getBody().getArguments(), group.getInputs()))
    if (llvm::any_of(argument.getUsers(), [&](Operation *user) { return user != product; }))
      inputs.push_back({argument, input});
  return inputs;
}

/// The product has the result's shape, and so have the epilogue's further operands, or they are
/// constants that are the same for all rows.
static bool isEpilogueSupported(GroupOp group, nn::ProductOpInterface product) {
  auto getShape = [](Value value) { return cast<ShapedType>(value.getType()).getShape(); };
  auto isTaken = [&](std::pair<Value, Value> input) {
    return getShape(input.second) == getShape(group.getResult()) ||
           isChannelConstant(input.second, group.getResult(), product.getResultChannelAxis());
  };
  return getShape(product->getResult(0)) == getShape(group.getResult()) &&
         llvm::all_of(getFurtherInputs(group, product), isTaken);
}

/// Fills the body of `lowered`, whose operands are integers, their parameters, the filter and
/// `further` values: the product on what the integers stand for, the bias, and what the group has
/// behind the product.
static void fillBody(OpBuilder &builder, GroupOp lowered, Operation *unit,
                     nn::ProductOpInterface product, ArrayRef<Value> further) {
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&lowered.getBody());
  for (Value input : lowered.getInputs())
    body->addArgument(input.getType(), input.getLoc());
  IRMapping mapping;
  for (auto [i, value] : llvm::enumerate(further))
    mapping.map(value, body->getArgument(4 + i));
  Location loc = product->getLoc();
  Type real = product->getResult(0).getType();
  Value x =
      DequantizeDynamicOp::create(builder, loc, product->getOperand(0).getType(),
                                  body->getArgument(0), body->getArgument(1), body->getArgument(2));
  Value y = cloneOnto(builder, product, {x, body->getArgument(3)}, real);
  if (product->getNumOperands() > 2)
    y = nn::AddOp::create(builder, loc, real, y, mapping.lookup(product->getOperand(2)));
  mapping.map(product->getResult(0), y);
  auto group = dyn_cast<GroupOp>(unit);
  if (group)
    for (Operation &op : group.getBody().front().without_terminator())
      if (&op != product)
        builder.clone(op, mapping);
  YieldOp::create(builder, loc, mapping.lookup(group ? group.getYielded() : product->getResult(0)));
}

Outcome Lowering::lowerDynamic(Operation *unit, nn::ProductOpInterface product) {
  DequantizeDynamicOp input = getDynamicInput(unit, product);
  Value filter = getQuantizedSource(getOuter(unit, product->getOperand(1)));
  if (Outcome outcome = check(product, input, filter); outcome != Outcome::Lowered)
    return outcome;
  if (unit == product && absorbReaders(product, product.getResultChannelAxis(), true))
    return Outcome::Lowered;
  if (auto group = dyn_cast<GroupOp>(unit); group && !isEpilogueSupported(group, product)) {
    group.inlineBody(); // most of the work is the product's: the rest stays float
    builder.setInsertionPoint(product);
    unit = product;
  }
  SmallVector<Value> inputs{input.getInput(), input.getScale(), input.getZeroPoint(), filter};
  SmallVector<Value> further;
  auto add = [&](Value inner, Value outer) {
    further.push_back(inner);
    inputs.push_back(outer);
  };
  if (product->getNumOperands() > 2)
    add(product->getOperand(2), getOuter(unit, product->getOperand(2)));
  if (auto group = dyn_cast<GroupOp>(unit))
    for (auto [argument, outer] : getFurtherInputs(group, product))
      add(argument, outer);
  auto lowered = GroupOp::create(builder, unit->getLoc(), unit->getResult(0).getType(),
                                 /*pattern=*/nullptr, inputs);
  fillBody(builder, lowered, unit, product, further);
  ++numLowered;
  unit->getResult(0).replaceAllUsesWith(lowered.getResult());
  return Outcome::Lowered;
}
