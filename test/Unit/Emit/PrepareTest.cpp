//===- PrepareTest.cpp - what a model writes in another order when it is made -===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include "llvm/Support/MathExtras.h"
#include <cfenv>
#include <cstring>

using namespace llvm;
using namespace octet;
using namespace octet::test;

/// The weights that a model made of `filter` has prepared for output row `out` of the strip, and so on.
static int expectedWeight(const octet_depthwise_filter &f, ArrayRef<char> weights, int block, int part, int out, int column,
                          int row, int vector, int lane) {
  int size = 16 * f.vectors, first = std::min(block * f.parts * size, std::max(f.channels - f.parts * size, 0)) + part * size;
  int channel = (first + lane / 4 * 4 * f.vectors + 4 * vector + lane % 4) % f.channels, tap = row - out * f.row_stride;
  bool isTap = tap >= 0 && tap < f.kernel_rows;
  return isTap ? weights[f.source + (channel * f.kernel_rows + tap) * f.kernel_columns + column] : 0;
}

/// Kernel rows stand where the strip's input rows are, the second of two last ones at the third place; the last block of channels overlaps the one before (100 channels in
/// blocks of 64), and a block longer than all channels holds them several times (8 channels).
TEST(Prepare, TheWeightsOfStrips) {
  const octet_depthwise_filter filters[] = {
      {7, 64, 128, 2, 1, 4, 2, 1, 3, 2}, {7, 0, 100, 2, 1, 4, 4, 1, 5, 5}, {0, 0, 100, 2, 4, 1, 1, 1, 3, 3},
      {0, 0, 8, 1, 1, 4, 2, 1, 3, 3},    {0, 0, 8, 1, 4, 1, 1, 1, 3, 3},   {0, 0, 10, 1, 1, 1, 1, 2, 3, 3},
      {0, 0, 20, 2, 1, 1, 2, 1, 5, 5},   {0, 0, 20, 2, 1, 1, 1, 1, 2, 2},  {0, 0, 20, 2, 1, 1, 1, 1, 5, 1}};
  for (const octet_depthwise_filter &f : filters) {
    std::vector<char> weights(f.source, 99);
    for (int i = 0; i < f.channels * f.kernel_rows * f.kernel_columns; ++i)
      weights.push_back(char(i % 127 - 60));
    TestNetwork network("net");
    network.info.weights = weights;
    int rows = (f.strip - 1) * f.row_stride + f.kernel_rows, quads = (rows + 3) / 4;
    int64_t bytes = f.blocks * f.parts * f.strip * f.kernel_columns * quads * f.vectors * 64;
    auto library = network.level("reference").filter(f, f.target + bytes).load();
    ModelPtr model = create(*library);
    auto *prepared = static_cast<const char *>(library->api().frame(model.get())->prepared);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(prepared) % 64, 0u);
    const char *actual = prepared + f.target;
    for (int part = 0; part < f.blocks * f.parts; ++part)
      for (int out = 0; out < f.strip; ++out)
        for (int column = 0; column < f.kernel_columns; ++column)
          for (int quad = 0; quad < quads; ++quad)
            for (int vector = 0; vector < f.vectors; ++vector)
              for (int lane = 0; lane < 16; ++lane)
                for (int place = 0; place < 4; ++place) {
                  bool areTwo = rows - 4 * quad == 2;
                  int row = !areTwo ? 4 * quad + place : place % 2 == 0 ? 4 * quad + place / 2 : rows; // there is no row at odd places
                  ASSERT_EQ(*actual++, expectedWeight(f, weights, part / f.parts, part % f.parts, out, column, row, vector, lane))
                      << f.channels << ": " << part << ' ' << out << ' ' << column << ' ' << row << ' ' << vector << ' ' << lane;
                }
  }
}

/// From the library or from what the model has prepared; even places come first.
TEST(Prepare, Words) {
  std::vector<char> weights;
  for (int i = 0; i < 256; ++i)
    weights.push_back(char(i));
  TestNetwork network("net");
  network.info.weights = weights;
  network.level("reference").filter({4, 0, 16, 1, 1, 1, 1, 1, 4, 1}, 640);
  auto library = network.widen({{{OCTET_WEIGHTS, 64}, 64, 2}, {{OCTET_PREPARED, 0}, 320, 1}}).load();
  ModelPtr model = create(*library);
  auto *prepared = static_cast<const char *>(library->api().frame(model.get())->prepared);
  auto *words = reinterpret_cast<const int16_t *>(prepared + 64);
  for (int i = 0; i < 192; ++i) {
    int byte = i / 64 * 64 + i % 32 * 2 + i % 64 / 32;
    ASSERT_EQ(words[i], i < 128 ? (int8_t)weights[64 + byte] : prepared[byte - 128]) << i;
  }
  EXPECT_EQ(words[160], (int8_t)weights[5]);
}

/// The weights of one output in four bytes of a run; zero behind its elements, and between pixels that hold fewer.
static int expectedWeight(const octet_dense_filter &f, ArrayRef<char> weights, int output, int row, int run, int inRun) {
  int tapsPerRun = f.kernel_columns / f.runs, column = run * tapsPerRun + inRun / f.pitch, channel = inRun % f.pitch;
  bool isWeight = inRun < tapsPerRun * f.pitch && channel < f.channels;
  return isWeight ? weights[f.source + ((output * f.channels + channel) * f.kernel_rows + row) * f.kernel_columns + column] : 0;
}

