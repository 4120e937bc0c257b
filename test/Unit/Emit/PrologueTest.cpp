//===- PrologueTest.cpp - steps that run when a model is made -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include "llvm/ADT/StringExtras.h"
#include <cfenv>

using namespace llvm;
using namespace octet;
using namespace octet::test;

namespace {

/// @add: to[i] = from[i] + %value. @third: a third of one value. @f: nothing.
const std::string code = makeKernel("add", "ptr %from, ptr %to, i64 %value", R"(
  %x.at = getelementptr i8, ptr %from, i64 %i
  %x = load i8, ptr %x.at
  %addend = trunc i64 %value to i8
  %sum = add i8 %x, %addend
  %y.at = getelementptr i8, ptr %to, i64 %i
  store i8 %sum, ptr %y.at)") +
                         R"(
define void @third(ptr %from, ptr %to, i64 %begin, i64 %end) {
  %x.at = getelementptr float, ptr %from, i64 %begin
  %x = load float, ptr %x.at
  %third = fdiv float %x, 3.0
  store float %third, ptr %to
  ret void
}
define void @f(i64 %begin, i64 %end) { ret void }
)";

StepInfo add(StepAddress from, int64_t to, int64_t value, int64_t range) {
  return {"add", range, "add", {from, {OCTET_PREPARED, to}}, {value}};
}

StringRef getPrepared(const ModelLibrary &library, octet_model *model, int64_t bytes) {
  return {static_cast<const char *>(library.api().frame(model)->prepared), (size_t)bytes};
}

/// Levels share the steps that they begin with, and functions: of steps with other bounds, too. A
/// level without a prologue prepares nothing.
TEST(Prologue, WritesWhatALevelNeeds) {
  StepInfo both = add({OCTET_WEIGHTS, 4}, 0, 1, 3);
  TestNetwork network("net");
  char weights[] = "....abcdefgh";
  network.info.weights = weights;
  std::vector<StepInfo> run = {{"f", 1, "f"}};
  network.level("dotprod", code, run).prologue({both, add({OCTET_WEIGHTS, 8}, 64, 1, 2)}, 128);
  network.level("sse2", code, run)
      .prologue({both, add({OCTET_PREPARED, 0}, 64, 3, 3), add({OCTET_PREPARED, 64}, 128, 1, 1)},
                192);
  network.level("neon", code, run)
      .prologue({both, add({OCTET_PREPARED, 0}, 64, 3, 3), add({OCTET_PREPARED, 64}, 128, 1, 1)},
                192);
  network.level("reference", code, run);
  auto library = network.load();
  ASSERT_TRUE(library);
  const octet_network &records = getNetwork(*library);
  auto describe = [&](int level) {
    const octet_program_record &program = records.programs[level];
    return std::make_tuple(program.num_shared, program.num_prologue, program.prepared_bytes);
  };
  EXPECT_EQ(describe(0), std::make_tuple(1, 1, 128));
  EXPECT_EQ(describe(1), std::make_tuple(3, 0, 192));
  EXPECT_EQ(describe(2), std::make_tuple(3, 0, 192));
  EXPECT_EQ(describe(3), std::make_tuple(0, 0, 0));
  const octet_step_record *shared = records.prologue, *own = records.programs[0].steps;
  EXPECT_EQ((intptr_t)shared + shared->kernel, (intptr_t)own + own->kernel);
  ModelPtr model = create(*library, 2, getHostTriple()[0] == 'x' ? "sse2" : "neon");
  StringRef prepared = getPrepared(*library, model.get(), 192);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(prepared.data()) % 64, 0u);
  EXPECT_EQ(prepared.take_front(4), StringRef("bcd\0", 4));
  EXPECT_EQ(prepared.substr(64, 4), StringRef("efg\0", 4));
  EXPECT_EQ(prepared.substr(128, 2), StringRef("f\0", 2));
  ModelPtr reference = create(*library, 1, "reference");
  EXPECT_EQ(library->api().program(reference.get())->count, 1);
  EXPECT_EQ(library->api().program(model.get())->count, 1);
}

/// The caller's rounding is not what a prologue computes with, and stays.
TEST(Prologue, RoundsToNearest) {
  float weights[] = {1};
  TestNetwork network("net");
  network.info.weights = ArrayRef<char>(reinterpret_cast<const char *>(weights), sizeof(weights));
  StepInfo third{"third", 1, "third", {{OCTET_WEIGHTS, 0}, {OCTET_PREPARED, 0}}};
  auto library = network.level("reference", code, {{"f", 1, "f"}}).prologue({third}, 64).load();
  ASSERT_TRUE(library);
  std::fesetround(FE_DOWNWARD);
  ModelPtr model = create(*library);
  EXPECT_EQ(std::fegetround(), FE_DOWNWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(*static_cast<const float *>(library->api().frame(model.get())->prepared), 1 / 3.0f);
}

TEST(Prologue, IsCheckedAsStepsAre) {
  TestNetwork network("net");
  network.level("reference", code, {{"f", 1, "f"}})
      .prologue({add({OCTET_WEIGHTS, 3}, 0, 1, 1)}, 64);
  EXPECT_EQ(getError(network.emit()),
            "CPU level 'reference': step 'add' expected a multiple of 4 below 2147483648 in "
            "'weights', but got 3");
}

} // namespace
