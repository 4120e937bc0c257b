//===- RuntimeTest.cpp - levels, threads, control register, hook, state -===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include "llvm/Support/MathExtras.h"
#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <thread>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace llvm;
using namespace octet;
using namespace octet::test;

namespace {

constexpr int64_t size = TestNetwork::size;

/// Runs with x[i] = seed + i and counts wrong elements.
int64_t countErrors(const ModelLibrary &library, octet_model *model, float slope, float seed) {
  std::vector<float> x(size), y(size, -1);
  for (int64_t i = 0; i < size; ++i)
    x[i] = seed + i;
  const void *inputs[] = {x.data()};
  void *outputs[] = {y.data()};
  EXPECT_EQ(library.api().run(model, inputs, outputs), 0);
  int64_t errors = 0;
  for (int64_t i = 0; i < size; ++i)
    errors += y[i] != 2 * x[i] + slope * i;
  return errors;
}

ModelPtr create(const ModelLibrary &library, int threads = 1, StringRef level = "") {
  auto model = createModel(library, threads, level);
  if (model)
    return std::move(*model);
  ADD_FAILURE() << toString(model.takeError());
  return nullptr;
}

/// The kernel of a network that multiplies its two inputs.
const char productAssembly[] = R"(
define void @product(ptr %a, ptr %b, ptr %y, i64 %begin, i64 %end) {
  br label %loop
loop:
  %i = phi i64 [ %begin, %0 ], [ %next, %loop ]
  %a.i = getelementptr float, ptr %a, i64 %i
  %b.i = getelementptr float, ptr %b, i64 %i
  %y.i = getelementptr float, ptr %y, i64 %i
  %av = load float, ptr %a.i
  %bv = load float, ptr %b.i
  %product = fmul float %av, %bv
  store float %product, ptr %y.i
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
)";

TEST(Runtime, RunsWithAnyNumberOfThreads) {
  auto library = TestNetwork("net").level("reference").load();
  ASSERT_TRUE(library);
  for (int threads : {1, 2, 3, 8}) {
    ModelPtr model = create(*library, threads);
    ASSERT_TRUE(model);
    EXPECT_EQ(library->api().threads(model.get()), threads);
    int64_t errors = 0;
    for (int run = 0; run < 500; ++run)
      errors += countErrors(*library, model.get(), 1, run);
    EXPECT_EQ(errors, 0) << threads << " threads";
  }
}

TEST(Runtime, WakesWorkersThatSleep) {
  auto library = TestNetwork("net").level("reference").load();
  ASSERT_TRUE(library);
  ModelPtr model = create(*library, 2);
  for (int run = 0; run < 20; ++run) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    EXPECT_EQ(countErrors(*library, model.get(), 1, run), 0);
  }
}

TEST(Runtime, RefusesImpossibleNumbersOfThreads) {
  auto library = TestNetwork("net").level("reference").load();
  ASSERT_TRUE(library);
  EXPECT_EQ(getError(createModel(*library, 0)), "expected 1 to 256 threads, but got 0");
  EXPECT_EQ(getError(createModel(*library, 257)), "expected 1 to 256 threads, but got 257");
}

TEST(Runtime, ModelsRunAtTheSameTime) {
  auto first = TestNetwork("first", 1).level("reference").load();
  auto second = TestNetwork("second", 3).level("reference").load();
  ASSERT_TRUE(first && second);
  std::vector<int64_t> errors(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const ModelLibrary &library = t % 2 ? *second : *first;
      ModelPtr model = create(library, 2);
      for (int run = 0; run < 200; ++run)
        errors[t] += countErrors(library, model.get(), t % 2 ? 3 : 1, run);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors, std::vector<int64_t>(4, 0));
}

