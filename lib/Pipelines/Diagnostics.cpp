//===- Diagnostics.cpp - diagnostics as text ------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "octet/Dialect/Octet/Names.h"

using namespace mlir;
using namespace octet;

/// `file` or `file:line:column`.
static std::string getPlace(Location loc, StringRef file) {
  auto position = loc->findInstanceOf<FileLineColLoc>();
  if (!position)
    return file.str();
  std::string place = position.getFilename().str();
  if (position.getLine() > 0)
    place += ":" + std::to_string(position.getLine()) + ":" + std::to_string(position.getColumn());
  return place;
}

static std::string format(Diagnostic &diagnostic, StringRef file, StringRef severity) {
  std::string text = diagnostic.str();
  StringRef name = getSourceName(diagnostic.getLocation());
  if (!name.empty() && !StringRef(text).contains(("\"" + name + "\"").str()))
    text = ("node \"" + name + "\": " + text).str();
  text = getPlace(diagnostic.getLocation(), file) + ": " + severity.str() + ": " + text + "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    text += "  note: " + note.str() + "\n";
  return text;
}

DiagnosticText::DiagnosticText(MLIRContext *context, StringRef file)
    : file(file), handler(context, [this](Diagnostic &diagnostic) {
        std::lock_guard<std::mutex> lock(mutex);
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors += format(diagnostic, this->file, "error");
        if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
          warnings += format(diagnostic, this->file, "warning");
        return success();
      }) {}

llvm::Error DiagnosticText::takeError(llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  if (errors.empty())
    return llvm::createStringError(file + ": error: " + text);
  return llvm::createStringError(StringRef(errors).rtrim());
}
