//===- Activations.cpp - activations in steps of their results ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/Activations.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#pragma STDC FP_CONTRACT OFF

using namespace octet;
using namespace octet::numerics;

namespace {
/// Behind max(x, 0), up to a limit from where on it is nearly zero: x * Q(x) with bits of
/// coefficients, from the lowest power on. Found by Remez' algorithm, then rounded.
struct Tail {
  double limit;
  llvm::ArrayRef<uint32_t> coefficients;
};
} // namespace

static Tail getTail(Activation activation) {
  static const uint32_t silu[] = {0xBF00082D, 0x3E7B2098, 0x3C92FEAC, 0xBD394A8D, 0x3C82D8CD,
                                  0xBB3C14FB, 0x399978E1, 0xB787743E, 0x34C97775};
  static const uint32_t gelu[] = {0xBEFF0C7A, 0x3EC25EA8, 0x3D7B6364, 0xBE1E26D7,
                                  0x3D81B69B, 0xBC3534D9, 0x3A3F9CB0};
  static const uint32_t geluTanh[] = {0xBEFF4D16, 0x3EC3E677, 0x3D62544C, 0xBE18E8DC,
                                      0x3D7B3201, 0xBC2F18D8, 0x3A38A957};
  switch (activation) {
  case Activation::silu:
    return {8.5, silu};
  case Activation::gelu:
    return {3.8, gelu};
  case Activation::geluTanh:
    return {3.8, geluTanh};
  }
}

std::optional<StepActivation> StepActivation::get(Activation activation, float scale) {
  if (!(scale >= 0x1p-10f && scale <= 0x1p10f))
    return std::nullopt;
  Tail tail = getTail(activation);
  StepActivation result{(float)(tail.limit / scale), {}};
  double power = 1;
  for (uint32_t coefficient : tail.coefficients) {
    result.coefficients.push_back((float)(llvm::bit_cast<float>(coefficient) * power));
    power *= scale;
  }
  std::reverse(result.coefficients.begin(), result.coefficients.end());
  return result;
}

float StepActivation::getTailBound(float scale) {
  constexpr float kMost = 0.5f; // 0.28 of silu
  return kMost / scale;
}
