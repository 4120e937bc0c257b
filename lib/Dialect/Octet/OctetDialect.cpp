//===- OctetDialect.cpp - the octet dialect -------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Dialect/Octet/QuantizedSource.h"
#include "octet/Support/Constants.h"
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

//===----------------------------------------------------------------------===//
// Discardable attributes
//===----------------------------------------------------------------------===//

template <typename AttrTy> static bool isOfType(Attribute value) { return isa<AttrTy>(value); }

static bool isStage(Attribute value) {
  static constexpr StringLiteral stages[] = {
#define OCTET_STAGE(enumerator, name, summary) name,
#include "octet/Dialect/Octet/Stages.def"
  };
  auto name = dyn_cast<StringAttr>(value);
  return name && llvm::is_contained(stages, name.getValue());
}

namespace {
struct DiscardableAttribute {
  StringLiteral name, expected;
  bool (*isValid)(Attribute);
  bool isOfModules; ///< else of ops of any dialect
};
} // namespace

static constexpr DiscardableAttribute kDiscardableAttributes[] = {
    {kOriginAttr, "an '#octet.origin'", isOfType<OriginAttr>, false},
    {kDecisionAttr, "an '#octet.decision'", isOfType<DecisionAttr>, false},
    {kMappingAttr, "the symbol of a QConfig mapping", isOfType<FlatSymbolRefAttr>, false},
    {kWeightAttr, "a unit", isOfType<UnitAttr>, false},
    {kStageAttr, "the name of a stage", isStage, true},
    {kReportAttr, "a string", isOfType<StringAttr>, true},
    {kQuantizedIoAttr, "a unit", isOfType<UnitAttr>, true},
    {kBucketAttr, "a float", isOfType<FloatAttr>, true},
    {kStaticScalesAttr, "a unit", isOfType<UnitAttr>, true},
    {kQuantizedSourceAttr, "a unit", isOfType<UnitAttr>, true},
};

LogicalResult OctetDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  auto *row = llvm::find_if(kDiscardableAttributes, [&](auto &row) { return row.name == name; });
  if (row == std::end(kDiscardableAttributes))
    return success();
  if (row->isOfModules && !isa<ModuleOp>(op))
    return op->emitOpError("expected '") << name << "' on a module only";
  if (!row->isValid(attribute.getValue()))
    return op->emitOpError("expected ")
           << row->expected << " as '" << name << "', but got " << attribute.getValue();
  return success();
}

/// Of an argument or a result.
static LogicalResult verifySignatureAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if ((name != kQuantizedAttr && name != kWeightAttr) || isa<UnitAttr>(attribute.getValue()))
    return success();
  return op->emitOpError("expected a unit as '") << name << "', but got " << attribute.getValue();
}

LogicalResult OctetDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned,
                                                     NamedAttribute attribute) {
  return verifySignatureAttribute(op, attribute);
}

LogicalResult OctetDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned,
                                                        NamedAttribute attribute) {
  return verifySignatureAttribute(op, attribute);
}
