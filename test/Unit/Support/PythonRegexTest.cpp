//===- PythonRegexTest.cpp ------------------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/PythonRegex.h"
#include "gtest/gtest.h"

namespace {

bool matches(llvm::StringRef expression, llvm::StringRef name) {
  llvm::Expected<llvm::Regex> regex = octet::compilePythonRegex(expression);
  if (!regex) {
    ADD_FAILURE() << expression.str() << ": " << llvm::toString(regex.takeError());
    return false;
  }
  return regex->match(name);
}

std::string getError(llvm::StringRef expression) {
  llvm::Expected<llvm::Regex> regex = octet::compilePythonRegex(expression);
  return regex ? "" : llvm::toString(regex.takeError());
}

TEST(PythonRegex, MatchesFromTheFirstCharacterOn) {
  EXPECT_TRUE(matches("layer", "layer1.conv"));
  EXPECT_FALSE(matches("conv", "layer1.conv"));
  EXPECT_TRUE(matches(".*conv", "layer1.conv1"));
  EXPECT_FALSE(matches("layer$", "layer1"));
  EXPECT_TRUE(matches("a|layer", "layer1")); // the anchor is of all alternatives
  EXPECT_FALSE(matches("x|conv", "layer1.conv"));
}

TEST(PythonRegex, KnowsClasses) {
  EXPECT_TRUE(matches(R"(block\d+\.\w+$)", "block12.conv_a"));
  EXPECT_FALSE(matches(R"(block\d+$)", "blockx"));
  EXPECT_TRUE(matches(R"(\D\W\S)", "a.b"));
  EXPECT_FALSE(matches(R"(\D)", "1"));
  EXPECT_TRUE(matches(R"(a\sb)", "a b"));
  EXPECT_TRUE(matches(R"([\d_]+$)", "1_2"));
  EXPECT_FALSE(matches(R"([^\W\d]$)", "1"));
  EXPECT_TRUE(matches(R"([^\W\d]$)", "x"));
}

TEST(PythonRegex, KnowsSets) {
  EXPECT_TRUE(matches(R"([.\]\-^]+$)", ".]-^"));
  EXPECT_TRUE(matches("[]a]+$", "a]"));
  EXPECT_TRUE(matches("[^-]$", "a"));
  EXPECT_FALSE(matches("[^-]$", "-"));
  EXPECT_TRUE(matches("[a-c]+$", "abc"));
  EXPECT_FALSE(matches("[a-c]+$", "abd"));
  EXPECT_TRUE(matches("[a-]+$", "a-"));
  EXPECT_TRUE(matches(R"([\^]$)", "^"));
  EXPECT_TRUE(matches(R"([\^\-]+$)", "-^"));
  EXPECT_FALSE(matches(R"([\^\-]+$)", "a"));
  EXPECT_TRUE(matches(R"([\x41]$)", "A"));
}

TEST(PythonRegex, KnowsGroupsAndRepetitions) {
  EXPECT_TRUE(matches("(?:ab)+$", "abab"));
  EXPECT_TRUE(matches("(?P<name>ab){2}$", "abab"));
  EXPECT_FALSE(matches("(ab){2}$", "ab"));
  EXPECT_TRUE(matches("a{,2}$", "aa"));
  EXPECT_FALSE(matches("a{,2}$", "aaa"));
  EXPECT_TRUE(matches("a{1,}b", "aab"));
  EXPECT_TRUE(matches("a{x}$", "a{x}"));
  EXPECT_TRUE(matches("a{$", "a{"));
  EXPECT_TRUE(matches("a+?b*?c??$", "aab"));
  EXPECT_TRUE(matches("(a|)b", "b"));
  EXPECT_TRUE(matches("", "anything"));
  EXPECT_TRUE(matches("()x", "x"));
}

TEST(PythonRegex, KnowsEscapes) {
  EXPECT_TRUE(matches(R"(\Aa\.b\Z)", "a.b"));
  EXPECT_FALSE(matches(R"(a\.b)", "axb"));
  EXPECT_TRUE(matches(R"(a\/b\-c)", "a/b-c"));
  EXPECT_TRUE(matches(R"(a\tb)", "a\tb"));
  EXPECT_TRUE(matches(R"(\x2e)", "."));
  EXPECT_FALSE(matches(R"(\x2e)", "a"));
  EXPECT_TRUE(matches("größe", "größe1"));
}

TEST(PythonRegex, RefusesWhatNeedsBacktracking) {
  EXPECT_EQ(getError("a(?=b)"), "there is no matcher for '(?='");
  EXPECT_EQ(getError("a(?!b)"), "there is no matcher for '(?!'");
  EXPECT_EQ(getError("(?i)a"), "there is no matcher for '(?i'");
  EXPECT_EQ(getError(R"((a)\1)"), R"(there is no matcher for '\1')");
  EXPECT_EQ(getError(R"(\bconv)"), R"(there is no matcher for '\b')");
  EXPECT_EQ(getError("a*+"), "there is no matcher for the possessive '*+'");
  EXPECT_EQ(getError("a{2}+"), "there is no matcher for a possessive repetition");
  EXPECT_EQ(getError("[ü]"), "there is no matcher for characters beyond ASCII in a set");
}

TEST(PythonRegex, RefusesWhatPythonRefuses) {
  EXPECT_EQ(getError("*a"), "'*' repeats nothing");
  EXPECT_EQ(getError("(|+)"), "'+' repeats nothing");
  EXPECT_EQ(getError("{2}"), "'{2}' repeats nothing");
  EXPECT_EQ(getError("a$*"), "'*' repeats nothing");
  EXPECT_EQ(getError(R"(\A+)"), "'+' repeats nothing");
  EXPECT_EQ(getError("(^)*a"), "");
  EXPECT_EQ(getError("a\\"), "a backslash ends the expression");
  EXPECT_EQ(getError(R"(\q)"), R"(there is no matcher for '\q')");
  EXPECT_EQ(getError("[ab"), "a set has no ']'");
  EXPECT_EQ(getError("[c-a]"), "a set has a range without bounds in order");
  EXPECT_EQ(getError("[[:digit:]]"), "Python has no classes such as [:digit:]");
  EXPECT_NE(getError("(a"), "");
  EXPECT_NE(getError("a)"), "");
  EXPECT_NE(getError("a**"), "");
}

} // namespace
