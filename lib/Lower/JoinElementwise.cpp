//===- JoinElementwise.cpp - element-wise groups into what they read -----===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace octet {
#define GEN_PASS_DEF_JOINELEMENTWISEPASS
#include "octet/Lower/Passes.h.inc"
} // namespace octet

using namespace mlir;
using namespace octet;
using namespace octet::lower;

static bool isQuantized(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<quant::QuantizedType>(type.getElementType());
}

/// Whether `group` computes a quantized value from quantized ones, element by element.
static bool isElementwise(GroupOp group) {
  return group->getNumResults() == 1 && isQuantized(group.getResult()) &&
         llvm::all_of(group.getBody().front().without_terminator(),
                      [](Operation &op) { return isa<DequantizeOp>(op) || isScalarOp(&op); });
}

/// Whether an epilogue reads `input` where it writes the result of `group`: a tensor of the
/// same shape, or constants that are the same for all pixels.
static bool isReadBeside(Value input, GroupOp group, int64_t channelAxis) {
  auto shapeOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  return isQuantized(input) ? shapeOf(input) == shapeOf(group.getResult())
                            : isChannelConstant(input, group.getResult(), channelAxis);
}

/// The product whose quantized result `input` is, with `group` as its only reader, and beside which
/// an epilogue can compute the group; or null.
static nn::ProductOpInterface getProduct(Value input, GroupOp group) {
  auto product = dyn_cast_if_present<nn::ProductOpInterface>(input.getDefiningOp());
  if (!product || !isProduct(product) || !isQuantized(product->getOperand(0)) ||
      !input.hasOneUse() || product->getBlock() != group->getBlock() || !isQuantized(input) ||
      !isa<quant::UniformQuantizedType>(getQuantizedType(input)))
    return nullptr;
  bool areBeside = llvm::all_of(group.getInputs(), [&](Value other) {
    return isReadBeside(other, group, product.getResultChannelAxis());
  });
  auto &row = kernel::getOperatorRow(product);
  bool isResult =
      checkActivation(row.result, getQuantizedType(group.getResult()), product) == Outcome::Lowered;
  return areBeside && isResult ? product : nullptr;
}

/// The last of the products that can take the group into their epilogues, or null: the others are
/// there when it runs.
static nn::ProductOpInterface findProduct(GroupOp group) {
  nn::ProductOpInterface last;
  for (Value input : group.getInputs())
    if (auto product = getProduct(input, group))
      if (!last || last->isBeforeInBlock(product))
        last = product;
  return last;
}

/// The element-wise group whose result only `group` reads, in its shape, or null. What one byte is
/// computed from is a table's concern.
static GroupOp findGroup(GroupOp group) {
  auto readsSeveral = [](GroupOp group) {
    return llvm::count_if(group.getInputs(), [](Value input) { return isQuantized(input); }) > 1;
  };
  constexpr unsigned kMostInputs = 8; // in registers
  for (Value input : group.getInputs()) {
    auto inner = input.getDefiningOp<GroupOp>();
    bool isAlike = inner && isElementwise(inner) && readsSeveral(inner) && readsSeveral(group) &&
                   cast<RankedTensorType>(input.getType()).getShape() ==
                       cast<RankedTensorType>(group.getResult().getType()).getShape() &&
                   isa<quant::UniformQuantizedType>(getQuantizedType(input));
    if (isAlike && input.hasOneUse() && inner->getBlock() == group->getBlock() &&
        inner.getInputs().size() + group.getInputs().size() <= kMostInputs)
      return inner;
  }
  return nullptr;
}

/// Replaces an op, of one quantized result, and the group by one group, in whose body this result
/// is quantized and dequantized in between; `compute` gives the op's real numbers.
static void join(Operation *op, GroupOp group,
                 function_ref<Value(OpBuilder &, IRMapping &inside)> compute) {
  OriginPropagation origins(op);
  OpBuilder builder(group, &origins);
  Value rounded = op->getResult(0);
  llvm::SmallSetVector<Value, 4> inputs(op->operand_begin(), op->operand_end());
  for (Value input : group.getInputs())
    if (input != rounded)
      inputs.insert(input);
  auto joined = GroupOp::create(builder, op->getLoc(), group.getResult().getType(),
                                /*pattern=*/nullptr, inputs.getArrayRef());
  Block *body = builder.createBlock(&joined.getBody());
  IRMapping inside;
  for (Value input : inputs)
    inside.map(input, body->addArgument(input.getType(), input.getLoc()));
  Value real = compute(builder, inside);
  inside.map(rounded,
             QuantizeOp::create(builder, op->getLoc(), rounded.getType(), real).getResult());
  YieldOp::create(builder, group.getLoc(), group.cloneBody(builder, inside));
  group.getResult().replaceAllUsesWith(joined.getResult());
  group.erase();
  op->erase();
}

/// With a product in front.
static void joinProduct(nn::ProductOpInterface product, GroupOp group) {
  join(product, group, [&](OpBuilder &builder, IRMapping &inside) {
    Operation *copy = builder.clone(*product, inside);
    Type real = withElementType(product->getResult(0), builder.getF32Type());
    copy->getResult(0).setType(real);
    return copy->getResult(0);
  });
}

/// With another element-wise group in front.
static void joinGroup(GroupOp inner, GroupOp group) {
  join(inner, group,
       [&](OpBuilder &builder, IRMapping &inside) { return inner.cloneBody(builder, inside); });
}

namespace {
struct JoinElementwise : octet::impl::JoinElementwisePassBase<JoinElementwise> {
  void runOnOperation() override {
    for (Block &block : getOperation().getBody())
      for (auto group : llvm::make_early_inc_range(block.getOps<GroupOp>()))
        if (isElementwise(group)) {
          nn::ProductOpInterface product = findProduct(group);
          GroupOp inner = product ? nullptr : findGroup(group);
          if (product)
            joinProduct(product, group);
          else if (inner)
            joinGroup(inner, group);
          numJoined += product || inner;
        }
  }
};
} // namespace
