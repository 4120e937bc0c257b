//===- Packing.cpp - weights and starts in the kernels' order --------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packing.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;

SmallVector<int64_t> DenseShape::getLaneOutputs() const {
  SmallVector<int64_t> lanes;
  for (int64_t panel = 0; panel < panels(); ++panel)
    for (int64_t lane = 0; lane < 16; ++lane)
      lanes.push_back(std::min(std::min(16 * panel, std::max<int64_t>(0, outputs - 16)) + lane, outputs - 1));
  return lanes;
}

template <typename T>
std::vector<T> codegen::packWeights(const DenseShape &shape, ArrayRef<T> filter, int64_t channels) {
  constexpr int64_t perStep = 4 / sizeof(T); // elements of a run
  std::vector<T> packed(shape.panels() * shape.stepsPerPanel() * 16 * perStep, 0);
  int64_t taps = shape.kernelRows * shape.kernelColumns, perPanel = shape.stepsPerPanel() * 16 * perStep;
  for (auto [position, o] : llvm::enumerate(shape.getLaneOutputs()))
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap) {
        int64_t row = tap / shape.kernelColumns, inRow = tap % shape.kernelColumns * shape.channels + c;
        int64_t run = row * shape.runsPerRow() + inRow / shape.runLength(), inRun = inRow % shape.runLength();
        int64_t step = run * shape.stepsPerRun() + inRun / perStep;
        packed[position / 16 * perPanel + (step * 16 + position % 16) * perStep + inRun % perStep] = filter[(o * channels + c) * taps + tap];
      }
  return packed;
}

template std::vector<int8_t> codegen::packWeights(const DenseShape &, ArrayRef<int8_t>, int64_t);
template std::vector<float> codegen::packWeights(const DenseShape &, ArrayRef<float>, int64_t);

std::vector<int32_t> codegen::makeStart(ArrayRef<int64_t> outputOfLane, const codegen::QuantParams &input,
                                        ArrayRef<int8_t> filter, ArrayRef<int32_t> bias, int64_t channels, int64_t taps,
                                        int64_t outputsPerGroup) {
  std::vector<int32_t> start;
  for (int64_t o : outputOfLane) {
    int64_t sum = bias.empty() ? 0 : bias[o], firstChannel = o / outputsPerGroup * channels;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t tap = 0; tap < taps; ++tap)
        sum -= (int64_t)input.zeroPoints[input.axis < 0 ? 0 : firstChannel + c] * filter[(o * channels + c) * taps + tap];
    start.push_back((int32_t)sum); // wraps as the accumulator does; the whole sum is proven to fit
  }
  return start;
}
