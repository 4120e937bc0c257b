//===- QuoteTest.cpp ------------------------------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Quote.h"
#include "gtest/gtest.h"

using octet::escapeSentence;
using octet::escapeText;
using octet::quote;
using octet::suggestNames;

TEST(Quote, ShowsPrintableTextAsItIs) {
  EXPECT_EQ(quote(""), "\"\"");
  EXPECT_EQ(quote("/model/conv.1 größe 重み"), "\"/model/conv.1 größe 重み\"");
}

TEST(Quote, EscapesWhatMovesTheCursorOrEndsTheQuote) {
  EXPECT_EQ(escapeText("\x1b[2J"), "\\x1B[2J");
  EXPECT_EQ(escapeText("a\nb\tc"), "a\\x0Ab\\x09c");
  EXPECT_EQ(escapeText("a\"b\\"), "a\\\"b\\\\");
  EXPECT_EQ(escapeText("\u202e"), "\\xE2\\x80\\xAE"); // the reading direction
}

TEST(Quote, EscapesWhatIsNoText) {
  EXPECT_EQ(escapeText("\xff\xfe"), "\\xFF\\xFE");
  EXPECT_EQ(escapeText("a\xc3"), "a\\xC3"); // cut off within a character
}

TEST(Quote, ShortensLongTextBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += "ü";
  std::string shown = escapeText(text);
  EXPECT_EQ(shown.size(), 2 * 180 + std::string("...(820 more)...").size());
  EXPECT_NE(shown.find("ü...(820 more)...ü"), std::string::npos);
  EXPECT_EQ(escapeText(std::string(200, 'x')), std::string(200, 'x'));
}

TEST(Quote, SentencesKeepTheirQuotesAndTheirLength) {
  std::string text = std::string(1000, 'x') + " \"a\\b\"";
  EXPECT_EQ(escapeSentence(text), text);
  EXPECT_EQ(escapeSentence("a\n\x1b"), "a\\x0A\\x1B");
}

TEST(Quote, SuggestsThreeNearNames) {
  EXPECT_EQ(suggestNames("maxmin", {"max_min", "min_max", "histogram", "maxmix", "maximum"}),
            "the nearest names are \"max_min\", \"maxmix\", \"maximum\"");
  EXPECT_EQ(suggestNames("nn.relu", {"entropy"}), "");
  EXPECT_EQ(suggestNames("a", {}), "");
}
