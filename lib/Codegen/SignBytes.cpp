//===- SignBytes.cpp - unsigned activations as signed ones ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of CPUs that multiply signed bytes: the unsigned byte q with zero point z stands for the same
// real number as the signed byte q - 128 with zero point z - 128. [N.signed]
//
//===----------------------------------------------------------------------===//

#include "SignBytes.h"
#include "Buffers.h"
#include "octet/Dialect/NN/SignBits.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;
using quant::QuantizedType;

static bool isUnsignedByte(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isByte(tensor) && !isSigned(tensor);
}

static void setSigned(Value value) {
  if (auto type = dyn_cast<RankedTensorType>(value.getType()); isUnsignedByte(type))
    value.setType(type.clone(nn::flipSign(cast<QuantizedType>(type.getElementType()))));
}

/// What changes nothing, until one of its sides becomes signed.
static nn::TableOp createCopy(OpBuilder &builder, Value value) {
  SmallVector<int8_t> table;
  for (int64_t q = 0; q < 256; ++q)
    table.push_back(static_cast<int8_t>(q));
  return nn::TableOp::create(builder, value.getLoc(), value.getType(), value, table);
}

/// Callers give and get bytes as the network says. Returns the values that stay unsigned.
static llvm::DenseSet<Value> separateCallers(func::FuncOp network) {
  llvm::DenseSet<Value> outside;
  Block &body = network.getBody().front();
  auto builder = OpBuilder::atBlockBegin(&body);
  for (BlockArgument input : body.getArguments())
    if (isUnsignedByte(input.getType())) {
      outside.insert(input);
      nn::TableOp copy = createCopy(builder, input);
      input.replaceAllUsesExcept(copy.getResult(), copy);
    }
  builder.setInsertionPoint(body.getTerminator());
  for (OpOperand &output : body.getTerminator()->getOpOperands())
    if (isUnsignedByte(output.get().getType())) {
      output.set(createCopy(builder, output.get()).getResult());
      outside.insert(output.get());
    }
  return outside;
}

static void flipConstant(nn::ConstantOp constant) {
  setSigned(constant.getResult());
  OpBuilder builder(constant);
  constant.replaceAllUsesWith(nn::flipSignBits(builder, constant, constant.getType()).getResult());
  constant.erase();
}

/// A table whose sides become signed, or not; one that then changes nothing goes.
static void flipTable(nn::TableOp op, bool flipsInput, bool flipsResult) {
  SmallVector<int8_t> table(op.getTable());
  for (int64_t q = 0; q < 256; ++q)
    table[q ^ (flipsInput ? nn::kSignBit : 0)] =
        op.getTable()[q] ^ (flipsResult ? nn::kSignBit : 0);
  op.setTable(table);
  bool isCopy = llvm::all_of(llvm::enumerate(table),
                             [](auto entry) { return uint8_t(entry.value()) == entry.index(); });
  if (!isCopy || op.getInput().getType() != op.getType())
    return;
  op.replaceAllUsesWith(op.getInput());
  op.erase();
}

void codegen::signBytes(func::FuncOp network) {
  llvm::DenseSet<Value> outside = separateCallers(network);
  struct Table {
    nn::TableOp op;
    bool flipsInput, flipsResult;
  };
  SmallVector<Table> tables;
  SmallVector<nn::ConstantOp> constants;
  auto becomesSigned = [&](Value value) {
    return isUnsignedByte(value.getType()) && !outside.contains(value);
  };
  network.walk([&](Operation *op) {
    if (auto table = dyn_cast<nn::TableOp>(op))
      tables.push_back({table, becomesSigned(table.getInput()), becomesSigned(table.getResult())});
    else if (auto constant = dyn_cast<nn::ConstantOp>(op);
             constant && becomesSigned(constant.getResult()))
      constants.push_back(constant);
  });
  llvm::for_each(constants, flipConstant);
  network.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (!outside.contains(result))
        setSigned(result);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (!outside.contains(argument))
            setSigned(argument);
  });
  for (const Table &table : tables)
    flipTable(table.op, table.flipsInput, table.flipsResult);
}
