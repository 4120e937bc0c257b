//===- Origin.cpp - the origin of operators and values --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/Octet/Origin.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/NN/NN.h"

using namespace mlir;
using namespace octet;

LogicalResult OriginAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr name,
                                 StringAttr sourceClass, std::optional<int64_t> index) {
  if (name.empty())
    return emitError() << "expected a source name, but got an empty one";
  if (sourceClass && sourceClass.empty())
    return emitError() << "expected a source class, but got an empty one";
  if (index && *index < 0)
    return emitError() << "expected a number of the operator from 0, but got " << *index;
  return success();
}

static constexpr StringLiteral kReasonCodes[] = {
#define OCTET_REASON(code, title) code,
#include "octet/Dialect/Octet/Reasons.def"
};

LogicalResult ReasonAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringAttr code,
                                 StringAttr text, StringAttr) {
  StringRef digits = code.getValue();
  if (!digits.consume_front("OCT") || digits.size() != 3 || !llvm::all_of(digits, llvm::isDigit))
    return emitError() << "expected a code of the form OCT123, but got " << code;
  if (!llvm::is_contained(kReasonCodes, code.getValue()))
    return emitError() << "expected a code of docs/reasons.md, but got " << code;
  if (text.empty())
    return emitError() << "expected a text beside the code, but got an empty one";
  return success();
}

LogicalResult DecisionAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   std::optional<int64_t> number, Verdict verdict, SymbolRefAttr,
                                   ReasonAttr reason, ReasonAttr, bool) {
  if (number && *number < 0)
    return emitError() << "expected a number of the operator from 0, but got " << *number;
  if (verdict == Verdict::Float && !reason)
    return emitError() << "expected a reason for the verdict float, but got none";
  return success();
}

OriginAttr octet::getOrigin(Operation *op) { return op->getAttrOfType<OriginAttr>(kOriginAttr); }

/// The name of a constant's resource.
static StringAttr getResourceName(Operation *constant) {
  Attribute value;
  if (!matchPattern(constant, m_Constant(&value)))
    return {};
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  return resource ? StringAttr::get(constant->getContext(), resource.getRawHandle().getKey())
                  : StringAttr();
}

static StringAttr getArgumentName(BlockArgument argument) {
  auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function && argument.getOwner()->isEntryBlock()
             ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kNameAttr)
             : StringAttr();
}

OriginAttr octet::getOrigin(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && !op->hasTrait<OpTrait::ConstantLike>())
    return getOrigin(op);
  StringAttr name = op ? getResourceName(op) : getArgumentName(cast<BlockArgument>(value));
  return name && !name.empty() ? OriginAttr::get(name) : OriginAttr();
}

void octet::setOrigin(Operation *op, OriginAttr origin) {
  if (origin)
    op->setAttr(kOriginAttr, origin);
  else
    op->removeAttr(kOriginAttr);
}

StringRef octet::getSourceName(Operation *op) {
  OriginAttr origin = getOrigin(op);
  return origin ? origin.getName().getValue() : "";
}

DecisionAttr octet::getDecision(Operation *op) {
  return op->getAttrOfType<DecisionAttr>(kDecisionAttr);
}

void OriginPropagation::notifyOperationInserted(Operation *op, OpBuilder::InsertPoint previous) {
  bool isMoved = previous.isSet();
  if (isMoved || !source || getOrigin(op) || op->hasTrait<OpTrait::ConstantLike>() ||
      op->hasTrait<OpTrait::IsTerminator>() || isa<SymbolOpInterface>(op))
    return;
  setOrigin(op, source);
}
