//===- Message.cpp - messages as fields, as text and as JSON -------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Message.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace octet;

static std::string printPlace(const Message &message) {
  std::string place = message.file;
  if (message.line > 0)
    place += ":" + std::to_string(message.line) + ":" + std::to_string(message.column);
  return place.empty() ? place : place + ": ";
}

std::string octet::printSubject(const Message &message) {
  const SamplePlace &samples = message.samples;
  std::string subject;
  if (!message.node.empty() && !StringRef(message.text).contains(quote(message.node)))
    subject += "node " + quote(message.node) + ": ";
  if (!samples.file.empty())
    subject += "'" + samples.file + "': ";
  if (!samples.array.empty())
    subject += "array '" + escapeText(samples.array) + "': ";
  return subject;
}

std::string octet::printText(const Message &message) {
  std::string text = printPlace(message) + message.severity.str() + ": " + printSubject(message) +
                     message.text + "\n";
  for (const std::string &note : message.notes)
    text += "  note: " + note + "\n";
  return text;
}

/// An object of the fields that are not empty. JSON is UTF-8, which paths need not be.
namespace {
class Fields {
public:
  void set(StringRef key, StringRef text) {
    if (!text.empty())
      object[key] = json::fixUTF8(text);
  }
  void set(StringRef key, int64_t number) {
    if (number != 0)
      object[key] = number;
  }
  void set(StringRef key, json::Array list) {
    if (!list.empty())
      object[key] = std::move(list);
  }
  std::string print() && {
    std::string text;
    raw_string_ostream(text) << json::Value(std::move(object));
    return text + "\n";
  }

private:
  json::Object object;
};
} // namespace

std::string octet::printJson(const Message &message) {
  Fields fields;
  fields.set("severity", message.severity);
  fields.set("code", message.code);
  fields.set("message", message.text);
  fields.set("rendered", StringRef(printText(message)).rtrim());
  fields.set("remedy", message.remedy);
  fields.set("file", message.file);
  fields.set("line", message.line);
  fields.set("column", message.column);
  fields.set("node", message.node);
  fields.set("samples", message.samples.file);
  fields.set("array", message.samples.array);
  fields.set("expected_shape", json::Array(message.samples.expectedShape));
  fields.set("actual_shape", json::Array(message.samples.actualShape));
  json::Array notes;
  for (const std::string &note : message.notes)
    notes.push_back(json::fixUTF8(note));
  fields.set("notes", std::move(notes));
  return std::move(fields).print();
}

char MessageError::ID = 0;

void MessageError::log(raw_ostream &os) const {
  std::string text;
  for (const Message &message : messages)
    text += message.file.empty() ? printSubject(message) + message.text : printText(message);
  os << StringRef(text).rtrim();
}

std::vector<Message> octet::takeMessages(Error error, StringRef file) {
  std::vector<Message> messages;
  handleAllErrors(
      std::move(error),
      [&](MessageError &each) {
        for (Message &message : each.messages) {
          if (message.file.empty())
            message.file = file.str();
          messages.push_back(std::move(message));
        }
      },
      [&](const ErrorInfoBase &each) {
        Message &message = messages.emplace_back();
        message.text = each.message();
        message.file = file.str();
      });
  return messages;
}

Error octet::makeRemedyError(const Twine &text, const Twine &remedy) {
  Message message;
  message.text = text.str();
  message.remedy = remedy.str();
  if (!message.remedy.empty())
    message.text += "; " + message.remedy;
  return make_error<MessageError>(std::vector<Message>{std::move(message)});
}

Error octet::locate(Error error, SamplePlace place) {
  std::vector<Message> messages = takeMessages(std::move(error), "");
  for (Message &message : messages) {
    message.code = "samples";
    message.samples = place;
  }
  return make_error<MessageError>(std::move(messages));
}

Error octet::makeSampleError(SamplePlace place, const Twine &text, const Twine &remedy) {
  return locate(makeRemedyError(text, remedy), std::move(place));
}
