//===- Library.cpp - a network to machine code ----------------------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "octet/Pipelines/Library.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Pass/PassManager.h"
#include "octet/Codegen/Codegen.h"
#include "octet/Dialect/NN/NN.h"
#include "octet/Dialect/Octet/Octet.h"

using namespace mlir;
using namespace octet;

void octet::registerOctetDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, quant::QuantDialect, nn::NNDialect, OctetDialect, kernel::KernelDialect>();
  registerEmitTranslations(registry);
}

std::vector<std::string> octet::getLevelsOfTarget(llvm::StringRef triple) {
  std::vector<std::string> names;
  for (const CpuLevel &level : getCpuLevels())
    if (!level.arch.empty() && triple.starts_with(level.arch))
      names.push_back(level.name.str());
  return names;
}

static TensorInfo describeTensor(kernel::TensorAttr tensor) {
  auto type = cast<RankedTensorType>(tensor.getType().getValue());
  TensorInfo info;
  info.name = tensor.getName().str();
  info.shape.assign(type.getShape().begin(), type.getShape().end());
  if (auto quantized = dyn_cast<quant::UniformQuantizedType>(type.getElementType())) {
    info.dtype = quantized.isSigned() ? OCTET_I8 : OCTET_U8;
    info.scale = quantized.getScale();
    info.zeroPoint = quantized.getZeroPoint();
  }
  return info;
}

static ProgramInfo describeProgram(kernel::ProgramOp program, const LibraryOptions &options) {
  ProgramInfo info;
  info.name = options.name;
  info.arenaBytes = program.getArenaBytes();
  info.stateBytes = program.getStateBytes();
  info.reportJson = options.reportJson;
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(program.getWeightsAttr()))
    info.weights = resource.getRawHandle().getBlob()->getData();
  for (auto tensor : program.getInputs().getAsRange<kernel::TensorAttr>())
    info.inputs.push_back(describeTensor(tensor));
  for (auto tensor : program.getOutputs().getAsRange<kernel::TensorAttr>())
    info.outputs.push_back(describeTensor(tensor));
  return info;
}

static std::string nameOf(Location loc) {
  std::string name = "?";
  loc->walk([&](Location inner) {
    auto named = dyn_cast<NameLoc>(inner);
    if (!named)
      return WalkResult::advance();
    name = named.getName().str();
    return WalkResult::interrupt();
  });
  return name;
}

/// Takes the steps out of a level's module and translates the rest.
static llvm::Expected<LevelCode> takeLevel(ModuleOp module) {
  auto program = *module.getOps<kernel::ProgramOp>().begin();
  LevelCode code;
  code.level = program.getLevel().str();
  for (auto step : program.getBody().getOps<kernel::StepOp>())
    code.steps.push_back({step.getKernel().str(), (int64_t)step.getRange(), nameOf(step.getLoc())});
  program.erase();
  llvm::Expected<OwnedModule> translated = translateLevel(module);
  if (!translated)
    return translated.takeError();
  code.code = std::move(*translated);
  return std::move(code);
}

llvm::Expected<CompiledLibrary> octet::compileLibrary(ModuleOp module, const LibraryOptions &options) {
  PassManager pm(module.getContext());
  buildCodegenPipeline(pm, options.levels.empty() ? getLevelsOfTarget(options.emit.triple) : options.levels);
  if (failed(pm.run(module)))
    return llvm::createStringError("code generation failed");
  SmallVector<ModuleOp> nested(module.getOps<ModuleOp>());
  if (nested.empty())
    return llvm::createStringError("no CPU level for target '%s'", options.emit.triple.c_str());
  auto program = *nested.front().getOps<kernel::ProgramOp>().begin();
  ProgramInfo info = describeProgram(program, options);
  CompiledLibrary result;
  result.arenaBytes = info.arenaBytes;
  result.stateBytes = info.stateBytes;
  result.weightsBytes = info.weights.size();
  if (DictionaryAttr observers = program.getObserversAttr())
    for (NamedAttribute observer : observers)
      result.observers[observer.getName()] = cast<IntegerAttr>(observer.getValue()).getInt();
  std::vector<LevelCode> levels;
  for (ModuleOp level : nested) {
    llvm::Expected<LevelCode> code = takeLevel(level);
    if (!code)
      return code.takeError();
    levels.push_back(std::move(*code));
  }
  llvm::Expected<llvm::SmallVector<char, 0>> bytes = emitProgram(info, std::move(levels), options.emit);
  if (!bytes)
    return bytes.takeError();
  result.bytes = std::move(*bytes);
  return std::move(result);
}
