//===- PolicyErrors.cpp - one message about a policy's text ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyErrors.h"
#include "mlir/IR/Diagnostics.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Support/Diagnostics.h"
#include "octet/Support/Quote.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;

/// The attributes of the dialect as they are written behind `#octet.`, or the observers among them.
template <typename... Attributes> static std::vector<std::string> getMnemonics(bool observersOnly) {
  std::vector<std::string> names;
  auto add = [&](StringRef name, bool isObserver) {
    if (isObserver || !observersOnly)
      names.push_back(name.str());
  };
  (add(Attributes::getMnemonic(),
       std::is_base_of_v<ObserverAttrInterface::Trait<Attributes>, Attributes>),
   ...);
  return names;
}
static std::vector<std::string> getAttributeNames(bool observersOnly) {
  return getMnemonics<
#define GET_ATTRDEF_LIST
#include "octet/Dialect/Octet/OctetAttrs.cpp.inc"
      >(observersOnly);
}

static std::vector<std::string> getOperatorNames(MLIRContext *context) {
  std::vector<std::string> names;
  for (RegisteredOperationName name : context->getRegisteredOperations())
    if (name.getDialectNamespace() == OctetDialect::getDialectNamespace())
      names.push_back(name.getStringRef().str());
  return names;
}

/// The word of the text at a position, counted from 1.
static StringRef getWord(StringRef text, unsigned line, unsigned column) {
  for (unsigned i = 1; i < line; ++i)
    text = text.split('\n').second;
  return text.drop_front(std::min<size_t>(column ? column - 1 : 0, text.size()))
      .take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '"' || c == '.'; });
}

/// What the text should be at the place of an error; the parser's messages speak of grammar.
static std::string getRemedy(StringRef message, StringRef word, MLIRContext *context) {
  if (message.contains("unknown attribute `")) {
    StringRef name = message.split('`').second.split('`').first;
    std::string near = suggestNames(name, getAttributeNames(/*observersOnly=*/false));
    return near.empty()
               ? "observers are " + llvm::join(getAttributeNames(/*observersOnly=*/true), ", ")
               : near;
  }
  if (message.starts_with("custom op '") && message.ends_with("is unknown")) {
    StringRef name = message.split('\'').second.split('\'').first;
    return suggestNames(name, getOperatorNames(context));
  }
  if (message.contains("expected non-function type"))
    return "types are written ui8, si8, si32, f16 or f32";
  if (message.contains("invalid kind of attribute") && word.starts_with("\""))
    return ("write names as a list: [" + word + "]").str();
  return "";
}

OwningOpRef<ModuleOp> octet::parsePolicy(MLIRContext *context, StringRef text,
                                         llvm::function_ref<OwningOpRef<ModuleOp>()> parse) {
  std::optional<Diagnostic> first;
  OwningOpRef<ModuleOp> module;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      if (!first)
        first.emplace(std::move(diagnostic));
      return success();
    });
    module = parse();
  }
  if (!first)
    return module;
  if (auto place = first->getLocation()->findInstanceOf<FileLineColLoc>()) {
    StringRef word = getWord(text, place.getLine(), place.getColumn());
    *first << Remedy(getRemedy(first->str(), word, context));
  }
  context->getDiagEngine().emit(std::move(*first));
  return nullptr;
}
