//===- StoredWeights.h - weights in blocks of a few bits --------*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_IMPORT_ONNX_STOREDWEIGHTS_H
#define OCTET_LIB_IMPORT_ONNX_STOREDWEIGHTS_H

#include "Node.h"
#include "llvm/Support/MathExtras.h"

namespace octet::onnx_import {

/// A matrix of integers of a few bits, each of which is real by the scale and the zero point of its
/// block of a row.
struct BlockedMatrix {
  int64_t rows = 0, columns = 0, bits = 0, block = 0;
  std::vector<uint8_t> integers;         ///< at least 0
  std::vector<float> scales, zeroPoints; ///< row by row

  int64_t countBlocks() const { return llvm::divideCeil(columns, block); }
};

/// `count` integers of each row, the first in the lowest bits; a row fills whole bytes.
std::vector<uint8_t> unpackRows(llvm::ArrayRef<int64_t> bytes, int64_t bits, int64_t rows,
                                int64_t count);
/// octet.dequantize_weights, [rows, columns].
mlir::Value makeReal(Node &node, const BlockedMatrix &matrix, const llvm::Twine &role = "");
/// Whether blocks have this size, in every operator.
inline bool isBlockSize(int64_t size) { return size >= 16 && llvm::isPowerOf2_64(size); }

} // namespace octet::onnx_import

#endif // OCTET_LIB_IMPORT_ONNX_STOREDWEIGHTS_H
