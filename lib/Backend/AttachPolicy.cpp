//===- AttachPolicy.cpp - the policy of a module --------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Chains.h"
#include "PolicyFiles.h"
#include "mlir/IR/OperationSupport.h"
#include "octet/Backend/FunctionMapping.h"
#include "octet/Support/Quote.h"

using namespace mlir;
using namespace octet;

static bool isSame(Operation *a, Operation *b) {
  return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
}

/// Those of the module, without the mappings that functions have as their own.
template <typename OpTy> static SmallVector<OpTy> getPolicies(ModuleOp module) {
  SmallVector<OpTy> policies;
  for (OpTy op : module.getOps<OpTy>())
    if constexpr (std::is_same_v<OpTy, QConfigMappingOp>) {
      if (!isOfFunction(op))
        policies.push_back(op);
    } else {
      policies.push_back(op);
    }
  return policies;
}

/// Copies a policy behind the network; an error if the module has another one.
template <typename OpTy>
static LogicalResult attach(ModuleOp module, OpTy policy, StringRef source) {
  SymbolTable symbols(module);
  SmallVector<OpTy> all = getPolicies<OpTy>(module);
  if (!all.empty()) {
    OpTy own = all.front();
    if (llvm::hasSingleElement(all) && isSame(own, policy))
      return success();
    return module.emitError("the network was begun with ")
           << OpTy::getOperationName() << " @" << escapeText(own.getSymName())
           << " and cannot go on with @" << escapeText(policy.getSymName()) << " from '"
           << escapeText(source) << "', which is another one"
           << Remedy("omit that, or begin again with the float network");
  }
  if (symbols.lookup(policy.getSymName()))
    return policy.emitError("the policy @")
           << escapeText(policy.getSymName())
           << " cannot be put into the module, which has a symbol of this name"
           << Remedy("rename the policy");
  OpBuilder::atBlockEnd(module.getBody()).clone(*policy);
  return success();
}

/// Attaches the default mapping: the module's own with its inclusion resolved, the one in the
/// backend's file, or the built-in one for the backend, if there is one.
static LogicalResult attachDefaultMapping(ModuleOp module, ModuleOp backendFile,
                                          StringRef backendPath) {
  SmallVector<std::string> including;
  if (!getPolicies<QConfigMappingOp>(module).empty())
    return success();
  if (backendFile && !backendFile.getOps<QConfigMappingOp>().empty()) {
    auto mapping = getOnly<QConfigMappingOp>(backendFile, "the backend's file");
    including.push_back(backendPath.str());
    if (!mapping || failed(checkOperatorNames(mapping)) ||
        failed(resolveInclusion(mapping, including)))
      return failure();
    return attach(module, mapping, backendPath);
  }
  auto backends = module.getOps<BackendOp>();
  std::string name = ((*backends.begin()).getSymName() + "_default_mapping").str();
  if (!findBuiltin(name))
    return success();
  auto file = readMapping(module.getLoc(), name, including);
  return failed(file) ? failure()
                      : attach(module, *(**file).getOps<QConfigMappingOp>().begin(), name);
}

/// Attaches the backend of a file; returns the file.
static FailureOr<OwningOpRef<ModuleOp>> attachBackend(ModuleOp module, StringRef nameOrFile) {
  SmallVector<std::string> including;
  auto file = readBackend(module.getLoc(), nameOrFile, including);
  if (failed(file))
    return failure();
  BackendOp backend = *(**file).getOps<BackendOp>().begin();
  if (failed(resolveChains(backend)) || failed(attach(module, backend, nameOrFile)))
    return failure();
  return file;
}

LogicalResult octet::attachPolicy(ModuleOp module, StringRef backend, StringRef qconfigMapping) {
  StringRef name = backend.empty() ? "cpu" : backend;
  SmallVector<std::string> including;
  for (BackendOp own : module.getOps<BackendOp>())
    if (isUnresolved(own) && (failed(resolveInclusion(own)) || failed(resolveChains(own))))
      return failure();
  for (QConfigMappingOp own : module.getOps<QConfigMappingOp>())
    if ((qconfigMapping.empty() || isOfFunction(own)) && failed(resolveInclusion(own, including)))
      return failure();
  OwningOpRef<ModuleOp> backendFile;
  if (!backend.empty() || module.getOps<BackendOp>().empty()) {
    auto file = attachBackend(module, name);
    if (failed(file))
      return failure();
    backendFile = std::move(*file);
  }
  if (qconfigMapping.empty())
    return attachDefaultMapping(module, backendFile ? *backendFile : ModuleOp(), name);
  auto file = readMapping(module.getLoc(), qconfigMapping, including);
  return failed(file)
             ? failure()
             : attach(module, *(**file).getOps<QConfigMappingOp>().begin(), qconfigMapping);
}
