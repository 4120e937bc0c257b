//===- NNOps.cpp - verifiers and folders of nn ops ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "octet/Dialect/NN/Constants.h"
#include "octet/Dialect/NN/Formulas.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Support/Diagnostics.h"
#include <limits>

using namespace mlir;
using namespace octet::nn;

/// `-> type` is printed only if the result type is not the value's own (quantized constants).
static ParseResult parseConstantType(OpAsmParser &parser, Type &type, Attribute value) {
  if (succeeded(parser.parseOptionalArrow()))
    return parser.parseType(type);
  type = cast<ElementsAttr>(value).getShapedType();
  return success();
}

static void printConstantType(OpAsmPrinter &printer, Operation *, Type type, Attribute value) {
  if (type != cast<ElementsAttr>(value).getShapedType())
    printer << "-> " << type;
}

#define GET_OP_CLASSES
#include "octet/Dialect/NN/NNOps.cpp.inc"

/// A constant, or an argument of an operation's region that stands for one.
static bool isPositiveNumber(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (parent->getNumOperands() != argument.getOwner()->getNumArguments())
      return false;
    value = parent->getOperand(argument.getArgNumber());
  }
  return getNumber(value).value_or(0) > 0;
}

bool octet::nn::isAtMostZero(Value value) {
  if (auto product = value.getDefiningOp<MulOp>(); product && isPositiveNumber(product.getRhs()))
    value = product.getLhs();
  auto difference = value.getDefiningOp<SubOp>();
  auto largest = difference ? difference.getRhs().getDefiningOp<ReduceMaxOp>() : ReduceMaxOp();
  return largest && largest.getKeepDims() && largest.getInput() == difference.getLhs();
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult ConstantOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  auto valueType = cast<ShapedType>(getValue().getType());
  if (!isa<DenseElementsAttr, DenseResourceElementsAttr>(getValue()))
    return emitOpError("expected dense elements or a resource, but got ") << getValue();
  if (valueType.getShape() != type.getShape())
    return emitOpError("expected a value of shape [")
           << type.getShape() << "], but got [" << valueType.getShape() << "]";
  if (getStorageElementType(type.getElementType()) !=
      getStorageElementType(valueType.getElementType()))
    return emitOpError("expected values of type ") << getStorageElementType(type.getElementType())
                                                   << ", but got " << valueType.getElementType();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(getValue())) {
    // Text without weights can be parsed, but must not compile.
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return emitOpError("has no data for the resource '")
             << resource.getRawHandle().getKey() << "'"
             << Remedy("read the bytecode; readable text omits weights");
    int64_t bits = valueType.getNumElements() * valueType.getElementTypeBitWidth();
    if ((int64_t)blob->getData().size() * 8 != bits)
      return emitOpError("expected ")
             << bits / 8 << " bytes in the resource '" << resource.getRawHandle().getKey()
             << "', but got " << blob->getData().size();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Kinds of elements
//===----------------------------------------------------------------------===//

static Type getElement(Type tensorType) {
  return cast<RankedTensorType>(tensorType).getElementType();
}

bool octet::nn::holdsReals(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !isa<IntegerType>(tensor.getElementType());
}

static auto getTensorTypes(Operation *op) {
  return llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes());
}

std::optional<std::pair<float, float>> octet::nn::getClamp(Operation *op) {
  if (isa<ReluOp>(op))
    return std::pair(0.0f, std::numeric_limits<float>::infinity());
  auto clip = dyn_cast<ClipOp>(op);
  if (!clip || !(clip.getMin() < clip.getMax()))
    return std::nullopt;
  return std::pair(clip.getMin().convertToFloat(), clip.getMax().convertToFloat());
}

bool octet::nn::isOfReals(Operation *op) {
  return llvm::all_of(getTensorTypes(op), [](Type type) {
    return holdsReals(type) && !getElement(type).isF16() && !getElement(type).isBF16() &&
           !getElement(type).isF64();
  });
}

