//===- Constants.cpp - reading and making nn.constant ---------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/NN/Constants.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace octet::nn;

Type octet::nn::getStorageElementType(Type elementType) {
  auto *context = elementType.getContext();
  if (auto quantized = dyn_cast<quant::QuantizedType>(elementType))
    return IntegerType::get(context, quantized.getStorageTypeIntegralWidth());
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(context, integer.getWidth());
  return elementType;
}

ConstantOp octet::nn::createConstant(OpBuilder &builder, Location loc, StringRef name, RankedTensorType type,
                                     ArrayRef<char> bytes) {
  auto stored = RankedTensorType::get(type.getShape(), getStorageElementType(type.getElementType()));
  assert((int64_t)bytes.size() * 8 == stored.getNumElements() * stored.getElementTypeBitWidth() && "wrong size");
  // Bytecode asks for the alignment of its blobs when it is read; files are read into buffers aligned to 16 bytes.
  auto blob = HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, 16, /*dataIsMutable=*/false);
  auto value = DenseResourceElementsAttr::get(stored, name, std::move(blob));
  return ConstantOp::create(builder, loc, type, value);
}

StringRef octet::nn::getConstantName(ConstantOp op) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue()))
    return resource.getRawHandle().getKey();
  return "constant";
}

std::vector<char> octet::nn::getConstantBytes(ConstantOp op) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? std::vector<char>(blob->getData().begin(), blob->getData().end()) : std::vector<char>();
  }
  std::vector<char> bytes;
  auto append = [&](auto value) {
    const char *data = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), data, data + sizeof(value));
  };
  for (APInt bits : llvm::map_range(cast<DenseElementsAttr>(op.getValue()).getValues<Attribute>(), [](Attribute value) {
         auto real = dyn_cast<FloatAttr>(value);
         return real ? real.getValue().bitcastToAPInt() : cast<IntegerAttr>(value).getValue();
       })) {
    if (bits.getBitWidth() == 8)
      append((int8_t)bits.getZExtValue());
    else if (bits.getBitWidth() == 32)
      append((int32_t)bits.getZExtValue());
    else
      append((int64_t)bits.getZExtValue());
  }
  return bytes;
}

template <typename T>
FailureOr<SmallVector<T, 0>> octet::nn::getConstantValues(Value value) {
  auto op = value.getDefiningOp<ConstantOp>();
  if (!op)
    return failure();
  auto type = cast<ShapedType>(op.getValue().getType());
  Type element = getStorageElementType(type.getElementType());
  bool matches = std::is_floating_point_v<T> ? element.isF32() : element.isInteger(sizeof(T) * 8);
  if (!matches)
    return failure();
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob || (int64_t)blob->getData().size() != type.getNumElements() * (int64_t)sizeof(T))
      return failure();
    auto data = blob->getDataAs<T>();
    return SmallVector<T, 0>(data.begin(), data.end());
  }
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense)
    return failure();
  SmallVector<T, 0> values;
  if constexpr (std::is_floating_point_v<T>) {
    for (APFloat v : dense.getValues<APFloat>())
      values.push_back(v.convertToFloat());
  } else {
    for (APInt v : dense.getValues<APInt>())
      values.push_back((T)v.getSExtValue());
  }
  return values;
}

template FailureOr<SmallVector<float, 0>> octet::nn::getConstantValues<float>(Value);
template FailureOr<SmallVector<int8_t, 0>> octet::nn::getConstantValues<int8_t>(Value);
template FailureOr<SmallVector<int32_t, 0>> octet::nn::getConstantValues<int32_t>(Value);
template FailureOr<SmallVector<int64_t, 0>> octet::nn::getConstantValues<int64_t>(Value);
