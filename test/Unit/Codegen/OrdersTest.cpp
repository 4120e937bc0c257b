//===- OrdersTest.cpp - weights in the orders that kernels read ------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitters/DepthwiseShape.h"
#include "PreparedWeights.h"
#include "octet/Numerics/Quantize.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace octet;
using namespace octet::codegen;
using namespace octet::test;

/// Bytes that tell neighbours apart.
static std::vector<int8_t> makeBytes(int64_t count) {
  std::vector<int8_t> bytes;
  for (int64_t i = 0; i < count; ++i)
    bytes.push_back(int8_t(i % 127 - 60));
  return bytes;
}

static ArrayRef<int16_t> asI16(StringRef bytes) {
  return {reinterpret_cast<const int16_t *>(bytes.data()), bytes.size() / 2};
}

/// The word that stands for a byte of 64: even places come first.
static int64_t getWord(int64_t byte) { return byte / 64 * 64 + byte % 2 * 32 + byte % 64 / 2; }

/// The channel of a lane of a vector, in a part of a block.
static int64_t getChannel(const DepthwiseShape &s, int64_t part, int64_t vector, int64_t lane) {
  int64_t first = s.firstChannel(part / s.parts) + part % s.parts * s.partSize();
  return (first + lane / 4 * 4 * s.vectors() + 4 * vector + lane % 4) % s.channels;
}

/// The kernel row at a place of a quad of input rows, or -1: two last rows lie at even places.
static int64_t getRow(const DepthwiseShape &s, int64_t quad, int64_t place) {
  if (s.inputRows() - 4 * quad != 2)
    return 4 * quad + place;
  return place % 2 == 0 ? 4 * quad + place / 2 : -1;
}

/// Of eight channels and two output rows a vector: each lane has the rows that its output row
/// reads.
static std::vector<int8_t> makeRowsOfEight(const DepthwiseShape &s, ArrayRef<int8_t> weights) {
  std::vector<int8_t> expected;
  for (int64_t block = 0; block < s.blocks(); ++block)
    for (int64_t column = 0; column < s.kernelColumns; ++column)
      for (int64_t lane = 0; lane < 16; ++lane)
        for (int64_t row = 0; row < 4; ++row) {
          int64_t channel = 8 * block + lane % 8, tap = row - lane / 8;
          bool isTap = tap >= 0 && tap < s.kernelRows;
          expected.push_back(
              isTap ? weights[(channel * s.kernelRows + tap) * s.kernelColumns + column] : 0);
        }
  return expected;
}

/// All that a depthwise kernel of such a shape reads.
static std::vector<int8_t> makeDepthwise(const DepthwiseShape &s, ArrayRef<int8_t> weights) {
  if (s.kind == BlockKind::rows8)
    return makeRowsOfEight(s, weights);
  std::vector<int8_t> expected;
  for (int64_t part = 0; part < s.blocks() * s.parts; ++part)
    for (int64_t out = 0; out < s.strip; ++out)
      for (int64_t column = 0; column < s.kernelColumns; ++column)
        for (int64_t quad = 0; quad < s.quads(); ++quad)
          for (int64_t vector = 0; vector < s.vectors(); ++vector)
            for (int64_t lane = 0; lane < 16; ++lane)
              for (int64_t place = 0; place < 4; ++place) {
                int64_t row = getRow(s, quad, place), tap = row - out * s.rowStride;
                bool isTap = row >= 0 && tap >= 0 && tap < s.kernelRows;
                int64_t channel = getChannel(s, part, vector, lane);
                expected.push_back(
                    isTap ? weights[(channel * s.kernelRows + tap) * s.kernelColumns + column] : 0);
              }
  return expected;
}

