//===- ChainOps.cpp - verifiers of chains ---------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Dialect/Octet/Octet.h"

using namespace mlir;
using namespace octet;

/// What both kinds of chains have in common.
static LogicalResult verifyLinks(Operation *op, ArrayAttr links, ArrayRef<bool> optional) {
  if (links.empty() || links.size() != optional.size())
    return op->emitOpError("expected at least one link, and a flag for each, but got ")
           << links.size() << " and " << optional.size();
  if (optional.front())
    return op->emitOpError("expected a first link that is not optional");
  for (Attribute link : links) {
    auto alternatives = dyn_cast<ArrayAttr>(link);
    if (!alternatives || alternatives.empty())
      return op->emitOpError("expected a list of parts or classes as a link, but got ") << link;
    for (Attribute alternative : alternatives)
      if (!isa<FlatSymbolRefAttr, StringAttr>(alternative))
        return op->emitOpError("expected the symbol of a part or a class, but got ") << alternative;
  }
  return success();
}

LogicalResult ChainOp::verify() { return verifyLinks(*this, getLinks(), getOptional()); }
LogicalResult FoldChainOp::verify() { return verifyLinks(*this, getLinks(), getOptional()); }