#if defined(__x86_64__)
TEST(Runtime, PicksTheFirstLevelThatRuns) {
  // "dotprod" is a level of another architecture, so no x86 CPU runs it.
  auto library = TestNetwork("net").level("dotprod").level("sse2").level("reference").load();
  ASSERT_TRUE(library);
  ModelPtr best = create(*library), forced = create(*library, 1, "reference");
  EXPECT_STREQ(library->api().program(best.get())->level, "sse2");
  EXPECT_STREQ(library->api().program(forced.get())->level, "reference");
  EXPECT_EQ(countErrors(*library, forced.get(), 1, 0), 0);
  EXPECT_TRUE(library->api().supports("sse2"));
  EXPECT_FALSE(library->api().supports("dotprod"));
  EXPECT_FALSE(library->api().supports("ssse2"));
}

TEST(Runtime, ImpossibleLevelIsAnErrorThatListsThePossible) {
  auto library = TestNetwork("net").level("dotprod").level("sse2").level("reference").load();
  ASSERT_TRUE(library);
  const char *lists = ": the network was compiled for dotprod, sse2, reference; possible on this CPU: sse2, reference";
  EXPECT_EQ(getError(createModel(*library, 1, "dotprod")), std::string("CPU level 'dotprod' cannot be used") + lists);
  EXPECT_EQ(getError(createModel(*library, 1, "mmx")), std::string("CPU level 'mmx' cannot be used") + lists);

  setenv("OCTET_CPU_LEVEL", "mmx", 1);
  EXPECT_EQ(getError(createModel(*library)),
            std::string("CPU level 'mmx' (from OCTET_CPU_LEVEL) cannot be used") + lists);
  EXPECT_STREQ(library->api().program(create(*library, 1, "sse2").get())->level, "sse2") << "an argument wins";
  setenv("OCTET_CPU_LEVEL", "reference", 1);
  EXPECT_STREQ(library->api().program(create(*library).get())->level, "reference");
  setenv("OCTET_CPU_LEVEL", "", 1);
  EXPECT_STREQ(library->api().program(create(*library).get())->level, "sse2");
  unsetenv("OCTET_CPU_LEVEL");

  auto foreign = TestNetwork("net").level("dotprod").load();
  EXPECT_EQ(getError(createModel(*foreign)),
            "no CPU level can be used: the network was compiled for dotprod; possible on this CPU: none");
}

TEST(Runtime, CutsTheMessageToTheBuffer) {
  auto library = TestNetwork("net").level("dotprod").load();
  char error[12];
  EXPECT_FALSE(library->api().create(1, "mmx", error, sizeof(error)));
  EXPECT_STREQ(error, "CPU level '");
  EXPECT_FALSE(library->api().create(1, "mmx", nullptr, 0));
}

TEST(Runtime, SetsAndRestoresTheControlRegister) {
  TestNetwork network("product");
  network.info.inputs = {{"a", OCTET_F32, {size}, 0, 0}, {"b", OCTET_F32, {size}, 0, 0}};
  StepInfo step{"product", size, "product", {{OCTET_INPUT, 0}, {OCTET_INPUT, 1}, {OCTET_OUTPUT, 0}}};
  auto library = network.level("reference", productAssembly, {step}).load();
  ASSERT_TRUE(library);
  // Subnormal, and not representable: flushing and directed rounding would both show.
  std::vector<float> a(size, 1e-30f), b(size, 1.5e-10f), expected(size, 1e-30f * 1.5e-10f), y(size);
  ASSERT_GT(expected[0], 0);
  const void *inputs[] = {a.data(), b.data()};
  void *outputs[] = {y.data()};
  for (int threads : {1, 2}) {
    ModelPtr model = create(*library, threads);
    unsigned before = _mm_getcsr(), odd = 0xff80 | 0x40; // Flush both ways, round towards zero.
    _mm_setcsr(odd);
    for (int run = 0; run < 100; ++run)
      library->api().run(model.get(), inputs, outputs);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after, odd);
    EXPECT_EQ(y, expected);
  }
}
#endif

TEST(Runtime, RefusesNullBuffers) {
  auto library = TestNetwork("net").level("reference").load();
  ModelPtr model = create(*library);
  std::vector<float> x(size);
  const void *inputs[] = {x.data()}, *noInputs[] = {nullptr};
  void *outputs[] = {x.data()}, *noOutputs[] = {nullptr};
  auto run = library->api().run;
  EXPECT_EQ(run(nullptr, inputs, outputs), 1);
  EXPECT_EQ(run(model.get(), nullptr, outputs), 1);
  EXPECT_EQ(run(model.get(), noInputs, outputs), 1);
  EXPECT_EQ(run(model.get(), inputs, noOutputs), 1);
  EXPECT_EQ(run(model.get(), inputs, outputs), 0);
}