LogicalResult octet::nn::verifyReals(Operation *op) {
  for (Type type : getTensorTypes(op))
    if (!holdsReals(type))
      return op->emitOpError("expected real numbers, but got ") << getElement(type);
  return success();
}

/// Real numbers all, or integers of one type.
static bool areOfOneKind(Type first, Type second) {
  return holdsReals(first) ? holdsReals(second) : getElement(first) == getElement(second);
}

static LogicalResult expectOneKind(Operation *op, Type first, Type second) {
  if (areOfOneKind(first, second))
    return success();
  return op->emitOpError("expected elements of one type, but got ")
         << getElement(first) << " and " << getElement(second);
}

LogicalResult octet::nn::verifyOneKind(Operation *op) {
  for (Type type : getTensorTypes(op))
    if (failed(expectOneKind(op, op->getOperand(0).getType(), type)))
      return failure();
  return success();
}

LogicalResult octet::nn::verifyIntegers(Operation *op) {
  if (holdsReals(op->getOperand(0).getType()))
    return op->emitOpError("expected integers, but got ")
           << getElement(op->getOperand(0).getType());
  return verifyOneKind(op);
}

LogicalResult CompareOp::verify() {
  return expectOneKind(*this, getLhs().getType(), getRhs().getType());
}

LogicalResult SelectOp::verify() {
  if (failed(expectOneKind(*this, getYes().getType(), getNo().getType())))
    return failure();
  return expectOneKind(*this, getYes().getType(), getResult().getType());
}

LogicalResult ScatterOp::verify() {
  if (failed(expectOneKind(*this, getData().getType(), getUpdates().getType())))
    return failure();
  return expectOneKind(*this, getData().getType(), getResult().getType());
}

LogicalResult ReduceOp::verify() {
  if (getCombination() == Combination::replace)
    return emitOpError("expected a combination of all elements, but got replace");
  return success();
}

LogicalResult GatherOp::verify() {
  return expectOneKind(*this, getData().getType(), getResult().getType());
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

LogicalResult TableOp::verify() {
  if (getTable().size() != 256)
    return emitOpError("expected a table of 256 entries, but got ") << getTable().size();
  for (Type type : getTensorTypes(*this))
    if (!getStorageElementType(getElement(type)).isInteger(8))
      return emitOpError("expected elements of 8 bits, but got ") << getElement(type);
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (getInput().getType().getNumElements() != getResult().getType().getNumElements())
    return emitOpError("expected ")
           << getInput().getType().getNumElements() << " elements in the result, but got "
           << getResult().getType().getNumElements();
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput() : Value();
}

LogicalResult RelayoutOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  if (input.getShape() != result.getShape() || input.getElementType() != result.getElementType())
    return emitOpError("expected input and result to differ in their encoding only");
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

int64_t octet::nn::countMultiplyAdds(Operation *op) {
  int64_t count = 0;
  op->walk([&](ProductOpInterface product) { count += product.getNumMultiplyAdds(); });
  return count;
}

int64_t ConvOp::getInputChannelAxis() { return 1; }
int64_t ConvOp::getResultChannelAxis() { return 1; }

bool ConvOp::isDepthwise() {
  return getGroups() > 1 && (int64_t)getGroups() == getInput().getType().getDimSize(1);
}

int64_t ConvOp::getNumMultiplyAdds() {
  auto filter = getFilter().getType();
  return getResult().getType().getNumElements() * (filter.getNumElements() / filter.getDimSize(0));
}

int64_t LinearOp::getNumMultiplyAdds() {
  return getResult().getType().getNumElements() * getFilter().getType().getDimSize(1);
}

OpOperand *MatmulOp::getWeightOperand() { return nullptr; }
OpOperand *MatmulOp::getBiasOperand() { return nullptr; }
void MatmulOp::setBias(Value) { llvm_unreachable("a product of two activations has no bias"); }

int64_t MatmulOp::getNumMultiplyAdds() {
  return getResult().getType().getNumElements() * getLhs().getType().getShape().back();
}
