//===- Machine.cpp - target machine, optimization, code ---------------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;
using namespace octet;

namespace {
/// One row per architecture that can be emitted for.
struct Architecture {
  Triple::ArchType arch;
  StringLiteral triple;
  StringLiteral baselineCpu;
};
constexpr Architecture architectures[] = {
    {Triple::x86_64, "x86_64-linux-gnu", "x86-64"},
    {Triple::aarch64, "aarch64-linux-gnu", "generic"},
};
} // namespace

static void initializeTargets() {
  static bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmParser();
    LLVMInitializeAArch64AsmPrinter();
    return true;
  }();
  (void)once;
}

static const Architecture *findArchitecture(const Triple &triple) {
  if (triple.isOSLinux())
    for (const Architecture &architecture : architectures)
      if (triple.getArch() == architecture.arch)
        return &architecture;
  return nullptr;
}

std::string octet::getHostTriple() {
  const Architecture *architecture = findArchitecture(Triple(sys::getProcessTriple()));
  return architecture ? architecture->triple.str() : "";
}

Expected<std::unique_ptr<TargetMachine>> octet::createBaselineMachine(StringRef triple) {
  initializeTargets();
  const Architecture *architecture = findArchitecture(Triple(Triple::normalize(triple)));
  if (!architecture) {
    std::string known;
    for (const Architecture &each : architectures)
      known += (known.empty() ? "" : ", ") + each.triple.str();
    return createStringError("unknown target '" + triple + "'; possible: " + known);
  }
  Triple normalized(Triple::normalize(architecture->triple));
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(normalized, error);
  if (!target)
    return createStringError(error);
  TargetOptions options;
  // Only explicit fused multiply-adds; llvm.fmuladd stays two operations, or levels would differ.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  return std::unique_ptr<TargetMachine>(
      target->createTargetMachine(normalized, architecture->baselineCpu, "", options, Reloc::PIC_,
                                  std::nullopt, CodeGenOptLevel::Aggressive));
}

void octet::optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  // Kernels come vectorized; what is scalar is scalar on purpose (the reference level).
  PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.LoopInterleaving = tuning.SLPVectorization = false;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3).run(module, modules);
  for (Function &function : module) {
    chooseAddresses(function, functions);
    reloadAddends(function);
  }
}

Expected<Bytes> octet::generateCode(Module &module, TargetMachine &machine, CodeGenFileType type) {
  Bytes code;
  uint64_t constants = 0; // growing would copy all
  for (const GlobalVariable &global : module.globals())
    constants += module.getDataLayout().getTypeAllocSize(global.getValueType());
  code.reserve(constants);
  raw_svector_ostream stream(code);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return createStringError("the target cannot write this kind of file");
  passes.run(module);
  return code;
}

Error octet::checkUndefinedSymbols(StringRef level, ArrayRef<char> object,
                                   ArrayRef<std::string> allowed) {
  auto file = object::ObjectFile::createObjectFile(
      MemoryBufferRef(StringRef(object.data(), object.size()), level));
  if (!file)
    return file.takeError();
  for (const object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if ((*flags & object::SymbolRef::SF_Undefined) && !name->empty() &&
        !is_contained(allowed, *name))
      return createStringError("the code for CPU level '" + level + "' needs the function '" +
                               *name + "', which a compiled network does not have");
  }
  return Error::success();
}