/// The last block of channels overlaps the one before (100 channels in blocks of 64), and a block
/// longer than all channels holds them several times (8 channels).
TEST(Orders, StripsOfDepthwiseWeights) {
  struct Case {
    BlockKind kind;
    int64_t channels, parts, strip, rowStride, kernelRows, kernelColumns;
  };
  const Case cases[] = {
      {BlockKind::channels64, 128, 1, 2, 1, 3, 2}, {BlockKind::channels64, 100, 1, 4, 1, 5, 5},
      {BlockKind::channels64, 100, 4, 1, 1, 3, 3}, {BlockKind::flat64, 8, 1, 2, 1, 3, 3},
      {BlockKind::flat64, 8, 4, 1, 1, 3, 3},       {BlockKind::channels16, 10, 1, 1, 2, 3, 3},
      {BlockKind::channels16, 20, 1, 2, 1, 5, 5},  {BlockKind::channels16, 20, 1, 1, 1, 2, 2},
      {BlockKind::channels16, 20, 1, 1, 1, 5, 1},  {BlockKind::rows8, 16, 1, 2, 1, 3, 3},
      {BlockKind::rows8, 8, 1, 2, 1, 3, 2}};
  PreparedWeights prepared;
  SmallVector<std::pair<KernelArgument, KernelArgument>> arguments;
  std::vector<std::vector<int8_t>> expected;
  for (const Case &c : cases) {
    DepthwiseShape shape{};
    shape.kind = c.kind;
    shape.channels = c.channels;
    shape.parts = c.parts;
    shape.strip = c.strip;
    shape.rowStride = c.rowStride;
    shape.kernelRows = c.kernelRows;
    shape.kernelColumns = c.kernelColumns;
    std::vector<int8_t> weights = makeBytes(c.channels * c.kernelRows * c.kernelColumns);
    nn::ConstantOp constant =
        prepared.addConstant({c.channels, 1, c.kernelRows, c.kernelColumns}, weights);
    KernelArgument bytes = getDepthwiseWeights(*prepared.emitter, constant, shape, /*asI16=*/false);
    bool takesI16 = c.kind != BlockKind::rows8;
    arguments.push_back({bytes, takesI16 ? getDepthwiseWeights(*prepared.emitter, constant, shape,
                                                               /*asI16=*/true)
                                         : widenToI16(*prepared.emitter, bytes)});
    expected.push_back(makeDepthwise(shape, weights));
  }
  for (auto [number, pair] : llvm::enumerate(arguments)) {
    StringRef bytes = prepared.read(pair.first);
    ArrayRef<int16_t> words = asI16(prepared.read(pair.second));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % 64, 0u);
    ASSERT_EQ(bytes.size(), expected[number].size());
    ASSERT_EQ(words.size(), expected[number].size());
    for (size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ((int8_t)bytes[i], expected[number][i]) << "case " << number << ", byte " << i;
      ASSERT_EQ(words[getWord(i)], expected[number][i]) << "case " << number << ", byte " << i;
    }
  }
}

/// The library's own weights, and those that the model has prepared.
TEST(Orders, Words) {
  PreparedWeights prepared;
  std::vector<int8_t> weights;
  for (int i = 0; i < 192; ++i)
    weights.push_back(int8_t(i));
  KernelArgument words = widenToI16(*prepared.emitter, prepared.addWeights(weights));
  ArrayRef<int16_t> actual = asI16(prepared.read(words));
  ASSERT_EQ(actual.size(), 192u);
  for (int i = 0; i < 192; ++i)
    EXPECT_EQ(actual[getWord(i)], weights[i]) << i;
}

/// All that a kernel reads of a filter [output][channel][row][column] in panels.
static std::vector<int8_t> makePanels(const PanelOrder &o, ArrayRef<int8_t> weights) {
  std::vector<int8_t> expected;
  int64_t panels = (o.outputs + 15) / 16, steps = (o.tapsPerRun * o.pitch + 3) / 4;
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t run = 0; run < o.taps / o.tapsPerRun; ++run)
      for (int64_t step = 0; step < steps; ++step)
        for (int64_t lane = 0; lane < 16; ++lane)
          for (int64_t byte = 0; byte < 4; ++byte) {
            int64_t inRun = 4 * step + byte, channel = inRun % o.pitch;
            int64_t tap = run * o.tapsPerRun + inRun / o.pitch,
                    first = std::min(16 * panel, std::max<int64_t>(o.outputs - 16, 0));
            bool isWeight = inRun < o.tapsPerRun * o.pitch && channel < o.channels;
            int64_t output = (first + lane) % o.outputs;
            expected.push_back(isWeight ? weights[(output * o.channels + channel) * o.taps + tap]
                                        : 0);
          }
  return expected;
}

