//===- Elementwise.cpp - tables and element-wise groups -------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "octet/Dialect/NN/Constants.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace octet;
using namespace octet::lower;
using quant::QuantizedType;

static constexpr const kernel::OperatorRow &kRow = kernel::Operators::elementwise;

/// A group of scalar ops only.
static bool isElementwiseGroup(Operation *op) {
  auto group = dyn_cast_if_present<GroupOp>(op);
  return group && llvm::all_of(group.getBody().front().without_terminator(),
                               [](Operation &op) { return isScalarOp(&op); });
}

Outcome lower::awaitQuantize(Operation *op) {
  return llvm::any_of(op->getUsers(), llvm::IsaPred<QuantizeOp>) ? Outcome::NotConcerned
                                                                 : Outcome::RealResult;
}

namespace {
/// The element-wise ops between quantized (and constant) tensors and one real value, copied into
/// one body.
class Island {
public:
  explicit Island(Value root) : root(root) {
    outcome = findLeaves(root);
    if (outcome == Outcome::Lowered && sources.empty())
      outcome = Outcome::NotConcerned;
  }

  Outcome outcome;

  /// The island as one group with result `type`.
  GroupOp makeGroup(OpBuilder &builder, Location loc, Type type) {
    SmallVector<Value> leaves = llvm::to_vector(llvm::concat<const Value>(sources, constants));
    auto group = GroupOp::create(builder, loc, type, /*pattern=*/nullptr, leaves);
    OpBuilder::InsertionGuard guard(builder);
    Block *body = builder.createBlock(&group.getBody());
    for (Value leaf : leaves)
      inside.map(leaf, body->addArgument(leaf.getType(), loc));
    YieldOp::create(builder, loc, copy(root, builder));
    return group;
  }

private:
  Outcome findLeaves(Value value) {
    if (!seen.insert(value).second)
      return Outcome::Lowered;
    if (Value source = getQuantizedSource(value)) {
      sources.insert(source);
      return checkActivation(kRow.input, getQuantizedType(source), /*op=*/nullptr);
    }
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<nn::ConstantOp>(op)) {
      constants.insert(value);
      return Outcome::Lowered;
    }
    if (!op || !(isElementwiseGroup(op) || isScalarOp(op)))
      return value == root ? Outcome::NotConcerned : Outcome::RealOperand;
    for (Value operand : op->getOperands())
      if (Outcome outcome = findLeaves(operand); outcome != Outcome::Lowered)
        return outcome;
    return Outcome::Lowered;
  }

  /// The copy of `value` inside the body.
  Value copy(Value value, OpBuilder &builder) {
    if (Value known = inside.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    Value result;
    if (auto group = dyn_cast<GroupOp>(op)) {
      for (auto [argument, input] : llvm::zip(group.getBody().getArguments(), group.getInputs()))
        inside.map(argument, copy(input, builder));
      result = copy(group.getYielded(), builder);
    } else {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(copy(operand, builder));
      result = cloneOnto(builder, op, operands, value.getType());
    }
    inside.map(value, result);
    return result;
  }

  Value root;
  /// The quantized tensors and the float constants that the island reads.
  llvm::SetVector<Value> sources, constants;
  llvm::DenseSet<Value> seen;
  IRMapping inside;
};
} // namespace

/// The values of a constant leaf's only number, or nothing.
static std::optional<float> getSplat(Value value) {
  auto values = nn::getConstantValues<float>(value);
  if (failed(values) || values->empty() || !llvm::all_equal(*values))
    return std::nullopt;
  return values->front();
}

/// The group as a table [N.table], if one quantized tensor goes in, the same shape comes out and
/// constants are splats.
Value Lowering::makeTable(GroupOp group, QuantizeOp quantize) {
  Value source = group.getInputs().front();
  QuantizedType type = getQuantizedType(quantize.getResult());
  auto own = dyn_cast<QuantizedType>(cast<RankedTensorType>(source.getType()).getElementType());
  if (!own || isWide(source) || isWide(quantize.getResult()) ||
      !isa<quant::UniformQuantizedType>(type) ||
      withElementType(source, type) != quantize.getResult().getType())
    return {};
  SmallVector<float> constants;
  for (Value leaf : group.getInputs().drop_front()) {
    std::optional<float> splat = getSplat(leaf);
    if (!splat)
      return {};
    constants.push_back(*splat);
  }
  SmallVector<int8_t> table;
  for (int64_t q = 0; q < 256; ++q) {
    float real = evaluateBody(group.getBody().front(), q, constants);
    table.push_back(static_cast<int8_t>(numerics::quantize(real, numerics::getParams(type))));
  }
  ++numTables;
  return nn::TableOp::create(builder, group.getLoc(), quantize.getResult().getType(), source,
                             table);
}

Outcome Lowering::lowerQuantize(QuantizeOp quantize) {
  if (quantize->use_empty())
    return Outcome::Lowered;
  if (foldConstant(quantize))
    return Outcome::Lowered;
  QuantizedType type = getQuantizedType(quantize.getResult());
  if (Value source = getQuantizedSource(quantize.getInput());
      source && getQuantizedType(source) == type) {
    quantize.replaceAllUsesWith(source);
    return Outcome::Lowered;
  }
  Island island(quantize.getInput());
  if (island.outcome != Outcome::Lowered)
    return island.outcome;
  if (Outcome outcome = checkActivation(kRow.result, type, /*op=*/nullptr);
      outcome != Outcome::Lowered)
    return outcome;
  Operation *root = quantize.getInput().getDefiningOp();
  origins.setSource(getOrigin(root));
  GroupOp group = island.makeGroup(builder, root->getLoc(), quantize.getResult().getType());
  if (Value table = makeTable(group, quantize)) {
    quantize.replaceAllUsesWith(table);
    return Outcome::Lowered; // the group is dead now
  }
  if (mayNarrow(quantize))
    group.getResult().setType(
        withElementType(group.getResult(), foldClamps(group.getBody().front(), type)));
  quantize.replaceAllUsesWith(group.getResult());
  ++numLowered;
  return Outcome::Lowered;
}
