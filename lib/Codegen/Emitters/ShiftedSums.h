//===- ShiftedSums.h - integer sums that are the bits of floats -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_LIB_CODEGEN_EMITTERS_SHIFTEDSUMS_H
#define OCTET_LIB_CODEGEN_EMITTERS_SHIFTEDSUMS_H

#include "Fused.h"

namespace octet::codegen {

/// Initial sums that are greater by KernelBuilder::kMiddleBits: the bits of sums are then those of
/// floats, and one subtraction converts them. For that, sums must be within 22 bits and a sign.
/// Where all sums below zero give the least byte, as behind a relu, the floats begin at 2^23. A
/// product with a multiplier M less 2^23 * M, which is exact, is then that of the sum, rounded once
/// by an FMA: below zero it is half of that, and as good. An FMA overwrites what it adds to: only
/// levels that reload operands gain.
/// Sums that are far from zero and near one another (of tiny weights with a large bias) have a
/// middle of their own, a float: taking it off gives the sum, rounded as a conversion rounds it.
struct ShiftedSums {
  /// Nothing is shifted, as at levels that convert otherwise.
  ShiftedSums() = default;
  /// `isRepeated`: a tile has several of them, which begin alike.
  ShiftedSums(const FusedOp &fused, const CpuLevel &level, bool isRepeated = true);

  explicit operator bool() const { return !offsets.empty(); }
  static constexpr float kLeast = 0x1p23f;
  static constexpr int32_t kLeastBits = 0x4b000000;
  /// The bits of the float of zero.
  static constexpr int32_t getFirstBits(bool beginAtLeast) {
    return beginAtLeast ? kLeastBits : KernelBuilder::kMiddleBits;
  }
  /// Whether the floats begin at `kLeast`, not in the middle.
  bool beginsAtLeast() const { return dropsNegative; }
  /// Whether these sums become bytes by little more than a product each.
  bool hasShortResults() const { return dropsNegative && areProductsWords; }
  /// Whether some channels' middles are other than `KernelBuilder::kMiddle`.
  bool hasMiddles() const;
  /// What is taken off each channel's floats.
  llvm::ArrayRef<float> getMiddles() const { return middles; }
  /// Adds an argument for initial sums, which are shifted.
  int addSums(Signature &signature, std::vector<int32_t> sums, int64_t block) const;
  /// The largest |fma(sum, multiplier[c], addend[c])|; no addends are zeros.
  float getProductBound(llvm::ArrayRef<float> multipliers, llvm::ArrayRef<float> addends) const;

private:
  bool add(int64_t low, int64_t high);

  llvm::SmallVector<int64_t> offsets; ///< of each channel, beside the first bits
  llvm::SmallVector<int64_t> bounds;  ///< of |sum|, before these are added
  llvm::SmallVector<float> middles;
  bool dropsNegative = false;
  bool areProductsWords = false; ///< where these are all that is rounded
};

} // namespace octet::codegen

#endif // OCTET_LIB_CODEGEN_EMITTERS_SHIFTEDSUMS_H
