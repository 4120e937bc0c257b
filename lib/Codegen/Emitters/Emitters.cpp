//===- Emitters.cpp - from an operator to its emitter ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

LogicalResult codegen::emitConv(ProgramEmitter &emitter, nn::ConvOp op) {
  return emitRoot(emitter, FusedOp(op));
}

LogicalResult codegen::emitLinear(ProgramEmitter &emitter, nn::LinearOp op) {
  return emitRoot(emitter, FusedOp(op));
}

LogicalResult codegen::emitRoot(ProgramEmitter &emitter, const FusedOp &fused) {
  if (!emitDepthwise(emitter, fused) && !emitDense(emitter, fused))
    emitLoopsForRoot(emitter, fused);
  return success();
}

LogicalResult codegen::emitGroup(ProgramEmitter &emitter, GroupOp op) {
  FusedOp fused(op);
  for (Operation *inner : fused.body)
    if (!inner->hasTrait<nn::Elementwise>() && !isa<DequantizeOp>(inner))
      return inner->emitOpError("cannot stand in a fused group: it is not element-wise");
  return fused.root ? emitRoot(emitter, fused) : emitFusedElementwise(emitter, fused);
}

LogicalResult codegen::emitOperator(ProgramEmitter &emitter, Operation *op) {
  if (isa<nn::ConstantOp>(op))
    return success();
  bool isAlias = getAliasRoot(op->getResult(0)) != op->getResult(0);
  if (!isAlias)
    emitBorder(emitter, op, op->getResult(0));
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
#define OCTET_EMITTER(OpClass, function)                                                           \
  .Case([&](OpClass typed) { return function(emitter, typed); })
#include "Emitters.def"
      .Default([&](Operation *op) -> LogicalResult {
        if (op->hasTrait<nn::Elementwise>())
          return emitFusedElementwise(emitter, FusedOp(op));
        return op->emitOpError("has no code generation; see the rows of Emitters.def");
      });
}
