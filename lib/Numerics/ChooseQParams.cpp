//===- ChooseQParams.cpp - scale and zero point of the values that there are ===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/ChooseQParams.h"
#include <algorithm>
#include <cmath>
#include <tuple>

#pragma STDC FP_CONTRACT OFF

std::pair<float, int32_t> octet::numerics::chooseQParams(float min, float max, int32_t low,
                                                         int32_t high) {
  min = 0.0f > min ? min : 0.0f;
  max = 0.0f < max ? max : 0.0f;
  int32_t steps = high - low;
  double scale = ((double)max - (double)min) / steps;
  if ((float)scale == 0 || std::isinf(1 / (float)scale))
    scale = kScaleOfZeros;
  if (scale < (double)kLeastDynamicScale) {
    float factor = kLeastDynamicScale / (float)scale, reach = kLeastDynamicScale * (float)steps;
    scale = kLeastDynamicScale;
    std::tie(min, max) = min == 0   ? std::pair(min, reach)
                         : max == 0 ? std::pair(-reach, max)
                                    : std::pair(min * factor, max * factor);
  }
  double fromMin = min / scale, fromMax = max / scale;
  bool isMinNearer =
      std::abs((double)low) - std::abs(fromMin) < std::abs((double)high) - std::abs(fromMax);
  double zeroPoint = isMinNearer ? low - fromMin : high - fromMax;
  // Written so that no number, from infinite values, becomes `low`.
  zeroPoint = zeroPoint > low ? zeroPoint : low;
  zeroPoint = zeroPoint < high ? zeroPoint : high;
  return {(float)scale, (int32_t)std::nearbyint(zeroPoint)};
}
