//===- Message.h - messages as fields, as text and as JSON -*- C++ -*-===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OCTET_SUPPORT_MESSAGE_H
#define OCTET_SUPPORT_MESSAGE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace octet {

/// The arrays of a file of samples, or one of them, that a message is about.
struct SamplePlace {
  std::string file, array;
  /// If the shape is wrong: of the network's input, and of the array.
  std::vector<int64_t> expectedShape, actualShape;
};

/// A diagnostic of a tool about its input.
struct Message {
  llvm::StringLiteral severity = "error"; ///< or "warning", "remark"
  std::string code;                       ///< stable; empty if there is none
  std::string text;                       ///< without the place
  std::string remedy;                     ///< the end of the text, if it is known apart
  std::string file;                       ///< empty if this is about the command
  unsigned line = 0, column = 0;          ///< zero if unknown
  std::string node;                       ///< of the network
  SamplePlace samples;
  std::vector<std::string> notes;
};

/// The subject of the text, unless the text names it: `node "conv1": `, or nothing.
std::string printSubject(const Message &message);

/// For people: `file:1:2: error: node "conv1": text`, notes on indented lines behind it.
std::string printText(const Message &message);

/// For programs: an object on one line, without the fields that are empty; `rendered` is the text
/// for people.
std::string printJson(const Message &message);

/// An error that is one or more messages; as text, one a line.
class MessageError : public llvm::ErrorInfo<MessageError> {
public:
  static char ID;
  explicit MessageError(std::vector<Message> messages) : messages(std::move(messages)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::vector<Message> messages;
};

/// The messages of an error: its own, or one with its text about `file`.
std::vector<Message> takeMessages(llvm::Error error, llvm::StringRef file);

/// An error with a remedy: the end of the text, behind a semicolon.
llvm::Error makeRemedyError(const llvm::Twine &text, const llvm::Twine &remedy);

/// The error is about the samples of a file.
llvm::Error locate(llvm::Error error, SamplePlace place);

/// An error about the samples of a file.
llvm::Error makeSampleError(SamplePlace place, const llvm::Twine &text,
                            const llvm::Twine &remedy = "");

} // namespace octet

#endif // OCTET_SUPPORT_MESSAGE_H
