//===- DensePacking.cpp - weights of dense products in panels --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DensePacking.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

template <typename T>
std::vector<T> codegen::packWeights(const DenseShape &shape, ArrayRef<T> filter, int64_t channels) {
  constexpr int64_t perStep = 4 / sizeof(T); // elements of a run
  std::vector<T> packed(shape.panels() * shape.stepsPerPanel() * 16 * perStep, 0);
  int64_t taps = shape.kernelRows * shape.kernelColumns, perPanel = shape.stepsPerPanel() * 16 * perStep;
  for (int64_t o = 0; o < shape.outputs; ++o)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t row = tap / shape.kernelColumns, inRow = tap % shape.kernelColumns * shape.channels + c;
        int64_t run = row * shape.runsPerRow() + inRow / shape.runLength(), inRun = inRow % shape.runLength();
        int64_t step = run * shape.stepsPerRun() + inRun / perStep;
        packed[o / 16 * perPanel + (step * 16 + o % 16) * perStep + inRun % perStep] = filter[(o * channels + c) * taps + tap];
      }
  return packed;
}

template std::vector<int8_t> codegen::packWeights(const DenseShape &, ArrayRef<int8_t>, int64_t);
template std::vector<float> codegen::packWeights(const DenseShape &, ArrayRef<float>, int64_t);

std::vector<int32_t> codegen::makeCompensation(const DenseShape &shape, const codegen::QuantParams &input,
                                               ArrayRef<int8_t> filter, ArrayRef<int32_t> bias, int64_t channels) {
  std::vector<int32_t> start(shape.panels() * 16, 0);
  int64_t taps = shape.kernelRows * shape.kernelColumns;
  for (int64_t o = 0; o < shape.outputs; ++o) {
    int64_t sum = bias.empty() ? 0 : bias[o];
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        sum -= (int64_t)input.zeroPoints[input.axis < 0 ? 0 : c] * filter[(o * channels + c) * taps + tap];
    start[o] = (int32_t)sum; // wraps as the accumulator does; the whole sum is proven to fit
  }
  return start;
}
