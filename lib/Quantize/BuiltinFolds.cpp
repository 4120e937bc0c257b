//===- BuiltinFolds.cpp - folds that the built-in backends have -----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NearMiss.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace octet;

static MatchOp getRoot(FoldOp fold) {
  return cast<AffineOp>(fold.getBody().front().getTerminator()).getRoot().getDefiningOp<MatchOp>();
}

/// The text of a fold on one line.
static std::string printOnOneLine(FoldOp fold) {
  std::string text;
  llvm::raw_string_ostream os(text);
  fold->print(os, OpPrintingFlags().useLocalScope());
  SmallVector<StringRef> words;
  llvm::SplitString(text, words, " \n");
  return llvm::join(words, " ");
}

BuiltinFold octet::findBuiltinFold(Operation *op) {
  // A file that is no backend of its own is passed over.
  ScopedDiagnosticHandler silence(op->getContext(), [](Diagnostic &) { return success(); });
  for (const BuiltinFile &file : getBuiltinFiles()) {
    if (file.name.ends_with("_mapping"))
      continue;
    OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
    if (failed(attachPolicy(*module, file.name, "")))
      continue;
    Backend backend(*module->getOps<BackendOp>().begin());
    for (FoldOp fold : backend.getFolds())
      if (matchGraph(getRoot(fold), op))
        return {printOnOneLine(fold), file.name.str()};
  }
  return {};
}
