//===- Policy.cpp - the policy of a module --------------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains.h"
#include "octet/Support/Diagnostics.h"

using namespace mlir;
using namespace octet;

PolicyAnalysis::PolicyAnalysis(Operation *module) : module(module) {
  for (Operation &op : module->getRegion(0).front()) {
    if (auto backend = dyn_cast<BackendOp>(op))
      backends.emplace_back(backend);
    else if (auto mapping = dyn_cast<QConfigMappingOp>(op))
      mappings.emplace_back(mapping);
  }
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
  QConfigMappingOp op = mappings.front().getOp();
  if (op.getIncludes()) {
    op.emitOpError("expected a mapping whose inclusion is resolved")
        << Remedy("octet-attach-policy does that");
    return nullptr;
  }
  return &mappings.front();
}