/// Outputs fill panels, leave the last to overlap the one before (50, 17) or to repeat (6); rows of a kernel are one run, also
/// with padding between pixels (pitch 4 of 3 channels), or a run for each tap.
TEST(Prepare, Panels) {
  const octet_dense_filter filters[] = {{7, 64, 32, 5, 5, 1, 1, 1},  {0, 0, 50, 200, 200, 1, 1, 1}, {3, 0, 17, 3, 4, 3, 3, 1},
                                        {0, 128, 6, 3, 3, 3, 3, 1}, {1, 0, 16, 6, 6, 2, 3, 3}};
  for (const octet_dense_filter &f : filters) {
    std::vector<char> weights(f.source, 99);
    for (int i = 0; i < f.outputs * f.channels * f.kernel_rows * f.kernel_columns; ++i)
      weights.push_back(char(i % 127 - 60));
    TestNetwork network("net");
    network.info.weights = weights;
    network.info.filters = {f};
    int panels = (f.outputs + 15) / 16, steps = (f.kernel_columns / f.runs * f.pitch + 3) / 4;
    int64_t bytes = panels * f.kernel_rows * f.runs * steps * 64;
    network.info.panelsBytes = f.target + bytes;
    auto library = network.level("reference").load();
    ModelPtr model = create(*library);
    auto *actual = static_cast<const char *>(library->api().frame(model.get())->panels) + f.target;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(actual) % 64, 0u);
    for (int panel = 0; panel < panels; ++panel)
      for (int row = 0; row < f.kernel_rows; ++row)
        for (int run = 0; run < f.runs; ++run)
          for (int step = 0; step < steps; ++step)
            for (int lane = 0; lane < 16; ++lane)
              for (int byte = 0; byte < 4; ++byte) {
                int output = (std::min(16 * panel, std::max(f.outputs - 16, 0)) + lane) % f.outputs;
                ASSERT_EQ(*actual++, expectedWeight(f, weights, output, row, run, 4 * step + byte))
                    << f.outputs << ": " << panel << ' ' << row << ' ' << run << ' ' << step << ' ' << lane << ' ' << byte;
              }
  }
}

/// The words that a model prepares for `arrays` arrays of parameters of a library with these weights.
static std::vector<uint32_t> prepareParameters(ArrayRef<char> weights, octet_parameters parameters, int arrays) {
  TestNetwork network("net");
  network.info.weights = weights;
  network.info.parameters = {parameters};
  int64_t count = divideCeil(parameters.channels, parameters.block) * parameters.block * arrays;
  network.info.panelsBytes = parameters.target + 4 * count;
  auto library = network.level("reference").load();
  std::fesetround(FE_UPWARD); // not what create computes with
  ModelPtr model = create(*library);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  auto *words = reinterpret_cast<const uint32_t *>(static_cast<const char *>(library->api().frame(model.get())->panels) + parameters.target);
  return {words, words + count};
}

/// Blocks of 64 are in the order of unpacked bytes; the last block overlaps, or holds few channels several times.
TEST(Prepare, ParametersInTheOrderOfLanes) {
  std::vector<char> weights;
  for (int i = 0; i < 601; ++i)
    weights.insert(weights.end(), {char(i), char(i / 256)});
  for (int block : {16, 64})
    for (int channels : {2, 8, 16, 50, 64, 200, 300}) {
      std::vector<uint32_t> words = prepareParameters(weights, {2, 64, channels, block, OCTET_HALVES | OCTET_HALVES << 4}, 2);
      int positions = divideCeil(channels, block) * block, vectors = block / 16;
      for (int array = 0; array < 2; ++array)
        for (int position = 0; position < positions; ++position) {
          int first = std::min(position / block * block, std::max(channels - block, 0)), lane = position % 16;
          int channel = (first + lane / 4 * 4 * vectors + position / 16 % vectors * 4 + lane % 4) % channels;
          ASSERT_EQ(words[array * positions + position], 1u + array * channels + channel) << channels << ' ' << block << ' ' << position;
        }
    }
}

TEST(Prepare, ParametersOfEveryKind) {
  std::vector<char> weights;
  auto append = [&](int kind, ArrayRef<int64_t> values) {
    for (int64_t value : values)
      for (int byte = 0; byte < kind; ++byte)
        weights.push_back(char(value >> 8 * byte));
  };
  append(OCTET_BYTES, {0, 255});
  append(OCTET_HALVES, {-32768, 32767});
  append(OCTET_TRIPLES, {-8388608, 8388607});
  append(OCTET_WORDS, {0x40400000, 0x40a00000}); // 3.0f, 5.0f
  append(OCTET_WORDS, {-2147483648, 2147483647});
  uint32_t kinds = OCTET_BYTES | OCTET_HALVES << 4 | OCTET_TRIPLES << 8 | OCTET_WORDS << 12 | OCTET_RECIPROCALS << 16 |
                   OCTET_RECIPROCAL_RESTS << 20 | OCTET_WORDS << 24;
  std::vector<uint32_t> words = prepareParameters(weights, {0, 0, 2, 16, kinds}, 7);
  auto at = [&](int array) { return std::make_pair(int(words[16 * array]), int(words[16 * array + 1])); };
  EXPECT_EQ(at(0), std::make_pair(0, 255));
  EXPECT_EQ(at(1), std::make_pair(-32768, 32767));
  EXPECT_EQ(at(2), std::make_pair(-8388608, 8388607));
  EXPECT_EQ(at(3), std::make_pair(0x40400000, 0x40a00000));
  EXPECT_EQ(at(4), std::make_pair(llvm::bit_cast<int>(1 / 3.0f), llvm::bit_cast<int>(1 / 5.0f)));
  auto rest = [](float x) { return llvm::bit_cast<int>((float)(1.0 / x - 1 / x)); };
  EXPECT_EQ(at(5), std::make_pair(rest(3.0f), rest(5.0f)));
  EXPECT_EQ(at(6), std::make_pair(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}
