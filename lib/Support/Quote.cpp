//===- Quote.cpp - names from files in messages ---------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Quote.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"
#include <vector>

using namespace llvm;

/// Characters of a text that is shown whole, and of the two ends of a longer one.
static constexpr size_t kMostCharacters = 200, kHead = 120, kTail = 60;

/// Takes the first character off `text` and returns it as it may be shown; `kept` as they are.
static std::string takeCharacter(StringRef &text, StringRef kept) {
  const UTF8 *begin = text.bytes_begin(), *end = begin;
  UTF32 character = 0;
  bool isText =
      convertUTF8Sequence(&end, text.bytes_end(), &character, strictConversion) == conversionOK;
  StringRef taken = text.take_front(isText ? end - begin : 1);
  text = text.drop_front(taken.size());
  if ((character == '"' || character == '\\') && !kept.contains(taken))
    return ("\\" + taken).str();
  if (isText && sys::unicode::isPrintable(character))
    return taken.str();
  std::string escaped;
  for (unsigned char byte : taken.bytes())
    escaped += "\\x" + utohexstr(byte, /*LowerCase=*/false, /*Width=*/2);
  return escaped;
}

static std::vector<std::string> takeCharacters(StringRef text, StringRef kept = "") {
  std::vector<std::string> characters;
  while (!text.empty())
    characters.push_back(takeCharacter(text, kept));
  return characters;
}

std::string octet::escapeSentence(StringRef text) {
  return join(takeCharacters(text, /*kept=*/"\"\\"), "");
}

std::string octet::escapeText(StringRef text) {
  std::vector<std::string> characters = takeCharacters(text);
  if (characters.size() <= kMostCharacters)
    return join(characters, "");
  ArrayRef<std::string> all(characters);
  return join(all.take_front(kHead), "") + "...(" + std::to_string(all.size() - kHead - kTail) +
         " more)..." + join(all.take_back(kTail), "");
}

std::string octet::quote(StringRef name) { return "\"" + escapeText(name) + "\""; }

std::string octet::suggestNames(StringRef wrong, ArrayRef<std::string> names) {
  std::vector<std::pair<unsigned, StringRef>> near;
  unsigned limit = std::max<unsigned>(2, wrong.size() / 2);
  for (const std::string &name : names)
    if (unsigned distance = wrong.edit_distance(name, true, limit); distance <= limit)
      near.push_back({distance, name});
  sort(near);
  std::string text;
  for (auto [_, name] : ArrayRef<std::pair<unsigned, StringRef>>(near).take_front(3))
    text += (text.empty() ? "the nearest names are " : ", ") + quote(name);
  return text;
}
