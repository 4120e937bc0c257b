//===- RoundWeightsTest.cpp - rounding against data -----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Numerics/RoundWeights.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using octet::numerics::InputProducts;
using octet::numerics::WeightRounder;

namespace {
/// A layer whose inputs' columns are mixtures of a few values.
struct Layer {
  int64_t columns, rows = 512, outputs = 8;
  std::vector<int16_t> inputs; ///< [columns][rows]
  std::vector<float> weights;
  std::vector<double> scales;

  explicit Layer(int64_t columns) : columns(columns), inputs(columns * rows) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<float> sources(5 * rows);
    for (float &value : sources)
      value = normal(random);
    for (int64_t c = 0; c < columns; ++c) {
      std::vector<float> shares(5);
      for (float &share : shares)
        share = normal(random);
      for (int64_t r = 0; r < rows; ++r) {
        float sum = 0.2f * normal(random);
        for (int64_t s = 0; s < 5; ++s)
          sum += shares[s] * sources[s * rows + r];
        inputs[c * rows + r] = (int16_t)std::lround(std::clamp(20 * sum, -255.0f, 255.0f));
      }
    }
    weights.resize(outputs * columns);
    for (float &weight : weights)
      weight = normal(random);
    for (int64_t o = 0; o < outputs; ++o)
      scales.push_back(getLargest(weights, o) / 127.0);
  }

  float getLargest(const std::vector<float> &of, int64_t output) const {
    float largest = 0;
    for (int64_t c = 0; c < columns; ++c)
      largest = std::max(largest, std::abs(of[output * columns + c]));
    return largest;
  }

  std::vector<float> roundToNearest() const {
    std::vector<float> rounded = weights;
    for (size_t i = 0; i < rounded.size(); ++i) {
      double scale = scales[i / columns];
      rounded[i] = (float)(std::nearbyint(rounded[i] / scale) * scale);
    }
    return rounded;
  }

  std::vector<float> roundAgainstData(int64_t parts = 1, bool isReversed = false) const {
    InputProducts products(columns);
    int64_t size = rows / parts;
    for (int64_t part = 0; part < parts; ++part) {
      int64_t first = (isReversed ? parts - 1 - part : part) * size;
      std::vector<int16_t> some;
      for (int64_t c = 0; c < columns; ++c)
        some.insert(some.end(), &inputs[c * rows + first], &inputs[c * rows + first] + size);
      products.add(some);
    }
    std::vector<float> rounded = weights;
    EXPECT_TRUE(products.areEnough());
    WeightRounder(products).round(rounded, scales, 127);
    return rounded;
  }

  /// The squared change of all results, but for their mean.
  double getError(const std::vector<float> &rounded) const {
    double error = 0;
    for (int64_t o = 0; o < outputs; ++o) {
      double squares = 0, total = 0;
      for (int64_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (int64_t c = 0; c < columns; ++c)
          sum +=
              (double)(rounded[o * columns + c] - weights[o * columns + c]) * inputs[c * rows + r];
        squares += sum * sum;
        total += sum;
      }
      error += squares - total * total / (double)rows;
    }
    return error;
  }
};
} // namespace

TEST(RoundWeights, ChangesResultsFarLessThanTheNearestIntegers) {
  for (int64_t columns : {48, 400}) { // one block and two
    Layer layer(columns);
    EXPECT_LT(layer.getError(layer.roundAgainstData()),
              0.25 * layer.getError(layer.roundToNearest()));
  }
}

TEST(RoundWeights, GivesMultiplesOfTheSameScale) {
  Layer layer(48);
  std::vector<float> rounded = layer.roundAgainstData();
  EXPECT_NE(rounded, layer.roundToNearest());
  for (size_t i = 0; i < rounded.size(); ++i) {
    double quotient = rounded[i] / layer.scales[i / layer.columns];
    EXPECT_NEAR(quotient, std::nearbyint(quotient), 1e-4);
    EXPECT_LE(std::abs(quotient), 127.0001);
  }
  for (int64_t output = 0; output < layer.outputs; ++output)
    EXPECT_EQ(layer.getLargest(rounded, output), layer.getLargest(layer.weights, output));
}

TEST(RoundWeights, DoesNotDependOnTheOrderOfSamples) {
  Layer layer(48);
  std::vector<float> rounded = layer.roundAgainstData();
  EXPECT_EQ(layer.roundAgainstData(4), rounded);
  EXPECT_EQ(layer.roundAgainstData(4, /*isReversed=*/true), rounded);
}

TEST(RoundWeights, LeavesWhatReadsNothing) {
  Layer layer(48);
  std::fill(layer.inputs.begin(), layer.inputs.end(), 0);
  EXPECT_EQ(layer.roundAgainstData(), layer.weights);
}

TEST(RoundWeights, MakesUpForTheFirstErrorWithTheSecondWeight) {
  // Both columns are alike: 0.4 and 0.3 become 0 and 1, not 0 and 0. The third, which has the
  // largest magnitude, reads nothing.
  InputProducts inputs(3);
  inputs.add({100, -50, 25, 100, -50, 25, 0, 0, 0});
  std::vector<float> weights{0.4f, 0.3f, 127};
  EXPECT_TRUE(inputs.areEnough());
  WeightRounder(inputs).round(weights, {1.0}, 127);
  EXPECT_EQ(weights[0] + weights[1], 1);
  EXPECT_EQ(weights[2], 127);
}

TEST(RoundWeights, RoundsToTheRangeOfTheType) {
  Layer layer(48);
  InputProducts products(layer.columns);
  products.add(layer.inputs);
  std::vector<float> rounded = layer.weights;
  for (double &scale : layer.scales)
    scale *= 127.0 / 7;
  WeightRounder(products).round(rounded, layer.scales, 7);
  for (size_t i = 0; i < rounded.size(); ++i)
    EXPECT_LE(std::abs(rounded[i] / layer.scales[i / layer.columns]), 7.0001);
}

TEST(RoundWeights, WantsAsManyRowsAsColumns) {
  InputProducts inputs(3);
  inputs.add({1, 2, 3, 4, 5, 6});
  EXPECT_FALSE(inputs.areEnough());
  inputs.add({7, 8, 9});
  EXPECT_TRUE(inputs.areEnough());
}
