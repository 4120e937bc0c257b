//===- KernelDialect.cpp - the kernel dialect -----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "octet/Dialect/Kernel/Kernel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet::kernel;

bool octet::kernel::isVector(Type type, int64_t lanes, unsigned width, bool isFloat) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getShape() == ArrayRef<int64_t>(lanes) &&
         vector.getElementTypeBitWidth() == width &&
         isa<FloatType>(vector.getElementType()) == isFloat;
}

Type octet::kernel::getBytesOfLanes(Type type) {
  constexpr int64_t kBytes = 4;
  return VectorType::get({kBytes * cast<VectorType>(type).getNumElements()},
                         IntegerType::get(type.getContext(), 8));
}

#include "octet/Dialect/Kernel/KernelDialect.cpp.inc"
#include "octet/Dialect/Kernel/KernelEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "octet/Dialect/Kernel/KernelAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "octet/Dialect/Kernel/KernelOps.cpp.inc"

void KernelDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "octet/Dialect/Kernel/KernelAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "octet/Dialect/Kernel/KernelOps.cpp.inc"
      >();
}

LogicalResult ProgramOp::verify() {
  for (auto step : getPrologue().getOps<StepOp>())
    for (auto argument : step.getArgs().getAsRange<ArgAttr>())
      if (argument.getSpace() != Space::weights && argument.getSpace() != Space::prepared)
        return step.emitOpError("expected addresses in weights or prepared memory in a prologue, "
                                "but got ")
               << argument;
  return success();
}

void PackOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs, bool isSigned,
                   bool inLanes) {
  build(builder, state, VectorType::get({16 * (int64_t)inputs.size()}, builder.getI8Type()), inputs,
        inLanes, isSigned);
}

LogicalResult PackOp::verify() {
  int64_t count = getInputs().size();
  if (count != 1 && count != 4)
    return emitOpError("expected one or four vectors, but got ") << count;
  if (getInLanes() && count != 4)
    return emitOpError("expected four vectors with 'in_lanes', but got ") << count;
  if (!isVector(getResult().getType(), 16 * count, 8, /*isFloat=*/false))
    return emitOpError("expected a result of ")
           << 16 * count << " bytes, but got " << getResult().getType();
  return success();
}
