//===- Diagnostics.cpp - diagnostics of a compilation --------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;

DiagnosticCollector::DiagnosticCollector(MLIRContext *context, StringRef file)
    : file(file), handler(context, [this](Diagnostic &diagnostic) {
        std::lock_guard<std::mutex> lock(mutex);
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors.push_back(toMessage(diagnostic, this->file));
        if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          addWarning(toMessage(diagnostic, this->file));
        return success();
      }) {}

/// Several buckets give the same warnings.
void DiagnosticCollector::addWarning(Message message) {
  bool isKnown = llvm::any_of(
      warnings, [&](const Message &other) { return printText(other) == printText(message); });
  if (!isKnown)
    warnings.push_back(std::move(message));
}

llvm::Error DiagnosticCollector::takeError(llvm::Error error) {
  std::vector<Message> messages = takeMessages(std::move(error), file);
  if (!errors.empty())
    messages = std::exchange(errors, {});
  if (!bucket.empty())
    for (Message &message : messages)
      message.notes.push_back("for " + bucket);
  return llvm::make_error<MessageError>(std::move(messages));
}
