//===- ConstantMemory.cpp - constants whose bytes are freed ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Support/ConstantMemory.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace octet;

StoredConstants octet::getStoredConstants(Operation *op) {
  StoredConstants constants;
  AttrTypeWalker walker;
  walker.addWalk([&](DenseResourceElementsAttr elements) { constants.insert(elements); });
  op->walk([&](Operation *inner) { walker.walk(inner->getAttrDictionary()); });
  return constants;
}

void octet::freeConstants(const StoredConstants &constants, Operation *reader) {
  if (constants.empty())
    return;
  StoredConstants kept = reader ? getStoredConstants(reader) : StoredConstants();
  for (DenseResourceElementsAttr elements : constants)
    if (!kept.contains(elements))
      elements.getRawHandle().getResource()->setBlob(AsmResourceBlob());
}

TemporaryConstants::TemporaryConstants(Operation *original) {
  if (original)
    kept = getStoredConstants(original);
}

void TemporaryConstants::note(Operation *copy) {
  for (DenseResourceElementsAttr elements : getStoredConstants(copy))
    if (!kept.contains(elements))
      noted.insert(elements);
}

void TemporaryConstants::free() {
  freeConstants(noted);
  noted.clear();
}
