//===- Products.cpp - convolution and linear on quantized types -----------===//
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
using numerics::ProductTypes;
using numerics::QuantParams;
using quant::QuantizedType;

bool lower::isProduct(Operation *op) {
  auto product = dyn_cast<nn::ProductOpInterface>(op);
  return product && product.getWeightOperand();
}

//===----------------------------------------------------------------------===//
// Requirements of a product
//===----------------------------------------------------------------------===//

static bool isResultSupported(nn::ProductOpInterface product, QuantizedType result) {
  return kernel::matchForm(kernel::getOperatorRow(product).result, result, product) ==
         kernel::Fit::yes;
}

/// Whether the bias counts in units of the accumulator, S[c].
static bool isBiasSupported(QuantizedType bias, const ProductTypes &types) {
  if (bias.getStorageTypeIntegralWidth() != 32 ||
      (!isa<quant::UniformQuantizedType>(bias) && numerics::getChannelAxis(bias) != 0))
    return false;
  QuantParams params = numerics::getParams(bias);
  return llvm::all_of(llvm::seq(types.numOutputs), [&](int64_t output) {
    return params.getZeroPoint(output) == 0 && params.getScale(output) == types.scale(output);
  });
}

/// The bias in units of the accumulator; nothing if it is added to the product in floats, by
/// [N.float_bias]. Fails if it has another form, or is not constant.
static LogicalResult readBias(Value bias, const ProductTypes &types,
                              SmallVector<int32_t, 0> &offsets) {
  if (!bias)
    return failure();
  if (!isa<QuantizedType>(getElementTypeOrSelf(bias.getType())))
    return nn::getConstantValues<float>(bias);
  auto values = nn::getConstantValues<int32_t>(bias);
  if (failed(values) || !isBiasSupported(getQuantizedType(bias), types))
    return failure();
  offsets = std::move(*values);
  return success();
}

Outcome lower::checkProduct(nn::ProductOpInterface product, ArrayRef<Value> operands) {
  if (!operands[0] || !operands[1])
    return operands[0] || operands[1] ? Outcome::RealOperand : Outcome::NotConcerned;
  QuantizedType input = getQuantizedType(operands[0]), filter = getQuantizedType(operands[1]);
  auto weights = nn::getConstantValues<int8_t>(operands[1]);
  const kernel::OperatorRow &row = kernel::getOperatorRow(product);
  if (Outcome outcome = checkActivation(row.input, input, product); outcome != Outcome::Lowered)
    return outcome;
  if (kernel::matchForm(row.weights, filter, product) != kernel::Fit::yes || failed(weights))
    return Outcome::Filter;
  int64_t numOutputs = cast<RankedTensorType>(operands[1].getType()).getDimSize(0);
  ProductTypes types(input, filter, numOutputs);
  SmallVector<int32_t, 0> offsets;
  if (operands.size() > 2 && failed(readBias(operands[2], types, offsets)))
    return Outcome::Bias;
  bool fits = llvm::all_of(numerics::accumulatorBounds(types, *weights, offsets),
                           [](int64_t bound) { return bound <= numerics::kMaxAccumulator; });
  return fits ? Outcome::Lowered : Outcome::Overflow;
}

/// The same for a product of two activations, each of which has one scale and zero point.
static Outcome checkMatmul(nn::MatmulOp product, ArrayRef<Value> operands) {
  if (!operands[0] || !operands[1])
    return operands[0] || operands[1] ? Outcome::RealOperand : Outcome::NotConcerned;
  for (Value operand : operands)
    if (Outcome outcome = checkActivation(kernel::getOperatorRow(product).input,
                                          getQuantizedType(operand), product);
        outcome != Outcome::Lowered)
      return outcome;
  int64_t depth = product.getLhs().getType().getShape().back();
  return depth <= numerics::kMaxAccumulator / (255 * 255) ? Outcome::Lowered : Outcome::Overflow;
}

