//===- TrainedRanges.cpp - types that values and weights were trained with ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"
#include "octet/Numerics/Quantize.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace octet;
using quant::QuantizedType;

quant::UniformQuantizedType octet::getTrainedType(FakeQuantizeOp op, bool isSigned) {
  auto type = cast<quant::UniformQuantizedType>(op.getQuantizedType());
  if (type.isSigned() == isSigned || type.getStorageTypeIntegralWidth() != 8)
    return type;
  int64_t offset = isSigned ? -128 : 128;
  return quant::UniformQuantizedType::get(
      isSigned ? quant::QuantizationFlags::Signed : 0, type.getStorageType(),
      type.getExpressedType(), type.getScale(), type.getZeroPoint() + offset,
      type.getStorageTypeMin() + offset, type.getStorageTypeMax() + offset);
}

std::optional<Reason> octet::checkTrainedWeight(DTypeAttr dtype, FakeQuantizeOp op, int64_t axis) {
  auto type = cast<QuantizedType>(op.getQuantizedType());
  int64_t channelAxis = numerics::getChannelAxis(type);
  if (channelAxis >= 0 && channelAxis != axis)
    return Reason{"OCT208",
                  llvm::formatv("its weights were trained with one scale per element of axis {0}, "
                                "but the result's channels lie on axis {1}",
                                channelAxis, axis),
                  llvm::formatv("train them with scales along axis {0}", axis)};
  auto isZero = [](int32_t zeroPoint) { return zeroPoint == 0; };
  IntegerType stored =
      IntegerType::get(type.getContext(), type.getStorageTypeIntegralWidth(),
                       type.isSigned() ? IntegerType::Signed : IntegerType::Unsigned);
  Type wanted =
      dtype ? dtype.getType() : IntegerType::get(type.getContext(), 8, IntegerType::Signed);
  if (isSameInteger(wanted, stored) && llvm::all_of(numerics::getParams(type).zeroPoints, isZero))
    return std::nullopt;
  return Reason{"OCT204",
                llvm::formatv("its weights were trained as {0}, but the backend takes {1} with "
                              "zero points of 0",
                              Type(type), wanted),
                "train them so, or compile the network without samples, as it is in its file"};
}