/// More arguments than registers, of every kind; the inputs and outputs are those of each run.
TEST(Runtime, PassesEveryKindOfArgument) {
  const char *store = R"(
define void @store(ptr %y, i64 %begin, i64 %end) {
  store i64 %begin, ptr %y
  ret void
}
define void @storeAll(ptr %arena, ptr %weights, ptr %state, ptr %prepared, ptr %panels, ptr %x, ptr %y, ptr %z, i64 %a, i64 %b,
                      i64 %begin, i64 %end) {
  %all.0 = insertvalue [5 x ptr] poison, ptr %arena, 0
  %all.1 = insertvalue [5 x ptr] %all.0, ptr %weights, 1
  %all.2 = insertvalue [5 x ptr] %all.1, ptr %state, 2
  %all.3 = insertvalue [5 x ptr] %all.2, ptr %prepared, 3
  %all.4 = insertvalue [5 x ptr] %all.3, ptr %panels, 4
  store [5 x ptr] %all.4, ptr %y
  %value = load i64, ptr %x
  store i64 %value, ptr %z
  %a.at = getelementptr i64, ptr %z, i64 1
  store i64 %a, ptr %a.at
  %b.at = getelementptr i64, ptr %z, i64 2
  store i64 %b, ptr %b.at
  %end.at = getelementptr i64, ptr %z, i64 3
  store i64 %end, ptr %end.at
  ret void
})";
  TestNetwork network("net");
  network.info.inputs = {{"w", OCTET_I64, {1}, 0, 0}, {"x", OCTET_I64, {1}, 0, 0}};
  network.info.outputs = {{"y", OCTET_I64, {5}, 0, 0}, {"z", OCTET_I64, {4}, 0, 0}};
  StepInfo first{"store", 1, "store", {{OCTET_OUTPUT, 0}}};
  StepInfo second{"storeAll", 5, "storeAll", {}, {INT32_MAX, INT32_MIN}};
  second.addresses = {{OCTET_ARENA, (int64_t)64 << 28}, {OCTET_WEIGHTS, ((int64_t)4 << 29) - 4}, {OCTET_STATE, 64},
                      {OCTET_PREPARED, 128}, {OCTET_PANELS, 192}, {OCTET_INPUT, 1}, {OCTET_OUTPUT, 0}, {OCTET_OUTPUT, 1}};
  auto library = network.level("reference", store, {first, second}).load();
  ModelPtr model = create(*library);
  const octet_frame &frame = *library->api().frame(model.get());
  for (int64_t run = 0; run < 2; ++run) {
    int64_t w = 0, x = run;
    std::vector<char *> y(5);
    std::vector<int64_t> z(4);
    const void *inputs[] = {&w, &x};
    void *outputs[] = {y.data(), z.data()};
    EXPECT_EQ(library->api().run(model.get(), inputs, outputs), 0);
    EXPECT_EQ(y[0] - static_cast<const char *>(frame.arena), (int64_t)64 << 28);
    EXPECT_EQ(y[1] - static_cast<const char *>(frame.weights), ((int64_t)4 << 29) - 4);
    EXPECT_EQ(y[2] - static_cast<const char *>(frame.state), 64);
    EXPECT_EQ(y[3] - static_cast<const char *>(frame.prepared), 128);
    EXPECT_EQ(y[4] - static_cast<const char *>(frame.panels), 192);
    EXPECT_EQ(z, (std::vector<int64_t>{run, INT32_MAX, INT32_MIN, 5}));
  }
}

