//===- SignBits.cpp - bytes of the other signedness -----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/NN/SignBits.h"
#include "octet/Dialect/NN/Constants.h"

using namespace mlir;
using namespace octet;
using quant::QuantizedType;

QuantizedType nn::flipSign(QuantizedType type) {
  int64_t offset = type.isSigned() ? kSignBit : -kSignBit;
  unsigned flags = type.getFlags() ^ unsigned(quant::QuantizationFlags::Signed);
  int64_t low = type.getStorageTypeMin() + offset, high = type.getStorageTypeMax() + offset;
  if (auto uniform = dyn_cast<quant::UniformQuantizedType>(type))
    return quant::UniformQuantizedType::get(flags, type.getStorageType(), type.getExpressedType(),
                                            uniform.getScale(), uniform.getZeroPoint() + offset,
                                            low, high);
  auto perAxis = cast<quant::UniformQuantizedPerAxisType>(type);
  auto zeroPoints = llvm::map_to_vector(perAxis.getZeroPoints(),
                                        [&](int64_t zeroPoint) { return zeroPoint + offset; });
  return quant::UniformQuantizedPerAxisType::get(
      flags, type.getStorageType(), type.getExpressedType(), perAxis.getScales(), zeroPoints,
      perAxis.getQuantizedDimension(), low, high);
}

nn::ConstantOp nn::flipSignBits(OpBuilder &builder, ConstantOp constant, RankedTensorType type) {
  std::vector<char> bytes = getConstantBytes(constant);
  for (char &byte : bytes)
    byte ^= kSignBit;
  bool isSigned = cast<QuantizedType>(type.getElementType()).isSigned();
  std::string name = (getConstantName(constant) + (isSigned ? ".i8" : ".u8")).str();
  return createConstant(builder, constant.getLoc(), name, type, ArrayRef(bytes));
}
