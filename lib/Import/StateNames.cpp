//===- StateNames.cpp - states told by their names ------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace octet;

/// Words that tell the ends of a state: of the input, and of the output. Those of the first tables
/// are about time, and only states have them; the others are about data of any kind.
static constexpr StringLiteral kBefore[] = {"past", "prev", "previous", "old", "init", "initial"},
                               kAfter[] = {"present", "next", "new", "updated"},
                               kIn[] = {"in", "input"}, kOut[] = {"out", "output", "n"};

/// Words for values that networks keep, without the number behind them.
static constexpr StringLiteral kKept[] = {"h",     "c",      "s",       "hx",     "cx",  "hc",
                                          "state", "states", "hidden",  "cell",   "rnn", "gru",
                                          "lstm",  "cache",  "caches",  "cached", "mem", "memory",
                                          "carry", "buffer", "history", "context"};

namespace {
/// A name in words.
struct Name {
  SmallVector<std::string> words; ///< without those that tell the end
  bool tellsTime = false;         ///< it had a word that only states have
};
} // namespace

/// Lower-case words: they end at other characters than letters and digits, and where a capital
/// follows a small letter.
static SmallVector<std::string> splitWords(StringRef name) {
  SmallVector<std::string> words(1);
  char last = 0;
  for (char c : name) {
    if (!isAlnum(c) || (isUpper(c) && isLower(last)))
      words.emplace_back();
    if (isAlnum(c))
      words.back() += toLower(c);
    last = c;
  }
  erase_if(words, [](const std::string &word) { return word.empty(); });
  return words;
}

static Name parseName(StringRef text, ArrayRef<StringLiteral> ofTime,
                      ArrayRef<StringLiteral> ofEnd) {
  Name name;
  for (std::string &word : splitWords(text)) {
    bool tellsTime = is_contained(ofTime, word);
    name.tellsTime |= tellsTime;
    if (!tellsTime && !is_contained(ofEnd, word))
      name.words.push_back(std::move(word));
  }
  return name;
}

static bool isKept(StringRef word) { return is_contained(kKept, word.rtrim("0123456789")); }

/// The name with the mark behind its last word, the n of `hn` or the 0 of `h0`, taken off.
static SmallVector<std::string> dropMark(const Name &name, StringRef mark) {
  SmallVector<std::string> words = name.words;
  StringRef last = words.empty() ? StringRef() : StringRef(words.back());
  if (last.consume_back(mark) && isKept(last))
    words.back() = last.str();
  return words;
}

bool octet::areNamesOfState(StringRef inputName, StringRef outputName) {
  Name input = parseName(inputName, kBefore, kIn), output = parseName(outputName, kAfter, kOut);
  bool isSame = false;
  for (const SmallVector<std::string> &before : {input.words, dropMark(input, "0")})
    for (const SmallVector<std::string> &after : {output.words, dropMark(output, "n")})
      isSame |= before == after;
  if (input.words.empty())
    return isSame && input.tellsTime && output.tellsTime;
  return isSame && (input.tellsTime || output.tellsTime || any_of(input.words, isKept));
}
