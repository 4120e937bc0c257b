//===- Activations.h - activations in steps of their results ----*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_NUMERICS_ACTIVATIONS_H
#define OCTET_NUMERICS_ACTIVATIONS_H

#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace octet::numerics {

enum class Activation { silu, gelu, geluTanh };

/// [N.activation] An activation of t, both in steps of a quantized result: max(t, 0) + u * Q(u)
/// with u = min(|t|, limit).
struct StepActivation {
  float limit;
  llvm::SmallVector<float> coefficients; ///< of Q, from the highest power on

  /// Nothing for scales with which coefficients may not be normal numbers.
  static std::optional<StepActivation> get(Activation activation, float scale);
  /// The largest |u * Q(u)|.
  static float getTailBound(float scale);
};

} // namespace octet::numerics

#endif // OCTET_NUMERICS_ACTIVATIONS_H