/// The quantized tensors behind the operands, by the operands in the network; a float bias is what
/// it is. Null where there are none.
static SmallVector<Value> getSources(nn::ProductOpInterface product,
                                     llvm::function_ref<Value(Value)> getOuter) {
  return llvm::map_to_vector(product->getOpOperands(), [&](OpOperand &operand) {
    Value outer = getOuter(operand.get()), source = outer ? getQuantizedSource(outer) : Value();
    return source || &operand != product.getBiasOperand() ? source : outer;
  });
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

Outcome Lowering::lowerProduct(nn::ProductOpInterface product) {
  if (getDynamicInput(product, product))
    return lowerDynamic(product, product);
  SmallVector<Value> operands = getSources(product, [](Value operand) { return operand; });
  if (isWide(operands[0]))
    return lowerWide(product, product, operands);
  if (Outcome outcome = checkProduct(product, operands); outcome != Outcome::Lowered)
    return outcome;
  if (!absorbReaders(product, product.getResultChannelAxis()))
    lowerAlone(product, operands);
  return Outcome::Lowered;
}

Outcome Lowering::lowerMatmul(nn::MatmulOp product) {
  SmallVector<Value> operands = llvm::map_to_vector(product->getOperands(), getQuantizedSource);
  Outcome outcome = checkMatmul(product, operands);
  if (outcome == Outcome::Lowered)
    lowerAlone(product, operands);
  return outcome;
}

void Lowering::lowerAlone(nn::ProductOpInterface product, ArrayRef<Value> operands) {
  ++numLowered;
  Value result = product->getResult(0);
  QuantizeOp quantize = getOnlyQuantize(result);
  if (quantize && isResultSupported(product, getQuantizedType(quantize.getResult())))
    quantize.replaceAllUsesWith(
        cloneOnto(builder, product, operands, quantize.getResult().getType()));
  else
    result.replaceAllUsesWith(cloneOnto(builder, product, operands, result.getType()));
}

/// The only product with weights of a body whose other ops are scalar ops, or null.
static nn::ProductOpInterface findProduct(GroupOp group) {
  nn::ProductOpInterface product;
  for (Operation &op : group.getBody().front().without_terminator()) {
    if (isProduct(&op) && !product)
      product = cast<nn::ProductOpInterface>(op);
    else if (!isScalarOp(&op))
      return nullptr;
  }
  return product;
}

/// The quantized tensors behind the product's operands, which are operands of the group.
static SmallVector<Value> getProductOperands(GroupOp group, nn::ProductOpInterface product) {
  return getSources(product, [&](Value operand) {
    return isa<BlockArgument>(operand) ? group.getOuter(operand) : Value();
  });
}

/// The product has the result's shape. The epilogue's further operands are bytes of that shape, as
/// element-wise operators take them, or constants that are the same for all pixels.
static bool isEpilogueSupported(GroupOp group, nn::ProductOpInterface product) {
  if (cast<ShapedType>(product->getResult(0).getType()).getShape() !=
      cast<ShapedType>(group.getResult().getType()).getShape())
    return false;
  for (auto [argument, input] : llvm::zip(group.getBody().getArguments(), group.getInputs())) {
    if (llvm::all_of(argument.getUsers(), [&](Operation *user) { return user == product; }) ||
        isChannelConstant(input, group.getResult(), product.getResultChannelAxis()))
      continue;
    Value source = getQuantizedSource(input);
    auto isTaken = [&](Operation *user) {
      return user == product || checkActivation(kernel::getOperatorRow(user).input,
                                                getQuantizedType(source), user) == Outcome::Lowered;
    };
    if (!source || !llvm::all_of(argument.getUsers(), isTaken) ||
        cast<ShapedType>(input.getType()).getShape() !=
            cast<ShapedType>(group.getResult().getType()).getShape())
      return false;
  }
  return true;
}

/// An argument of a lowered body that stands for `real`: dequantized, or a constant as it is.
static Value makeReal(OpBuilder &builder, Value argument, Value real) {
  if (argument.getType() == real.getType())
    return argument;
  return DequantizeOp::create(builder, real.getLoc(), real.getType(), argument);
}

/// Fills the body of `lowered` from `group`: the product on quantized arguments gives its real
/// accumulator, everything else reads dequantized arguments. A sum with a residual is written
/// product first.
static void copyBody(GroupOp group, Operation *product, GroupOp lowered, OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  Block &from = group.getBody().front();
  Block *body = builder.createBlock(&lowered.getBody());
  for (auto [input, argument] : llvm::zip(lowered.getInputs(), from.getArguments()))
    body->addArgument(input.getType(), argument.getLoc());
  IRMapping real;
  auto asReal = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && !real.contains(value))
      real.map(value, makeReal(builder, body->getArgument(argument.getArgNumber()), value));
    return real.lookup(value);
  };
  for (Operation &op : from.without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(&op == product
                             ? body->getArgument(cast<BlockArgument>(operand).getArgNumber())
                             : asReal(operand));
    if (isa<nn::AddOp>(op) && op.getOperand(1) == product->getResult(0))
      std::swap(operands[0], operands[1]);
    real.map(op.getResult(0), cloneOnto(builder, &op, operands, op.getResult(0).getType()));
  }
  YieldOp::create(builder, group.getTerminator()->getLoc(), asReal(group.getYielded()));
}

