//===- Observe.cpp - statistics inside the compiled network ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

LogicalResult codegen::emitObserve(ProgramEmitter &emitter, ObserveOp op) {
  auto symbol = SymbolTable::lookupNearestSymbolFrom<ObserverOp>(op, op.getObserverAttr());
  ObserverAttrInterface observer = symbol.getObserver();
  RankedTensorType type = op.getInput().getType();
  auto observed = RankedTensorType::get(type.getShape(), type.getElementType());
  if (observer.getStateBytes(observed) == 0)
    return success();
  Signature signature(emitter);
  int source = signature.addTensor(op.getInput());
  int state = signature.add(emitter.getState(op.getObserverAttr()));
  // One caller at a time updates the statistics: the range has one unit.
  emitter.addStep(
      op, kernel::Kernels::observe, signature.arguments, 1,
      [&](KernelBuilder &b, ValueRange args, Value, Value) {
        TensorView x = signature.getTensor(source, args);
        auto layout = StridedLayoutAttr::get(b.getContext(), x.strides.offset, x.strides.steps);
        auto viewType = MemRefType::get(type.getShape(), b.getF32Type(), layout);
        Value view = memref::ReinterpretCastOp::create(b, viewType, x.memory, x.strides.offset,
                                                       type.getShape(), x.strides.steps);
        observer.emitUpdate(b, b.getLoc(), observed, view, signature.getValue(state, args));
      });
  return success();
}
