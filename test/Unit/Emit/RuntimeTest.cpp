//===- RuntimeTest.cpp - levels, threads, control register, hook, state -===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
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

/// The kernel of a network that multiplies its two inputs.
const std::string productAssembly = makeKernel("product", "ptr %a, ptr %b, ptr %y", R"(
  %a.i = getelementptr float, ptr %a, i64 %i
  %b.i = getelementptr float, ptr %b, i64 %i
  %y.i = getelementptr float, ptr %y, i64 %i
  %av = load float, ptr %a.i
  %bv = load float, ptr %b.i
  %product = fmul float %av, %bv
  store float %product, ptr %y.i)");

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

TEST(Runtime, ForkedChildRunsAndFreesAModel) {
  auto library = TestNetwork("net").level("reference").load();
  ASSERT_TRUE(library);
  ModelPtr model = create(*library, 8);
  ASSERT_EQ(countErrors(*library, model.get(), 1, 0), 0);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int64_t errors = countErrors(*library, model.get(), 1, 1);
    library->api().destroy(model.release());
    _exit(errors == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(countErrors(*library, model.get(), 1, 2), 0);
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
  const char *lists = ": the network was compiled for dotprod, sse2, reference; possible on this "
                      "CPU: sse2, reference";
  EXPECT_EQ(getError(createModel(*library, 1, "dotprod")),
            std::string("CPU level 'dotprod' cannot be used") + lists);
  EXPECT_EQ(getError(createModel(*library, 1, "mmx")),
            std::string("CPU level 'mmx' cannot be used") + lists);

  setenv("OCTET_CPU_LEVEL", "mmx", 1);
  EXPECT_EQ(getError(createModel(*library)),
            std::string("CPU level 'mmx' (from OCTET_CPU_LEVEL) cannot be used") + lists);
  EXPECT_STREQ(library->api().program(create(*library, 1, "sse2").get())->level, "sse2")
      << "an argument wins";
  setenv("OCTET_CPU_LEVEL", "reference", 1);
  EXPECT_STREQ(library->api().program(create(*library).get())->level, "reference");
  setenv("OCTET_CPU_LEVEL", "", 1);
  EXPECT_STREQ(library->api().program(create(*library).get())->level, "sse2");
  unsetenv("OCTET_CPU_LEVEL");

  auto foreign = TestNetwork("net").level("dotprod").load();
  EXPECT_EQ(
      getError(createModel(*foreign)),
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
  StepInfo step{
      "product", size, "product", {{OCTET_INPUT, 0}, {OCTET_INPUT, 1}, {OCTET_OUTPUT, 0}}};
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

/// There is nothing to read behind `inputs` then.
TEST(Runtime, RunsWithoutInputs) {
  const char *store = R"(
define void @store(ptr %y, i64 %begin, i64 %end) {
  store i64 7, ptr %y
  ret void
})";
  TestNetwork network("net");
  network.info.inputs.clear();
  network.info.outputs = {{"y", OCTET_I64, {1}, 0, 0}};
  StepInfo step{"store", 1, "store", {{OCTET_OUTPUT, 0}}};
  auto library = network.level("reference", store, {step}).load();
  ModelPtr model = create(*library);
  int64_t y = 0;
  void *outputs[] = {&y};
  EXPECT_EQ(library->api().run(model.get(), nullptr, outputs), 0);
  EXPECT_EQ(y, 7);
  EXPECT_EQ(library->api().run(model.get(), nullptr, nullptr), 1);
}

TEST(Runtime, CodesBecomeErrors) {
  const octet_step steps[] = {{1, "first"}, {1, "look-up"}};
  const octet_program program = {"reference", steps, 2};
  EXPECT_EQ(toString(checkRun(0, program)), "");
  EXPECT_EQ(toString(checkRun(1, program)), "the network did not run (code 1): an input's or "
                                            "output's memory, or a step, is not there");
  EXPECT_EQ(toString(checkRun(3, program)), "the operator 'look-up' met an index outside of the "
                                            "tensor that it points into (code 3)");
}

/// The run ends behind the step that sets the status, and says which one it was; the next run
/// starts afresh.
TEST(Runtime, StepsMayRefuseTheirValues) {
  const char *code = R"(
define void @check(ptr %x, ptr %status, i64 %begin, i64 %end) {
  %value = load i64, ptr %x
  store i64 %value, ptr %status
  ret void
}
define void @store(ptr %y, i64 %begin, i64 %end) {
  store i64 7, ptr %y
  ret void
}
)";
  TestNetwork network("net");
  StepInfo check{"check", 1, "check", {{OCTET_INPUT, 0}, {OCTET_STATUS, 0}}},
      store{"store", 1, "store", {{OCTET_OUTPUT, 0}}};
  network.info.inputs = {{"x", OCTET_I64, {1}, 0, 0}};
  network.info.outputs = {{"y", OCTET_I64, {1}, 0, 0}};
  auto library = network.level("reference", code, {store, check, store}).load();
  ModelPtr model = create(*library);
  for (auto [bad, expected] : {std::pair(1, 3), {0, 0}, {1, 3}}) {
    int64_t x = bad, y = 0;
    const void *inputs[] = {&x};
    void *outputs[] = {&y};
    EXPECT_EQ(library->api().run(model.get(), inputs, outputs), expected);
  }
}

/// More arguments than registers, of every kind; the inputs and outputs are those of each run.
TEST(Runtime, PassesEveryKindOfArgument) {
  const char *store = R"(
define void @store(ptr %y, i64 %begin, i64 %end) {
  store i64 %begin, ptr %y
  ret void
}
define void @storeAll(ptr %arena, ptr %weights, ptr %state, ptr %prepared, ptr %x, ptr %y, ptr %z, i64 %a, i64 %b,
                      i64 %begin, i64 %end) {
  %all.0 = insertvalue [4 x ptr] poison, ptr %arena, 0
  %all.1 = insertvalue [4 x ptr] %all.0, ptr %weights, 1
  %all.2 = insertvalue [4 x ptr] %all.1, ptr %state, 2
  %all.3 = insertvalue [4 x ptr] %all.2, ptr %prepared, 3
  store [4 x ptr] %all.3, ptr %y
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
  network.info.outputs = {{"y", OCTET_I64, {4}, 0, 0}, {"z", OCTET_I64, {4}, 0, 0}};
  StepInfo first{"store", 1, "store", {{OCTET_OUTPUT, 0}}};
  StepInfo second{"storeAll", 5, "storeAll", {}, {INT32_MAX, INT32_MIN}};
  second.addresses = {{OCTET_ARENA, (int64_t)64 << 28},
                      {OCTET_WEIGHTS, ((int64_t)4 << 29) - 4},
                      {OCTET_STATE, 64},
                      {OCTET_PREPARED, 128},
                      {OCTET_INPUT, 1},
                      {OCTET_OUTPUT, 0},
                      {OCTET_OUTPUT, 1}};
  auto library = network.level("reference", store, {first, second}).load();
  ModelPtr model = create(*library);
  const octet_frame &frame = *library->api().frame(model.get());
  for (int64_t run = 0; run < 2; ++run) {
    int64_t w = 0, x = run;
    std::vector<char *> y(4);
    std::vector<int64_t> z(4);
    const void *inputs[] = {&w, &x};
    void *outputs[] = {y.data(), z.data()};
    EXPECT_EQ(library->api().run(model.get(), inputs, outputs), 0);
    EXPECT_EQ(y[0] - static_cast<const char *>(frame.arena), (int64_t)64 << 28);
    EXPECT_EQ(y[1] - static_cast<const char *>(frame.weights), ((int64_t)4 << 29) - 4);
    EXPECT_EQ(y[2] - static_cast<const char *>(frame.state), 64);
    EXPECT_EQ(y[3] - static_cast<const char *>(frame.prepared), 128);
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
  auto hook = [](void *user, int64_t step, uint64_t) {
    static_cast<std::vector<int64_t> *>(user)->push_back(step);
  };
  library->api().set_step_hook(model.get(), hook, &steps);
  EXPECT_EQ(countErrors(*library, model.get(), 1, 0), 0);
  library->api().set_step_hook(model.get(), nullptr, nullptr);
  EXPECT_EQ(countErrors(*library, model.get(), 1, 0), 0);
  EXPECT_EQ(steps, (std::vector<int64_t>{0, 1}));
}

TEST(Runtime, StateBeginsAsZerosAndStaysUntilItIsReset) {
  const char *count = R"(
define void @count(ptr %state, i64 %begin, i64 %end) {
  %old = load i64, ptr %state
  %new = add i64 %old, 1
  store i64 %new, ptr %state
  ret void
})";
  auto library = TestNetwork("net")
                     .level("reference", count, {{"count", 1, "count", {{OCTET_STATE, 0}}}})
                     .load();
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
  ModelPtr other = create(*library);
  library->api().reset(other.get());
  library->api().reset(nullptr);
  EXPECT_EQ(state[0], 3);
  library->api().reset(model.get());
  EXPECT_EQ(state[0], 0);
}

} // namespace
