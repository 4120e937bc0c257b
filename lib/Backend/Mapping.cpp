//===- Mapping.cpp - which QConfig an operator gets -----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Backend/Backend.h"
#include "octet/Dialect/Octet/Names.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace octet;

FailureOr<QConfigMapping> QConfigMapping::load(Location loc, StringRef nameOrFile, const Backend &backend) {
  QConfigMapping mapping;
  auto inBackend = llvm::to_vector(backend.getFile().getOps<QConfigMappingOp>());
  if (nameOrFile.empty() && inBackend.size() == 1) {
    mapping.owner = std::make_shared<OwningOpRef<ModuleOp>>(backend.getFile().clone());
  } else {
    std::string name = nameOrFile.empty() ? (backend.getName() + "_default_mapping").str() : nameOrFile.str();
    mapping.owner = std::make_shared<OwningOpRef<ModuleOp>>(parsePolicyFile(loc, "QConfig mapping", name));
  }
  if (!*mapping.owner)
    return failure();
  auto ops = llvm::to_vector((*mapping.owner)->getOps<QConfigMappingOp>());
  if (ops.size() != 1)
    return (*mapping.owner)->emitError("expected one 'octet.qconfig_mapping' in the file, but got ") << ops.size();
  mapping.op = ops.front();
  for (auto entry : ops.front().getBody().getOps<ObjectTypeOp>())
    if (failed(checkOperatorName(entry, entry.getKey())))
      return failure();
  return mapping;
}

/// The entry whose key is the longest that equals `name` or is a prefix of it at a '.' or '/'.
static Operation *lookupName(QConfigMappingOp mapping, StringRef name) {
  ModuleNameOp best;
  for (auto entry : mapping.getBody().getOps<ModuleNameOp>()) {
    StringRef key = entry.getKey();
    bool isPrefix = name.starts_with(key) && name.size() > key.size() && StringRef("./").contains(name[key.size()]);
    if ((name == key || isPrefix) && (!best || key.size() > best.getKey().size()))
      best = entry;
  }
  return best;
}

Operation *QConfigMapping::lookup(Operation *candidate) const {
  Region &body = QConfigMappingOp(op).getBody();
  StringRef name = getSourceName(candidate->getLoc());
  if (Operation *entry = lookupName(op, name))
    return entry;
  for (auto entry : body.getOps<ModuleNameRegexOp>())
    if (llvm::Regex(("^(" + entry.getKey() + ")").str()).match(name))
      return entry;
  for (auto entry : body.getOps<ObjectTypeOp>())
    if (entry.getKey() == candidate->getName().getStringRef())
      return entry;
  for (auto entry : body.getOps<GlobalOp>())
    return entry;
  return nullptr;
}

QConfigAttr octet::getQConfig(Operation *entry) { return entry ? entry->getAttrOfType<QConfigAttr>("qconfig") : nullptr; }
