//===- Library.cpp - a network to machine code ----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Library.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Codegen/Passes.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"
#include "octet/Pipelines/Pipeline.h"
#include "octet/Support/ConstantMemory.h"
#include <cmath>

using namespace mlir;
using namespace octet;

void octet::registerOctetDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, quant::QuantDialect, nn::NNDialect, OctetDialect,
                  kernel::KernelDialect>();
  registerEmitTranslations(registry);
}

static std::vector<std::string> getNames(llvm::function_ref<bool(const CpuLevel &)> isWanted) {
  std::vector<std::string> names;
  for (const CpuLevel &level : getCpuLevels())
    if (isWanted(level))
      names.push_back(level.name.str());
  return names;
}

std::vector<std::string> octet::getLevelsOfTarget(llvm::StringRef triple) {
  return getNames([&](const CpuLevel &level) { return level.suits(triple); });
}

std::vector<std::string> octet::getDefaultLevels(llvm::StringRef triple) {
  return getNames([&](const CpuLevel &level) { return level.isDefault && level.suits(triple); });
}

/// The step of a program that works on this part of the state.
static int64_t findStep(kernel::ProgramOp program, int64_t offset) {
  auto state = kernel::ArgAttr::get(program.getContext(), kernel::Space::state, offset);
  auto steps = program.getBody().getOps<kernel::StepOp>();
  auto step = llvm::find_if(
      steps, [&](kernel::StepOp step) { return llvm::is_contained(step.getArgs(), state); });
  return step == steps.end() ? -1 : std::distance(steps.begin(), step);
}

static llvm::StringMap<CompiledObserver> findObservers(ModuleOp levels) {
  llvm::StringMap<CompiledObserver> found;
  for (ModuleOp level : levels.getOps<ModuleOp>())
    for (auto program : level.getOps<kernel::ProgramOp>())
      if (DictionaryAttr observers = program.getObserversAttr())
        for (NamedAttribute observer : observers) {
          int64_t offset = cast<IntegerAttr>(observer.getValue()).getInt();
          found.try_emplace(observer.getName(),
                            CompiledObserver{offset, findStep(program, offset)});
        }
  return found;
}

static std::vector<double> listPaddings(ArrayRef<TensorInfo> inputs,
                                        const llvm::StringMap<double> &paddings) {
  std::vector<double> values;
  for (const TensorInfo &input : inputs) {
    auto padding = paddings.find(input.name);
    values.push_back(padding == paddings.end() ? std::nan("") : padding->second);
  }
  return paddings.empty() ? std::vector<double>() : values;
}

llvm::Error octet::generateLevels(ModuleOp module, const LibraryOptions &options) {
  PassManager pm(module.getContext());
  PipelineOptions pipeline;
  pipeline.levels = options.levels.empty() ? getDefaultLevels(options.emit.triple) : options.levels;
  buildPipeline(pm, Stage::Lower, Stage::LLVM, pipeline);
  if (failed(pm.run(module)))
    return llvm::createStringError("code generation failed");
  return llvm::Error::success();
}

llvm::Expected<CompiledLibrary> octet::emitLevels(ModuleOp module, const LibraryOptions &options) {
  TemporaryConstants weights;
  weights.note(module);
  CompiledLibrary result;
  result.observers = findObservers(module);
  llvm::Expected<CollectedNetwork> network = collectNetwork(module, options.name);
  if (!network)
    return network.takeError();
  network->program.reportJson = options.reportJson;
  network->program.paddings = listPaddings(network->program.inputs, options.paddings);
  result.header = emitHeader(network->program);
  result.arenaBytes = network->program.arenaBytes;
  result.stateBytes = result.keptBytes = network->program.stateBytes;
  for (const auto &entry : result.observers)
    result.keptBytes = std::min(result.keptBytes, entry.second.offset);
  result.weightsBytes = network->program.weights.size();
  if (options.emit.leavesWeightsOut) {
    llvm::Expected<MemoryFile> file = MemoryFile::create(network->program.weights);
    if (!file)
      return file.takeError();
    result.weights.emplace(std::move(*file));
  }
  llvm::Expected<llvm::SmallVector<char, 0>> bytes =
      emitProgram(network->program, std::move(network->levels), options.emit, &result.bucketBytes,
                  [&] { weights.free(); });
  if (!bytes)
    return bytes.takeError();
  result.bytes = std::move(*bytes);
  return std::move(result);
}

llvm::Expected<CompiledLibrary> octet::compileLibrary(ModuleOp module,
                                                      const LibraryOptions &options) {
  if (llvm::Error error = generateLevels(module, options))
    return std::move(error);
  return emitLevels(module, options);
}
