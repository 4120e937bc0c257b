//===- BucketTest.cpp - libraries with several buckets ----------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestNetwork.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace llvm;
using namespace octet;
using namespace octet::test;

namespace {

constexpr int64_t size = TestNetwork::size;

/// Selects the bucket for so many floats.
int32_t select(const ModelLibrary &library, octet_model *model, int64_t floats) {
  int64_t shape[] = {1, floats};
  const int64_t *shapes[] = {shape};
  return library.api().select(model, shapes);
}

TEST(Buckets, EachRunsItsSteps) {
  auto library = TestNetwork("net").level("reference").bucket(600).bucket(20).load();
  for (int threads : {1, 3}) {
    ModelPtr model = create(*library, threads);
    std::vector<float> x(size, 3);
    const void *inputs[] = {x.data()};
    auto count = [&] { // the floats that a run writes
      std::vector<float> y(size, -1);
      void *outputs[] = {y.data()};
      EXPECT_EQ(library->api().run(model.get(), inputs, outputs), 0);
      int64_t written = llvm::count_if(y, [](float value) { return value != -1; });
      for (int64_t i = 0; i < written; ++i)
        EXPECT_EQ(y[i], 6 + i);
      return written;
    };
    EXPECT_EQ(count(), size);
    EXPECT_EQ(select(*library, model.get(), 20), 2);
    EXPECT_EQ(count(), 20);
    EXPECT_EQ(select(*library, model.get(), 21), 1);
    EXPECT_EQ(count(), 600);
    EXPECT_EQ(library->api().program(model.get())->steps[1].range, 600);
    EXPECT_EQ(select(*library, model.get(), size + 1), -1);
    EXPECT_EQ(count(), 600);
    EXPECT_EQ(select(*library, model.get(), 601), 0);
    EXPECT_EQ(count(), size);
  }
}

TEST(Buckets, NullPointersSelectNothing) {
  auto library = TestNetwork("net").level("reference").bucket(20).load();
  ModelPtr model = create(*library);
  const int64_t *none[] = {nullptr};
  EXPECT_EQ(library->api().select(model.get(), nullptr), -1);
  EXPECT_EQ(library->api().select(model.get(), none), -1);
  EXPECT_EQ(select(*library, nullptr, 1), -1);
}

TEST(Buckets, AreDescribed) {
  TestNetwork network = TestNetwork("net");
  network.info.paddings = {0.5};
  auto library = network.level("reference").level("sse2").bucket(600).load();
  const octet_buckets *buckets = library->descriptor().buckets;
  ASSERT_TRUE(buckets);
  EXPECT_EQ(buckets->count, 2);
  EXPECT_EQ(buckets->paddings[0], 0.5);
  EXPECT_EQ(buckets->list[0].inputs[0].shape[1], size);
  EXPECT_EQ(buckets->list[1].outputs[0].shape[1], 600);
  EXPECT_EQ(buckets->list[1].outputs[0].bytes, 2400);
  for (int32_t level : {0, 1})
    EXPECT_EQ(buckets->list[1].levels[level].num_steps, 2);
}

TEST(Buckets, OneHasNoTable) {
  auto library = TestNetwork("net").level("reference").load();
  EXPECT_FALSE(library->descriptor().buckets);
  EXPECT_FALSE(library->api().select);
}

TEST(Buckets, OneWithPaddingHasATable) {
  TestNetwork network = TestNetwork("net");
  network.info.paddings = {std::nan("")};
  auto library = network.level("reference").load();
  ModelPtr model = create(*library);
  EXPECT_EQ(library->descriptor().buckets->count, 1);
  EXPECT_EQ(select(*library, model.get(), 7), 0);
  EXPECT_EQ(library->api().program(model.get())->count, 2);
}

TEST(Buckets, ThePrologueRunsOnce) {
  std::string count = makeKernel("count", "ptr %weights, ptr %prepared", R"(
  %old = load i64, ptr %prepared
  %new = add i64 %old, 1
  store i64 %new, ptr %prepared)");
  std::string show = makeKernel("show", "ptr %prepared, ptr %y", R"(
  %value = load i64, ptr %prepared
  store i64 %value, ptr %y)");
  auto library =
      TestNetwork("net")
          .level("reference", count + show,
                 {{"show", 1, "y", {{OCTET_PREPARED, 0}, {OCTET_OUTPUT, 0}}}})
          .prologue({{"count", 1, "count", {{OCTET_WEIGHTS, 0}, {OCTET_PREPARED, 0}}}}, 8)
          .bucket(1)
          .load();
  ModelPtr model = create(*library);
  std::vector<float> x(size);
  const void *inputs[] = {x.data()};
  for (int64_t floats : {size, (int64_t)1}) {
    std::vector<int64_t> y(size);
    void *outputs[] = {y.data()};
    EXPECT_GE(select(*library, model.get(), floats), 0);
    EXPECT_EQ(library->api().run(model.get(), inputs, outputs), 0);
    EXPECT_EQ(y[0], 1);
  }
}

TEST(Buckets, WhatTheyAddIsCounted) {
  TestNetwork one = TestNetwork("net"), two = TestNetwork("net");
  int64_t none = -1, added = -1;
  auto count = [](TestNetwork &network, int64_t &bytes) {
    auto library = network.emit({}, &bytes);
    return library ? (int64_t)library->size() : -1;
  };
  int64_t small = count(one.level("reference"), none),
          large = count(two.level("reference").bucket(600), added);
  EXPECT_EQ(none, 0);
  EXPECT_GT(added, 2 * (int64_t)sizeof(octet_step_record) - 1);
  EXPECT_LT(added, large - small);
}

} // namespace
