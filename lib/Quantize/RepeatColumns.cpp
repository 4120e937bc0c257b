//===- RepeatColumns.cpp - copies of columns and of weights ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RepeatColumns.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Support/Constants.h"

using namespace mlir;
using namespace octet;

void octet::setOperand(OpOperand &operand, Value value) {
  operand.set(value);
  if (auto group = dyn_cast<GroupOp>(operand.getOwner()))
    group.getBody().getArgument(operand.getOperandNumber()).setType(value.getType());
}

/// A constant with copies of some indices of dimension `axis` behind those that there are.
static Value makeRepeated(Value old, int64_t axis, ArrayRef<int64_t> indices) {
  auto values = *getConstantValues<float>(old);
  auto type = cast<RankedTensorType>(old.getType());
  int64_t size = type.getDimSize(axis), inner = 1;
  for (int64_t dim = axis + 1; dim < type.getRank(); ++dim)
    inner *= type.getDimSize(dim);
  SmallVector<float, 0> wide;
  for (size_t first = 0; first < values.size(); first += size * inner) {
    wide.append(values.begin() + first, values.begin() + first + size * inner);
    for (int64_t index : indices)
      wide.append(values.begin() + first + index * inner,
                  values.begin() + first + (index + 1) * inner);
  }
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] += indices.size();
  OriginPropagation origins(old.getDefiningOp());
  OpBuilder builder(old.getDefiningOp(), &origins);
  std::string name = (getConstantName(getConstantElements(old)) + ".split").str();
  return createConstantLike<float>(builder, old.getLoc(), old, name, type.clone(shape), wide);
}

void octet::repeatConstant(OpOperand &operand, int64_t axis, ArrayRef<int64_t> indices,
                           RepeatedConstants &known) {
  auto observe = operand.get().getDefiningOp<ObserveOp>();
  Value old = observe ? observe.getInput() : operand.get();
  Value &repeated = known[{old, axis}];
  if (!repeated)
    repeated = makeRepeated(old, axis, indices);
  Value constant = repeated;
  if (observe) {
    OriginPropagation origins(observe);
    OpBuilder builder(observe, &origins);
    constant = ObserveOp::create(builder, observe.getLoc(), constant.getType(), constant,
                                 observe.getObserverAttr());
  }
  setOperand(operand, constant);
  if (observe && observe.use_empty())
    observe.erase();
}

static bool isConstant(Value value) {
  if (auto observe = value.getDefiningOp<ObserveOp>())
    value = observe.getInput();
  return succeeded(getConstantValues<float>(value));
}

/// The operand of the layer, or of the group around it, that `inner` is or that is its argument.
static OpOperand &getOuter(OpOperand &inner) {
  auto argument = dyn_cast<BlockArgument>(inner.get());
  auto group = dyn_cast<GroupOp>(inner.getOwner()->getParentOp());
  return argument && group ? group->getOpOperand(argument.getArgNumber()) : inner;
}

namespace {
/// A linear layer and the operators of one operand behind it.
struct Layer {
  nn::LinearOp linear;
  SmallVector<OpOperand *> parameters; ///< weights and bias
  SmallVector<Value> results;          ///< from the layer's to that of its group
};
} // namespace

static std::optional<Layer> findLayer(Value value) {
  Layer layer;
  layer.results = {value};
  if (auto group = value.getDefiningOp<GroupOp>())
    layer.results.push_back(group.getYielded());
  Operation *op = layer.results.back().getDefiningOp();
  while (op && op->hasTrait<nn::Elementwise>() && op->getNumOperands() == 1 &&
         op->getOperand(0).hasOneUse()) {
    layer.results.push_back(op->getOperand(0));
    op = op->getOperand(0).getDefiningOp();
  }
  layer.linear = dyn_cast_or_null<nn::LinearOp>(op);
  if (!layer.linear)
    return std::nullopt;
  for (OpOperand &operand : llvm::drop_begin(op->getOpOperands())) {
    OpOperand &outer = getOuter(operand);
    if (!isConstant(outer.get()) || (&outer != &operand && !operand.get().hasOneUse()))
      return std::nullopt;
    layer.parameters.push_back(&outer);
  }
  return layer;
}

Value octet::repeatColumns(OpBuilder &builder, Value value, ArrayRef<int64_t> columns,
                           RepeatedConstants &known, function_ref<bool(OpOperand &)> isKnown) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t axis = type.getRank() - 1;
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] += columns.size();
  RankedTensorType wide = type.clone(shape);
  std::optional<Layer> layer = findLayer(value);
  if (layer && llvm::all_of(value.getUses(), isKnown)) {
    for (OpOperand *parameter : layer->parameters)
      repeatConstant(*parameter, 0, columns, known);
    for (Value result : layer->results)
      result.setType(wide);
    return value;
  }
  shape[axis] = columns.size();
  Location loc = value.getLoc();
  auto indices = nn::createConstant<int64_t>(
      builder, loc, "split.columns",
      RankedTensorType::get({(int64_t)columns.size()}, builder.getI64Type()), columns);
  auto taken = nn::GatherOp::create(builder, loc, type.clone(shape), value, indices, axis);
  return nn::ConcatOp::create(builder, loc, wide, ValueRange{value, taken}, axis);
}