TEST(Runtime, RunsSomeOfTheSteps) {
  auto library = TestNetwork("net").level("reference").load();
  ModelPtr model = create(*library, 2);
  std::vector<float> x(size, 3), y(size, -1), other(size);
  const void *inputs[] = {x.data()}, *noInputs[] = {nullptr};
  void *outputs[] = {y.data()}, *otherOutputs[] = {other.data()};
  auto runSteps = library->api().run_steps;
  EXPECT_EQ(runSteps(model.get(), inputs, outputs, 0, 1), 0);
  EXPECT_EQ(y, std::vector<float>(size, -1));
  EXPECT_EQ(runSteps(model.get(), inputs, outputs, 1, 1), 0);
  EXPECT_EQ(y, std::vector<float>(size, -1));
  EXPECT_EQ(runSteps(model.get(), inputs, otherOutputs, 1, 2), 0);
  EXPECT_EQ(y, std::vector<float>(size, -1));
  EXPECT_EQ(other[7], 13);
  EXPECT_EQ(runSteps(model.get(), inputs, outputs, -1, 1), 1);
  EXPECT_EQ(runSteps(model.get(), inputs, outputs, 2, 1), 1);
  EXPECT_EQ(runSteps(model.get(), inputs, outputs, 1, 3), 1);
  EXPECT_EQ(runSteps(model.get(), noInputs, outputs, 0, 1), 1);
  EXPECT_EQ(runSteps(nullptr, inputs, outputs, 0, 1), 1);
}

TEST(Runtime, TellsTheHookEveryStep) {
  auto library = TestNetwork("net").level("reference").load();
  ModelPtr model = create(*library);
  std::vector<int64_t> steps;
  auto hook = [](void *user, int64_t step, uint64_t) { static_cast<std::vector<int64_t> *>(user)->push_back(step); };
  library->api().set_step_hook(model.get(), hook, &steps);
  EXPECT_EQ(countErrors(*library, model.get(), 1, 0), 0);
  library->api().set_step_hook(model.get(), nullptr, nullptr);
  EXPECT_EQ(countErrors(*library, model.get(), 1, 0), 0);
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1}));
}

/// The weights that a model made of `filter` has prepared for output row `out` of the strip, and so on.
static int expectedWeight(const octet_depthwise_filter &f, ArrayRef<char> weights, int block, int part, int out, int column,
                          int row, int vector, int lane) {
  int size = 16 * f.vectors, first = std::min(block * f.parts * size, std::max(f.channels - f.parts * size, 0)) + part * size;
  int channel = (first + lane / 4 * 4 * f.vectors + 4 * vector + lane % 4) % f.channels, tap = row - out * f.row_stride;
  bool isTap = tap >= 0 && tap < f.kernel_rows;
  return isTap ? weights[f.source + (channel * f.kernel_rows + tap) * f.kernel_columns + column] : 0;
}

/// Kernel rows stand where the strip's input rows are; the last block of channels overlaps the one before (100 channels in
/// blocks of 64), and a block longer than all channels holds them several times (8 channels).
TEST(Runtime, PreparesTheWeightsOfStrips) {
  const octet_depthwise_filter filters[] = {
      {7, 64, 128, 2, 1, 4, 2, 1, 3, 2, 0}, {7, 0, 100, 2, 1, 4, 4, 1, 5, 5, 0}, {0, 0, 100, 2, 4, 1, 1, 1, 3, 3, 0},
      {0, 0, 8, 1, 1, 4, 2, 1, 3, 3, 0},    {0, 0, 8, 1, 4, 1, 1, 1, 3, 3, 0},   {0, 0, 10, 1, 1, 1, 1, 2, 3, 3, 0},
      {7, 64, 100, 2, 4, 1, 1, 1, 5, 5, 1}};
  for (const octet_depthwise_filter &f : filters) {
    std::vector<char> weights(f.source, 99);
    for (int i = 0; i < f.channels * f.kernel_rows * f.kernel_columns; ++i)
      weights.push_back(char(i % 127 - 60));
    TestNetwork network("net");
    network.info.weights = weights;
    int quads = ((f.strip - 1) * f.row_stride + f.kernel_rows + 3) / 4;
    int64_t bytes = f.blocks * f.parts * f.strip * f.kernel_columns * quads * f.vectors * (f.words ? 128 : 64);
    auto library = network.level("reference").filter(f, f.target + bytes).load();
    ModelPtr model = create(*library);
    auto *prepared = static_cast<const char *>(library->api().frame(model.get())->prepared);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(prepared) % 64, 0u);
    const char *actual = prepared + f.target;
    // Each vector of words has those of its even places first.
    auto next = [&, place = 0]() mutable -> int {
      int i = place++;
      return f.words ? reinterpret_cast<const int16_t *>(actual)[i / 64 * 64 + i % 2 * 32 + i % 64 / 2] : actual[i];
    };
    for (int part = 0; part < f.blocks * f.parts; ++part)
      for (int out = 0; out < f.strip; ++out)
        for (int column = 0; column < f.kernel_columns; ++column)
          for (int quad = 0; quad < quads; ++quad)
            for (int vector = 0; vector < f.vectors; ++vector)
              for (int lane = 0; lane < 16; ++lane)
                for (int row = 4 * quad; row < 4 * quad + 4; ++row)
                  ASSERT_EQ(next(), expectedWeight(f, weights, part / f.parts, part % f.parts, out, column, row, vector, lane))
                      << f.channels << ": " << part << ' ' << out << ' ' << column << ' ' << row << ' ' << vector << ' ' << lane;
  }
}