/// A group of which only the product is left, since its clamps are in the type, becomes that op.
static Value unwrapProduct(GroupOp group, OpBuilder &builder) {
  Operation *product = group.getYielded().getDefiningOp();
  if (!product || !isProduct(product) ||
      !isa<QuantizedType>(cast<ShapedType>(group.getResult().getType()).getElementType()))
    return group.getResult();
  SmallVector<Value> operands = llvm::map_to_vector(
      product->getOperands(), [&](Value operand) { return group.getOuter(operand); });
  return cloneOnto(builder, product, operands, group.getResult().getType());
}

/// Operators that were planned as float ones run in integers, or in the epilogue of a product of
/// integers, all the same.
static void setQuantized(GroupOp group) {
  for (Operation &op : group.getBody().front())
    if (DecisionAttr planned = getDecision(&op))
      op.setAttr(kDecisionAttr,
                 DecisionAttr::get(op.getContext(), planned.getNumber(), Verdict::Quantized,
                                   planned.getPattern(), /*reason=*/ReasonAttr(), planned.getNote(),
                                   /*refused=*/false));
}

Outcome Lowering::lowerGroup(GroupOp group) {
  nn::ProductOpInterface product = findProduct(group);
  if (!product)
    return lowerMovementGroup(group);
  if (getDynamicInput(group, product))
    return lowerDynamic(group, product);
  SmallVector<Value> operands = getProductOperands(group, product);
  if (isWide(operands[0]))
    return lowerWide(group, product, operands);
  Outcome outcome = checkProduct(product, operands);
  if (outcome != Outcome::Lowered)
    return outcome;
  if (absorbReaders(group, product.getResultChannelAxis()))
    return Outcome::Lowered;
  if (!isEpilogueSupported(group, product)) {
    // Most of the work is the product's: it is lowered alone and the rest stays float. Absorbing
    // its readers would make the same group again.
    group.inlineBody();
    builder.setInsertionPoint(product);
    lowerAlone(product, operands);
    return Outcome::Lowered;
  }
  ++numLowered;
  Value result = group.getResult();
  QuantizeOp quantize = getOnlyQuantize(result);
  bool toQuantized = quantize && isResultSupported(product, getQuantizedType(quantize.getResult()));
  auto sources = llvm::map_to_vector(group.getInputs(), [](Value input) {
    Value source = getQuantizedSource(input);
    return source ? source : input;
  });
  Type type = toQuantized ? quantize.getResult().getType() : result.getType();
  auto lowered = GroupOp::create(builder, group.getLoc(), type, /*pattern=*/nullptr, sources);
  copyBody(group, product, lowered, builder);
  if (!toQuantized) {
    result.replaceAllUsesWith(lowered.getResult());
    return Outcome::Lowered;
  }
  setQuantized(lowered);
  if (mayNarrow(quantize)) {
    QuantizedType narrowed =
        foldClamps(lowered.getBody().front(), getQuantizedType(quantize.getResult()));
    lowered.getResult().setType(withElementType(lowered.getResult(), narrowed));
  }
  quantize.replaceAllUsesWith(unwrapProduct(lowered, builder));
  return Outcome::Lowered;
}
