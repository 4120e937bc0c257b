//===- Diagnostics.cpp - diagnostics as messages -------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/Diagnostics.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace octet;

static llvm::StringLiteral printSeverity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Remark:
    return "remark";
  case DiagnosticSeverity::Note:
    return "note";
  }
  llvm_unreachable("all severities are listed");
}

/// The first name in a location, or "": what importers call a node.
static StringRef getNodeName(Location loc) {
  auto name = loc->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : "";
}

/// Fields that a diagnostic has no room for are its metadata: one dictionary. None holds locations.
static void setFields(Diagnostic &diagnostic, const Message &message) {
  Builder builder(diagnostic.getLocation().getContext());
  const SamplePlace &samples = message.samples;
  auto text = [&](StringRef key, StringRef value) {
    return builder.getNamedAttr(key, builder.getStringAttr(value));
  };
  auto shape = [&](StringRef key, ArrayRef<int64_t> value) {
    return builder.getNamedAttr(key, builder.getDenseI64ArrayAttr(value));
  };
  Attribute fields = builder.getDictionaryAttr(
      {text("code", message.code), text("remedy", message.remedy), text("text", message.text),
       text("samples", samples.file), text("array", samples.array),
       shape("expected", samples.expectedShape), shape("actual", samples.actualShape)});
  diagnostic.getMetadata().clear();
  diagnostic.getMetadata().push_back(DiagnosticArgument(fields));
}

static void readFields(Diagnostic &diagnostic, Message &message) {
  if (diagnostic.getMetadata().size() != 1)
    return;
  auto fields = cast<DictionaryAttr>(diagnostic.getMetadata().front().getAsAttribute());
  auto text = [&](StringRef key) { return cast<StringAttr>(fields.get(key)).str(); };
  auto shape = [&](StringRef key) {
    return cast<DenseI64ArrayAttr>(fields.get(key)).asArrayRef().vec();
  };
  message.code = text("code");
  message.remedy = text("remedy");
  if (std::string own = text("text"); !own.empty())
    message.text = std::move(own);
  message.samples = {text("samples"), text("array"), shape("expected"), shape("actual")};
}

/// Gives a diagnostic one field more.
static void setField(Diagnostic &diagnostic, std::string Message::*field, StringRef value) {
  Message message;
  readFields(diagnostic, message);
  message.*field = value.str();
  setFields(diagnostic, message);
}

Diagnostic &octet::operator<<(Diagnostic &diagnostic, const Code &code) {
  setField(diagnostic, &Message::code, code.text);
  return diagnostic << "[" << code.text << "]";
}

Diagnostic &octet::operator<<(Diagnostic &diagnostic, const Remedy &remedy) {
  if (remedy.text.empty())
    return diagnostic;
  setField(diagnostic, &Message::remedy, remedy.text);
  return diagnostic << "; " << remedy.text;
}

Diagnostic &octet::operator<<(Diagnostic &diagnostic, const Cause &cause) {
  for (const Message &message : cause.messages) {
    setField(diagnostic, &Message::remedy, message.remedy);
    diagnostic << printSubject(message) << message.text;
  }
  return diagnostic;
}

void octet::emitMessages(Location loc, llvm::Error error) {
  for (const Message &message : takeMessages(std::move(error), "")) {
    InFlightDiagnostic diagnostic = emitError(loc) << printSubject(message) << message.text;
    setFields(*diagnostic.getUnderlyingDiagnostic(), message);
  }
}

Message octet::toMessage(Diagnostic &diagnostic, StringRef file) {
  Message message;
  message.severity = printSeverity(diagnostic.getSeverity());
  message.text = diagnostic.str();
  message.file = file.str();
  if (auto position = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>()) {
    message.file = position.getFilename().str();
    message.line = position.getLine();
    message.column = message.line > 0 ? position.getColumn() : 0;
  }
  message.node = getNodeName(diagnostic.getLocation()).str();
  readFields(diagnostic, message);
  for (Diagnostic &note : diagnostic.getNotes())
    message.notes.push_back(note.str());
  return message;
}

FileDiagnosticHandler::FileDiagnosticHandler(MLIRContext *context, StringRef file,
                                             llvm::raw_ostream &os)
    : ScopedDiagnosticHandler(context) {
  setHandler([file = file.str(), &os](Diagnostic &diagnostic) {
    os << printText(toMessage(diagnostic, file));
    os.flush();
  });
}
