//===- Mapping.cpp - which QConfig an operator gets -----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Backend/Backend.h"
#include "octet/Dialect/Octet/Origin.h"

using namespace mlir;
using namespace octet;

QConfigMapping::QConfigMapping(QConfigMappingOp op) : op(op) {
  for (Operation &entry : op.getBody().front()) {
    if (auto name = dyn_cast<ModuleNameOp>(entry))
      names[name.getKey()] = &entry;
    else if (auto expression = dyn_cast<ModuleNameRegexOp>(entry))
      expressions.emplace_back(llvm::Regex(("^(" + expression.getKey() + ")").str()), &entry);
    else if (auto type = dyn_cast<ObjectTypeOp>(entry))
      objectTypes[type.getKey()] = &entry;
    else
      global = &entry;
  }
}

/// The entry whose key is the longest that equals `name` or is a prefix of it at a '.' or '/'.
Operation *QConfigMapping::lookupName(StringRef name) const {
  while (true) {
    if (Operation *entry = names.lookup(name))
      return entry;
    size_t end = name.find_last_of("./");
    if (end == StringRef::npos)
      return nullptr;
    name = name.take_front(end);
  }
}

Operation *QConfigMapping::lookup(Operation *candidate) const {
  StringRef name = getSourceName(candidate);
  if (Operation *entry = lookupName(name))
    return entry;
  for (auto &[expression, entry] : expressions)
    if (expression.match(name))
      return entry;
  if (Operation *entry = objectTypes.lookup(candidate->getName().getStringRef()))
    return entry;
  return global;
}

QConfigAttr octet::getQConfig(Operation *entry) {
  return entry ? entry->getAttrOfType<QConfigAttr>("qconfig") : nullptr;
}
