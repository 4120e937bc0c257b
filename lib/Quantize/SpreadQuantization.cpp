//===- SpreadQuantization.cpp - quantized values that are moved -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file that quantizes what an operator reads may leave a reshape or a transpose in between to
// float. Moving values and quantizing them is the same in either order, and so is the maximum of a
// window: the moved values get the quantize, too, and stay bytes.
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/Kernel/Kernels.h"
#include "octet/Numerics/Quantize.h"

using namespace mlir;
using namespace octet;
using quant::QuantizedType;

static bool movesValues(Operation *op) {
  const kernel::OperatorRow *row = &kernel::getOperatorRow(op);
  return row == &kernel::Operators::movement || row == &kernel::Operators::max_pool;
}

bool octet::movesOne(Operation *op) {
  return movesValues(op) && op->getNumOperands() == 1 && op->getNumResults() == 1 &&
         !isa<nn::FillOpInterface>(op);
}

/// Whether `type` has the number exactly that `op` fills up with, if it does.
static bool holdsFill(QuantizedType type, Operation *op) {
  auto fill = dyn_cast<nn::FillOpInterface>(op);
  if (!fill)
    return true;
  numerics::QuantParams params = numerics::getParams(type);
  float value = fill.getFill();
  return numerics::dequantize(numerics::quantize(value, params), params) == value;
}

QuantizedType octet::getStoredType(Operation *op) {
  if (!movesValues(op))
    return {};
  QuantizedType type;
  SmallVector<Operation *> moves{op};
  for (Value operand : op->getOperands()) {
    for (Operation *move = operand.getDefiningOp();
         move && (movesOne(move) || (isa<nn::FillOpInterface>(move) && movesValues(move)));
         move = operand.getDefiningOp()) {
      moves.push_back(move);
      operand = move->getOperand(0);
    }
    auto dequantize = operand.getDefiningOp<DequantizeOp>();
    auto own = dequantize ? dyn_cast<quant::UniformQuantizedType>(
                                dequantize.getInput().getType().getElementType())
                          : quant::UniformQuantizedType();
    if (!own || own.getStorageTypeIntegralWidth() > 16 || (type && own != type))
      return {}; // integers of 32 bits are biases
    type = own;
  }
  bool holdsAll =
      type && llvm::all_of(moves, [&](Operation *move) { return holdsFill(type, move); });
  return holdsAll ? type : QuantizedType();
}

/// `value` quantized to `type` and dequantized, behind the builder's place.
static DequantizeOp makePair(OpBuilder &builder, Value value, QuantizedType type) {
  auto tensor = cast<RankedTensorType>(value.getType());
  auto quantize = QuantizeOp::create(builder, value.getLoc(), tensor.clone(type), value);
  return DequantizeOp::create(builder, value.getLoc(), tensor, quantize);
}

/// Readers of moved values read them dequantized.
static bool spreadForward(Operation *op) {
  QuantizedType type = getStoredType(op);
  if (!type || op->getNumResults() != 1 || llvm::all_of(op->getUsers(), llvm::IsaPred<QuantizeOp>))
    return false;
  OriginPropagation origins(op);
  OpBuilder builder(op->getContext(), &origins);
  builder.setInsertionPointAfter(op);
  DequantizeOp moved = makePair(builder, op->getResult(0), type);
  op->getResult(0).replaceAllUsesExcept(moved, moved.getInput().getDefiningOp());
  return true;
}

/// Values that are quantized behind a movement are quantized in front of it, too.
static bool spreadBackward(Operation *op) {
  Operation *producer = movesOne(op) ? op->getOperand(0).getDefiningOp() : nullptr;
  if (!producer || isa<DequantizeOp>(producer) || producer->hasTrait<OpTrait::ConstantLike>() ||
      !op->hasOneUse())
    return false;
  auto quantize = dyn_cast<QuantizeOp>(*op->user_begin());
  auto type =
      quantize
          ? dyn_cast<quant::UniformQuantizedType>(quantize.getResult().getType().getElementType())
          : quant::UniformQuantizedType();
  if (!type)
    return false;
  OriginPropagation origins(producer);
  OpBuilder builder(op->getContext(), &origins);
  builder.setInsertionPoint(op);
  op->setOperand(0, makePair(builder, op->getOperand(0), type));
  return true;
}

int64_t octet::spreadQuantization(ModuleOp module) {
  int64_t numSpread = 0;
  for (auto function : module.getOps<FunctionOpInterface>())
    for (Block &block : function.getFunctionBody()) {
      SmallVector<Operation *> ops = llvm::to_vector(llvm::make_pointer_range(block));
      for (Operation *op : ops)
        numSpread += spreadForward(op);
      for (Operation *op : llvm::reverse(ops))
        numSpread += spreadBackward(op);
    }
  return numSpread;
}
