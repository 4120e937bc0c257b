//===- NNDialect.cpp - the nn dialect -------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/NN/States.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet::nn;

#include "octet/Dialect/NN/NNDialect.cpp.inc"
#include "octet/Dialect/NN/NNEnums.cpp.inc"
#include "octet/Dialect/NN/NNInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "octet/Dialect/NN/NNAttrs.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "octet/Dialect/NN/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "octet/Dialect/NN/NNOps.cpp.inc"
      >();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                          Location loc) {
  if (auto elements = dyn_cast<ElementsAttr>(value))
    return ConstantOp::create(builder, loc, cast<RankedTensorType>(type), elements);
  return nullptr;
}

/// `nn.name` and `nn.state` are the attributes of this dialect on function arguments and results.
static LogicalResult verifyInterface(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kStateAttr)
    return verifyState(op, attribute.getValue());
  if (attribute.getName() != kNameAttr)
    return op->emitOpError("has unknown attribute '")
           << attribute.getName() << "'; expected 'nn.name' or 'nn.state'";
  if (!isa<StringAttr>(attribute.getValue()))
    return op->emitOpError("expected a string for 'nn.name', but got ") << attribute.getValue();
  return success();
}

LogicalResult NNDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                  NamedAttribute attribute) {
  return verifyInterface(op, attribute);
}

LogicalResult NNDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                     NamedAttribute attribute) {
  return verifyInterface(op, attribute);
}

LogicalResult LayoutAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                 int64_t channels, llvm::ArrayRef<int64_t> pads) {
  if (channels <= 0)
    return emitError() << "expected a positive channel pitch, but got " << channels;
  if (pads.size() != 4 || llvm::any_of(pads, [](int64_t pad) { return pad < 0; }))
    return emitError() << "expected four non-negative pads (top, left, bottom, right)";
  return success();
}