/// Outputs fill panels, leave the last to overlap the one before (50, 17) or to repeat (6); rows of
/// a kernel are one run, also with padding between pixels (pitch 4 of 3 channels), or a run for
/// each tap. The first and the last lie in the library as panels, which the compiler makes.
TEST(Orders, Panels) {
  const PanelOrder orders[] = {{32, 8, 8, 1, 1},  {50, 200, 200, 1, 1}, {17, 3, 4, 9, 3},
                               {6, 3, 3, 9, 3},   {16, 6, 6, 6, 1},     {20, 5, 5, 1, 1},
                               {16, 64, 64, 9, 3}};
  PreparedWeights prepared;
  SmallVector<KernelArgument> arguments;
  std::vector<std::vector<int8_t>> expected;
  for (const PanelOrder &order : orders) {
    std::vector<int8_t> weights = makeBytes(order.outputs * order.channels * order.taps);
    nn::ConstantOp constant =
        prepared.addConstant({order.outputs, order.channels, order.taps}, weights);
    arguments.push_back(getPanels(*prepared.emitter, constant, order, /*asI16=*/false));
    expected.push_back(makePanels(order, weights));
    bool isInLibrary = &order == std::begin(orders) || &order == std::end(orders) - 1;
    EXPECT_EQ(arguments.back().address.getSpace(),
              isInLibrary ? kernel::Space::weights : kernel::Space::prepared);
  }
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    StringRef actual = prepared.read(argument);
    ASSERT_EQ(actual.size(), expected[number].size());
    for (size_t i = 0; i < actual.size(); ++i)
      ASSERT_EQ((int8_t)actual[i], expected[number][i]) << "order " << number << ", byte " << i;
  }
}

/// The position that `array` has for a channel's value: blocks of 64 are in the order of unpacked
/// bytes; the last block overlaps, or holds few channels several times.
static int64_t getChannel(int64_t channels, int64_t block, int64_t position) {
  int64_t lane = position % 16,
          first = std::min(position / block * block, std::max<int64_t>(channels - block, 0));
  return (first + lane / 4 * (block / 4) + position % block / 16 * 4 + lane % 4) % channels;
}

TEST(Orders, ParametersInLanes) {
  PreparedWeights prepared;
  struct Case {
    int64_t block, channels;
    std::vector<int32_t> first, second;
    KernelArgument argument;
  };
  std::vector<Case> cases;
  for (int64_t block : {16, 64})
    for (int64_t channels : {2, 8, 16, 50, 64, 200, 300}) {
      Case &c = cases.emplace_back();
      c.block = block;
      c.channels = channels;
      for (int64_t channel = 0; channel < channels; ++channel) {
        c.first.push_back(channel - 1000);
        c.second.push_back(channel * 7);
      }
      ParameterArrays arrays(block);
      arrays.add(c.first);
      arrays.add(c.second);
      c.argument = arrays.prepare(*prepared.emitter);
    }
  for (const Case &c : cases) {
    auto *actual = reinterpret_cast<const int32_t *>(prepared.read(c.argument).data());
    int64_t positions = (c.channels + c.block - 1) / c.block * c.block;
    for (int64_t position = 0; position < positions; ++position) {
      int64_t channel = getChannel(c.channels, c.block, position);
      ASSERT_EQ(actual[position], c.first[channel]) << c.block << ' ' << c.channels;
      ASSERT_EQ(actual[positions + position], c.second[channel]) << c.block << ' ' << c.channels;
    }
  }
}

