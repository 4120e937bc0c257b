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

ConstantOp octet::nn::createConstant(OpBuilder &builder, Location loc, StringRef name,
                                     RankedTensorType type, ArrayRef<char> bytes) {
  return ConstantOp::create(builder, loc, type, makeElements(name, type, bytes));
}

StringRef octet::nn::getConstantName(ConstantOp op) {
  return octet::getConstantName(op.getValue());
}

std::vector<char> octet::nn::getConstantBytes(ConstantOp op) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue())) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? std::vector<char>(blob->getData().begin(), blob->getData().end())
                : std::vector<char>();
  }
  std::vector<char> bytes;
  auto append = [&](auto value) {
    const char *data = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), data, data + sizeof(value));
  };
  bool isUnsigned = cast<ShapedType>(op.getValue().getType()).getElementType().isUnsignedInteger();
  for (APInt bits : llvm::map_range(
           cast<DenseElementsAttr>(op.getValue()).getValues<Attribute>(), [](Attribute value) {
             auto real = dyn_cast<FloatAttr>(value);
             return real ? real.getValue().bitcastToAPInt() : cast<IntegerAttr>(value).getValue();
           })) {
    if (bits.getBitWidth() == 1 || isUnsigned)
      bits = bits.zext(std::max(8u, bits.getBitWidth()));
    if (bits.getBitWidth() <= 8)
      append((int8_t)bits.getSExtValue());
    else if (bits.getBitWidth() == 16)
      append((int16_t)bits.getZExtValue());
    else if (bits.getBitWidth() == 32)
      append((int32_t)bits.getZExtValue());
    else
      append((int64_t)bits.getZExtValue());
  }
  return bytes;
}

std::optional<float> octet::nn::getNumber(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || constant.getType().getNumElements() != 1)
    return std::nullopt;
  FailureOr<SmallVector<float, 0>> values = getConstantValues<float>(constant);
  return succeeded(values) ? std::optional((*values)[0]) : std::nullopt;
}
