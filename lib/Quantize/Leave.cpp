//===- Leave.cpp - a program without Octet --------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Leave.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;

static bool isQuantized(Type type) { return isa<quant::QuantizedType>(getElementTypeOrSelf(type)); }

static LogicalResult inlineGroups(ModuleOp module) {
  WalkResult result = module.walk([](GroupOp group) {
    if (llvm::any_of(group->getOperandTypes(), isQuantized) ||
        llvm::any_of(group->getResultTypes(), isQuantized)) {
      group.emitOpError("has quantized types, which imply arithmetic")
          << Remedy("run this pass in front of octet-lower");
      return WalkResult::interrupt();
    }
    group.inlineBody();
    group.erase();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static bool isOfOctet(StringAttr name) {
  return name.getValue().starts_with((OctetDialect::getDialectNamespace() + ".").str());
}

/// Those of operators, and of arguments and results of functions.
static void removeAttributes(Operation *op) {
  for (NamedAttribute attribute : llvm::to_vector(op->getDiscardableAttrs()))
    if (isOfOctet(attribute.getName()))
      op->removeDiscardableAttr(attribute.getName());
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    for (NamedAttribute attribute : llvm::to_vector(function.getArgAttrs(i)))
      if (isOfOctet(attribute.getName()))
        function.removeArgAttr(i, attribute.getName());
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    for (NamedAttribute attribute : llvm::to_vector(function.getResultAttrs(i)))
      if (isOfOctet(attribute.getName()))
        function.removeResultAttr(i, attribute.getName());
}

LogicalResult octet::removeOctet(ModuleOp module) {
  if (failed(inlineGroups(module)))
    return failure();
  module.walk([](Operation *op) {
    if (isa<BackendOp, QConfigMappingOp, ObserverOp>(op))
      op->erase();
  });
  module.walk([](Operation *op) { removeAttributes(op); });
  return success();
}

LogicalResult octet::checkNothingLeft(ModuleOp module) {
  WalkResult result = module.walk([](Operation *op) {
    if (!isa_and_nonnull<OctetDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitOpError("has no counterpart upstream")
        << Remedy("lower it before, or leave with another pass");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
