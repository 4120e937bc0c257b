//===- Mapping.cpp - which QConfig an operator gets -----------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Backend/Backend.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Support/PythonRegex.h"
#include "octet/Support/Quote.h"

using namespace mlir;
using namespace octet;

QConfigMapping::QConfigMapping(QConfigMappingOp op) : op(op) {
  for (Operation &entry : op.getBody().front()) {
    if (auto name = dyn_cast<ModuleNameOp>(entry))
      names[name.getKey()] = &entry;
    else if (auto expression = dyn_cast<ModuleNameRegexOp>(entry))
      expressions.emplace_back(llvm::cantFail(compilePythonRegex(expression.getKey())), &entry);
    else if (auto order = dyn_cast<ModuleNameObjectTypeOrderOp>(entry))
      ordered[{order.getModule().str(), order.getObjectType().str(), order.getIndex()}] = &entry;
    else if (auto type = dyn_cast<ObjectTypeOp>(entry))
      objectTypes[type.getKey()] = &entry;
    else
      global = &entry;
  }
}

StringRef octet::getParentName(StringRef name) {
  size_t end = name.find_last_of("./");
  return end == StringRef::npos ? "" : name.take_front(end);
}

/// The entry whose key is the longest that equals `name` or is a prefix of it at a '.' or '/'.
Operation *QConfigMapping::lookupName(StringRef name) const {
  while (true) {
    if (Operation *entry = names.lookup(name))
      return entry;
    if (name.find_last_of("./") == StringRef::npos)
      return nullptr;
    name = getParentName(name);
  }
}

/// The entry for the operator's number among those of its class in its part of the source.
Operation *QConfigMapping::lookupOrder(OriginAttr origin) const {
  if (!origin || !origin.getIndex())
    return nullptr;
  auto found = ordered.find({getParentName(origin.getName()).str(),
                             origin.getSourceClass().getValue().str(), *origin.getIndex()});
  return found == ordered.end() ? nullptr : found->second;
}

/// The entry for the operator's class in the source, else for its name.
Operation *QConfigMapping::lookupType(Operation *candidate) const {
  OriginAttr origin = getOrigin(candidate);
  if (origin && origin.getSourceClass())
    if (Operation *entry = objectTypes.lookup(origin.getSourceClass().getValue()))
      return entry;
  return objectTypes.lookup(candidate->getName().getStringRef());
}

/// The mapping that the function has as its own, or null.
static FlatSymbolRefAttr getOwnMapping(Operation *function) {
  return function ? function->getAttrOfType<FlatSymbolRefAttr>(kMappingAttr) : nullptr;
}

bool octet::isOfFunction(QConfigMappingOp mapping) {
  auto functions = mapping->getParentOp()->getRegion(0).getOps<FunctionOpInterface>();
  return llvm::any_of(functions, [&](FunctionOpInterface function) {
    FlatSymbolRefAttr own = getOwnMapping(function);
    return own && own.getValue() == mapping.getSymName();
  });
}

const QConfigMapping &QConfigMapping::getFor(Operation *candidate) const {
  if (scopes.empty())
    return *this;
  Operation *function = candidate;
  if (!isa<FunctionOpInterface>(candidate))
    function = candidate->getParentOfType<FunctionOpInterface>();
  FlatSymbolRefAttr own = getOwnMapping(function);
  auto *scope = llvm::find_if(getScopes(), [&](const QConfigMapping &mapping) {
    return own && own.getValue() == QConfigMappingOp(mapping.op).getSymName();
  });
  return scope == getScopes().end() ? *this : *scope;
}

Operation *QConfigMapping::lookup(Operation *candidate) const {
  if (const QConfigMapping &scope = getFor(candidate); &scope != this)
    return scope.lookup(candidate);
  if (Operation *entry = lookupOrder(getOrigin(candidate)))
    return entry;
  StringRef name = getSourceName(candidate);
  if (Operation *entry = lookupName(name))
    return entry;
  for (auto &[expression, entry] : expressions)
    if (expression.match(name))
      return entry;
  if (Operation *entry = lookupType(candidate))
    return entry;
  return global;
}

std::string octet::describeEntry(Operation *entry) {
  std::string text = entry->getName().stripDialect().str();
  if (auto order = dyn_cast<ModuleNameObjectTypeOrderOp>(entry))
    text += " " + quote(order.getModule()) + ", " + quote(order.getObjectType()) + ", " +
            std::to_string(order.getIndex());
  else if (auto key = entry->getAttrOfType<StringAttr>("key"))
    text += " " + quote(key.getValue());
  return getQConfig(entry) ? text : text + " none";
}

QConfigAttr octet::getQConfig(Operation *entry) {
  return entry ? entry->getAttrOfType<QConfigAttr>("qconfig") : nullptr;
}
