//===- Constants.cpp - constants of any dialect ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Constants.h"
#include "mlir/Dialect/Quant/IR/Quant.h"
#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace octet;

Type octet::getStorageElementType(Type elementType) {
  auto *context = elementType.getContext();
  if (auto quantized = dyn_cast<quant::QuantizedType>(elementType))
    return IntegerType::get(
        context,
        std::max<unsigned>(8, llvm::PowerOf2Ceil(quantized.getStorageTypeIntegralWidth())));
  if (auto integer = dyn_cast<IntegerType>(elementType)) // a truth value, or 4 bits, are a byte
    return IntegerType::get(context, std::max(8u, integer.getWidth()));
  // Arithmetic on these is by their bits [N.half].
  return elementType.isF16() || elementType.isBF16() ? IntegerType::get(context, 16) : elementType;
}

/// The symbol that an operator without operands names, as a load of a global does; or null.
static Operation *getNamedSymbol(Operation *op) {
  if (op->getNumOperands() != 0)
    return nullptr;
  for (NamedAttribute attribute : op->getAttrDictionary())
    if (auto symbol = dyn_cast<SymbolRefAttr>(attribute.getValue()))
      return SymbolTable::lookupNearestSymbolFrom(op, symbol);
  return nullptr;
}

/// The operator or symbol with the mark that makes the operator's results weights, or null.
static Operation *getMarked(Operation *op) {
  if (!op || op->hasAttr(kWeightAttr))
    return op;
  Operation *symbol = getNamedSymbol(op);
  return symbol && symbol->hasAttr(kWeightAttr) ? symbol : nullptr;
}

bool octet::isMarkedWeight(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return getMarked(value.getDefiningOp()) != nullptr;
  auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return function && argument.getOwner()->isEntryBlock() &&
         function.getArgAttr(argument.getArgNumber(), kWeightAttr);
}

ElementsAttr octet::getConstantElements(Value value) {
  ElementsAttr elements;
  if (matchPattern(value, m_Constant(&elements)))
    return elements;
  if (Operation *marked = getMarked(value.getDefiningOp()))
    for (NamedAttribute attribute : marked->getAttrDictionary())
      if (auto held = dyn_cast<ElementsAttr>(attribute.getValue());
          held && held.getType() == value.getType())
        return held;
  return {};
}

StringRef octet::getConstantName(ElementsAttr elements) {
  auto resource = dyn_cast_if_present<DenseResourceElementsAttr>(elements);
  return resource ? resource.getRawHandle().getKey() : "constant";
}

template <typename T> FailureOr<SmallVector<T, 0>> octet::getConstantValues(ElementsAttr elements) {
  if (!elements)
    return failure();
  auto type = cast<ShapedType>(elements.getType());
  Type element = getStorageElementType(type.getElementType());
  bool matches = std::is_floating_point_v<T> ? element.isF32() : element.isInteger(sizeof(T) * 8);
  if (!matches)
    return failure();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(elements)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || (int64_t)blob->getData().size() != type.getNumElements() * (int64_t)sizeof(T))
      return failure();
    auto data = blob->getDataAs<T>();
    return SmallVector<T, 0>(data.begin(), data.end());
  }
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense)
    return failure();
  SmallVector<T, 0> values;
  if constexpr (std::is_floating_point_v<T>) {
    for (APFloat v : dense.getValues<APFloat>())
      values.push_back(v.convertToFloat());
  } else {
    bool isUnsigned = type.getElementType().isUnsignedInteger();
    for (APInt v : dense.getValues<APInt>())
      values.push_back((T)(isUnsigned ? v.getZExtValue() : v.getSExtValue()));
  }
  return values;
}

template FailureOr<SmallVector<float, 0>> octet::getConstantValues<float>(ElementsAttr);
template FailureOr<SmallVector<int8_t, 0>> octet::getConstantValues<int8_t>(ElementsAttr);
template FailureOr<SmallVector<int16_t, 0>> octet::getConstantValues<int16_t>(ElementsAttr);
template FailureOr<SmallVector<int32_t, 0>> octet::getConstantValues<int32_t>(ElementsAttr);
template FailureOr<SmallVector<int64_t, 0>> octet::getConstantValues<int64_t>(ElementsAttr);

ElementsAttr octet::makeElements(StringRef name, RankedTensorType type, ArrayRef<char> bytes) {
  auto stored =
      RankedTensorType::get(type.getShape(), getStorageElementType(type.getElementType()));
  assert((int64_t)bytes.size() * 8 == stored.getNumElements() * stored.getElementTypeBitWidth() &&
         "wrong size");
  // Bytecode asks for the alignment of its blobs when it is read; files are read into buffers
  // aligned to 16 bytes.
  auto blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 16, /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(stored, name, std::move(blob));
}

/// A constant of `type`; null where the dialect, or the verifier of its op, does not want one.
static Value materialize(OpBuilder &builder, Dialect *dialect, ElementsAttr elements, Type type,
                         Location loc) {
  Operation *op = dialect ? dialect->materializeConstant(builder, elements, type, loc) : nullptr;
  if (!op)
    return {};
  ScopedDiagnosticHandler silence(loc.getContext(), [](Diagnostic &) { return success(); });
  if (succeeded(verify(op)))
    return op->getResult(0);
  op->erase();
  return {};
}

Value octet::createConstantLike(OpBuilder &builder, Location loc, Value like, RankedTensorType type,
                                ElementsAttr elements) {
  Dialect *dialect = like.getDefiningOp()->getDialect();
  if (Value constant = materialize(builder, dialect, elements, type, loc))
    return constant;
  Value stored = materialize(builder, dialect, elements, elements.getShapedType(), loc);
  if (!stored || stored.getType() == type)
    return stored;
  return quant::StorageCastOp::create(builder, loc, type, stored);
}
