//===- PythonRegex.cpp - regular expressions as Python writes them --------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Python's syntax is rewritten to POSIX extended syntax. Whether an expression matches does not
// depend on greed or on the order of alternatives, so that these have no counterpart.
//
//===----------------------------------------------------------------------===//

#include "octet/Support/PythonRegex.h"
#include "llvm/ADT/StringExtras.h"
#include <bitset>

using namespace octet;

namespace {

using CharacterSet = std::bitset<256>;

class Translator {
public:
  explicit Translator(llvm::StringRef input) : rest(input) {}

  /// The POSIX expression; an empty one if `message` is set.
  std::string run(std::string &message) {
    while (!rest.empty() && error.empty())
      translateOne();
    fillBranch();
    message = error;
    return error.empty() ? output : "";
  }

private:
  bool fail(const llvm::Twine &text) {
    if (error.empty())
      error = text.str();
    return false;
  }
  char take() {
    char c = rest.front();
    rest = rest.drop_front();
    return c;
  }
  /// Ends an atom, or an anchor.
  void emit(const llvm::Twine &text, bool isAtom = true) {
    output += text.str();
    isBranchEmpty = false;
    isBehindAtom = isAtom;
  }
  void emitLiteral(unsigned char c) {
    emit(llvm::StringRef(".[]{}()\\*+?|^$").contains(c) ? llvm::Twine("\\") + llvm::Twine((char)c)
                                                        : llvm::Twine((char)c));
  }
  /// POSIX has no empty alternatives, but empty groups.
  void fillBranch() {
    if (isBranchEmpty)
      emit("()");
  }

  void translateOne();
  void translateGroup();
  void translateRepetition(char c);
  void translateBraces();
  void translateEscape();
  void translateSet();
  void emitSet(const CharacterSet &set, bool isNegated);
  bool takeMember(CharacterSet &set, std::optional<unsigned char> &single);
  bool takeEscaped(CharacterSet &set, std::optional<unsigned char> &single);

  llvm::StringRef rest;
  std::string output, error;
  bool isBranchEmpty = true;
  /// Whether something that may be repeated ends here.
  bool isBehindAtom = false;
};

} // namespace

void Translator::translateOne() {
  switch (char c = take()) {
  case '\\':
    return translateEscape();
  case '[':
    return translateSet();
  case '(':
    return translateGroup();
  case ')':
  case '|':
    fillBranch();
    output += c;
    isBranchEmpty = c == '|';
    isBehindAtom = c == ')';
    return;
  case '*':
  case '+':
  case '?':
    return translateRepetition(c);
  case '{':
    return translateBraces();
  case '^':
  case '$':
    return emit(llvm::Twine(c), /*isAtom=*/false);
  case '.':
    return emit(".");
  default:
    return emitLiteral(c);
  }
}

void Translator::translateGroup() {
  output += '(';
  isBranchEmpty = true;
  isBehindAtom = false;
  if (!rest.starts_with("?") || rest.consume_front("?:"))
    return;
  if (rest.consume_front("?P<")) {
    auto [name, behind] = rest.split('>');
    rest = behind;
    return;
  }
  fail("there is no matcher for '(" + rest.take_front(2) + "'");
}

void Translator::translateRepetition(char c) {
  if (!isBehindAtom) {
    fail(llvm::Twine("'") + llvm::Twine(c) + "' repeats nothing");
    return;
  }
  output += c;
  if (rest.starts_with("+"))
    fail("there is no matcher for the possessive '" + llvm::Twine(c) + "+'");
  rest.consume_front("?");
}

/// `{m}`, `{m,}`, `{,n}` and `{m,n}` repeat; any other brace is a character.
void Translator::translateBraces() {
  auto [inside, behind] = rest.split('}');
  auto [low, high] = inside.split(',');
  bool isBound = inside.size() < rest.size() && !inside.empty() &&
                 llvm::all_of(low, llvm::isDigit) && llvm::all_of(high, llvm::isDigit) &&
                 (inside.contains(',') || !low.empty());
  if (!isBound)
    return emitLiteral('{');
  if (!isBehindAtom) {
    fail("'{" + inside + "}' repeats nothing");
    return;
  }
  output +=
      ("{" + (low.empty() ? "0" : low) + (inside.contains(',') ? "," : "") + high + "}").str();
  rest = behind;
  if (rest.starts_with("+"))
    fail("there is no matcher for a possessive repetition");
  rest.consume_front("?");
}