TEST(Orders, ParametersOfEverySize) {
  PreparedWeights prepared;
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min(),
                    kMost = std::numeric_limits<int32_t>::max();
  std::vector<std::pair<int32_t, int32_t>> integers = {
      {0, 255}, {-32768, 32767}, {-8388608, 8388607}, {kLeast, kMost}};
  ParameterArrays arrays(16);
  for (auto [low, high] : integers)
    arrays.add(ArrayRef<int32_t>{low, high});
  const std::vector<float> divisors = {3.0f, 5.0f};
  arrays.add(ArrayRef<float>(divisors));
  arrays.addReciprocals();
  KernelArgument argument = arrays.prepare(*prepared.emitter);
  StringRef bytes = prepared.read(argument);
  ASSERT_EQ(bytes.size(), 7u * 16 * 4);
  auto *words = reinterpret_cast<const int32_t *>(bytes.data());
  auto *floats = reinterpret_cast<const float *>(bytes.data());
  for (auto [array, pair] : llvm::enumerate(integers)) {
    EXPECT_EQ(words[16 * array], pair.first);
    EXPECT_EQ(words[16 * array + 1], pair.second);
  }
  for (auto [channel, value] : llvm::enumerate(divisors)) {
    EXPECT_EQ(floats[16 * 4 + channel], value);
    EXPECT_EQ(floats[16 * 5 + channel], 1 / value);
    EXPECT_EQ(floats[16 * 6 + channel], numerics::reciprocalRest(value));
  }
}

/// Sums of one to four bytes are the bits of floats, from the middle or from the least on.
TEST(Orders, ShiftedSums) {
  PreparedWeights prepared("i8mm");
  const std::vector<float> factors = {3.0f, 0.25f};
  struct Case {
    std::vector<int32_t> sums;
    bool beginAtLeast;
    int otherArrays;
    KernelArgument argument;
  };
  std::vector<Case> cases = {{{-7, 200}, false, 0, {}},    {{7, 200}, true, 0, {}},
                             {{100000, -5}, false, 1, {}}, {{-4000000, 1}, true, 2, {}},
                             {{1 << 24, 1}, false, 0, {}}, {{1 << 24, -1}, true, 0, {}},
                             {{9, 1}, true, 5, {}}};
  for (Case &c : cases) {
    ParameterArrays arrays(16);
    arrays.addShifted(c.sums, c.beginAtLeast);
    arrays.add(ArrayRef<float>(factors));
    arrays.addLeastProducts();
    for (int i = 0; i < c.otherArrays; ++i)
      arrays.add(ArrayRef<int32_t>{i, 1000 * i});
    c.argument = arrays.prepare(*prepared.emitter);
  }
  for (const Case &c : cases) {
    StringRef bytes = prepared.read(c.argument);
    ASSERT_EQ(bytes.size(), (3u + c.otherArrays) * 16 * 4);
    auto *words = reinterpret_cast<const int32_t *>(bytes.data());
    auto *floats = reinterpret_cast<const float *>(bytes.data());
    for (size_t channel : {0, 1}) {
      EXPECT_EQ(words[channel], (c.beginAtLeast ? 0x4b000000 : 0x4b400000) + c.sums[channel]);
      EXPECT_EQ(floats[16 + channel], factors[channel]);
      EXPECT_EQ(floats[32 + channel], factors[channel] * -0x1p23f);
      for (int i = 0; i < c.otherArrays; ++i)
        EXPECT_EQ(words[16 * (3 + i) + channel], channel ? 1000 * i : i);
    }
  }
}

/// What begins as an entry that is there is part of it.
TEST(Orders, BeginningsOfWeightsAreShared) {
  WeightsPool pool;
  auto bytes = [](size_t count) {
    return [=] {
      std::vector<char> values(count);
      for (size_t i = 0; i < count; ++i)
        values[i] = (char)i;
      return values;
    };
  };
  int64_t other = pool.add("other", [] { return std::vector<char>(4, 99); }, 4);
  int64_t longer = pool.add("longer", bytes(200), 4);
  EXPECT_NE(longer, other);
  EXPECT_EQ(pool.add("shorter", bytes(150), 4), longer);
  EXPECT_NE(pool.add("longest", bytes(201), 4), longer);
}
