//===- ChooseQParams.h - scale and zero point of the values that there are -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_NUMERICS_CHOOSEQPARAMS_H
#define OCTET_NUMERICS_CHOOSEQPARAMS_H

#include <cmath>
#include <cstdint>
#include <utility>

namespace octet::numerics {

/// [N.choose_qparams] The least scale, as f32.
inline constexpr float kLeastDynamicScale = 6.1e-5f;
/// The scale of nothing but zeros.
inline constexpr double kScaleOfZeros = 0.1;

/// [N.stat.room], [N.split] By how much further `numbers` numbers are expected to reach than
/// `count` of them: a factor of at least 1; 1 if less than two were seen.
inline float getRoom(double count, double numbers = 100000) {
  return count > 1 && count < numbers ? (float)std::sqrt(std::log(numbers) / std::log(count)) : 1;
}

/// [N.choose_qparams] Scale and zero point of values from `min` to `max` in the quantized range
/// [low, high].
std::pair<float, int32_t> chooseQParams(float min, float max, int32_t low, int32_t high);

} // namespace octet::numerics

#endif // OCTET_NUMERICS_CHOOSEQPARAMS_H
