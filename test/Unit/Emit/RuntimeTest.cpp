//===- RuntimeTest.cpp - levels, threads, control register, hook, state -===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
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

/// The step functions of a network that multiplies its two inputs.
const char productAssembly[] = R"(
define void @product(ptr %frame, i64 %begin, i64 %end) {
  %inputs.at = getelementptr i8, ptr %frame, i64 24
  %inputs = load ptr, ptr %inputs.at
  %a = load ptr, ptr %inputs
  %b.at = getelementptr ptr, ptr %inputs, i64 1
  %b = load ptr, ptr %b.at
  %outputs.at = getelementptr i8, ptr %frame, i64 32
  %outputs = load ptr, ptr %outputs.at
  %y = load ptr, ptr %outputs
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
  auto library = network.level("reference", productAssembly, {{"product", size, "product"}}).load();
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

TEST(Runtime, StateBeginsAsZerosAndStays) {
  const char *count = R"(
define void @count(ptr %frame, i64 %begin, i64 %end) {
  %state.at = getelementptr i8, ptr %frame, i64 16
  %state = load ptr, ptr %state.at
  %old = load i64, ptr %state
  %new = add i64 %old, 1
  store i64 %new, ptr %state
  ret void
})";
  auto library = TestNetwork("net").level("reference", count, {{"count", 1, "count"}}).load();
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
