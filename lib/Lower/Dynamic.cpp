//===- Dynamic.cpp - products that are quantized in each run --------------===//
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

static bool isPadded(Operation *product) {
  auto conv = dyn_cast<nn::ConvOp>(product);
  return conv && llvm::any_of(conv.getPads(), [](int64_t pad) { return pad != 0; });
}

/// A linear layer, or a convolution with one scale whose floats can be padded with zeros.
static bool isProductOfDynamic(Operation *product, DequantizeDynamicOp input) {
  if (isa<nn::LinearOp>(product))
    return true;
  bool hasOneScale = cast<RankedTensorType>(input.getScale().getType()).getRank() == 0;
  return isa<nn::ConvOp>(product) && hasOneScale &&
         (!isPadded(product) || input.getInput().getDefiningOp<QuantizeDynamicOp>());
}

/// The integers that the product reads: zeros around the floats become the zero point, and change
/// neither that nor the scale, which are those of a range with zero.
static Value makePadded(OpBuilder &builder, nn::ProductOpInterface product,
                        DequantizeDynamicOp input) {
  if (!isPadded(product))
    return input.getInput();
  // The scale of the integers: the product may read them by another one, as files do.
  auto quantize = input.getInput().getDefiningOp<QuantizeDynamicOp>();
  ArrayRef<int64_t> pads = cast<nn::ConvOp>(product.getOperation()).getPads();
  Location loc = product->getLoc();
  auto padded =
      nn::createInferred<nn::PadOp>(builder, loc, builder.getF32Type(), quantize.getInput(),
                                    ArrayRef<int64_t>{0, 0, pads[0], pads[1]},
                                    ArrayRef<int64_t>{0, 0, pads[2], pads[3]}, llvm::APFloat(0.0f));
  auto type = cast<RankedTensorType>(input.getInput().getType());
  return QuantizeDynamicOp::create(builder, loc, type.clone(padded.getType().getShape()), padded,
                                   quantize.getScale(), quantize.getZeroPoint());
}

/// Whether the product has the form [N.dynamic_product], with the proof of [N.overflow].
static Outcome check(nn::ProductOpInterface product, DequantizeDynamicOp input, Value filter) {
  const kernel::OperatorRow &row = kernel::getOperatorRow(product);
  quant::QuantizedType integers = getQuantizedType(input.getInput());
  if (!isProductOfDynamic(product, input) ||
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
  auto integers = cast<RankedTensorType>(body->getArgument(0).getType());
  Value x =
      DequantizeDynamicOp::create(builder, loc, integers.clone(builder.getF32Type()),
                                  body->getArgument(0), body->getArgument(1), body->getArgument(2));
  Value y = cloneOnto(builder, product, {x, body->getArgument(3)}, real);
  if (auto conv = y.getDefiningOp<nn::ConvOp>())
    conv.setPads({0, 0, 0, 0});
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

/// The bias as what is added: a constant along the channels of a convolution's result.
static Value makeAddend(OpBuilder &builder, Operation *unit, nn::ProductOpInterface product) {
  Value bias = getOuter(unit, product->getOperand(2));
  if (!isa<nn::ConvOp>(product))
    return bias;
  std::string name = nn::getConstantName(bias.getDefiningOp<nn::ConstantOp>()).str();
  auto type = cast<RankedTensorType>(bias.getType());
  return nn::createConstant<float>(builder, bias.getLoc(), name + ".channels",
                                   type.clone({type.getDimSize(0), 1, 1}),
                                   *nn::getConstantValues<float>(bias));
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
  if (isa<nn::ConvOp>(product) && product.getBiasOperand() &&
      failed(nn::getConstantValues<float>(getOuter(unit, product->getOperand(2)))))
    return Outcome::Bias;
  SmallVector<Value> inputs{makePadded(builder, product, input), input.getScale(),
                            input.getZeroPoint(), filter};
  SmallVector<Value> further;
  auto add = [&](Value inner, Value outer) {
    further.push_back(inner);
    inputs.push_back(outer);
  };
  if (product->getNumOperands() > 2)
    add(product->getOperand(2), makeAddend(builder, unit, product));
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
