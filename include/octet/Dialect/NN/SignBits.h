//===- SignBits.h - bytes of the other signedness ---------------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The signed byte q - 128 with zero point z - 128 stands for the same real number as the unsigned
// byte q with zero point z: between the two lies the sign bit. [N.signed]
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_DIALECT_NN_SIGNBITS_H
#define OCTET_DIALECT_NN_SIGNBITS_H

#include "mlir/Dialect/Quant/IR/QuantTypes.h"
#include "octet/Dialect/NN/NN.h"

namespace octet::nn {

inline constexpr uint8_t kSignBit = 0x80;

/// The type of bytes whose values with the sign bit flipped stand for the same real numbers.
mlir::quant::QuantizedType flipSign(mlir::quant::QuantizedType type);

/// A constant of bytes with their sign bits flipped, as `type`, which is named for its storage.
ConstantOp flipSignBits(mlir::OpBuilder &builder, ConstantOp constant, mlir::RankedTensorType type);

} // namespace octet::nn

#endif // OCTET_DIALECT_NN_SIGNBITS_H