/// The weights of one output in four bytes of a run; zero behind its elements, and between pixels that hold fewer.
static int expectedWeight(const octet_dense_filter &f, ArrayRef<char> weights, int output, int row, int run, int inRun) {
  int tapsPerRun = f.kernel_columns / f.runs, column = run * tapsPerRun + inRun / f.pitch, channel = inRun % f.pitch;
  bool isWeight = inRun < tapsPerRun * f.pitch && channel < f.channels;
  return isWeight ? weights[f.source + ((output * f.channels + channel) * f.kernel_rows + row) * f.kernel_columns + column] : 0;
}

/// Outputs fill panels, leave the last to overlap the one before (50, 17) or to repeat (6); rows of a kernel are one run, also
/// with padding between pixels (pitch 4 of 3 channels), or a run for each tap.
TEST(Runtime, PreparesPanels) {
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
TEST(Runtime, PreparesParametersInTheOrderOfLanes) {
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

TEST(Runtime, PreparesParametersOfEveryKind) {
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
  uint32_t kinds = OCTET_BYTES | OCTET_HALVES << 4 | OCTET_TRIPLES << 8 | OCTET_WORDS << 12 | OCTET_RECIPROCALS << 16 | OCTET_WORDS << 20;
  std::vector<uint32_t> words = prepareParameters(weights, {0, 0, 2, 16, kinds}, 6);
  auto at = [&](int array) { return std::make_pair(int(words[16 * array]), int(words[16 * array + 1])); };
  EXPECT_EQ(at(0), std::make_pair(0, 255));
  EXPECT_EQ(at(1), std::make_pair(-32768, 32767));
  EXPECT_EQ(at(2), std::make_pair(-8388608, 8388607));
  EXPECT_EQ(at(3), std::make_pair(0x40400000, 0x40a00000));
  EXPECT_EQ(at(4), std::make_pair(llvm::bit_cast<int>(1 / 3.0f), llvm::bit_cast<int>(1 / 5.0f)));
  EXPECT_EQ(at(5), std::make_pair(std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
}

TEST(Runtime, StateBeginsAsZerosAndStays) {
  const char *count = R"(
define void @count(ptr %state, i64 %begin, i64 %end) {
  %old = load i64, ptr %state
  %new = add i64 %old, 1
  store i64 %new, ptr %state
  ret void
})";
  auto library = TestNetwork("net").level("reference", count, {{"count", 1, "count", {{OCTET_STATE, 0}}}}).load();
  ModelPtr model = create(*library);
  auto *state = static_cast<int64_t *>(library->api().frame(model.get())->state);
  EXPECT_EQ(state[0], 0);
  std::vector<float> x(size);
  const void *inputs[] = {x.data()};
  void *outputs[] = {x.data()};
  for (int run = 0; run < 3; ++run)
    library->api().run(model.get(), inputs, outputs);
  EXPECT_EQ(state[0], 3);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(state) % 64, 0u);
}

} // namespace
