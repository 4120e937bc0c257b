//===- IntegerLawsTest.cpp - the laws of integers at their ends -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/NN/IntegerLaws.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <limits>

using namespace mlir;
using namespace octet;
using Number = numerics::HostIntegers::Number;

static constexpr float infinity = std::numeric_limits<float>::infinity();
static constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// The law of an op of a text, whose first two values are `x` and `y`, for these numbers.
static Number apply(StringRef op, StringRef element, StringRef result, ArrayRef<Number> operands) {
  MLIRContext context;
  context.loadDialect<nn::NNDialect>();
  std::string text, types;
  for (StringRef name : {"%x", "%y"})
    text += (name + " = nn.constant dense<0> : tensor<i64>\n%c" + name.drop_front() +
             " = nn.cast " + name + " : (tensor<i64>) -> tensor<" + element + ">\n")
                .str();
  text += ("%z = nn." + op + "%cx" + (operands.size() > 1 ? ", %cy" : "") + " : (tensor<" +
           element + ">" + (operands.size() > 1 ? ", tensor<" + element + ">" : "") +
           ") -> tensor<" + result + ">\n")
              .str();
  Block block;
  EXPECT_TRUE(succeeded(parseSourceString(text, &block, ParserConfig(&context)))) << text;
  numerics::HostIntegers arithmetic;
  return nn::applyIntegerLaw(arithmetic, &block.back(), operands).value_or(Number());
}

static int64_t binary(StringRef op, int64_t x, int64_t y) {
  return std::get<int64_t>(apply((op + " ").str(), "i64", "i64", {Number(x), Number(y)}));
}

TEST(IntegerLaws, QuotientsAndRemainders) {
  EXPECT_EQ(binary("div", -7, 2), -3);
  EXPECT_EQ(binary("div", 7, 0), 0);
  EXPECT_EQ(binary("div", INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(binary("mod", -7, 2), 1);
  EXPECT_EQ(binary("mod", 7, -2), -1);
  EXPECT_EQ(binary("mod", -8, 2), 0);
  EXPECT_EQ(binary("mod", 7, 0), 0);
  EXPECT_EQ(binary("mod", INT64_MIN, -1), 0);
}

TEST(IntegerLaws, IntegersWrapAround) {
  EXPECT_EQ(binary("add", INT64_MAX, 1), INT64_MIN);
  EXPECT_EQ(binary("sub", INT64_MIN, 1), INT64_MAX);
  EXPECT_EQ(binary("mul", INT64_MAX, 2), -2);
}

TEST(IntegerLaws, ShiftsOfAnyCount) {
  EXPECT_EQ(binary("shift_left", 3, 63), INT64_MIN);
  EXPECT_EQ(binary("shift_left", 3, 64), 0);
  EXPECT_EQ(binary("shift_left", 3, -1), 0);
  EXPECT_EQ(binary("shift_right", -9, 2), -3);
  EXPECT_EQ(binary("shift_right", -9, 64), -1);
  EXPECT_EQ(binary("shift_right", 9, -1), 0);
}

TEST(IntegerLaws, FloatsBecomeIntegersWithinTheirRange) {
  auto cast = [](float x) { return std::get<int64_t>(apply("cast ", "f32", "i64", Number(x))); };
  EXPECT_EQ(cast(-2.9f), -2);
  EXPECT_EQ(cast(0x1p62f), int64_t(1) << 62);
  EXPECT_EQ(cast(0x1p63f), INT64_MAX);
  EXPECT_EQ(cast(-0x1p63f), INT64_MIN);
  EXPECT_EQ(cast(infinity), INT64_MAX);
  EXPECT_EQ(cast(-infinity), INT64_MIN);
  EXPECT_EQ(cast(notANumber), 0);
}

TEST(IntegerLaws, NothingIsInARelationToNaN) {
  for (StringRef predicate : {"equal", "less", "less_or_equal"})
    for (auto [x, y] : {std::pair(notANumber, 1.0f), {1.0f, notANumber}, {notANumber, notANumber}})
      EXPECT_FALSE(std::get<bool>(
          apply(("compare " + predicate + " ").str(), "f32", "i1", {Number(x), Number(y)})));
  EXPECT_TRUE(std::get<bool>(apply("cast ", "f32", "i1", Number(notANumber))));
}