void Translator::translateEscape() {
  if (rest.consume_front("A"))
    return emit("^", /*isAtom=*/false);
  if (rest.consume_front("Z"))
    return emit("$", /*isAtom=*/false);
  CharacterSet set;
  std::optional<unsigned char> single;
  if (!takeEscaped(set, single))
    return;
  if (single)
    return emitLiteral(*single);
  emitSet(set, /*isNegated=*/false);
}

/// The characters of a class such as `\d`, or nothing.
static std::optional<CharacterSet> getClass(char letter) {
  CharacterSet set;
  for (int c = 1; c < 256; ++c) {
    bool isMember = false;
    switch (llvm::toLower(letter)) {
    case 'd':
      isMember = llvm::isDigit(c);
      break;
    case 'w':
      isMember = c < 128 && (llvm::isAlnum(c) || c == '_');
      break;
    case 's':
      isMember = llvm::StringRef(" \t\n\r\f\v").contains(c);
      break;
    default:
      return std::nullopt;
    }
    set[c] = isMember == llvm::isLower(letter);
  }
  return set;
}

/// What stands behind a backslash: a class, which joins `set`, or a character.
bool Translator::takeEscaped(CharacterSet &set, std::optional<unsigned char> &single) {
  if (rest.empty())
    return fail("a backslash ends the expression");
  char c = take();
  if (auto members = getClass(c)) {
    set |= *members;
    return true;
  }
  constexpr llvm::StringLiteral letters("ntrfva"), characters("\n\t\r\f\v\a");
  if (size_t index = letters.find(c); index != llvm::StringRef::npos) {
    single = characters[index];
    return true;
  }
  unsigned code;
  if (c == 'x' && rest.size() >= 2 && !rest.take_front(2).getAsInteger(16, code) && code != 0 &&
      code < 128) {
    rest = rest.drop_front(2);
    single = code;
    return true;
  }
  if (llvm::isAlnum(c))
    return fail(llvm::Twine("there is no matcher for '\\") + llvm::Twine(c) + "'");
  single = c;
  return true;
}

/// One character of a set, or a class.
bool Translator::takeMember(CharacterSet &set, std::optional<unsigned char> &single) {
  unsigned char c = take();
  if (c == '\\')
    return takeEscaped(set, single);
  if (c >= 128)
    return fail("there is no matcher for characters beyond ASCII in a set");
  if (c == '[' && rest.starts_with(":"))
    return fail("Python has no classes such as [:digit:]");
  single = c;
  return true;
}

void Translator::translateSet() {
  bool isNegated = rest.consume_front("^"), isFirst = true;
  CharacterSet set;
  while (error.empty() && (isFirst || !rest.starts_with("]"))) {
    isFirst = false;
    std::optional<unsigned char> low, high;
    if (rest.empty() || !takeMember(set, low)) {
      fail("a set has no ']'");
      return;
    }
    if (low)
      set.set(*low);
    if (!rest.starts_with("-") || rest.starts_with("-]") || rest.size() < 2)
      continue;
    rest = rest.drop_front();
    if (!takeMember(set, high))
      return;
    if (!low || !high || *low > *high) {
      fail("a set has a range without bounds in order");
      return;
    }
    for (int c = *low; c <= *high; ++c)
      set.set(c);
  }
  if (rest.consume_front("]"))
    emitSet(set, isNegated);
}

/// In POSIX sets there are no escapes: ']' stands first, '-' last, '^' not first.
void Translator::emitSet(const CharacterSet &set, bool isNegated) {
  std::string others;
  for (int c = 1; c < 256; ++c)
    if (set[c] && c != ']' && c != '-' && c != '^')
      others += (char)c;
  if (!isNegated && set.count() == 1)
    for (int c = 1; c < 256; ++c)
      if (set[c])
        return emitLiteral(c);
  std::string text = isNegated ? "[^" : "[";
  text += set[']'] ? "]" : "";
  text += others;
  bool isCaretFirst = set['^'] && text == "[";
  text += isCaretFirst ? "-^" : (set['^'] ? "^" : "") + std::string(set['-'] ? "-" : "");
  emit(text + "]");
}

llvm::Expected<llvm::Regex> octet::compilePythonRegex(llvm::StringRef expression) {
  std::string message, posix = Translator(expression).run(message);
  llvm::Regex regex("^(" + posix + ")");
  if (message.empty() && regex.isValid(message))
    return regex;
  return llvm::createStringError(message);
}
