//===- Policy.cpp - the policy of a module --------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "octet/Dialect/Octet/Origin.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;

PolicyAnalysis::PolicyAnalysis(Operation *module) : module(module) {
  for (Operation &op : module->getRegion(0).front()) {
    if (auto backend = dyn_cast<BackendOp>(op))
      backends.emplace_back(backend);
    else if (auto mapping = dyn_cast<QConfigMappingOp>(op))
      (isOfFunction(mapping) ? scopes : mappings).emplace_back(mapping);
  }
  if (mappings.size() != 1)
    return;
  for (QConfigMapping &scope : scopes)
    mappings.front().addScope(std::move(scope));
}

/// Every mapping that a function names is there.
static LogicalResult checkScopes(Operation *module, const QConfigMapping &mapping) {
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>()) {
    auto own = function->getAttrOfType<FlatSymbolRefAttr>(kMappingAttr);
    if (own && &mapping.getFor(function) == &mapping)
      return function->emitOpError("names the QConfig mapping ")
             << own << ", which is not in the module" << Remedy("add it, or omit the attribute");
  }
  return success();
}

static LogicalResult checkIsResolved(QConfigMappingOp mapping) {
  if (!mapping.getIncludes())
    return success();
  return mapping.emitOpError("expected a mapping whose inclusion is resolved")
         << Remedy("octet-attach-policy does that");
}

const Backend *PolicyAnalysis::getBackend() const {
  if (backends.size() == 1 && isUnresolved(backends.front().getOp())) {
    backends.front().getOp().emitOpError("expected a backend whose inclusion and chains are "
                                         "resolved")
        << Remedy("octet-attach-policy does that");
    return nullptr;
  }
  if (backends.size() == 1)
    return &backends.front();
  module->emitError("expected one 'octet.backend' in the module, but got ")
      << backends.size() << Remedy("octet-attach-policy puts it there");
  return nullptr;
}

const QConfigMapping *PolicyAnalysis::getMapping() const {
  if (mappings.size() != 1) {
    module->emitError("expected one 'octet.qconfig_mapping' in the module, but got ")
        << mappings.size() << Remedy("octet-attach-policy with a qconfig-mapping puts it there");
    return nullptr;
  }
  const QConfigMapping &mapping = mappings.front();
  bool isRight = succeeded(checkIsResolved(mapping.getOp())) &&
                 succeeded(checkScopes(module, mapping)) &&
                 llvm::all_of(mapping.getScopes(), [](const QConfigMapping &scope) {
                   return succeeded(checkIsResolved(scope.getOp()));
                 });
  return isRight ? &mapping : nullptr;
}
