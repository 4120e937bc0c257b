//===- Level.cpp - a level's module made ready for a network ----------===//
//
// Part of Octet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Internal.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/Verifier.h"

using namespace llvm;
using namespace octet;

std::string octet::getLevelSymbol(StringRef prefix, StringRef level, StringRef symbol) {
  return (prefix + "_" + level + "_" + symbol).str();
}

std::string octet::getStepSymbol(StringRef prefix, StringRef level, const StepInfo &step) {
  return getLevelSymbol(prefix, step.sharedLevel.empty() ? level : step.sharedLevel, step.symbol);
}

/// LLVM spills a vector register without aligning the stack for it, because it decides on the frame
/// before it allocates registers; a 64-byte spill on a 16-byte-aligned stack costs two cache lines
/// each time. So ask for it beforehand.
static void alignStack(Function &function) {
  StringRef features = function.getFnAttribute("target-features").getValueAsString();
  unsigned alignment = features.contains("+avx512f") ? 64 : features.contains("+avx") ? 32 : 0;
  if (!alignment)
    return;
  AttrBuilder attributes(function.getContext());
  attributes.addStackAlignmentAttr(alignment).addAttribute("stackrealign");
  function.addFnAttrs(attributes);
}

static void prepareFunction(Function &function) {
  function.setDoesNotThrow();
  alignStack(function);
}

/// Annotates a kernel with the ranges of its bounds, since LLVM does not see the calls.
static void addRanges(Module &module, ArrayRef<StepInfo> steps) {
  std::map<std::pair<Function *, unsigned>, ConstantRange> ranges;
  for (const StepInfo &step : steps) {
    Function *function = module.getFunction(step.symbol);
    for (auto [i, bound] : enumerate(step.bounds)) {
      ConstantRange value(APInt(64, bound, /*isSigned=*/true));
      auto [it, isNew] = ranges.try_emplace({function, step.addresses.size() + i}, value);
      it->second = it->second.unionWith(value, ConstantRange::Signed);
    }
  }
  for (auto &[argument, range] : ranges)
    if (argument.first) // shared steps call functions of other levels, too
      argument.first->addParamAttrs(argument.second,
                                    AttrBuilder(module.getContext()).addRangeAttr(range));
}

/// Removes the shared functions that another level defines; of the others, whose they are.
static StringMap<std::string> takeShared(Module &module, ArrayRef<StepInfo> shared,
                                         StringSet<> &defined) {
  addRanges(module, shared);
  StringMap<std::string> taken;
  for (const StepInfo &step : shared) {
    Function *function = module.getFunction(step.symbol);
    if (!function || function->isDeclaration() || taken.contains(step.symbol))
      continue;
    if (defined.insert(step.symbol).second)
      taken[step.symbol] = step.sharedLevel;
    else
      function->deleteBody();
  }
  return taken;
}

Error octet::prepareLevel(StringRef prefix, LevelCode &level, ArrayRef<StepInfo> shared,
                          StringSet<> &defined, TargetMachine &machine) {
  Module &module = *level.code.module;
  module.setModuleIdentifier(prefix);
  module.setSourceFileName(getLevelSymbol(prefix, level.level, ""));
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());

  std::vector<StepInfo> steps;
  copy_if(level.steps, std::back_inserter(steps),
          [](const StepInfo &step) { return step.sharedLevel.empty(); });
  addRanges(module, steps);
  StringMap<std::string> kernels = takeShared(module, shared, defined);
  for (const StepInfo &step : steps)
    kernels[step.symbol] = level.level;
  for (GlobalValue &value : module.global_values()) {
    if (value.isDeclaration())
      continue;
    auto kernel = kernels.find(value.getName());
    bool isKernel = kernel != kernels.end();
    value.setLinkage(isKernel ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage);
    value.setVisibility(isKernel ? GlobalValue::HiddenVisibility : GlobalValue::DefaultVisibility);
    value.setDSOLocal(true);
    value.setName(getLevelSymbol(prefix, isKernel ? kernel->second : level.level, value.getName()));
    if (auto *function = dyn_cast<Function>(&value)) {
      prepareFunction(*function);
      if (!isKernel) // Functions are code that kernels share instead of holding copies.
        function->addFnAttr(Attribute::NoInline);
    }
  }
  std::string problem;
  raw_string_ostream stream(problem);
  if (verifyModule(module, &stream))
    return createStringError("CPU level '" + level.level + "': invalid LLVM IR: " + problem);
  return Error::success();
}
