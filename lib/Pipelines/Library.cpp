//===- Library.cpp - a network to machine code ----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Library.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Codegen/Codegen.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Lower/Passes.h"

using namespace mlir;
using namespace octet;

void octet::registerOctetDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, quant::QuantDialect, nn::NNDialect, OctetDialect, kernel::KernelDialect>();
  registerEmitTranslations(registry);
}

std::vector<std::string> octet::getLevelsOfTarget(llvm::StringRef triple) {
  std::vector<std::string> names;
  for (const CpuLevel &level : getCpuLevels())
    if (triple.starts_with(level.arch))
      names.push_back(level.name.str());
  return names;
}

llvm::Expected<CompiledLibrary> octet::compileLibrary(ModuleOp module, const LibraryOptions &options) {
  PassManager pm(module.getContext());
  pm.addNestedPass<func::FuncOp>(createExpandBatchNorm());
  buildCodegenPipeline(pm, options.levels.empty() ? getLevelsOfTarget(options.emit.triple) : options.levels);
  if (failed(pm.run(module)))
    return llvm::createStringError("code generation failed");
  CompiledLibrary result;
  for (ModuleOp level : module.getOps<ModuleOp>())
    for (auto program : level.getOps<kernel::ProgramOp>())
      if (DictionaryAttr observers = program.getObserversAttr())
        for (NamedAttribute observer : observers)
          result.observers[observer.getName()] = cast<IntegerAttr>(observer.getValue()).getInt();
  llvm::Expected<CollectedNetwork> network = collectNetwork(module, options.name);
  if (!network)
    return network.takeError();
  network->program.reportJson = options.reportJson;
  result.header = emitHeader(network->program);
  result.arenaBytes = network->program.arenaBytes;
  result.stateBytes = network->program.stateBytes;
  result.weightsBytes = network->program.weights.size();
  llvm::Expected<llvm::SmallVector<char, 0>> bytes = emitProgram(network->program, std::move(network->levels), options.emit);
  if (!bytes)
    return bytes.takeError();
  result.bytes = std::move(*bytes);
  return std::move(result);
}
