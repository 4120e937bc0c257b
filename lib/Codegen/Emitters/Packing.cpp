//===- Packing.cpp - what panels of weights look like ----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

std::vector<int32_t> codegen::makeStart(int64_t outputs, const codegen::QuantParams &input,
                                        ArrayRef<int8_t> filter, ArrayRef<int32_t> bias, int64_t channels, int64_t taps,
                                        int64_t outputsPerGroup) {
  std::vector<int32_t> start;
  for (int64_t o = 0; o < outputs; ++o) {
    int64_t sum = bias.empty() ? 0 : bias[o], firstChannel = o / outputsPerGroup * channels;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        sum -= (int64_t)input.zeroPoints[input.axis < 0 ? 0 : firstChannel + c] * filter[(o * channels + c) * taps + tap];
    start.push_back((int32_t)sum); // wraps as the accumulator does; the whole sum is proven to fit
  }
  return start;
}
