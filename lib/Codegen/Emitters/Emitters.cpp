//===- Emitters.cpp - from an operator to its emitter ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters.h"
#include "../Products/Products.h"
#include "../Rows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

LogicalResult codegen::emitConv(ProgramEmitter &emitter, nn::ConvOp op) {
  return emitProduct(emitter, FusedOp(op));
}

LogicalResult codegen::emitLinear(ProgramEmitter &emitter, nn::LinearOp op) {
  return emitProduct(emitter, FusedOp(op));
}

/// Whether a product's input and result have the elements of a kernel.
static bool hasElements(const FusedOp &fused, kernel::Elements elements, const CpuLevel &level) {
  RankedTensorType in = getTensorType(fused.getInput()), out = getTensorType(fused.getResult());
  switch (elements) {
  case kernel::Elements::any:
    return true;
  case kernel::Elements::bytes:
    return isByte(in) && isSigned(in) == level.products->takesSigned() &&
           (isByte(out) || !isQuantized(out));
  case kernel::Elements::reals:
    return !isQuantized(in) && !isQuantized(out);
  }
  llvm_unreachable("unknown elements");
}

LogicalResult codegen::emitProduct(ProgramEmitter &emitter, const FusedOp &fused) {
  using Emit = bool (*)(ProgramEmitter &, const FusedOp &);
  static constexpr std::pair<const kernel::KernelRow *, Emit> kernels[] = {
#define OCTET_PRODUCT_KERNEL(name, ...)                                                            \
  {&kernel::Kernels::name, emitProductAs<kernel::Kernels::name>},
#include "octet/Dialect/Kernel/Kernels.def"
  };
  for (auto [row, emit] : kernels)
    if (emitter.has(*row) && hasElements(fused, row->elements, emitter.getLevel()) &&
        emit(emitter, fused))
      return success();
  return fused.op->emitOpError("has no kernel; see the rows of Kernels.def");
}

/// Whether an op rounds numbers to integers of one scale, which are dequantized at once.
static bool isRounding(Operation *op) {
  auto quantize = dyn_cast<QuantizeOp>(op);
  if (!quantize || !llvm::all_of(op->getUsers(), llvm::IsaPred<DequantizeOp>))
    return false;
  auto type = dyn_cast<quant::UniformQuantizedType>(quantize.getType().getElementType());
  return type && type.getStorageTypeIntegralWidth() <= 16;
}

LogicalResult codegen::emitGroup(ProgramEmitter &emitter, GroupOp op) {
  if (!op.getBody().getOps<DequantizeWeightsOp>().empty())
    return emitStored(emitter, op);
  if (emitAttention(emitter, op) || emitFloatAttention(emitter, op) ||
      emitSoftmaxGroup(emitter, op))
    return success();
  if (isRowGroup(op)) {
    emitRowGroup(emitter, op);
    return success();
  }
  FusedOp fused(op);
  for (Operation *inner : fused.body) {
    if (auto dequantize = dyn_cast<DequantizeOp>(inner)) {
      if (failed(expectSmall(inner, dequantize.getInput().getType())))
        return failure();
    } else if (!inner->hasTrait<nn::Elementwise>() && !isRounding(inner)) {
      return inner->emitOpError("cannot stand in a fused group: it is not element-wise");
    }
  }
  if (!fused.product)
    return emitFusedElementwise(emitter, fused);
  RankedTensorType result = getTensorType(op.getResult());
  if (getTensorType(fused.product->getResult(0)).getShape() != result.getShape())
    return fused.product->emitOpError(
               "cannot stand in a fused group whose result has another shape: ")
           << result;
  return emitProduct(emitter, fused);
}

static LogicalResult refuseIntegers(Operation *op) {
  return op->emitOpError("has code generation for real numbers only, but got integers");
}

LogicalResult codegen::emitOperator(ProgramEmitter &emitter, Operation *op) {
  if (isa<nn::ConstantOp, tensor::EmptyOp>(op))
    return success();
  bool isAlias = getAliasRoot(op->getResult(0)) != op->getResult(0);
  if (!isAlias)
    emitBorder(emitter, op, op->getResult(0));
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
#define OCTET_EMITTER(OpClass, function)                                                           \
  .Case([&](OpClass typed) { return function(emitter, typed); })
#define OCTET_REAL_EMITTER(OpClass, function)                                                      \
  .Case([&](OpClass typed) {                                                                       \
    return nn::isOfReals(op) ? function(emitter, typed) : refuseIntegers(op);                      \
  })
#include "Emitters.def"
      .Default([&](Operation *op) -> LogicalResult {
        if (op->hasTrait<nn::Elementwise>())
          return emitFusedElementwise(emitter, FusedOp(op));
        return op->emitOpError("has no code generation; see the rows of Emitters.def");
      });
}
