//===- OctetDialect.cpp - the octet dialect -------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "octet/Dialect/Octet/Origin.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet;

#include "octet/Dialect/Octet/OctetAttrInterfaces.cpp.inc"
#include "octet/Dialect/Octet/OctetDialect.cpp.inc"
#include "octet/Dialect/Octet/OctetEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "octet/Dialect/Octet/OctetAttrs.cpp.inc"

void OctetDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "octet/Dialect/Octet/OctetAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "octet/Dialect/Octet/OctetOps.cpp.inc"
      >();
}

/// The discardable attributes that passes read on ops of any dialect.
LogicalResult OctetDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  bool isOfItsType = name == kOriginAttr     ? isa<OriginAttr>(attribute.getValue())
                     : name == kDecisionAttr ? isa<DecisionAttr>(attribute.getValue())
                                             : true;
  if (!isOfItsType)
    return op->emitOpError("expected an '#")
           << name << "' as '" << name << "', but got " << attribute.getValue();
  return success();
}
